"""An archive: everything that a report needs of many runs, in a few files that are small enough for git.

A folder is an archive if it holds these files:

- ``archive.json``: the format, the version of triptych that wrote it, the arms of the sweep, the list of files;
- ``runs.jsonl``: a line for each run, with its name, label, overrides, seed, config and result;
- ``curves.csv``: the metrics that all runs logged, with the column ``run`` before them;
- ``translations/<test set>.jsonl.gz``: a line for each sentence, with its source (if known), its reference and the
  translations by run, and ``scores``: by name and run, figures of the sentence such as ``nats``. Readers ignore other
  keys.

It may also hold ``speeds.json``: how fast its arms train alone on a machine (``runs.measured_speeds``).
"""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd

import triptych
from triptych.errors import UserError
from triptych.reports.stored_run import StoredRun, TranslatedText
from triptych.runs.digests import text_checksum
from triptych.runs.result_file import check_result
from triptych.sweeps.arms import Arm

ARCHIVE_FORMAT = 1
"""The format that this version writes, and the only one that it reads."""
ARCHIVE_FILE, RUNS_FILE, CURVES_FILE = "archive.json", "runs.jsonl", "curves.csv"
ADVICE = "restore it from version control, or delete it and keep its runs again"
"""What to do about an archive that is damaged or contradicts itself."""


class Archive:
    """The content of an archive, each file read when it is first needed.

    Args:
        folder: the folder of the archive.
        prefix: what stands before the ids of its runs: the path of the archive in the reported folder.

    Raises:
        UserError: the archive is damaged, or of a format that this version does not know.
    """

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.folder = folder
        self.prefix = prefix
        path = folder / ARCHIVE_FILE
        try:
            self._header = json.loads(path.read_text(encoding="utf-8"))
            version, given = str(self._header["version"]), self._header["format"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path} cannot be read ({error}); {ADVICE}.") from error
        if given != ARCHIVE_FORMAT:
            raise UserError(
                f"{folder} was written by triptych {version} in format {given}, and triptych {triptych.__version__} "
                f"reads format {ARCHIVE_FORMAT}; report it with triptych {version}, or delete it and keep "
                "its runs again."
            )
        if missing := [name for name in self.files if not (folder / name).is_file()]:
            raise UserError(f"{folder} has no {missing[0]}, which its {ARCHIVE_FILE} lists; {ADVICE}.")

    @property
    def files(self) -> list[str]:
        """The paths of its files, relative to its folder, without ``archive.json``."""
        return [str(name) for name in self._header.get("files") or ()]

    @cached_property
    def arms(self) -> list[Arm]:
        """The arms of the sweep that made the runs, in the order of the sweep; empty if no sweep made them."""
        arms = []
        try:
            for place, stored in enumerate(self._header.get("arms") or (), start=1):
                arm = Arm(
                    study=stored["study"],
                    place=place,
                    overrides=tuple(stored["overrides"]),
                    label=stored.get("label"),
                    run=stored["run"],
                    config_hash=stored.get("config_hash"),
                    status=stored["status"],
                    reason=stored["reason"],
                )
                arms.append(arm)
        except (TypeError, KeyError) as error:
            raise UserError(f"{self.folder / ARCHIVE_FILE} has a damaged arm ({error}); {ADVICE}.") from error
        return arms

    @cached_property
    def runs(self) -> list[ArchivedRun]:
        """The runs, in the order of their lines."""
        path = self.folder / RUNS_FILE
        runs: dict[str, ArchivedRun] = {}
        for number, line in enumerate(filter(None, _read_text(path).split("\n")), start=1):
            try:
                stored = json.loads(line)
                run, seed = self._read_run(stored, number), stored["seed"]
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise UserError(f"line {number} of {path} cannot be read ({error}); {ADVICE}.") from error
            if run.id in runs:
                raise UserError(f"line {number} of {path} has the name of an earlier run ({run.name}); {ADVICE}.")
            if seed != run.seed:
                raise UserError(
                    f"{run.origin} has been tampered with: its line has seed {seed}, and its result {run.seed}; "
                    f"{ADVICE}."
                )
            runs[run.id] = run
        return list(runs.values())

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The metrics of all runs as strings, with the name of the run in the column ``run``."""
        path, expected = self.folder / CURVES_FILE, self._header.get("checksums", {}).get(CURVES_FILE)
        try:
            if expected not in (None, text_checksum(path)):
                raise UserError(f"{path} has changed since it was written; {ADVICE}.")
            return pd.read_csv(path, dtype=str, keep_default_na=False)
        except FileNotFoundError:
            return pd.DataFrame({"run": []})
        except (OSError, ValueError) as error:
            raise UserError(f"{self.folder / CURVES_FILE} cannot be read ({error}); {ADVICE}.") from error

    def sentences(self, test_set: str) -> list[dict[str, Any]]:
        """Return the sentences of a test set; empty if there are none.

        Raises:
            UserError: the file is damaged.
        """
        if test_set not in self._sentences:
            self._sentences[test_set] = self._read_sentences(test_set)
        return self._sentences[test_set]

    @cached_property
    def _sentences(self) -> dict[str, list[dict[str, Any]]]:
        return {}

    def _read_run(self, stored: dict[str, Any], number: int) -> ArchivedRun:
        return ArchivedRun(
            id=self.prefix + stored["run"],
            label=stored["label"],
            given_overrides=tuple(stored["overrides"]),
            config=dict(stored["config"]),
            result=None if stored["result"] is None else _checked(stored["result"]),
            archive=self,
            line=number,
        )

    def _read_sentences(self, test_set: str) -> list[dict[str, Any]]:
        path = self.folder / text_file(test_set)
        if not path.exists():
            return []
        try:
            with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
                found = [json.loads(line) for line in file]
            if not all(isinstance(line["reference"], str) and isinstance(line["translations"], dict) for line in found):
                raise ValueError("a line lacks its reference or its translations")
        except (OSError, EOFError, ValueError, TypeError, KeyError) as error:
            raise UserError(f"{path} cannot be read ({error}); {ADVICE}.") from error
        return found


@dataclass(frozen=True, eq=False)
class ArchivedRun(StoredRun):
    """A run that is read from an archive.

    Attributes:
        archive: the archive.
        line: the run's line in ``runs.jsonl``, from 1.
    """

    archive: Archive
    line: int

    @property
    def key(self) -> str:
        """The run's name in the files of its archive."""
        return self.id.removeprefix(self.archive.prefix)

    @property
    def origin(self) -> str:
        return f"{self.archive.folder}, run {self.key},"

    @property
    def remedy(self) -> str:
        return ADVICE

    def link(self, home: Path) -> str:
        path = Path(os.path.relpath(self.archive.folder / RUNS_FILE, home))
        return f"{quote(path.as_posix())}#L{self.line}"

    def metrics(self) -> pd.DataFrame:
        curves = self.archive.curves
        return curves[curves["run"] == self.key].drop(columns="run").reset_index(drop=True)

    def text(self, test_set: str) -> TranslatedText | None:
        sentences = self.archive.sentences(test_set)
        translations = [line["translations"][self.key] for line in sentences if self.key in line["translations"]]
        if not translations:
            return None
        sources = [line["source"] for line in sentences if "source" in line]
        return TranslatedText(
            translations,
            [line["reference"] for line in sentences],
            sources if len(sources) == len(sentences) else None,
            self._sentence_scores(test_set, sentences),
        )

    def _sentence_scores(self, test_set: str, sentences: list[dict[str, Any]]) -> dict[str, list[float]]:
        """Return the figures of each sentence that the archive has of this run, by name.

        Raises:
            UserError: a figure is no number.
        """
        scores: dict[str, list[float]] = defaultdict(list)
        try:
            for line in sentences:
                for name, by_run in (line.get("scores") or {}).items():
                    if self.key in by_run:
                        scores[name].append(float(by_run[self.key]))
        except (ValueError, TypeError, AttributeError) as error:
            path = self.archive.folder / text_file(test_set)
            raise UserError(f"{path} cannot be read ({error}); {ADVICE}.") from error
        return dict(scores)

    def text_file(self, test_set: str) -> str:
        return text_file(test_set)


def _checked(result: dict[str, Any]) -> dict[str, Any]:
    check_result(result)
    return dict(result)


def text_file(test_set: str) -> str:
    """Return the path in an archive of the sentences of a test set."""
    return f"translations/{test_set}.jsonl.gz"


def is_archive(folder: Path) -> bool:
    """Return whether a folder is an archive."""
    return (folder / ARCHIVE_FILE).is_file()


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); {ADVICE}.") from error
