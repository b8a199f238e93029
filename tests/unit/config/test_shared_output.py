"""Combinations of values that would write one file."""

from __future__ import annotations

import pytest

from triptych.config.composition import arms_of, register_settings_of
from triptych.errors import UserError

RUNS = "run=demo:transformer,demo:rnn_bahdanau"


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("translate", ["output=y.fr", "input=x.en"]),
        ("evaluate", ["output=kept", "input=x.en", "reference=x.fr"]),
        ("attend", ["sentence=a"]),
    ],
)
def test_one_file_for_several_combinations_is_refused(command: str, given: list[str]) -> None:
    """The last overwrote the others without a word."""
    register_settings_of([RUNS])
    with pytest.raises(UserError, match="would be written 2 times, and only the last would be kept"):
        arms_of(command, ["-m", RUNS, *given])


@pytest.mark.parametrize(
    ("command", "given"),
    [
        ("translate", ["input=x.en"]),
        ("evaluate", ["output=kept", "run=null", "hypothesis=a.fr,b.fr", "reference=x.fr"]),
        ("translate", ["output=${checkpoint}.txt", "checkpoint=best,last", "run=demo:transformer"]),
        ("attend", ["sentence=a", "output=${device}.html", "device=cpu,cuda", "run=demo:transformer"]),
    ],
)
def test_files_that_differ_are_written(command: str, given: list[str]) -> None:
    runs = [] if any(one.startswith("run=") for one in given) else [RUNS]
    register_settings_of([RUNS])
    found = arms_of(command, ["-m", *runs, *given])
    assert found is not None
    assert len(found[1]) == 2
