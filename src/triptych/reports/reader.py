"""Find what a report is made of: the arms of a sweep, and the runs at or below a folder."""

from __future__ import annotations

from pathlib import Path

from triptych.errors import UserError
from triptych.reports.archive import ARCHIVE_FILE, Archive, is_archive
from triptych.reports.run_folders import find_run_folders, visible_files
from triptych.reports.stored_run import StoredRun
from triptych.sweeps.arms import Arm, read_arms


def find_arms(folder: Path) -> list[Arm]:
    """Return the arms of the sweep that wrote to ``folder``, or whose archive it is; empty if there was no sweep.

    Raises:
        UserError: an arm cannot be read.
    """
    return Archive(folder).arms if is_archive(folder) else read_arms(folder)


def find_runs(folder: Path) -> list[StoredRun]:
    """Return every run at or below ``folder``, from folders of their own and from archives, by path.

    Raises:
        UserError: the folder is missing, or a run or an archive cannot be read.
    """
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; give the one that `triptych train` wrote its runs to.")
    runs: list[StoredRun] = [*find_run_folders(folder)]
    for home in sorted(path.parent for path in visible_files(folder, ARCHIVE_FILE)):
        below = home.relative_to(folder).as_posix()
        runs += Archive(home, prefix="" if below == "." else f"{below}/").runs
    return runs


def find_sweeps_below(folder: Path) -> list[str]:
    """Return the paths, relative to ``folder``, of the folders below it that hold the arms of a sweep."""
    sweeps = {path.parent.parent for path in folder.glob("*/**/arms/*.json")}
    archives = {path.parent for path in visible_files(folder, ARCHIVE_FILE)} - {folder}
    sweeps |= {home for home in archives if Archive(home).arms}
    return sorted(path.relative_to(folder).as_posix() for path in sweeps)
