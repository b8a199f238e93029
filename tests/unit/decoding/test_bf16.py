"""Models that translate in bfloat16, beside the same ones in double precision."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from conftest import build_model, random_batch

from triptych.contract.vocabulary import EOS
from triptych.decoding.batches import decode
from triptych.decoding.search import Search

MODELS = [
    ("model=transformer",),
    ("model=lm4mt",),
    ("model=rnn_bahdanau",),
    ("model=rnn_luong",),
    ("model=rnn_none",),
    ("model=convs2s",),
    ("model=hybrid", "model/encoder=rnn", "model/decoder=transformer"),
    ("model=hybrid", "model/encoder=transformer", "model/decoder=rnn"),
    ("model=hybrid", "model/encoder=recurrent_blocks", "model/decoder=recurrent_blocks"),
]
BEAM = Search(
    beam_size=4, length_penalty=0.6, max_length_ratio=1.0, max_length_extra=3, min_length=0, stop="first", n_best=4
)
NATS = 0.02
"""Largest accepted difference for each token. A logit between 2 and 4 is rounded to bfloat16 by up to 1/128."""


@pytest.mark.parametrize("overrides", MODELS, ids=" ".join)
def test_a_search_in_bf16_finds_what_the_model_finds_likely(overrides: tuple[str, ...]) -> None:
    """The score of each hypothesis is the log-probability that the exact model gives it, up to rounding."""
    exact = build_model(*overrides)
    rounded = deepcopy(exact).bfloat16()
    batch = random_batch([(5, 4), (2, 6), (7, 3)])
    sources = [batch.src[i, : length - 1].tolist() for i, length in enumerate(batch.src_lengths.tolist())]
    found = decode(rounded, sources, BEAM, 1000, "cpu")
    assert [len(hypotheses) for hypotheses in found] == [4, 4, 4]
    for source, hypotheses in zip(sources, found, strict=True):
        for one in hypotheses:
            tokens = one.tokens if one.cut else [*one.tokens, EOS]
            assert one.log_probability == pytest.approx(log_probability(exact, source, tokens), abs=NATS * len(tokens))


@torch.no_grad()
def log_probability(model: torch.nn.Module, source: list[int], tokens: list[int]) -> float:
    """Return log p(tokens | source), token by token."""
    state, total, before = model.start(torch.tensor([[*source, EOS]]), torch.tensor([len(source) + 1])), 0.0, 2
    for token in tokens:
        logits, state = model.step(torch.tensor([before]), state)
        total, before = total + float(logits[0].log_softmax(0)[token]), token
    return total
