"""Translating, scoring and saving a split."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from triptych.decoding.search import Search
from triptych.errors import UserError
from triptych.evaluation.metrics import Metric, MetricScore, corpus_scores, standard_metrics
from triptych.evaluation.splits import Evaluation, check_metrics, evaluate_split, save_evaluation, split_loss
from triptych.runs.folder import RunFolder

SEARCH = Search(beam_size=2, length_penalty=0.6, max_length_ratio=1.0, max_length_extra=5, n_best=1)
SOURCES = ["un chat rouge dort", "un chien mange", "le chat"]
REFERENCES = ["a red cat sleeps", "a dog eats here", "the cat"]
CORPUS: Any = SimpleNamespace(
    splits={"test": (SOURCES, REFERENCES)}, sections={"test": [(("fr", "en"), 2), (("fr", "de", "en"), 1)]}
)


class Echo:
    """A translator that appends each direction to the line; pieces are characters, and each costs half a nat."""

    tokenizer = SimpleNamespace(
        encode=lambda lines, side: [list(map(ord, line)) for line in lines],
        pieces=lambda ids, side: [chr(i) for i in ids],
    )

    def translate(self, lines: list[str], search: Search, search_tokens: int, direction: tuple[str, str]) -> list[str]:
        return [f"{line} {'-'.join(direction)}" for line in lines]

    def score_ids(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]], tokens: int, direction: tuple[str, str]
    ) -> list[float]:
        assert direction == ("fr", "en")
        return [-0.5 * (len(ids) + 1) for ids in targets]


def evaluated(**metrics: Metric) -> Evaluation:
    translator: Any = Echo()
    settings: Any = {"search": SEARCH, "search_tokens": 100, "length_edges": [3], "checkpoint": "best"}
    return evaluate_split(translator, CORPUS, "test", metrics=metrics, **settings)


def test_scores_have_the_keys_and_values_of_a_result() -> None:
    found = evaluated(**standard_metrics())
    assert found.translations == ["un chat rouge dort fr-en", "un chien mange fr-en", "le chat fr-de de-en"]
    assert (found.sources, found.references) == (SOURCES, REFERENCES)
    assert list(found.scores) == [
        *("bleu", "bleu_signature", "chrf", "chrf_signature", "sentence_bleu_pieces", "sentences", "text", "seconds"),
        *("checkpoint", "beam_size", "length_penalty", "max_length_ratio", "max_length_extra", "by_length"),
    ]
    assert {**found.scores, **corpus_scores(found.translations, REFERENCES)} == found.scores
    assert [row["sentences"] for row in found.scores["by_length"]] == [1, 2]
    assert (found.scores["sentences"], found.scores["checkpoint"], found.scores["beam_size"]) == (3, "best", 2)


def test_a_metric_of_ones_own_sees_the_sources() -> None:
    class Copied:
        name = "copied"

        def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
            pairs = zip(hypotheses, sources, strict=True)
            return MetricScore(sum(ours.startswith(source) for ours, source in pairs), "v1")

    found = evaluated(copied=Copied())
    assert (found.scores["copied"], found.scores["copied_signature"]) == (3, "v1")
    assert "bleu" not in found.scores


def test_metrics_that_cannot_be_are_refused() -> None:
    nameless: Any = SimpleNamespace(score=lambda *lines: None)
    with pytest.raises(UserError, match=r"metric\.mine: SimpleNamespace is not a metric; give it a name"):
        check_metrics({"mine": nameless})
    bleu = standard_metrics()["bleu"]
    for names in (("seconds",), ("bleu", "bleu_signature")):
        with pytest.raises(UserError, match=rf"metric\.{names[-1]}: .* rename the metric"):
            check_metrics(dict.fromkeys(names, bleu))


def test_what_is_saved(tmp_path: Path) -> None:
    found = evaluated(**standard_metrics())
    save_evaluation(found, RunFolder(tmp_path), "test")
    for name, lines in (("test", found.translations), ("test.ref", REFERENCES), ("test.src", SOURCES)):
        assert (tmp_path / "translations" / f"{name}.txt").read_text() == "".join(f"{line}\n" for line in lines)
    assert json.loads((tmp_path / "translations" / "test.json").read_text()) == found.scores


def test_loss_is_the_mean_over_target_tokens() -> None:
    translator: Any = Echo()
    assert split_loss(translator, CORPUS, "test", 100) == {"loss": 0.5, "perplexity": pytest.approx(1.6487, abs=1e-4)}
