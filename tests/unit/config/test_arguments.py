"""What the functions of the Python API are given is checked by their annotations, before anything is computed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

import triptych
from triptych.config.arguments import checked
from triptych.decoding.search import Search
from triptych.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


@checked
def function(
    *names: str,
    lines: Iterable[str] = (),
    number: int = 1,
    rate: float | None = None,
    pair: tuple[str, str] | None = None,
    folders: str | Path | Sequence[str | PathLike[str]] = (),
    loud: bool = False,
    table: pd.DataFrame | None = None,
    anything=None,  # type: ignore[no-untyped-def]
) -> Iterator[str]:
    """Say that it was called."""
    yield "called"


RUN = triptych.Run("demo:lm4mt")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: triptych.load(None), "load: run is None; give text or a path."),
        (lambda: triptych.load("demo:lm4mt", device=0), "load: device is 0, an integer; give text or a device."),
        (lambda: triptych.Run(b"runs"), "Run: folder is b'runs', of type bytes; give text or a path."),
        (lambda: triptych.train(["model=rnn"]), "train: overrides[0] is ['model=rnn'], a list; give text."),
        (lambda: triptych.sweep("seed=1", None), "sweep: overrides[1] is None; give text."),
        (
            lambda: triptych.train(config_dir=["a", 3]),
            "train: config_dir[1] is 3, an integer; give text or a path.",
        ),
        (
            lambda: triptych.forecast("scale=smoke", device=3),
            "forecast: device is 3, an integer; give text or None.",
        ),
        (lambda: triptych.report(5), "report: folder is 5, an integer; give text or a path."),
        (
            lambda: triptych.evaluate({"run": "a"}),
            "evaluate: run is {'run': 'a'}, a dictionary; give a Run, text, a path or None.",
        ),
        (lambda: triptych.score(RUN, input=None, reference="a"), "score: input is None; give text or a path."),
        (lambda: RUN.translate(3), "Run.translate: lines is 3, an integer; give a list."),
        (lambda: RUN.translate(["a"], search="greedy"), "search is 'greedy', text; give a Search or None."),
        (lambda: RUN.score(["a"], ["b"], 4.5), "Run.score: search_tokens is 4.5, a number; give an integer."),
        (lambda: RUN.search_tree(["a"]), "Run.search_tree: line is ['a'], a list; give text."),
        (lambda: RUN.attention("a", ablate=[1]), "Run.attention: ablate[0] is 1, an integer; give text."),
        (lambda: function(number=True), "function: number is True; give an integer."),
        (lambda: function(pair=("en", 1)), "function: pair[1] is 1, an integer; give text."),
    ],
)
def test_another_type_is_one_sentence(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        call()
    assert str(refused.value).endswith(said)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"lines": iter("ab")},
        {"lines": "left to the function, which says what to give"},
        {"number": np.int64(3), "rate": 3, "loud": True},
        {"rate": np.float32(0.5), "loud": np.True_},
        {"rate": torch.tensor(0.5), "number": torch.tensor(3)},
        {"pair": ["en", "fr"], "folders": ("a", Path("b"))},
        {"table": "a name that only type checkers import", "anything": 3},
    ],
)
def test_what_an_annotation_admits_is_let_through(given: dict[str, Any]) -> None:
    assert list(function("a", **given)) == ["called"]
    assert list(given.get("lines", "")) or "lines" not in given, "an iterator was consumed"


def test_a_function_keeps_its_signature_and_the_errors_of_python() -> None:
    assert list(inspect.signature(triptych.report).parameters) == ["folder", "unequal"]
    assert function.__doc__ == "Say that it was called."
    with pytest.raises(TypeError, match=r"report\(\) missing 1 required positional argument"):
        triptych.report()  # type: ignore[call-arg]


class OwnSearch:
    """A user's own, with what a search has and no class of triptych's above it."""


@checked
def with_search(search: Search | None = None) -> str:
    return "called"


def test_a_class_of_the_users_own_may_stand_for_one_of_triptychs() -> None:
    assert with_search(OwnSearch()) == "called"  # type: ignore[arg-type]


def test_a_device_of_pytorch_is_taken_by_its_name() -> None:
    assert triptych.Run("demo:lm4mt", device=torch.device("cpu")).device == "cpu"
