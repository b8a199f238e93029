"""Translating, scoring and saving a split."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_runs import corpus_scores

from triptych.decoding.search import Search
from triptych.decoding.translator import Translation
from triptych.errors import UserError
from triptych.evaluation.length_penalty import ChosenSearch
from triptych.evaluation.metrics import Metric, MetricScore, standard_metrics
from triptych.evaluation.splits import Evaluation, _without_unknown, check_metrics, evaluate_split, save_evaluation
from triptych.runs.folder import RunFolder

SEARCH = Search(
    beam_size=2, length_penalty=1.6, max_length_ratio=1.0, max_length_extra=5, min_length=0, stop="exact", n_best=1
)
SOURCES = ["un chat rouge dort", "un chien mange", "le chat"]
REFERENCES = ["a red cat sleeps", "a dog eats here", "the cat"]
CORPUS: Any = SimpleNamespace(
    splits={"test": (SOURCES, REFERENCES), "direct": (SOURCES, REFERENCES)},
    sections={"test": [(("fr", "en"), 2), (("fr", "de", "en"), 1)], "direct": [(("fr", "en"), 3)]},
)


class Echo:
    """A translator that appends each direction to the line, cut for a limit into German; a character costs half a nat.

    With a length penalty up to 1, it leaves out the direction.
    """

    tokenizer = SimpleNamespace(
        encode=lambda lines, side: [list(map(ord, line)) for line in lines],
        pieces=lambda ids, side: [chr(i) for i in ids],
    )

    def best_by_penalty(
        self,
        lines: Iterable[str],
        penalties: Sequence[float],
        search: Search,
        search_tokens: int,
        direction: tuple[str, str],
    ) -> list[list[Translation]]:
        lines, is_cut = list(lines), direction[1] == "de"
        return [
            [Translation(f"{line} {'-'.join(direction)}" if penalty > 1 else line, is_cut) for line in lines]
            for penalty in penalties
        ]

    def best(
        self, lines: list[str], search: Search, search_tokens: int, direction: tuple[str, str]
    ) -> list[Translation]:
        (found,) = self.best_by_penalty(lines, [search.chosen_penalty], search, search_tokens, direction)
        return found

    def score_ids(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]], tokens: int, direction: tuple[str, str]
    ) -> list[float]:
        assert direction == ("fr", "en")
        return [-0.5 * (len(ids) + 1) for ids in targets]


def evaluated(split: str = "test", tried: dict[float, float] | None = None, **metrics: Metric) -> Evaluation:
    translator: Any = Echo()
    chosen = ChosenSearch(SEARCH, tried or {})
    settings: Any = {"chosen": chosen, "search_tokens": 100, "length_edges": [3], "checkpoint": "best"}
    return evaluate_split(translator, CORPUS, split, metrics=metrics, **settings)


def test_scores_have_the_keys_and_values_of_a_result() -> None:
    found = evaluated(**standard_metrics())
    assert found.translations == ["un chat rouge dort fr-en", "un chien mange fr-en", "le chat fr-de de-en"]
    assert (found.sources, found.references) == (SOURCES, REFERENCES)
    assert list(found.scores) == [
        *("bleu", "bleu_signature", "bleu_details", "chrf", "chrf_signature", "sentence_bleu_pieces"),
        *("repetition_rate", "cut_share", "empty", "nats_per_sentence", "nats_per_word"),
        *("sentences", "text", "seconds", "checkpoint", "beam_size", "length_penalty", "max_length_ratio"),
        *("max_length_extra", "stop", "by_length"),
    ]
    assert {**found.scores, **corpus_scores(found.translations, REFERENCES)} == found.scores
    assert [row["sentences"] for row in found.scores["by_length"]] == [1, 2]
    assert (found.scores["sentences"], found.scores["checkpoint"], found.scores["beam_size"]) == (3, "best", 2)
    assert found.scores["cut_share"] == 1 / 3, "the one that was cut on its way through German"
    assert (found.scores["nats_per_sentence"], found.nats) == (None, None), "one section goes through a pivot"


def test_an_unknown_piece_of_a_translation_matches_no_unknown_piece_of_its_reference() -> None:
    assert _without_unknown([["▁a", "<unk>"], []]) == [["▁a", "⁇"], []]


def test_references_are_scored_where_no_pivot_stands_between() -> None:
    found = evaluated("direct", **standard_metrics())
    assert found.nats == [0.5 * (len(line) + 1) for line in REFERENCES]
    assert found.scores["nats_per_sentence"] == pytest.approx(sum(found.nats) / 3)
    assert found.scores["nats_per_word"] == pytest.approx(sum(found.nats) / 10)


def test_a_tuned_penalty_is_stored_with_what_was_tried_and_scores_at_the_common_one() -> None:
    found = evaluated("direct", {0.0: 12.5, 0.4: 13.0, 1.6: 13.5}, **standard_metrics())
    assert found.scores["length_penalty_tuned"] == {"0": 12.5, "0.4": 13.0, "1.6": 13.5}
    assert found.scores["length_penalty"] == 1.6
    assert found.translations[0].endswith(" fr-en")
    alike = corpus_scores(SOURCES, REFERENCES)
    common = {"length_penalty": 0.6} | {key: alike[key] for key in ("bleu", "bleu_details", "chrf")}
    assert found.scores["at_common_penalty"] == common


def test_beyond_a_pivot_each_penalty_goes_on_from_its_own_translations() -> None:
    found = evaluated("test", {0.0: 12.5, 1.6: 13.5}, **standard_metrics())
    assert found.translations[2] == "le chat fr-de de-en"
    assert found.scores["at_common_penalty"]["bleu"] == corpus_scores(SOURCES, REFERENCES)["bleu"]


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
    for names in (("seconds",), ("nats_per_word",), ("bleu", "bleu_signature"), ("bleu", "bleu_details")):
        with pytest.raises(UserError, match=rf"metric\.{names[-1]}: .* rename the metric"):
            check_metrics(dict.fromkeys(names, bleu))


def test_what_is_saved(tmp_path: Path) -> None:
    save_evaluation(evaluated("direct", **standard_metrics()), RunFolder(tmp_path), "direct")
    assert (tmp_path / "translations" / "direct.nats.txt").read_text() == "8.5000\n8.0000\n4.0000\n"
    found = evaluated(**standard_metrics())
    save_evaluation(found, RunFolder(tmp_path), "test")
    assert not (tmp_path / "translations" / "test.nats.txt").exists()
    for name, lines in (("test", found.translations), ("test.ref", REFERENCES), ("test.src", SOURCES)):
        assert (tmp_path / "translations" / f"{name}.txt").read_text() == "".join(f"{line}\n" for line in lines)
    assert json.loads((tmp_path / "translations" / "test.json").read_text()) == found.scores
