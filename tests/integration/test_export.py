"""`triptych export` writes a run in CTranslate2's form, and compares the two."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import triptych

pytest.importorskip("ctranslate2", reason="the extra 'export' is not installed")


def test_the_command(tmp_path: Path) -> None:
    def command(*arguments: str) -> tuple[int, str, str]:
        done = triptych(*arguments, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    short = ["budget.steps=4", "validation.every=4", "log_every=1"]
    assert command("train", "scale=smoke", "output=runs", "cache=cache", *short)[0] == 0
    (run,) = (tmp_path / "runs").glob("[!.]*")
    status, shown, _ = command("export", f"run={run}", "output=exported")
    assert status == 0
    assert "log-probabilities of our translations: the same within" in shown
    assert {"model.bin", "joint.model"} <= {path.name for path in (tmp_path / "exported").iterdir()}
    status, _, error = command("export", f"run={run}", "output=exported")
    assert status == 2
    assert error.count("\n") == 1
    assert "output=exported is there already" in error
