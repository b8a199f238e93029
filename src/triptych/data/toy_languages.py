"""The toy corpus in four languages, to measure translation between two that no training pair has brought together.

English and French are those of ``data=toy``, ``sov`` and ``ovs`` are invented (see ``toy_invented.py``). Every pair of
languages is trained on sentences of its own, in either direction, so nothing but the model brings two languages
together. Validation and test have the same sentences in all languages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.data.corpus import Corpus
from triptych.data.directions import Directions, Route
from triptych.data.pairs import TRAIN, VALIDATION, Pairs, Section
from triptych.data.toy import SHORT, SentenceGenerator
from triptych.data.toy_grammar import render, write_english
from triptych.data.toy_invented import OVS, SOV
from triptych.data.toy_structure import Sentence
from triptych.errors import UserError, require_at_least
from triptych.ranges import Count, Factor, Seed, Sentences

LANGUAGES: dict[str, Callable[[Sentence], str]] = {
    "en": write_english,
    "fr": lambda sentence: render(sentence)[1],
    "sov": SOV.write,
    "ovs": OVS.write,
}
"""How a sentence is written in each language."""


class ToyLanguages(Corpus):
    """The toy corpus between any two of its four languages, or with several directions mixed.

    Args:
        seed: seed of the sentences.
        src: source language of the test set; ``tgt`` likewise.
        directions: directions of training and validation, see ``Directions.of``; ``pivot`` likewise.
        train: number of sentence pairs of each direction; ``validation`` likewise.
        test: number of sentence pairs.
        max_length: see ``Corpus``; ``max_length_ratio`` likewise.

    Raises:
        UserError: there is no such language, a split would be empty, or as ``Directions``.
    """

    def __init__(
        self,
        *,
        seed: Seed,
        src: str,
        tgt: str,
        directions: Sequence[str] | None,
        pivot: str | None,
        train: Sentences,
        validation: Sentences,
        test: Sentences,
        max_length: Count | None,
        max_length_ratio: Factor | None,
    ) -> None:
        chosen = Directions.of(directions, src, tgt, pivot)
        for language in chosen.languages:
            if language not in LANGUAGES:
                raise UserError(f"data: the toy corpus has no language '{language}'; choose of {', '.join(LANGUAGES)}.")
        require_at_least(1, "data", train=train, validation=validation, test=test)
        tested = _draw(f"{seed} test", test, known=[])
        validated = _draw(f"{seed} validation", validation, known=tested)
        trained = {
            pair: _draw(f"{seed} train {'-'.join(sorted(pair))}", train, known=[*tested, *validated])
            for pair in dict.fromkeys(map(frozenset, chosen.trained))
        }
        drawn: dict[str, list[tuple[Route, list[dict[str, str]]]]] = {
            TRAIN: [(direction, trained[frozenset(direction)]) for direction in chosen.trained],
            VALIDATION: [(direction, validated) for direction in chosen.trained],
            **{f"test{suffix}": [(route, tested)] for suffix, route in chosen.routes.items()},
        }
        splits = {split: _pairs(parts) for split, parts in drawn.items()}
        sections = {split: [Section(route, len(lines)) for route, lines in parts] for split, parts in drawn.items()}
        report = [f"{split}: {len(pairs.src):,} pairs made" for split, pairs in splits.items()]
        super().__init__("toy_languages", chosen.languages, splits, report, max_length, max_length_ratio, sections)


def _draw(seed: str, size: int, *, known: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Draw sentences, each as a line by language, that differ from each other and from those that are known."""
    generator = SentenceGenerator(seed)
    seen = {lines["en"] for lines in known}
    drawn: list[dict[str, str]] = []
    while len(drawn) < size:
        sentence = generator.sentence((1, 2, 3))
        lines = {language: write(sentence) for language, write in LANGUAGES.items()}
        if lines["en"] not in seen and all(len(line.split()) in SHORT for line in lines.values()):
            seen.add(lines["en"])
            drawn.append(lines)
    return drawn


def _pairs(parts: Sequence[tuple[Route, Sequence[dict[str, str]]]]) -> Pairs:
    """Return the lines of both ends of each route, one route after the other."""
    sides = ([lines[route[end]] for route, drawn in parts for lines in drawn] for end in (0, -1))
    return Pairs(*sides)
