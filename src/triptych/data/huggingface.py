"""Parallel text from the Hugging Face Hub, or from a folder in its format, read by the package ``datasets``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.data.cleaning import NO_CLEANING, Cleaning
from triptych.data.corpus import Corpus
from triptych.data.directions import Direction, Directions
from triptych.data.pair_source import PairSource, file_identity
from triptych.data.pairs import TRAIN, VALIDATION
from triptych.data.published_sets import find_published, is_published
from triptych.data.tables import as_sentence
from triptych.data.text_reader import read_splits, test_sets
from triptych.errors import UserError, one_line
from triptych.ranges import Count, Factor

if TYPE_CHECKING:
    import datasets

_ROWS = 10_000
"""Rows that are read at a time."""


class HuggingFaceCorpus(Corpus):
    """A data set of the Hub, or of a folder in its format, from one language to another.

    Args:
        name: name of the corpus.
        path: of the data set: its name on the Hub, or a folder.
        subset: name of a configuration of the data set; None if it has one alone.
        revision: commit, branch or tag on the Hub; None for the newest.
        src: source language; ``tgt`` is the target language.
        columns: of the source and the target; ``translation.en`` is the field ``en`` of the column ``translation``.
        train: split of the data set, such as ``train`` or ``train[:10%]``.
        validation: likewise, or a published test set (``published_sets.py``).
        test: likewise, a list.
        cache: root of the cache; downloads are kept in its folder ``huggingface``, checked text in its folder ``text``.
        clean: which training pairs are dropped; None for those with an empty side alone.
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
        validation: str,
        test: Sequence[str],
        cache: str,
        clean: Cleaning | None,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
    ) -> None:
        directions = Directions.of(None, src, tgt, None)
        root = Path(cache).expanduser()
        data_set = HubDataSet(path, subset, revision, root / "huggingface", tuple(columns))
        sources = {TRAIN: train, VALIDATION: validation, **test_sets(test)}
        finds = {split: partial(data_set.find, str(source)) for split, source in sources.items()}
        splits, sections, report = read_splits(finds, directions, root, cleaning=clean or NO_CLEANING)
        super().__init__(name, directions.languages, splits, report, max_length, max_length_ratio, sections, join)


@dataclass(frozen=True)
class HubDataSet:
    """A data set of the Hub; attributes as the arguments of ``HuggingFaceCorpus``, but for ``cache``.

    Attributes:
        cache: folder of the downloads.
    """

    path: str
    subset: str | None
    revision: str | None
    cache: Path
    columns: tuple[str, ...]

    def find(self, split: str, direction: Direction) -> PairSource:
        """Return the pairs of a split, or of a published test set.

        Raises:
            UserError: as ``HuggingFaceCorpus``.
        """
        if is_published(split):
            return find_published(split, direction)
        rows = self._load(split).flatten()
        for column in self.columns:
            if column not in rows.column_names or len(self.columns) != 2:
                raise UserError(
                    f"data.columns=[{','.join(self.columns)}] must be two of the columns of {self.path}: "
                    f"{', '.join(rows.column_names)}."
                )
        return _Rows(f"{self.path}, {split}", rows.select_columns([*dict.fromkeys(self.columns)]), self.columns)

    def _load(self, split: str) -> datasets.Dataset:
        try:
            import datasets
        except ImportError as error:
            raise UserError(
                f"data.path={self.path} needs the package datasets; pip install 'triptych[huggingface]'."
            ) from error
        if not sys.stderr.isatty():
            datasets.disable_progress_bars()
        folder = Path(self.path).expanduser()
        path = str(folder) if folder.is_dir() else self.path
        try:
            loaded: Any = datasets.load_dataset(
                path, self.subset, split=split, revision=self.revision, cache_dir=str(self.cache)
            )
        except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
            raise UserError(
                f"data: split {split} of {self.path} cannot be loaded ({one_line(error)}); check data.path, "
                "data.subset and the names of the splits."
            ) from error
        return loaded


@dataclass(frozen=True)
class _Rows(PairSource):
    title: str
    rows: datasets.Dataset
    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.title

    @property
    def identity(self) -> Sequence[Any]:
        files = [file_identity(Path(file["filename"])) for file in self.rows.cache_files]
        return ["rows", self.title, len(self.rows), [*self.columns], *files]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        for table in self.rows.with_format("arrow").iter(_ROWS):
            for src, tgt in zip(*(table[column].to_pylist() for column in self.columns), strict=True):
                yield as_sentence(src, self.title), as_sentence(tgt, self.title)
