"""The checks of lab 4."""

from itertools import product
from math import log

import pytest
from given import random_model, table_model, translation_model

import triptych
from triptych.decoding.search import Search

END = 0
LENGTH = 4


def log_prob_of(model, tokens):
    return sum(model(tokens[:i])[token] for i, token in enumerate(tokens))


def every_sequence(vocabulary):
    """All sequences that a search may return: they end in END, or have LENGTH tokens without it."""
    for length in range(1, LENGTH + 1):
        for tokens in product(range(vocabulary), repeat=length):
            if END not in tokens[:-1] and (tokens[-1] == END or length == LENGTH):
                yield list(tokens)


@pytest.mark.parametrize(
    ("length", "alpha", "expected"), [(7, 0.0, -6.0), (7, 1.0, -3.0), (13, 1.0, -2.0), (1, 1.0, -6.0)]
)
def test_scores_are_those_that_one_computes_by_hand(answer, length, alpha, expected):
    found = answer.score(-6.0, length, alpha)
    assert found == pytest.approx(expected), f"score of log-probability -6, {length} tokens, alpha {alpha}"


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(answer, seed):
    model, tokens = random_model(seed, 4), []
    while END not in tokens and len(tokens) < LENGTH:
        log_probs = model(tokens)
        tokens.append(log_probs.index(max(log_probs)))
    found, _ = answer.beam_search(model, 1, 0.0, LENGTH, END)
    assert found == tokens, "with beam_size=1 and alpha=0, each token is the most probable one"


@pytest.mark.parametrize("beam_size", [1, 3])
def test_no_more_hypotheses_are_extended_than_the_beam_is_wide(answer, beam_size):
    model, calls = random_model(0, 5), []

    def counted(tokens):
        calls.append(len(tokens))
        return model(tokens)

    answer.beam_search(counted, beam_size, 0.6, LENGTH, END)
    for length in range(LENGTH):
        assert calls.count(length) <= beam_size, f"{calls.count(length)} hypotheses of {length} tokens were extended"


def test_a_beam_of_two_finds_what_greedy_search_misses(answer):
    """The likeliest first token, 1, has no likely end; 2 has one."""
    model = table_model({(): [0.0, 0.6, 0.4], (1,): [0.3, 0.35, 0.35], (2,): [0.9, 0.05, 0.05]})
    assert answer.beam_search(model, 1, 0.0, 2, END)[0] == [1, 1], "a beam of 1 keeps the token 1, and then 1 again"
    found, score = answer.beam_search(model, 2, 0.0, 2, END)
    assert found == [2, END], "0.4 * 0.9 is more than 0.6 * 0.35"
    assert score == pytest.approx(log(0.36))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_wide_beam_finds_the_best_of_all_sequences(answer, seed, alpha):
    model = random_model(seed, 4)
    penalty = {length: ((5 + length) / 6) ** alpha for length in range(1, LENGTH + 1)}
    best = max(every_sequence(4), key=lambda tokens: log_prob_of(model, tokens) / penalty[len(tokens)])
    found, score = answer.beam_search(model, 4**LENGTH, alpha, LENGTH, END)
    assert found == best, f"with a beam as wide as there are sequences, the best of all must win (alpha {alpha})"
    assert score == pytest.approx(log_prob_of(model, best) / penalty[len(best)])


@pytest.mark.parametrize("sentence", ["The dog sees a cat.", "My brother does not like the red house."])
def test_a_trained_transformer_gives_the_translations_of_triptych(answer, sentence):
    run = triptych.load("demo:transformer")
    for beam_size, alpha in ((2, 0.0), (4, 1.0)):
        theirs = Search(beam_size=beam_size, length_penalty=alpha, max_length_ratio=0.0, max_length_extra=14,
                        min_length=0, stop="exact", n_best=1)  # fmt: skip
        model = translation_model(run, sentence)
        tokens, _ = answer.beam_search(
            model, beam_size, alpha, 14, run.tokenizer.vocabulary_pieces("tgt").index("</s>")
        )
        assert run.tokenizer.decode([tokens], "tgt") == run.translate([sentence], search=theirs)
