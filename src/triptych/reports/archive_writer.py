"""Write the archive of a report: ``triptych report FOLDER --keep ARCHIVE``."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import triptych
from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports.archive import (
    ARCHIVE_FILE,
    ARCHIVE_FORMAT,
    CURVES_FILE,
    RUNS_FILE,
    Archive,
    is_archive,
    text_file,
)
from triptych.reports.stored_run import StoredRun, TranslatedText, test_sets
from triptych.runs.digests import text_checksum
from triptych.runs.identity import display_overrides
from triptych.runs.measured_speeds import SPEEDS_FILE
from triptych.sweeps.arms import Arm

REPORT_FILES = tuple(f"report.{ending}" for ending in ("md", "tex", "csv", "html"))
"""The files that a report writes into its folder."""


def write_archive(folder: Path, arms: Sequence[Arm], runs: Sequence[StoredRun], home: Path) -> None:
    """Write an archive of runs, whole or not at all. It replaces an earlier archive of the same runs or some of them.

    Args:
        folder: the folder that the runs were read from.
        arms: the arms of its sweep.
        runs: the runs at or below it.
        home: the folder of the archive; neither in ``folder`` nor around it.

    Raises:
        UserError: ``home`` holds anything but an archive and its report, or an archive of other runs; or two runs
            translated different text as the same test set.
    """
    ours, theirs = folder.resolve(), home.resolve()
    if ours.is_relative_to(theirs) or theirs.is_relative_to(ours):
        raise UserError(f"--keep {home} is in {folder}, or around it; give --keep a folder beside it.")
    if home.exists():
        _refuse_foreign(home)
        kept = Archive(home).runs if is_archive(home) else []
        if others := {run.id for run in kept} - {run.id for run in runs}:
            raise UserError(
                f"{home} holds a run that {folder} does not have ({min(others)}); keep it too with "
                "--add, delete it, or give another folder."
            )
    ordered = _in_order(arms, runs)
    with replacing(theirs) as beside:  # where a link leads
        (beside / "translations").mkdir(parents=True)
        _write_files(beside, arms, ordered)
        for place in (home, folder):  # of a sweep, or measured later for what is kept
            if (place / SPEEDS_FILE).is_file():
                shutil.copyfile(place / SPEEDS_FILE, beside / SPEEDS_FILE)


def _refuse_foreign(home: Path) -> None:
    """Refuse to replace a folder in which something lies that no report has written."""
    if (home / ".kept").is_file():
        raise UserError(
            f"{home} was kept by a version of triptych before 0.2.0, in a form that triptych {triptych.__version__} "
            "does not replace; delete it, or give --keep another folder."
        )
    known = {ARCHIVE_FILE, SPEEDS_FILE, *REPORT_FILES, *Archive(home).files} if is_archive(home) else set()
    found = (path.relative_to(home).as_posix() for path in sorted(home.rglob("*")) if not path.is_dir())
    foreign = next((path for path in found if path not in known), "" if home.is_dir() else home.name)
    if foreign:
        raise UserError(f"{home} holds what no report has kept there ({foreign}); give --keep another folder.")


def _in_order(arms: Sequence[Arm], runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Return the runs of the arms in the order of the sweep, then the other runs."""
    order = {arm.run: place for place, arm in reversed(list(enumerate(arms)))}
    return sorted(runs, key=lambda run: order.get(run.id, len(arms)))


def _write_files(folder: Path, arms: Sequence[Arm], runs: Sequence[StoredRun]) -> None:
    files = [RUNS_FILE]
    lines = [json.dumps(_stored_run(run), ensure_ascii=False) for run in runs]
    (folder / RUNS_FILE).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    curves = [run.metrics().assign(run=run.id) for run in runs]
    if logged := [table for table in curves if len(table)]:
        table = pd.concat(logged).fillna("")
        columns = ["run", "step", *sorted({*table.columns} - {"run", "step"})]
        table.reindex(columns=columns, fill_value="").to_csv(folder / CURVES_FILE, index=False, lineterminator="\n")
        files.append(CURVES_FILE)
    for test_set in test_sets(runs):
        texts = {run.id: text for run in runs if test_set in run.tests and (text := run.text(test_set))}
        if texts:
            _write_sentences(folder / text_file(test_set), test_set, texts)
            files.append(text_file(test_set))
    header = {
        "format": ARCHIVE_FORMAT,
        "version": triptych.__version__,
        "arms": [_stored_arm(arm) for arm in arms],
        "files": files,
        "checksums": {name: text_checksum(folder / name) for name in files if name == CURVES_FILE},
    }
    (folder / ARCHIVE_FILE).write_text(json.dumps(header, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _write_sentences(path: Path, test_set: str, texts: dict[str, TranslatedText]) -> None:
    """Write a test set: its sources and references once, and beside them translations and scores of all runs.

    Raises:
        UserError: the runs do not have the same sources or references, or a run has no score for each sentence.
    """
    (first, one), *others = texts.items()
    sources = next((text.sources for text in texts.values() if text.sources is not None), None)
    for name, text in others:
        if text.references != one.references or text.sources not in (None, sources):
            raise UserError(
                f"{first} and {name} translated different text as the test set {test_set}; "
                "keep them in separate folders."
            )
    scored = {
        score: {name: text.scores[score] for name, text in texts.items() if score in text.scores}
        for score in sorted({score for text in texts.values() for score in text.scores})
    }
    shared = {"reference": one.references} | ({"source": sources} if sources is not None else {})
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        for i in range(len(one.references)):
            sentence: dict[str, Any] = {key: shared[key][i] for key in ("source", "reference") if key in shared}
            sentence["translations"] = {name: text.translations[i] for name, text in texts.items()}
            if scored:
                sentence["scores"] = {
                    score: {name: by_run[i] for name, by_run in scored[score].items()} for score in scored
                }
            file.write((json.dumps(sentence, ensure_ascii=False) + "\n").encode())


def _stored_run(run: StoredRun) -> dict[str, Any]:
    return {
        "run": run.id,
        "label": run.label,
        "overrides": display_overrides(run.given_overrides),
        "seed": run.seed,
        "config": run.config,
        "result": run.result,
    }


def _stored_arm(arm: Arm) -> dict[str, Any]:
    return {
        "study": arm.study,
        "overrides": list(arm.overrides),
        "label": arm.label,
        "run": arm.run,
        "config_hash": arm.config_hash,
        "status": arm.status,
        "reason": arm.reason,
    }
