"""Check every value of a configuration: its type and range, by the annotations of the constructor that it is given to.

The sections that no constructor takes, such as ``batch``, have their annotations in ``schema.py`` and ``sections.py``.
"""

from __future__ import annotations

import collections.abc
import difflib
import inspect
import logging
import math
import types
import typing
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Annotated, Any

import yaml
from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

from triptych.errors import UserError
from triptych.ranges import Range

WORDS: dict[Any, str] = {int: "an integer", float: "a number", bool: "true or false", str: "text", type(None): "null"}
OF_HYDRA = ("_target_", "_partial_", "_convert_", "_recursive_", "_args_")
FLAGS: dict[str, Any] = {"_partial_": bool, "_recursive_": bool, "_convert_": str}
LARGEST_INTEGER = 2**63 - 1


def check_types(config: DictConfig, prefix: str = "", schema: type | None = None) -> None:
    """Check that each ``_target_`` can be imported, and that every key below it is known and its value fits.

    Types that YAML cannot give, such as a class of the user's, are left to the constructors that ask for them.

    Args:
        config: a section of a configuration, or all of it.
        prefix: its key with a dot behind.
        schema: dataclass that names its keys; None for a section with a ``_target_`` or of a dataclass of its own.

    Raises:
        UserError: the first ``_target_`` that cannot be imported, key that nothing reads, or value that does not fit.
    """
    hints, known = _hints(config, prefix, schema)
    for name in map(str, config):
        key = f"{prefix}{name}"
        if known is not None and name not in (*known, *(() if schema else OF_HYDRA)):
            raise UserError(f"{key} is no configuration key{_close(name, known, prefix)}")
        if not OmegaConf.is_missing(config, name):
            _check(config[name], FLAGS.get(name, hints.get(name, inspect.Parameter.empty)), key)


def _check(value: Any, hint: Any, key: str) -> None:
    """Check the value of one key, and whatever stands below it."""
    admitted = list(types_of(hint))
    fitting = [(one, extra) for one, extra in admitted if fits(value, DictConfig if _is_schema(extra) else one)]
    if not fitting and not _is_left_to_constructor(value, [one for one, extra in admitted if not _is_schema(extra)]):
        raise UserError(f"{key}={as_given(value)} must be {_in_words([(one, None) for one, _ in admitted])}.")
    if isinstance(value, int | float):
        _require_finite(value, key)
    ranges = [extra for _, extra in fitting if isinstance(extra, Range)]
    if ranges and not any(value in one for one in ranges):
        raise UserError(f"{key}={value} must be {_in_words(fitting)}.")
    if isinstance(value, DictConfig):
        check_types(value, f"{key}.", next((extra for _, extra in fitting if _is_schema(extra)), None))
    elif isinstance(value, ListConfig):
        inner = next((typing.get_args(one) for one, _ in fitting if typing.get_args(one)), ())
        inner = tuple(one for one in inner if one is not ...)  # tuple[int, ...] is a list of any length
        for i in range(len(value)):
            if not OmegaConf.is_missing(value, i):
                _check(value[i], inner[min(i, len(inner) - 1)] if inner else inspect.Parameter.empty, f"{key}[{i}]")


def as_given(value: Any) -> str:
    """Return a value as it may stand on a command line."""
    plain = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
    if isinstance(plain, list | dict):
        return yaml.safe_dump(plain, default_flow_style=True, width=math.inf).strip()
    if plain is None or isinstance(plain, bool):
        return "null" if plain is None else str(plain).lower()
    return str(plain) or "''"


def types_of(hint: Any) -> Iterator[tuple[Any, Any]]:
    """Give each type that an annotation admits, with what ``Annotated`` says of it beside."""
    if typing.get_origin(hint) is Annotated:
        inner, extra = typing.get_args(hint)[:2]
        if inner is Any and extra in WORDS:  # Hydra would turn -1 into true
            inner, extra = extra, None
        yield from ((one, extra) for one, _ in types_of(inner))
    elif typing.get_origin(hint) in (typing.Union, types.UnionType):
        for one in typing.get_args(hint):
            yield from types_of(one)
    elif typing.get_origin(hint) is typing.Literal:  # the constructor knows which of them
        yield from ((type(one), None) for one in typing.get_args(hint))
    else:
        yield hint, None


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. An integer is also a number; a truth value is neither."""
    origin = typing.get_origin(hint) or hint
    if hint in (inspect.Parameter.empty, Any):
        return True
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    if hint in WORDS:
        return isinstance(value, int | float if hint is float else hint)
    if isinstance(value, str) and isinstance(origin, type) and issubclass(origin, Sequence):
        return False  # text is a sequence of letters, and never meant as one
    if isinstance(value, ListConfig):
        return is_list(origin)
    try:
        if isinstance(value, DictConfig):
            return not issubclass(origin, Sequence | Set)
        return isinstance(value, origin)
    except TypeError:  # a type variable, or a protocol that cannot be asked
        return True


def is_list(kind: Any) -> bool:
    """Whether a list fits a type: a list, an ``Iterable``, a class that is made of one, or a type variable."""
    return not isinstance(kind, type) or issubclass(list, kind) or issubclass(kind, tuple | Set)


def _is_left_to_constructor(value: Any, admitted: list[Any]) -> bool:
    """Whether only a constructor can say if a text will do, as for a path."""
    others = [one for one in admitted if one not in WORDS and not is_list(typing.get_origin(one) or one)]
    functions = [one for one in others if typing.get_origin(one) is collections.abc.Callable]
    return isinstance(value, str) and len(others) > len(functions)


def _is_schema(said: Any) -> bool:
    """Whether what ``Annotated`` says is a dataclass that names the keys of a section."""
    return isinstance(said, type) and is_dataclass(said)


def _section_in_words(kind: Any) -> str:
    """Name some keys of a section that becomes an object of a class."""
    if kind is Any:
        return "a section"
    keys: list[str] = []
    if inspect.isclass(kind):
        with suppress(ValueError):  # some built-in types show no signature
            parameters = inspect.signature(kind).parameters.values()
            keys = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY][:2]
    return f"a section with a _target_ and keys such as {' and '.join(keys)}" if keys else "a section with a _target_"


def _in_words(admitted: list[tuple[Any, Any]]) -> str:
    words = []
    for one, extra in admitted:
        is_a_list = is_list(typing.get_origin(one) or one)
        word = WORDS[one] if one in WORDS else "a list" if is_a_list else _section_in_words(one)
        words.append(f"{word} {extra}" if isinstance(extra, Range) else word)
    return " or ".join(dict.fromkeys(words)).replace("true or false or", "true, false or")


def _require_finite(value: float, key: str) -> None:
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise UserError(f"{key}={value:.3e} is larger than any number that can be meant; give a smaller one.")
    if not math.isfinite(value):
        raise UserError(f"{key}={value} is no finite number; give one.")


def _close(name: str, known: list[str], prefix: str) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {prefix}{close[0]}?" if close else "."


def _hints(config: DictConfig, prefix: str, schema: type | None) -> tuple[dict[str, Any], list[str] | None]:
    """Return the annotations of a section's keys, and the names of all keys that something reads; None for any."""
    kind = OmegaConf.get_type(config) if schema is None else schema
    if isinstance(kind, type) and is_dataclass(kind) and (schema or "_target_" not in config):
        return typing.get_type_hints(kind, include_extras=True), [field.name for field in fields(kind)]
    return _hints_of_target(str(config["_target_"]), prefix) if "_target_" in config else ({}, None)


def _hints_of_target(target: str, prefix: str) -> tuple[dict[str, Any], list[str] | None]:
    try:
        constructor = import_target(target)
    except Exception as error:  # whatever the module raises
        reason = str(error.__cause__ or error).splitlines()[0].rstrip(".:")
        raise UserError(f"{prefix}_target_={target} cannot be imported ({reason}).") from error
    if not callable(constructor):
        raise UserError(f"{prefix}_target_={target} is no class or function; name one.")
    try:
        parameters = inspect.signature(constructor, eval_str=True).parameters.values()
    except Exception:  # whatever evaluating a library's own way of writing them raises
        return {}, None
    open_ended = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    hints = {one.name: _with_default(one.annotation, one.default) for one in parameters}
    return hints, None if open_ended else [one.name for one in parameters]


def _with_default(annotation: Any, default: Any) -> Any:
    """Admit null where it is the default, as in ``size: int = None``."""
    return annotation | None if default is None else annotation


def import_target(target: str) -> Any:
    """Return what a ``_target_`` names, without the line that Hydra logs if there is no such thing."""
    log = logging.getLogger("hydra.utils")
    before, log.disabled = log.disabled, True
    try:
        return get_object(target)
    finally:
        log.disabled = before
