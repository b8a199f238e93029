"""Check what a function of the Python API is given, by its annotations, so that a mistake is one sentence."""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import inspect
import os
import reprlib
import types
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from triptych.config.types import WORDS, fits, is_list, types_of
from triptych.errors import UserError, one_line

Given = ParamSpec("Given")
Result = TypeVar("Result")

OF_PYTHON: dict[Any, str] = {
    **WORDS,
    **{type(None): "None", bool: "True or False", os.PathLike: "a path", Path: "a path"},
    **{list: "a list", tuple: "a tuple", dict: "a dictionary"},
}
"""Types in words, as Python names them: ``config.types`` has those of YAML."""

WITH_ITEMS = (collections.abc.Sequence, tuple)
"""Types whose items are checked too."""


def checked(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a function raise ``UserError`` for an argument that its annotation does not admit.

    Text for a list of lines is left to the function, which says what to give instead; so are the items of an
    ``Iterable``, which may be read only once. Annotations with names that only a type checker imports are not checked.
    """
    name = function.__qualname__.removesuffix(".__init__")
    signature = inspect.signature(function)
    hints = functools.cache(functools.partial(_hints, function))  # at the first call: imports stay cheap

    @functools.wraps(function)
    def calls(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:  # a wrong name or number of arguments, which Python explains
            return function(*args, **kwargs)
        for parameter, hint in hints().items():
            if parameter in given:
                _check(given[parameter], hint, f"{name}: {parameter}")
        return function(*args, **kwargs)

    return calls


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function's parameters, where they can be evaluated; those of ``*args`` as lists."""
    hints = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.annotation is not inspect.Parameter.empty:
            holder = types.SimpleNamespace(__annotations__={name: parameter.annotation})
            with contextlib.suppress(NameError):
                hint = typing.get_type_hints(holder, getattr(function, "__globals__", {}))[name]
                several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
                hints[name] = Sequence[hint] if several else hint  # type: ignore[valid-type]
    return hints


def _check(value: Any, hint: Any, place: str) -> None:
    """Check an argument, and the items of a list."""
    admitted = [one for one, _ in types_of(hint)]
    plain = value.item() if getattr(value, "shape", None) == () else value  # a number of NumPy or PyTorch
    fitting = [one for one in admitted if fits(plain, one) or _is_listed(value, one) or _may_stand_for(value, one)]
    if not fitting:
        raise UserError(f"{place} is {_in_words(value)}; give {_listed(admitted)}.")
    items = next((typing.get_args(one) for one in fitting if typing.get_origin(one) in WITH_ITEMS), ())
    if items and isinstance(value, list | tuple):
        for i, item in enumerate(value):
            _check(item, items[min(i, len(items) - 1)], f"{place}[{i}]")


def _is_listed(value: Any, hint: Any) -> bool:
    """Whether a value is a list for a tuple, which will do, or a text for a list, which the function explains."""
    return isinstance(value, list | str) and is_list(typing.get_origin(hint) or hint)


def _may_stand_for(value: Any, hint: Any) -> bool:
    """Whether an object may be a user's own in the place of one of triptych's, such as a search."""
    own = getattr(hint, "__module__", "").startswith("triptych.")
    return own and type(value).__module__ != "builtins"


def _in_words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    kind = type(value)
    return f"{one_line(reprlib.repr(value))}, {OF_PYTHON.get(kind, f'of type {kind.__name__}')}"


def _listed(admitted: list[Any]) -> str:
    """Return the types that an annotation admits in words."""
    words = []
    for one in admitted:
        origin = typing.get_origin(one) or one
        name = f"a {getattr(origin, '__name__', origin)}"
        words.append(OF_PYTHON.get(origin, "a list" if is_list(origin) else name))
    *others, last = dict.fromkeys(words)
    return f"{', '.join(others)} or {last}" if others else last
