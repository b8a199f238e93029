"""Find what a report is made of: the arms of a sweep, and the runs at or below a folder."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from triptych.errors import UserError
from triptych.reports.archive import Archive, is_archive
from triptych.reports.run_folders import find_run_folders, visible_folders
from triptych.reports.stored_run import StoredRun
from triptych.sweeps.arms import Arm, read_arms

logger = logging.getLogger(__name__)


def find_arms(folder: Path) -> list[Arm]:
    """Return the arms of the sweep that wrote to ``folder``, or whose archive it is; empty if there was no sweep.

    Raises:
        UserError: an arm cannot be read.
    """
    return Archive(folder).arms if is_archive(folder) else read_arms(folder)


def find_runs(folder: Path) -> list[StoredRun]:
    """Return every run at or below ``folder``, from folders of their own and from archives, by path.

    A copy of another run is left out, as of one that was archived or exported too: it is no further training.

    Raises:
        UserError: the folder is missing, or a run or an archive cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; give the one that `triptych train` wrote its runs to.")
    runs: list[StoredRun] = [*find_run_folders(folder)]
    for home in sorted(filter(is_archive, visible_folders(folder))):
        below = home.relative_to(folder).as_posix()
        runs += Archive(home, prefix="" if below == "." else f"{below}/").runs
    return _without_copies(runs)


def _without_copies(runs: Sequence[StoredRun]) -> list[StoredRun]:
    first: dict[str, StoredRun] = {}
    kept, copies = [], []
    for run in runs:
        same = first.setdefault(run.fingerprint, run) if run.result else run
        if same is run:
            kept.append(run)
        else:
            copies.append(f"{run.id} (of {same.id})")
    if copies:
        more = f" and {len(copies) - 1:,} more" if len(copies) > 1 else ""
        logger.warning("left out, as copies of other runs: %s%s.", copies[0], more)
    return kept


def find_sweeps_below(folder: Path) -> list[str]:
    """Return the paths, relative to ``folder``, of the folders below it that hold the arms of a sweep."""
    homes = [home for home in visible_folders(folder) if home != folder]
    sweeps = {home for home in homes if any(home.glob("arms/*.json")) or (is_archive(home) and Archive(home).arms)}
    return sorted(path.relative_to(folder).as_posix() for path in sweeps)
