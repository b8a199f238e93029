"""Lengths are checked before training, with those that training may draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import compose_train
from hydra.utils import instantiate

from triptych.data.corpus import TRAIN
from triptych.errors import UserError
from triptych.training.build import build_parts
from triptych.training.checks import check_lengths


def test_a_line_that_cannot_be_translated_is_found_before_training(tmp_path: Path) -> None:
    config = compose_train(*PLAIN, *BPE, f"cache={tmp_path}")
    parts = build_parts(config, instantiate(config.data), None)
    longer = SimpleNamespace(lengths=np.array([[3, 10_001]]))
    with pytest.raises(UserError, match=r"test: a line has 10,001 pieces, and at most 10,000 are possible"):
        check_lengths(config, replace(parts, stores={"test": longer}))


def test_positions_hold_the_longest_translation_of_either_search(tmp_path: Path) -> None:
    """The training died at its first validation, whose search is another one than that of the test sets."""
    config = compose_train(*PLAIN, *BPE, f"cache={tmp_path}", "search.max_length_extra=5", "model.max_length=150")
    parts = build_parts(config, instantiate(config.data), None)
    check_lengths(config, parts)
    config.validation.search.max_length_extra = 150
    with pytest.raises(UserError, match="max_length=150 holds too few"):
        check_lengths(config, parts)


PLAIN = ["scale=smoke", "data.train=200", "model.positions=learned"]
BPE = ["tokenizer.vocab_size=400"]
UNIGRAM = ["tokenizer=unigram", "tokenizer.vocab_size=330"]


@pytest.mark.parametrize(
    ("tokenizer", "sampling"),
    [(BPE, "tokenizer.bpe_dropout=0.5"), (UNIGRAM, "tokenizer.unigram_alpha=0.1")],
    ids=["bpe_dropout", "unigram_alpha"],
)
def test_positions_hold_the_longest_segmentation_that_training_may_draw(
    tokenizer: list[str], sampling: str, tmp_path: Path
) -> None:
    fixed = compose_train(*PLAIN, *tokenizer, f"cache={tmp_path}")
    sampled = compose_train(*PLAIN, *tokenizer, f"cache={tmp_path}", sampling)
    parts = build_parts(fixed, instantiate(fixed.data), None)
    positions = int(parts.stores[TRAIN].lengths.max())

    def with_positions(count: int) -> dict[str, object]:
        """The training text alone, and a model of so many positions."""
        model = instantiate(fixed.model, vocabulary=parts.tokenizer.vocabulary, max_length=count)
        return {"stores": {TRAIN: parts.stores[TRAIN]}, "model": model}

    check_lengths(fixed, replace(parts, **with_positions(positions)))
    drawn = build_parts(sampled, instantiate(sampled.data), None)
    with pytest.raises(UserError, match=f"max_length={positions} holds too few"):
        check_lengths(sampled, replace(drawn, **with_positions(positions)))
    check_lengths(sampled, replace(drawn, **with_positions(int(drawn.data.stream.longest.max()))))
