"""Whatever happens inside the program ends as one sentence and an exit status, and never as a traceback."""

from __future__ import annotations

import errno
import io
import os
import signal
from pathlib import Path

import pytest
from conftest import triptych

from triptych import errors
from triptych.commands.boundary import guarded
from triptych.commands.signals import TERMINATED
from triptych.config.explanations import explain
from triptych.errors import UserError


def raising(error: BaseException) -> int:
    raise error


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (UserError("no such thing."), 2, "no such thing."),
        (FileNotFoundError(2, "No such file", "x"), 2, "x: no such file"),
        (ModuleNotFoundError("No module named 'mine'", name="mine"), 2, "No module named 'mine': install"),
        (MemoryError(), 2, "memory was short"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: tried 4 bytes"), 2, "lower batch.tokens"),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_what_is_raised_becomes_a_sentence(
    error: BaseException, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guarded(lambda: raising(error)) == status
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == bool(said)


@pytest.mark.parametrize("writable", [True, False])
def test_an_error_that_nobody_foresaw_is_reported_in_a_file(
    writable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(errors, "REPORTS", str(tmp_path / ("reports" if writable else "file/reports")))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))
    assert guarded(lambda: raising(ZeroDivisionError("division\nby zero"))) == 1
    said = capsys.readouterr().err
    (report,) = tmp_path.glob("*/*.txt")
    assert report.parent.name == ("reports" if writable else "temporary")
    assert said.startswith("triptych: an error that should not happen (ZeroDivisionError: division by zero);")
    assert str(report) in said
    assert said.count("\n") == 1
    assert all(word in report.read_text() for word in ("command: ", "Traceback", "test_boundary.py"))


def test_a_terminal_without_utf_8_shows_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr("sys.stdout", out)
    assert guarded(lambda: print("translating …") or 0) == 0  # type: ignore[func-returns-value]
    assert out.buffer.getvalue() == b"translating ?\n"  # type: ignore[attr-defined]


def test_a_mistake_of_the_machine_inside_a_library_is_explained() -> None:
    error = RuntimeError("the library failed")
    error.__cause__ = MemoryError()
    assert str(explain(error)).startswith("memory was short")


def test_a_copy_onto_a_full_disk_names_its_target() -> None:
    error = OSError(errno.ENOSPC, "No space left on device", "source.json", None, "target.json")
    assert str(explain(error)).startswith("target.json: no space left on device; make room there")


def test_sigterm_after_training_ends_the_run_and_the_same_command_completes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended nothing while test sets were translated; the next arm of a sweep even began."""
    small = [
        "scale=smoke",
        "cache=cache",
        "name=x",
        "budget.steps=1",
        "data.validation=2",
        "data.test=2",
        "metric=[bleu]",
    ]
    small += ["data.test_long=2", "data.train=300", "tokenizer.vocab_size=400"]
    with monkeypatch.context() as patched:
        patched.setattr(
            "triptych.training.scoring.evaluate_split", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)
        )
        assert triptych("train", *small, cwd=tmp_path).returncode == TERMINATED
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    run = tmp_path / "runs" / "x"
    assert (run / "trained.json").exists()
    assert not (run / "result.json").exists()
    assert not [path for path in run.rglob(".*") if path.is_file()]
    assert triptych("train", *small, cwd=tmp_path).returncode == 0
    assert (run / "result.json").exists()
