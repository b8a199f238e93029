"""Words of other programs lead to keys that exist."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import compose_train

from triptych.config.conf_folder import conf_dir
from triptych.config.hints import KEYS, SEVERAL, hint, options_with_key, word_alone
from triptych.config.suggestions import all_keys

MODELS = (["model=transformer"], ["model=rnn", "optimizer=noam"], ["model=lm4mt"])
OF_RUNS = {"input", "reference", "hypothesis", "split", "run", "checkpoint"}
"""Keys of commands on a run alone."""


def test_each_word_leads_to_keys_that_can_be_set() -> None:
    wrong = []
    for overrides in MODELS:
        known = all_keys(compose_train("scale=smoke", "data=multi30k", *overrides))
        for word in (*KEYS, *SEVERAL):
            named = re.findall(r"[\w.]+(?=[,?]| or )", (hint(word, known) or "").removeprefix("did you mean "))
            halves = overrides == ["model=lm4mt"] and word.startswith(("enc", "dec", "n_encoder", "n_decoder"))
            expected = not OF_RUNS & {*KEYS.get(word, ())} and not halves
            if not {*named} <= {*known} or (expected and not named):
                wrong.append((word, named, overrides))
    assert not wrong


def test_where_a_word_may_mean_several_keys_all_are_named() -> None:
    known = all_keys(compose_train("scale=smoke", "model=transformer"))
    assert hint("layers", known) == "did you mean model.encoder_layers, model.decoder_layers or scale.num_layers?"
    assert hint("tokens", known) == "did you mean budget.tokens or batch.tokens?"
    assert "model.attention_dropout" in (hint("dropout", known) or "")
    assert hint("dropout", all_keys(compose_train("model=rnn", "tokenizer=char"))) == "did you mean model.dropout?"


def test_words_for_commands_on_a_run() -> None:
    known = ["run", "input", "reference", "device", "search_tokens", "search.beam_size", "checkpoint"]
    for word, key in (("beam", "search.beam_size"), ("ref", "reference"), ("file", "input"), ("model", "run")):
        assert hint(word, known, "translate") == f"did you mean {key}?"
    assert "cuda:1" in (hint("gpu", known, "translate") or "")
    assert "search_tokens" in (hint("batch_size", known, "translate") or "")
    assert hint("lr", known, "translate") is None, "a word of training"


def test_a_word_that_is_right_where_it_stands_gets_no_hint() -> None:
    keys = all_keys(compose_train("scale=smoke"))
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
