"""Parallel text from the Hugging Face Hub, or from a folder in its format, read by the package ``datasets``."""

from __future__ import annotations

import hashlib
import json
import os
import re
import ssl
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from triptych.data.cleaning import Cleaning
from triptych.data.corpus import Corpus
from triptych.data.directions import Direction, Directions
from triptych.data.held_out import ranges_of_splits
from triptych.data.pair_source import PairSource, file_identity
from triptych.data.pairs import TEST, TRAIN, VALIDATION
from triptych.data.published_sets import find_published, is_published
from triptych.data.tables import as_sentence, check_columns
from triptych.data.text_reader import read_splits, test_sets
from triptych.errors import UserError, one_line
from triptych.ranges import Count, Factor, HeldOut

if TYPE_CHECKING:
    import datasets

_ROWS = 10_000
"""Rows that are read at a time."""
_SECONDS_TO_ANSWER = 10.0
"""Seconds after which the Hub counts as out of reach."""


class HuggingFaceCorpus(Corpus):
    """A data set of the Hub, or of a folder in its format, from one language to another.

    Args:
        name: name of the corpus.
        path: name of the data set on the Hub, or a folder.
        subset: configuration of the data set; None if it has only one.
        revision: commit, branch or tag on the Hub; None for the newest.
        src: source language; ``tgt`` is the target language.
        columns: names of the columns of source and target; ``translation.en`` is the field ``en`` of ``translation``.
        train: split of the data set, such as ``train`` or ``train[:10%]``.
        validation: likewise, or a published test set (``published_sets.py``), or a share of the training pairs.
        test: list of such splits or sets, or a share of the training pairs.
        cache: root of the cache; converted data sets are kept in its folder ``huggingface``, checked text in its folder
            ``text``. Downloads are kept where the library keeps them (``$HF_HOME``).
        clean: which training pairs are dropped, beside those with an empty side.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.

    Raises:
        UserError: ``datasets`` is not installed, the data set or a part of it cannot be found or loaded, or as
            ``TextCorpus``.
    """

    def __init__(
        self,
        *,
        name: str,
        path: str,
        subset: str | None,
        revision: str | None,
        src: str,
        tgt: str,
        columns: Sequence[str],
        train: str,
        validation: str | HeldOut,
        test: Sequence[str] | HeldOut,
        cache: str,
        clean: Cleaning,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
    ) -> None:
        check_columns(columns, numbers=False)
        directions = Directions.of(None, src, tgt, None)
        splits, sections, report = read_hub(
            HubDataSet(path, subset, revision, Path(cache).expanduser(), tuple(columns)),
            directions,
            train,
            validation,
            test,
            clean,
        )
        super().__init__(name, directions.languages, splits, report, max_length, max_length_ratio, sections, join)


@dataclass(frozen=True)
class HubDataSet:
    """A data set of the Hub; attributes as the arguments of ``HuggingFaceCorpus``."""

    path: str
    subset: str | None
    revision: str | None
    cache: Path
    columns: tuple[str, ...]

    def load(self, splits: Sequence[str]) -> list[datasets.Dataset]:
        """Return the rows of each split, with the fields of a column as columns of their own.

        Raises:
            UserError: as ``HuggingFaceCorpus``.
        """
        try:
            import datasets
        except ImportError as error:
            raise UserError(
                f"data.path={self.path} needs the package datasets; pip install -e '.[huggingface]'."
            ) from error
        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        place = os.path.expanduser(self.path)
        if not (is_folder := os.path.isdir(place)) and not re.fullmatch(r"(\w[\w.-]*/)?\w[\w.-]*", place):
            raise UserError(f"data.path={self.path} is neither a folder nor a name that the Hub can have.")
        if is_folder and self.revision is not None:
            raise UserError(f"data.revision={self.revision} is for a data set of the Hub, and {place} is a folder.")
        cache = self.cache / "huggingface" / self._version_of_folder()
        is_reached = is_folder or (not datasets.config.HF_HUB_OFFLINE and _answers(datasets.config.HF_ENDPOINT))
        try:
            with _only_from_the_cache(datasets.config, not is_reached):
                loaded = datasets.load_dataset(
                    place,
                    self.subset,
                    split=list(splits),
                    revision=self.revision,
                    cache_dir=str(cache),
                    keep_in_memory=False,  # its files tell whether it has changed
                )
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            if not is_reached and isinstance(error, ConnectionError):
                hub, is_offline = f"the Hub ({datasets.config.HF_ENDPOINT})", datasets.config.HF_HUB_OFFLINE
                why = f"HF_HUB_OFFLINE forbids to ask {hub}" if is_offline else f"{hub} does not answer"
                raise UserError(
                    f"data: {self.path} is neither a folder nor in the cache, and {why}; try again with a network, or "
                    "give a folder with the data set: data.path=FOLDER."
                ) from error
            reason = one_line(error.__cause__ or error)
            raise UserError(
                f"data: {self.path} cannot be loaded ({reason}); check data.path, data.subset and the splits "
                f"{', '.join(splits)}, and room on the disk. If nothing is wrong with them, delete {cache}."
            ) from error
        return [rows.flatten() for rows in loaded]

    def _version_of_folder(self) -> str:
        """Return what changes when a folder changes, which the library does not notice; nothing for the Hub."""
        files = sorted(file for file in Path(os.path.expanduser(self.path)).rglob("*") if file.is_file())
        identities = json.dumps([file_identity(file) for file in files])
        return hashlib.sha256(identities.encode()).hexdigest()[:16] if files else ""


@contextmanager
def _only_from_the_cache(library: Any, wanted: bool) -> Iterator[None]:
    """Let the library ask its cache alone, if that is wanted. By itself it would try the Hub for half a minute."""
    before = library.HF_HUB_OFFLINE
    library.HF_HUB_OFFLINE = before or wanted
    try:
        yield
    finally:
        library.HF_HUB_OFFLINE = before


def _answers(url: str) -> bool:
    """Ask the Hub once whether it is there."""
    try:
        urlopen(Request(url, method="HEAD"), timeout=_SECONDS_TO_ANSWER).close()
    except URLError as error:  # with a status, or a certificate that is for the library to judge, somebody answers
        return isinstance(error, HTTPError) or isinstance(error.reason, ssl.SSLError)
    except (OSError, ValueError, HTTPException):
        return False
    return True


def read_hub(
    data_set: HubDataSet,
    directions: Directions,
    train: str,
    validation: str | HeldOut,
    test: Sequence[str] | HeldOut,
    clean: Cleaning,
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Read and check the text of every split, as ``read_splits`` does.

    Args:
        data_set: where it is.
        directions: the only direction.
        train: as of ``HuggingFaceCorpus``; ``validation``, ``test`` and ``clean`` likewise.

    Raises:
        UserError: as ``HuggingFaceCorpus``.
    """
    sources: dict[str, Any] = {TRAIN: train, VALIDATION: train if isinstance(validation, int | float) else validation}
    sources |= {TEST: train} if isinstance(test, int | float) else test_sets(test)
    hub = _Hub(data_set, [str(one) for one in dict.fromkeys(sources.values()) if not is_published(str(one))])
    finds = {split: partial(hub.find, str(source)) for split, source in sources.items()}
    ranges = ranges_of_splits(validation, test, directions)
    return read_splits(finds, directions, data_set.cache, ranges, clean)


@dataclass
class _Hub:
    """The splits of a data set, which are loaded together when the first one is needed."""

    data_set: HubDataSet
    splits: list[str]

    @cached_property
    def rows(self) -> dict[str, datasets.Dataset]:
        return dict(zip(self.splits, self.data_set.load(self.splits), strict=True))

    def find(self, split: str, direction: Direction) -> PairSource:
        if is_published(split):
            return find_published(split, direction, self.data_set.cache)
        rows, columns = self.rows[split], self.data_set.columns
        if missing := [column for column in columns if column not in rows.column_names]:
            raise UserError(
                f"data.columns: {self.data_set.path} has no column {missing[0]}, but {', '.join(rows.column_names)}."
            )
        return _Rows(self.data_set, split, rows.select_columns(list(columns)))


@dataclass(frozen=True)
class _Rows(PairSource):
    data_set: HubDataSet
    split: str
    rows: datasets.Dataset

    @property
    def name(self) -> str:
        return f"{self.data_set.path}, {self.split}"

    @property
    def identity(self) -> Sequence[Any]:
        files = [file_identity(Path(file["filename"])) for file in self.rows.cache_files]
        chosen = [self.data_set.subset, self.data_set.revision, [*self.data_set.columns]]
        return ["rows", self.name, chosen, len(self.rows), *files]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for table in self.rows.with_format("arrow").iter(_ROWS):
            columns = self.data_set.columns
            sides = ([as_sentence(one, self.name, name) for one in table[name].to_pylist()] for name in columns)
            yield from zip(*sides, strict=True)
