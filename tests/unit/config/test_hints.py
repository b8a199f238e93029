"""Words of other programs lead to keys that exist."""

from __future__ import annotations

import pytest
from conftest import compose_train
from omegaconf import OmegaConf

from triptych.config.explanations import _keys
from triptych.config.hints import KEYS, hint

CONFIGS = (["model=transformer"], ["model=rnn", "optimizer=noam"], ["model=lm4mt"])


@pytest.mark.parametrize("overrides", CONFIGS, ids=" ".join)
@pytest.mark.parametrize("word", KEYS)
def test_a_word_leads_to_a_key_that_can_be_set(word: str, overrides: list[str]) -> None:
    config = compose_train("scale=smoke", *overrides)
    found = hint(word, _keys(config))
    if word in ("emb_size", "embedding_dim", "embed_dim") and overrides[0] == "model=lm4mt":
        assert found == "did you mean model.d_model?"
    assert found is not None
    key = found.removeprefix("did you mean ").rstrip("?")
    assert OmegaConf.select(config, key, default="missing") != "missing"


def test_a_word_that_is_right_where_it_stands_gets_no_hint() -> None:
    keys = _keys(compose_train("scale=smoke"))
    assert hint("strategy.devices", keys) is None
    assert hint("budget.steps", keys) is None
    assert hint("something", keys) is None
