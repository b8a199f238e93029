from __future__ import annotations

import math

import pytest
import sacrebleu
from made_runs import corpus_scores

from triptych.evaluation.bleu_variants import bleu_by_length, sentence_bleu_pieces
from triptych.evaluation.metrics import Bleu, standard_metrics

REFERENCES = [
    "Les raisons d'un tel optimisme, chez les uns, et pessimisme, chez les autres ?",
    "Le chat est assis sur le tapis.",
    "Il pleut.",
]
BLEU = standard_metrics()["bleu"]
SOURCES = ["w" + " w" * (words - 1) for words in (10, 9, 2)]
HYPOTHESES = [
    "Les raisons de cet optimisme, chez les uns, et du pessimisme, chez les autres ?",
    "Le chat est sur le tapis.",
    "Il neige.",
]


def test_pieces_by_hand() -> None:
    # Matches 3 of 4, 1 of 3, 0 of 2, 0 of 1, each with one added above and below; five pieces wanted, four given.
    precisions = 4 / 5 * 2 / 4 * 1 / 3 * 1 / 2
    expected = 100 * math.exp(1 - 5 / 4) * precisions**0.25
    hypothesis, reference = ["▁a", "▁b", "x", "▁c"], ["▁a", "▁b", "▁c", "▁d", "▁e"]
    assert sentence_bleu_pieces([hypothesis], [reference]) == pytest.approx(expected)


def test_pieces_are_averaged_over_sentences_and_an_empty_one_scores_0() -> None:
    sentence = ["▁a", "▁b", "▁c", "▁d"]
    assert sentence_bleu_pieces([sentence], [sentence]) == pytest.approx(100)
    assert sentence_bleu_pieces([sentence, []], [sentence, sentence]) == pytest.approx(50)
    assert sentence_bleu_pieces([sentence, sentence], [sentence, []]) == pytest.approx(50)


def test_pieces_longer_than_the_reference_suffer_no_brevity_penalty() -> None:
    # One match of two pieces, none of the one pair; orders 3 and 4 do not occur and count as 1 of 1.
    assert sentence_bleu_pieces([["▁a", "▁b"]], [["▁a"]]) == pytest.approx(100 * (2 / 3 * 1 / 2) ** 0.25)


def test_bleu_by_length_puts_each_sentence_in_one_range() -> None:
    buckets = bleu_by_length(BLEU, HYPOTHESES, REFERENCES, SOURCES, edges=[3, 10, 20])
    assert [(bucket["label"], bucket["low"], bucket["high"], bucket["sentences"]) for bucket in buckets] == [
        ("0-2", 0, 3, 1),
        ("3-9", 3, 10, 1),
        ("10-19", 10, 20, 1),
        ("20+", 20, None, 0),
    ]
    assert buckets[3]["bleu"] is None
    for bucket, row in zip(buckets, (2, 1, 0), strict=False):
        assert bucket["bleu"] == corpus_scores(HYPOTHESES[row : row + 1], REFERENCES[row : row + 1])["bleu"]


def test_bleu_by_length_without_edges_is_corpus_bleu() -> None:
    (bucket,) = bleu_by_length(BLEU, HYPOTHESES, REFERENCES, SOURCES, edges=[])
    assert bucket["bleu"] == corpus_scores(HYPOTHESES, REFERENCES)["bleu"]


@pytest.mark.parametrize("edges", [[0, 5], [5, 5], [9, 4], [-1]])
def test_edges_must_ascend(edges: list[int]) -> None:
    with pytest.raises(ValueError, match="ascend"):
        bleu_by_length(BLEU, HYPOTHESES, REFERENCES, SOURCES, edges=edges)


def test_unequal_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="1 hypotheses, 2 references"):
        sentence_bleu_pieces([["▁a"]], [["▁a"], ["▁b"]])
    with pytest.raises(ValueError, match="2 sources"):
        bleu_by_length(BLEU, HYPOTHESES, REFERENCES, SOURCES[:2], edges=[10])


def test_ranges_are_scored_with_the_tokenisation_of_the_metric() -> None:
    lines, references = ["那只红色的猫睡在房子里"], ["那只红色的猫睡在屋子里"]
    (chinese,) = bleu_by_length(Bleu(tokenize="zh", lowercase=False), lines, references, ["w w w w"], edges=[])
    (english,) = bleu_by_length(BLEU, lines, references, ["w w w w"], edges=[])
    assert chinese["bleu"] == pytest.approx(sacrebleu.corpus_bleu(lines, [references], tokenize="zh").score)
    assert english["bleu"] == 0
