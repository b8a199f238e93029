"""What commands print fits COLUMNS, in words that are whole; paths and commands to copy may be longer."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import triptych
from rich.cells import cell_len

RUN = "run=runs/tiny"


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80])
def test_every_command_fits(columns: int, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(tiny_run / "runs", tmp_path / "runs")
    (tmp_path / "a.en").write_text("The cat sleeps.\n")
    (tmp_path / "a.fr").write_text("Le chat dort.\n")
    files = ["input=a.en", "reference=a.fr"]
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (
        ["--help"],
        ["train", "-m", "scale=smoke", "model=rnn,lm4mt", "budget.steps=1", f"cache={tmp_path}", "output=sweep"],
        ["forecast", "-m", "scale=smoke", "model=rnn_luong,transformer", f"cache={tmp_path}"],
        ["forecast", "--help"],
        ["report", "sweep", "--all"],
        ["report", "--help"],
        ["evaluate", RUN, "split=test"],
        ["evaluate", RUN, "split=suites", "suite_items=4"],
        ["evaluate", RUN, *files],
        ["score", RUN, *files, "output=scores.tsv"],
        ["export", RUN, "format=safetensors", "output=exported"],
        ["attend", RUN, "The cat sleeps."],
        ["demo", "The grey horse sleeps."],
        ["dashboard", "--help"],
        ["train", "scale=smoke", "tokenizer=char", "tokenizer.bpe_dropout=0.1"],
    ):
        done = triptych(*command, cwd=tmp_path)
        assert done.returncode in (0, 2), done.stderr
        lines = f"{done.stdout}\n{done.stderr}".splitlines()
        long = [line for line in lines if cell_len(line.rstrip()) > columns and not line.startswith("next: ")]
        assert not [line for line in long if " " in line.strip()], (command, long)
