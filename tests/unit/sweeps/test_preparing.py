"""`triptych prepare` of a sweep: arms that share their text, and arms that cannot be prepared."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from triptych.errors import UserError
from triptych.sweeps.preparing import prepare_arms


def test_the_others_are_prepared_and_the_wrong_one_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for language in ("en", "fr"):
        (tmp_path / f"text.{language}").write_text("a cat sees the dog\n" * 50)
    shared = [
        f"data.dir={tmp_path}",
        f"cache={tmp_path / 'cache'}",
        "tokenizer.vocab_size=24",
        "tokenizer.byte_fallback=false",
        "scale=smoke",
    ]
    text = ["data=text", "data.src=en", "data.tgt=fr", "data.validation=text", "data.test=[text]"]
    with caplog.at_level(logging.INFO), pytest.raises(UserError) as refused:
        prepare_arms(["-m", *shared, *text, "data.train=nosuch,text", "seed=1,2"])
    assert "data.train=nosuch" in str(refused.value)
    assert "has neither 'nosuch.en'" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1, "two seeds have the same text"
    assert sum("150 pairs" in message for message in caplog.messages) == 1
