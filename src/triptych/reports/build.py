"""Build the report of a folder: read its runs, and refuse what is not comparable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triptych.errors import UserError
from triptych.reports.archive import Archive, is_archive
from triptych.reports.archive_writer import write_archive
from triptych.reports.arm_rows import build_rows
from triptych.reports.comparability import refuse_mixtures, refuse_tampered, refuse_unequal_tokens
from triptych.reports.published import read_published
from triptych.reports.reader import find_arms, find_runs, find_sweeps_below
from triptych.reports.report import Report
from triptych.reports.statistics.randomization import random_seed
from triptych.reports.stored_run import StoredRun
from triptych.reports.study import find_study, subfolders
from triptych.runs.measured_speeds import read_speeds
from triptych.sweeps.arms import LEFT_OUT, Arm


def report(folder: str | Path, *, keep: str | Path | None = None, unequal: bool = False) -> Report:
    """Build the report of the runs at or below a folder, without writing it.

    Args:
        folder: a folder of runs, a sweep's output, an archive, or ``experiments/STUDY`` with results of one scale.
        keep: the folder of an archive to write of the runs; the report is then the archive's.
        unequal: whether to allow arms that were trained on different tokens.

    Raises:
        UserError: there are no runs, one cannot be read, their scores were made in different ways, or ``keep`` holds
            something else.
    """
    found = find_folders(Path(folder), None if keep is None else Path(keep))
    if len(found) > 1:
        names = ", ".join(str(path) for path, _ in found)
        raise UserError(f"{folder} has results of several scales; report one of {names}.")
    ((source, home),) = found
    return build(source, home, unequal=unequal)


def find_folders(folder: Path, keep: Path | None = None) -> list[tuple[Path, Path | None]]:
    """Return the folders to report, each with the folder of its archive, if any.

    Of a study, ``experiments/STUDY``, these are the folders of its ``results``; else it is ``folder`` alone.

    Raises:
        UserError: there is no such study.
    """
    experiments = folder.absolute().parent
    if experiments.name == "experiments" and experiments.is_dir() and not folder.exists():
        raise UserError(f"there is no study {folder}; there are {', '.join(subfolders(experiments)) or 'none'}.")
    results = folder / "results"
    if experiments.name == "experiments" and results.is_dir() and (names := subfolders(results)):
        return [(results / name, keep and keep / name) for name in names]
    return [(folder, keep)]


def build(folder: Path, keep: Path | None = None, *, unequal: bool = False, add: bool = False) -> Report:
    """Build the report of one folder, or, with ``keep``, write its archive and build the report of that.

    With ``add``, the archive's other runs and arms stay, and come first.

    Raises:
        UserError: as ``report``.
    """
    random_seed()  # refuses a bad seed before anything is written
    arms, runs = find_arms(folder), find_runs(folder)
    if add and keep is not None and is_archive(keep):
        arms, runs = _beside(Archive(keep), arms, runs)
    built = _build(folder, arms, runs)
    refuse_mixtures(runs, built.study.varies)
    if not unequal and "tokens" not in built.study.varies:
        refuse_unequal_tokens(built.rows)
    refuse_tampered(runs)
    if keep is None:
        return built
    write_archive(folder, arms, runs, keep)
    return _build(keep, find_arms(keep), find_runs(keep))


def _beside(kept: Archive, arms: list[Arm], runs: list[StoredRun]) -> tuple[list[Arm], list[StoredRun]]:
    """Return the arms and runs of an archive that are not among these, and these."""
    ours, planned = {run.id for run in runs}, {arm.overrides for arm in arms}
    others = [run for run in kept.runs if run.id not in ours]
    return [*(arm for arm in kept.arms if arm.overrides not in planned), *arms], [*others, *runs]


def _build(folder: Path, arms: Sequence[Arm], runs: Sequence[StoredRun]) -> Report:
    study = find_study(folder, arms, runs)
    shown = [arm for arm in arms if arm.status != LEFT_OUT]
    rows = build_rows(folder, shown, runs, study.reference)
    published = read_published(folder, study)
    missing = [
        f"{' '.join(arm.overrides)} failed before it began, and a later sweep left it out: {arm.reason}"
        for arm in arms
        if arm.status == LEFT_OUT
    ]
    if below := find_sweeps_below(folder):
        missing.append(f"Sweeps lie below this folder ({', '.join(below)}); their arms without a run are not shown.")
    return Report(folder, rows, study, published, missing, read_speeds(folder))
