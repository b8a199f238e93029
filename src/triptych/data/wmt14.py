"""WMT 2014 (Bojar et al. 2014, https://aclanthology.org/W14-3302), as the Hugging Face Hub has it, or own files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from triptych.data.cleaning import NO_CLEANING, Cleaning
from triptych.data.corpus import Corpus
from triptych.data.directions import Direction, Directions
from triptych.data.huggingface import HubDataSet
from triptych.data.pairs import TRAIN, VALIDATION
from triptych.data.text_reader import Find, find_source, read_splits, test_sets
from triptych.errors import UserError
from triptych.ranges import Count, Factor

WITH_ENGLISH = ("cs", "de", "fr", "hi", "ru")
"""Languages that WMT 2014 paired with English."""
NAMES_ON_THE_HUB = {"val": "validation"}
"""Splits whose names on the Hub are not those of files."""


class Wmt14(Corpus):
    """WMT 2014, from or into English; or text files of one sentence per line, as ``TextCorpus`` reads them.

    Args:
        src: source language; ``tgt`` is the target language.
        dir: folder with ``train.en``, ``val.en`` and so on; None for the Hub. The corpus is called text if it is given.
        path: of the data set: its name on the Hub, or a folder in its format.
        validation: ``val`` for newstest2013, or a published test set (``published_sets.py``).
        test: list of ``test`` for newstest2014, and of published test sets.
        cache: root of the cache; downloads are kept in its folder ``huggingface``, checked text in its folder ``text``.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.
        clean: which training pairs are dropped; None for those with an empty side alone.

    Raises:
        UserError: WMT 2014 lacks the languages, or as ``HuggingFaceCorpus`` or ``TextCorpus``.
    """

    def __init__(
        self,
        *,
        src: str,
        tgt: str,
        dir: str | None,
        path: str,
        validation: str,
        test: Sequence[str],
        cache: str,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
        clean: Cleaning | None,
    ) -> None:
        directions = Directions.of(None, src, tgt, None)
        root = Path(cache).expanduser()
        sources = {TRAIN: "train", VALIDATION: validation, **test_sets(test)}
        finds: dict[str, Find]
        if dir is None:
            columns = f"translation.{src}", f"translation.{tgt}"
            data_set = HubDataSet(path, _subset(directions.tested), None, root / "huggingface", columns)
            names = {split: NAMES_ON_THE_HUB.get(str(source), str(source)) for split, source in sources.items()}
            finds = {split: partial(data_set.find, name) for split, name in names.items()}
        else:
            folder = Path(dir).expanduser()
            finds = {split: partial(find_source, folder, source) for split, source in sources.items()}
        splits, sections, report = read_splits(finds, directions, root, cleaning=clean or NO_CLEANING)
        name = "wmt14" if dir is None else "text"
        super().__init__(name, directions.languages, splits, report, max_length, max_length_ratio, sections, join)


def _subset(direction: Direction) -> str:
    """Return the name of the configuration with two languages.

    Raises:
        UserError: there is none.
    """
    others = [language for language in direction if language != "en"]
    if len(others) != 1 or others[0] not in WITH_ENGLISH:
        raise UserError(
            f"data.src={direction[0]} data.tgt={direction[1]} is not in WMT 2014, which has en with one of "
            f"{', '.join(WITH_ENGLISH)}."
        )
    return f"{others[0]}-en"
