"""Words of other programs lead to keys that exist."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import compose_train
from omegaconf import OmegaConf

from triptych.config.conf_folder import conf_dir
from triptych.config.explanations import _keys
from triptych.config.hints import KEYS, SEVERAL, hint, options_with_key, word_alone

MODELS = (["model=transformer"], ["model=rnn", "optimizer=noam"], ["model=lm4mt"])
OF_RUNS = ("src", "tgt", "dir", "input", "reference", "hypothesis", "split", "run", "checkpoint", "model")
"""Words for keys of commands on a run, or of some data alone."""


def test_each_word_leads_to_a_key_that_can_be_set() -> None:
    wrong = []
    for overrides in MODELS:
        config = compose_train("scale=smoke", "data=multi30k", *overrides)
        known = _keys(config)
        for word, keys in KEYS.items():
            said = hint(word, known)
            key = (said or "").removeprefix("did you mean ").rstrip("?")
            of_training = not {*keys} & {*OF_RUNS}
            if OmegaConf.select(config, key or "none", default="missing") == "missing" and (of_training or said):
                layers = word.startswith(("enc_", "dec_", "n_encoder", "n_decoder"))
                wrong += [] if layers and overrides == ["model=lm4mt"] else [(word, said, overrides)]
        for word in SEVERAL:
            keys = re.findall(r"\w+\.[\w.]+", hint(word, known) or "")
            if not keys or not {*keys} <= {*known}:
                wrong.append((word, str(keys), overrides))
    assert not wrong


def test_where_a_word_may_mean_several_keys_all_are_named() -> None:
    known = _keys(compose_train("scale=smoke", "model=transformer"))
    assert hint("layers", known) == "did you mean model.encoder_layers, model.decoder_layers or scale.num_layers?"
    assert hint("tokens", known) == "did you mean budget.tokens or batch.tokens?"
    assert "model.attention_dropout" in (hint("dropout", known) or "")
    assert hint("dropout", _keys(compose_train("model=rnn", "tokenizer=char"))) == "did you mean model.dropout?"


def test_words_for_commands_on_a_run() -> None:
    known = ["run", "input", "reference", "device", "search_tokens", "search.beam_size", "checkpoint"]
    for word, key in (("beam", "search.beam_size"), ("ref", "reference"), ("file", "input"), ("model", "run")):
        assert hint(word, known, "translate") == f"did you mean {key}?"
    assert "cuda:1" in (hint("gpu", known, "translate") or "")
    assert "search_tokens" in (hint("batch_size", known, "translate") or "")
    assert hint("lr", known, "translate") is None, "a word of training"


def test_a_word_that_is_right_where_it_stands_gets_no_hint() -> None:
    keys = _keys(compose_train("scale=smoke"))
    assert hint("strategy.devices", keys) is None
    assert hint("budget.steps", keys) is None
    assert hint("something", keys) is None


def test_a_key_of_another_option_is_found_without_its_group() -> None:
    said = options_with_key("bpe_dropout", [conf_dir()], ["tokenizer=char"])
    assert said == (
        "it belongs to tokenizer: tokenizer=char lacks it, and tokenizer=bpe has it: choose that, or leave the key out."
    )
    assert options_with_key("something", [conf_dir()], []) is None


def test_a_word_alone(tmp_path: Path) -> None:
    folders, text = [conf_dir()], tmp_path / "talk.en"
    text.touch()
    for command, word, meant in (
        ("train", "lm4mt", "model=lm4mt"),
        ("train", "toy", "data=toy or scale=toy"),
        ("train", "positions", "experiment=positions"),
        ("translate", "runs/x", "run=runs/x"),
        ("translate", str(text), f"input={text}"),
        ("export", str(text), f"run={text}"),
    ):
        assert word_alone(word, command, folders) == f"did you mean {meant}?"
    assert "such as scale=toy" in word_alone("zebra", "train", folders)
