"""WMT 2014 (Bojar et al. 2014, https://aclanthology.org/W14-3302), as the Hugging Face Hub has it, or own files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triptych.data.cleaning import Cleaning
from triptych.data.corpus import Corpus, TextCorpus
from triptych.data.directions import Direction, Directions
from triptych.data.huggingface import HubDataSet, read_hub
from triptych.errors import UserError
from triptych.ranges import Count, Factor, HeldOut

WITH_ENGLISH = ("cs", "de", "fr", "hi", "ru")
"""Languages that WMT 2014 paired with English."""
PATH = "wmt/wmt14"
"""Name of the data set on the Hub."""
NAMES_ON_THE_HUB = {"val": "validation"}
"""Splits whose names on the Hub are not those of files."""


class Wmt14(Corpus):
    """WMT 2014, from or into English; or text files of one sentence per line, as ``TextCorpus`` reads them.

    Args:
        src: source language; ``tgt`` is the target language.
        dir: folder with ``train.en``, ``val.en`` and so on, and the corpus is called text; None for the Hub.
        path: name of the data set on the Hub, or a folder in its format; it is not read if ``dir`` is given.
        validation: ``val`` for the validation set of the year, or a published one (``published_sets.py``), or a share
            of the training pairs.
        test: list of ``test`` for the test set of the year, and of published ones; or a share of the training pairs.
        cache: root of the cache, see ``HuggingFaceCorpus``.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.
        clean: which training pairs are dropped, beside those with an empty side.

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
        validation: str | HeldOut,
        test: Sequence[str] | HeldOut,
        cache: str,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
        clean: Cleaning,
    ) -> None:
        if dir is not None and path != PATH:
            raise UserError(f"data.dir={dir} and data.path={path} are two places of the text; give one.")
        if dir is not None:
            own = TextCorpus(
                name="text",
                src=src,
                tgt=tgt,
                dir=dir,
                train="train",
                validation=validation,
                test=test,
                cache=cache,
                max_length=None,
                max_length_ratio=None,
                directions=None,
                pivot=None,
                clean=clean,
            )
            name, splits, sections, report = own.name, own.splits, own.sections, own.report
        else:
            name, directions = "wmt14", Directions.of(None, src, tgt, None)
            columns = f"translation.{src}", f"translation.{tgt}"
            data_set = HubDataSet(path, _subset(directions.tested), None, Path(cache).expanduser(), columns)
            validation = NAMES_ON_THE_HUB.get(str(validation), validation)
            splits, sections, report = read_hub(data_set, directions, "train", validation, test, clean)
        super().__init__(name, (src, tgt), splits, report, max_length, max_length_ratio, sections, join)


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
