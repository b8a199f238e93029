"""Check the types of a configuration against the annotations of the constructors that it names."""

from __future__ import annotations

import inspect
import types
import typing
from typing import Any

from hydra.utils import get_object
from omegaconf import DictConfig, ListConfig, OmegaConf

from triptych.errors import UserError

WORDS: dict[Any, str] = {int: "an integer", float: "a number", bool: "true or false", str: "text", type(None): "null"}


def check_types(config: DictConfig, prefix: str = "") -> None:
    """Check every value below a ``_target_`` against its parameter's annotation.

    Parameters of other types than those in ``WORDS`` are left to their constructors.

    Raises:
        UserError: the first value of another type.
    """
    hints = _hints(config["_target_"]) if "_target_" in config else {}
    for name in map(str, config):
        if OmegaConf.is_missing(config, name):
            continue
        value, key = config[name], f"{prefix}{name}"
        if isinstance(value, DictConfig):
            check_types(value, f"{key}.")
            continue
        hint = hints.get(name, inspect.Parameter.empty)
        admitted = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        if all(one in WORDS for one in admitted) and not any(_fits(value, one) for one in admitted):
            shown = OmegaConf.to_yaml(value).strip() if isinstance(value, ListConfig) else value
            raise UserError(f"{key}={shown} must be {' or '.join(WORDS[one] for one in admitted)}.")


def _hints(target: str) -> dict[str, Any]:
    try:
        parameters = inspect.signature(get_object(target), eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError):  # a library's own way of writing them
        return {}
    return {parameter.name: parameter.annotation for parameter in parameters}


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type. An integer is also a number; a truth value is neither."""
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    return isinstance(value, int | float if hint is float else hint)
