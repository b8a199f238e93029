"""Likelihood of references, over a translator whose every token costs half a nat."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from triptych.evaluation.likelihood import sentence_nats, split_loss
from triptych.evaluation.mean_nats import mean_nats

SOURCES = ["un chat rouge dort", "un chien mange", "le chat"]
REFERENCES = ["a red cat sleeps", "a dog eats here", ""]


class HalfANat:
    """Pieces are characters, and each costs half a nat, as ``</s>`` does."""

    tokenizer = SimpleNamespace(encode=lambda lines, side: [list(map(ord, line)) for line in lines])

    def __init__(self) -> None:
        self.directions: list[tuple[str, str]] = []

    def score_ids(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]], tokens: int, direction: tuple[str, str]
    ) -> list[float]:
        self.directions.append(direction)
        return [-0.5 * (len(ids) + 1) for ids in targets]


def corpus(*routes: tuple[str, ...]) -> Any:
    sections = [(route, size) for route, size in zip(routes, (2, 1) if len(routes) > 1 else (3,), strict=True)]
    return SimpleNamespace(splits={"test": (SOURCES, REFERENCES)}, sections={"test": sections})


def nats_of(translator: Any, text: Any) -> list[float] | None:
    return sentence_nats(translator, text.splits["test"], text.sections["test"], 100)


def test_nats_of_sentences_and_words() -> None:
    translator: Any = HalfANat()
    nats = nats_of(translator, corpus(("fr", "en"), ("de", "en")))
    assert nats == [8.5, 8.0, 0.5]
    assert translator.directions == [("fr", "en"), ("de", "en")]
    # Eight words; the </s> of the empty reference counts above the line.
    assert mean_nats(nats, REFERENCES) == {"nats_per_sentence": 17 / 3, "nats_per_word": 17 / 8}


def test_a_translation_through_a_pivot_has_no_likelihood() -> None:
    translator: Any = HalfANat()
    assert nats_of(translator, corpus(("fr", "en"), ("fr", "de", "en"))) is None
    assert mean_nats(None, REFERENCES) == {"nats_per_sentence": None, "nats_per_word": None}
    assert not translator.directions


def test_stored_values_are_rounded_and_the_means_are_theirs() -> None:
    translator: Any = HalfANat()
    translator.score_ids = lambda *given: [-1.00004, -2.00006, -3.0]
    nats = nats_of(translator, corpus(("fr", "en")))
    assert nats == [1.0, 2.0001, 3.0]
    assert mean_nats(nats, REFERENCES)["nats_per_sentence"] == pytest.approx(6.0001 / 3, abs=1e-12)


def test_loss_is_the_mean_over_target_tokens() -> None:
    translator: Any = HalfANat()
    expected = {"loss": 0.5, "perplexity": pytest.approx(1.6487, abs=1e-4)}
    assert split_loss(translator, corpus(("fr", "de", "en")), "test", 100) == expected
    assert translator.directions == [("fr", "en")]
