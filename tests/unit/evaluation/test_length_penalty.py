"""The choice of a length penalty on validation sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from made_runs import corpus_scores

from triptych.decoding.search import Search
from triptych.decoding.translator import Translation
from triptych.errors import UserError
from triptych.evaluation.length_penalty import PENALTIES, choose_length_penalty, validation_sample
from triptych.evaluation.metrics import Bleu

REFERENCES = [f"the {noun} sleeps in the {place} near the river" for noun in "abcdef" for place in "xyz"]


def tuned_search(beam_size: int = 4) -> Search:
    return Search(
        beam_size=beam_size,
        length_penalty="tuned",
        max_length_ratio=1.0,
        max_length_extra=5,
        min_length=0,
        stop="exact",
        n_best=1,
    )


def corpus(references: list[str] = REFERENCES, *sections: tuple[tuple[str, ...], int]) -> Any:
    sections = sections or ((("fr", "en"), len(references)),)
    return SimpleNamespace(splits={"validation": (references, references)}, sections={"validation": list(sections)})


class Shortens:
    """A translator that copies the source, without its last words unless the length penalty is the right one."""

    def __init__(self, right: float) -> None:
        self.right = right
        self.tried: list[list[float]] = []

    def best_by_penalty(self, lines: Iterable[str], penalties: Sequence[float], *given: Any) -> list[list[Translation]]:
        self.tried.append(list(penalties))
        words = [line.split() for line in lines]
        kept = [9 - round(abs(penalty - self.right) * 2.5) for penalty in penalties]
        return [[Translation(" ".join(line[:number]), False) for line in words] for number in kept]


@pytest.mark.parametrize("right", PENALTIES)
def test_the_best_on_validation_is_chosen(right: float) -> None:
    translator: Any = Shortens(right)
    chosen = choose_length_penalty(translator, corpus(), tuned_search(), 100, {})
    assert (chosen.search.length_penalty, chosen.search.is_tuned) == (right, False)
    assert translator.tried == [list(PENALTIES)], "in one search"
    assert list(chosen.bleu) == list(PENALTIES)
    assert chosen.bleu[right] == pytest.approx(100)
    short = [" ".join(line.split()[:8]) for line in REFERENCES]
    assert corpus_scores(short, REFERENCES)["bleu"] in chosen.bleu.values()


def test_a_given_penalty_is_kept_and_nothing_translated() -> None:
    search = tuned_search().with_length_penalty(1.0)
    chosen = choose_length_penalty(SimpleNamespace(), corpus(), search, 100, {})  # type: ignore[arg-type]
    assert (chosen.search, chosen.bleu) == (search, {})


def test_of_equal_scores_the_smallest_penalty_wins() -> None:
    translator: Any = SimpleNamespace(
        best_by_penalty=lambda lines, penalties, *given: [[Translation(line, False) for line in REFERENCES]] * 6
    )
    assert choose_length_penalty(translator, corpus(), tuned_search(), 100, {}).search.length_penalty == 0.0


def test_the_choice_is_by_bleu_as_the_metric_is_set() -> None:
    """With 13a, a line of Chinese is one word, and all penalties but the right one have no matches."""
    chinese = ["那只红色的猫睡在房子里面"] * 2
    translator: Any = SimpleNamespace(
        best_by_penalty=lambda lines, penalties, *given: [
            [Translation(line[: 12 - missing], False) for line in chinese] for missing in (7, 5, 3, 1, 4, 6)
        ]
    )
    text = corpus(chinese, (("en", "zh"), 2))
    metrics = {"bleu": Bleu(tokenize="language", lowercase=False)}
    assert choose_length_penalty(translator, text, tuned_search(), 100, metrics).search.length_penalty == 1.2
    assert choose_length_penalty(translator, text, tuned_search(), 100, {}).search.length_penalty == 0.0


def test_greedy_search_is_not_repeated() -> None:
    translator: Any = Shortens(2.0)
    chosen = choose_length_penalty(translator, corpus(), tuned_search(beam_size=1), 100, {})
    assert translator.tried == [[0.0]]
    assert list(chosen.bleu) == [0.0]


def test_the_sample_keeps_every_direction() -> None:
    lines = [str(i) for i in range(1014)]
    sources, references, sections = validation_sample(corpus(lines, (("fr", "en"), 900), (("en", "de"), 114)))
    assert len(sources) == len(references) == 500 == len({*sources})
    assert sources == references
    assert [route for route, _ in sections] == [("fr", "en"), ("en", "de")]
    assert [size for _, size in sections] == pytest.approx([500 * 900 / 1014, 500 * 114 / 1014], abs=1)
    assert all(int(line) < 900 for line in sources[: sections[0].size])
    assert validation_sample(corpus(lines[:7]))[0] == lines[:7]


def test_a_search_that_is_not_tuned_yet_does_not_run() -> None:
    with pytest.raises(UserError, match=r"search\.length_penalty=tuned has no number here, .*give a number"):
        tuned_search()(None, None, None)  # type: ignore[arg-type]
