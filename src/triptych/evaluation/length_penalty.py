"""``search.length_penalty=tuned``: choose the length penalty of a trained model on its validation set."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from triptych.data.corpus import VALIDATION, Corpus
from triptych.data.pairs import Section, target_languages
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.evaluation.metrics import Metric, deciding_bleu
from triptych.evaluation.translation import translate_sections

logger = logging.getLogger(__name__)

PENALTIES = (0.0, 0.4, 0.8, 1.2, 1.6, 2.0)
"""Length penalties that are tried."""
SEARCHES = 2.0
"""How many times as long as a search with the common penalty the one with all penalties takes: 2.0, measured with two
Transformers of 10 and 58 BLEU."""
COMMON_PENALTY = 0.6
"""Length penalty of Vaswani et al. 2017, for scores that are decoded alike whatever was tuned."""
MOST_SENTENCES = 500
"""Most validation sentences that each length penalty is tried on."""


@dataclass(frozen=True)
class ChosenSearch:
    """A search that can run, and how its length penalty was chosen.

    Attributes:
        search: with a number for its length penalty.
        bleu: BLEU of the validation sentences by length penalty; empty if the user gave the number.
    """

    search: Search
    bleu: dict[float, float]

    @property
    def penalties(self) -> list[float]:
        """The length penalty and, if it was tuned, the one that all runs have in common."""
        return [self.search.chosen_penalty, *([COMMON_PENALTY] if self.bleu else [])]

    def as_stored(self) -> dict[str, Any]:
        """Return what ``result.json`` says of a length penalty that was tuned; nothing if the user gave the number."""
        tried = {f"{penalty:g}": bleu for penalty, bleu in self.bleu.items()}
        return {"length_penalty": self.search.length_penalty, "length_penalty_tuned": tried} if tried else {}


def choose_length_penalty(
    translator: Translator, corpus: Corpus, search: Search, search_tokens: int, metrics: Mapping[str, Metric]
) -> ChosenSearch:
    """Choose the length penalty with the best BLEU on validation sentences, if it is to be tuned.

    One search finds the translations with every penalty. Of equal BLEUs, the smallest penalty wins. With a beam of one,
    which no penalty changes, the first is taken.

    Args:
        translator: the trained model.
        corpus: its validation set is used, or ``MOST_SENTENCES`` of it at equal distances, in all its directions.
        search: how to translate; returned as it is unless its length penalty is ``tuned``.
        search_tokens: maximum number of source tokens a batch, including padding.
        metrics: by the names of their scores; BLEU has the settings that it has among them.
    """
    if not search.is_tuned:
        return ChosenSearch(search, {})
    sources, references, sections = validation_sample(corpus)
    penalties = PENALTIES if search.beam_size > 1 else PENALTIES[:1]
    logger.info("choosing the length penalty by translations of %d validation sentences …", len(sources))
    found = translate_sections(
        translator, sources, sections, penalties=penalties, search=search, search_tokens=search_tokens
    )
    deciding = deciding_bleu(metrics, target_languages(sections))
    bleu = {
        penalty: deciding.score([one.text for one in translations], references, sources).score
        for penalty, translations in zip(penalties, found, strict=True)
    }
    best = max(bleu, key=lambda penalty: bleu[penalty])
    listed = ", ".join(f"{score:.2f} at {penalty:g}" for penalty, score in bleu.items())
    logger.info("length penalty %g, by BLEU of %d validation sentences: %s", best, len(sources), listed)
    return ChosenSearch(search.with_length_penalty(best), bleu)


def validation_sample(corpus: Corpus) -> tuple[list[str], list[str], list[Section]]:
    """Return sources, references and sections of at most ``MOST_SENTENCES`` validation pairs, at equal distances."""
    sources, references = corpus.splits[VALIDATION]
    number = min(MOST_SENTENCES, len(sources))
    rows = np.linspace(0, len(sources), number, endpoint=False).astype(int).tolist()
    routes = [route for route, size in corpus.sections[VALIDATION] for _ in range(size)]
    sections = [Section(route, len(list(same))) for route, same in groupby(routes[row] for row in rows)]
    return [sources[row] for row in rows], [references[row] for row in rows], sections
