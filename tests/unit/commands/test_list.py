"""``triptych list``: groups, their options, a user's own, within the width of the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT, triptych

from triptych.config.catalog import KINDS


def test_alone_it_names_the_groups(tmp_path: Path) -> None:
    done = triptych("list", cwd=tmp_path)
    assert [line.split()[0] for line in done.stdout.splitlines()[: len(KINDS)]] == [*KINDS]
    assert "optimizers" in done.stdout
    assert "optimizer=…" in done.stdout


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("kind", KINDS)
def test_it_fits(kind: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = triptych("list", kind, cwd=tmp_path).stdout.splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= columns


def test_own_files_are_listed_with_ours(tmp_path: Path) -> None:
    own = ROOT / "examples" / "own_parts" / "conf"
    done = triptych("list", "model", f"--config-dir={own}", cwd=tmp_path)
    assert "  bag_of_words " in done.stdout
    assert "  transformer_big " in done.stdout
    assert "  gradient_norm " in triptych("list", "callbacks", f"--config-dir={own}", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("names", "said"),
    [(["modls"], "did you mean models?"), (["zebra"], "choose one of models"), (["data", "models"], "one at a time")],
)
def test_mistakes(names: list[str], said: str, tmp_path: Path) -> None:
    done = triptych("list", *names, cwd=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert said in done.stderr
