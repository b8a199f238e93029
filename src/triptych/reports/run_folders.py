"""Runs that lie in folders of their own, as training leaves them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import quote

import pandas as pd
import yaml

import triptych
from triptych.errors import UserError
from triptych.files import RUN_FILE
from triptych.reports.arm_rows import ArmRow
from triptych.reports.stored_run import StoredRun, TranslatedText
from triptych.runs.digests import KEY, METRICS, PUT_BACK, text_checksum, text_name
from triptych.runs.folder import FORMAT, WITHOUT_RECORD, RunFolder
from triptych.runs.result_file import SCORE_AGAIN, read_checked
from triptych.stored import ERRORS, DamagedFile, check_shape, read_json, read_yaml

logger = logging.getLogger(__name__)


SENTENCE_SCORES = ("nats",)
"""Figures of each sentence: ``translations/<test set>.<name>.txt`` has one a line."""


class _Started(TypedDict, total=False):
    """What a report needs of run.json."""

    label: str | None
    overrides: list[str] | None


class _Config(TypedDict, total=False):
    """What a report needs of config.yaml."""

    seed: int | None
    data: dict[str, Any] | None
    study: dict[str, Any] | None


@dataclass(frozen=True, eq=False)
class FolderRun(StoredRun):
    """A run that is read from its folder.

    Attributes:
        folder: the run's folder.
    """

    folder: Path

    @property
    def origin(self) -> str:
        return str(self.folder)

    @property
    def remedy(self) -> str:
        return "train it again in another output=…, or report the others without it"

    @property
    def change(self) -> str | None:
        self._warn_of_missing_text()
        return super().change or self._changed_metrics()

    def _warn_of_missing_text(self) -> None:
        known, folder = (self.result or {}).get(KEY, {}), RunFolder(self.folder).translations
        ends = (".txt", ".ref.txt", ".src.txt", ".nats.txt")
        names = [f"{test_set}{end}" for test_set in self.tests for end in ends]
        if gone := [name for name in names if text_name(name) in known and not (folder / name).is_file()]:
            logger.warning("%s is gone: the report lacks what follows from it.", folder / gone[0])

    def _changed_metrics(self) -> str | None:
        expected, path = (self.result or {}).get(KEY, {}).get(METRICS), self.folder / METRICS
        if expected is None:
            return None
        if not path.exists():  # as in a copy without what is large
            logger.warning("%s is gone: the report lacks the run's curve, and whether it converged.", path)
            return None
        return None if text_checksum(path) == expected else f"its {METRICS} is not the one that was written"

    def link(self, home: Path) -> str:
        return quote(Path(os.path.relpath(self.folder, home)).as_posix()) + "/"

    def metrics(self) -> pd.DataFrame:
        try:
            return pd.read_csv(self.folder / METRICS, dtype=str, keep_default_na=False)
        except (FileNotFoundError, pd.errors.EmptyDataError):
            return pd.DataFrame()
        except (OSError, ValueError) as error:
            raise UserError(f"{self.folder / METRICS} cannot be read ({error}); {self.remedy}.") from error

    def text(self, test_set: str) -> TranslatedText | None:
        folder = RunFolder(self.folder).translations
        translations, references, sources = (folder / f"{test_set}{end}" for end in (".txt", ".ref.txt", ".src.txt"))
        if not (translations.is_file() and references.is_file()):
            return None
        return TranslatedText(
            _read_lines(translations),
            _read_lines(references),
            _read_lines(sources) if sources.is_file() else None,
            self._sentence_scores(test_set),
        )

    def _sentence_scores(self, test_set: str) -> dict[str, list[float]]:
        """Return the figures of each sentence, by name, from the files that hold them.

        Raises:
            UserError: a line is no number.
        """
        scores = {}
        for name in SENTENCE_SCORES:
            path = RunFolder(self.folder).translations / f"{test_set}.{name}.txt"
            if path.is_file():
                try:
                    scores[name] = [float(line) for line in _read_lines(path)]
                except ValueError as error:
                    raise UserError(f"{path} cannot be read ({error}); {self.remedy}.") from error
        return scores

    def text_file(self, test_set: str) -> str:
        return f"translations/{test_set}.txt"


def find_run_folders(folder: Path) -> list[FolderRun]:
    """Return every run that has a folder of its own at or below ``folder``, by path.

    Raises:
        UserError: a run cannot be read, or was made by a version of triptych that stored runs otherwise.
    """
    marked = {
        home for home in visible_folders(folder) if _has(home, RUN_FILE) or _has(home, "result.json", "config.yaml")
    }
    # What a run's tools leave in the run's folder, such as a logger's config.yaml, is no run of its own.
    runs = {home for home in marked if (home / RUN_FILE).is_file()}
    return [_read_run(home, folder) for home in sorted(marked) if not runs.intersection(home.parents)]


def _has(home: Path, *names: str) -> bool:
    return all((home / name).is_file() for name in names)


def visible_folders(folder: Path) -> Iterator[Path]:
    """Yield a folder and those below it, each once. Links to folders elsewhere are followed.

    Hidden folders are skipped: they hold Hydra's own config, and what killed processes have left half-written.

    Raises:
        UserError: a folder cannot be read.
    """
    waiting, seen = [folder], set[Path]()
    links: list[Path] = []
    while waiting or links:
        home = waiting.pop() if waiting else links.pop(0)  # what lies there itself keeps its own path
        if (place := home.resolve()) in seen:
            continue
        seen.add(place)
        yield home
        try:
            below = sorted(path for path in home.iterdir() if path.is_dir() and not path.name.startswith("."))
        except PermissionError as error:
            raise UserError(f"{home} cannot be read; make it readable, or report a folder without it.") from error
        for path in below:
            (links if path.is_symlink() else waiting).append(path)


def _read_run(home: Path, root: Path) -> FolderRun:
    started = read_json(home / RUN_FILE, dict[str, Any], PUT_BACK) if (home / RUN_FILE).exists() else None
    result = read_checked(path, SCORE_AGAIN) if (path := home / "result.json").exists() else None
    if started is None or started.get("format") != FORMAT:
        version = (started or result or {}).get("version")
        if started is not None and version == triptych.__version__:
            raise DamagedFile(home / RUN_FILE, "it does not say its format", PUT_BACK)
        if started is None and version and not version.startswith(WITHOUT_RECORD):
            raise UserError(
                f"{home} has lost its {RUN_FILE}; put it back, or delete the folder and train the run again."
            )
        maker = f"triptych {version}" if version else "an earlier version of triptych"
        raise UserError(
            f"{home} was made by {maker}, whose run folders triptych {triptych.__version__} does not read; "
            "report it with the version that made it, or train it again in another output=…."
        )
    return FolderRun(
        id=home.resolve().name if home == root else home.relative_to(root).as_posix(),
        label=str(started.get("label") or ""),
        given_overrides=tuple(read_json(home / RUN_FILE, _Started, PUT_BACK).get("overrides") or ()),
        config=_read_config(home / "config.yaml"),
        result=result,
        folder=home,
    )


def _read_config(path: Path) -> dict[str, Any]:
    """Return the configuration of a run; nothing if it has none, as before it trains."""
    try:
        content = read_yaml(path)
        check_shape(content, _Config)
    except FileNotFoundError:
        return {}
    except (*ERRORS, yaml.YAMLError) as error:
        raise DamagedFile(path, error, PUT_BACK) from error
    return dict(content)


def _read_lines(path: Path) -> list[str]:
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            return file.read().removesuffix("\n").split("\n")
    except ERRORS as error:
        raise DamagedFile(path, error, PUT_BACK) from error


def trained_runs(rows: Sequence[ArmRow]) -> list[FolderRun]:
    """Return the first finished run of each arm that has its weights, without those that diverged.

    Of arms that share their weights, it is the first.
    """
    found = (next((run for run in row.finished if isinstance(run, FolderRun)), None) for row in rows)
    kept = [run for run in found if run and RunFolder(run.folder).checkpoints.is_dir() and not _diverged(run)]
    first: dict[str, FolderRun] = {}
    for run in kept:
        first.setdefault(run.training, run)
    return list(first.values())


def _diverged(run: StoredRun) -> bool:
    return bool((run.result or {}).get("diverged"))


def first_source(run: StoredRun) -> str | None:
    """Return the first sentence of a run's first test set; None if it stored none."""
    texts = (run.text(name) for name in run.tests)
    return next((text.sources[0] for text in texts if text and text.sources), None)
