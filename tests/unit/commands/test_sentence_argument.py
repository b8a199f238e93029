"""A sentence on the command line of `triptych attend` arrives as it was typed, whatever it consists of."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from triptych.commands.attend import with_sentence
from triptych.config.composition import _compose
from triptych.config.quoting import quoted_text

NASTY = st.text(
    st.sampled_from(["a", " ", "'", '"', "\\", "$", "{", "}", "=", ",", "[", "]", ":", "é", "\t", "~", "#"])
)


@settings(max_examples=15)
@given(NASTY)
@example("\\${x} \\\\${run} '\\")
@example("null")
@example("3")
def test_any_text_comes_through(text: str) -> None:
    assert _compose("attend", [quoted_text("sentence", text)])[0].sentence == text


@pytest.mark.parametrize(
    ("arguments", "sentence", "reference"),
    [
        (["The dog sees the cat."], "The dog sees the cat.", None),
        (["The", "dog"], "The dog", None),
        (["sentence=It's, well, 2 = 2"], "It's, well, 2 = 2", None),
        (["2 + 2 = 4", 'reference=l\'homme, "oui"'], "2 + 2 = 4", 'l\'homme, "oui"'),
        (["- Oh, no!", "reference=null"], "- Oh, no!", None),
        (["Look: a=b"], "Look: a=b", None),
    ],
)
def test_a_sentence_may_stand_alone(arguments: list[str], sentence: str, reference: str | None) -> None:
    config, _ = _compose("attend", with_sentence([*arguments, "ablate=[cross.1]"]))
    assert (config.sentence, config.reference, list(config.ablate)) == (sentence, reference, ["cross.1"])


def test_options_are_no_sentence() -> None:
    assert with_sentence(["-m", "--config-dir", "folder", "run=x"]) == ["--config-dir=folder", "-m", "run=x"]
