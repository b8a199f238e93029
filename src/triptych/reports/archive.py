"""What a report is made of, without the weights: small enough to stand beside the code of a paper."""

from __future__ import annotations

import shutil
from pathlib import Path

from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports.stored_runs import Run, find_runs

KEPT = ("config.yaml", "result.json", "metrics.csv", "translations/*.txt")
"""Of a run's folder."""
WRITTEN = tuple(f"report.{ending}" for ending in ("md", "tex", "csv", "html"))
LIST = ".kept"
"""The file that names what a report has kept in a folder, a line each: that alone makes room for another report."""


def keep(folder: Path, home: Path) -> None:
    """Copies the arms of a sweep, and what its runs say of themselves, to a folder, whole or not at all.

    What an earlier report has kept there of the same runs, or of some of them, makes room.

    Args:
        folder: of the runs.
        home: neither in it nor around it.

    Raises:
        UserError: ``folder`` cannot be read as runs, or ``home`` is that of something else, or of other runs.
    """
    ours, theirs = folder.resolve(), home.resolve()
    if ours.is_relative_to(theirs) or theirs.is_relative_to(ours):
        raise UserError(f"--keep {home} is in {folder}, or around it; give --keep a folder beside it.")
    if home.exists() and (foreign := _foreign(home)):
        raise UserError(f"{home} holds what no report has kept there ({foreign}); give --keep another folder.")
    paths = [*(folder / "arms").glob("*.json")]
    paths += [path for run in find_runs(folder) for pattern in KEPT for path in sorted(run.folder.glob(pattern))]
    known = {path.parent.relative_to(folder) for path in paths}
    if others := {run.folder.relative_to(home) for run in _runs(home)} - known:
        raise UserError(f"{home} holds a run that {folder} has not ({min(others)}); delete it, or give another folder.")
    with replacing(home) as beside:
        for path in paths:
            copy = beside / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        kept = [path.relative_to(folder).as_posix() for path in paths]
        (beside / LIST).write_text("".join(f"{path}\n" for path in kept), encoding="utf-8")
        aside = beside.with_name(f"{beside.name}.old")
        if home.exists():
            home.rename(aside)
    if aside.exists():
        shutil.rmtree(aside)


def _runs(home: Path) -> list[Run]:
    return find_runs(home) if home.exists() else []


def _foreign(home: Path) -> str:
    """The first file of a folder that is not of an earlier report; empty where there is none."""
    kept = (home / LIST).read_text(encoding="utf-8").splitlines() if (home / LIST).is_file() else []
    ours = {LIST, *WRITTEN, *kept} if kept else set()
    found = (path.relative_to(home).as_posix() for path in sorted(home.rglob("*")) if not path.is_dir())
    return next((path for path in found if path not in ours), "" if home.is_dir() else home.name)
