"""What a report is made of, without the weights: small enough to stand beside the code of a paper."""

from __future__ import annotations

import shutil
from pathlib import Path

from triptych.errors import UserError
from triptych.files import replacing
from triptych.report.results import find_runs

KEPT = ("config.yaml", "result.json", "metrics.csv", "translations/*.txt")
"""Of a run's folder."""


def keep(folder: Path, home: Path) -> None:
    """Copies the arms of a sweep, and what its runs say of themselves, to a folder, whole or not at all.

    What an earlier report has kept there makes room.

    Args:
        folder: of the runs.
        home: neither in it nor around it.

    Raises:
        UserError: ``folder`` cannot be read as runs, or ``home`` is that of something else.
    """
    ours, theirs = folder.resolve(), home.resolve()
    if ours.is_relative_to(theirs) or theirs.is_relative_to(ours):
        raise UserError(f"--keep {home} is in {folder}, or around it; give --keep a folder beside it.")
    if home.exists() and not _is_kept(home) and not (home.is_dir() and all(map(_is_kept, home.iterdir()))):
        raise UserError(f"{home} holds what no report has kept there; give --keep another folder.")
    paths = [*(folder / "arms").glob("*.json")]
    paths += [path for run in find_runs(folder) for pattern in KEPT for path in sorted(run.folder.glob(pattern))]
    with replacing(home) as beside:
        for path in paths:
            copy = beside / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        if home.exists():
            shutil.rmtree(home)


def _is_kept(path: Path) -> bool:
    """Never a run with its weights, for which there would be no way back."""
    run = (path / "config.yaml").is_file() and not (path / "checkpoints").exists()
    return run or path.name == "arms" or path.match("report.*")
