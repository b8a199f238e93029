"""Every key of a configuration with each value that it may not have, and what is said of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, ListConfig, OmegaConf

from triptych.config import schema
from triptych.config.explanations import explain
from triptych.config.search_path import conf_dir
from triptych.config.validation import check

BAD_VALUES: dict[str, Any] = {
    "wrong type": "abc",
    "null": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "negative": -1,
    "huge": 10**12,
    "empty": "",
    "a list": [1],
    "a mapping": {"a": 1},
}
SMOKE = "scale=smoke"
CONFIGURATIONS = [
    [SMOKE, "model=rnn", "optimizer=noam", "tokenizer=unigram", "data=toy_zipf"],
    [SMOKE, "model=transformer", "optimizer=cooldown", "tokenizer=char", "data=toy_languages", "tokenizer.joint=true"],
    [SMOKE, "model=lm4mt", "loss=autoencode", "optimizer=inverse_sqrt", "callbacks=[early_stopping]"],
    [SMOKE, "model=convs2s", "optimizer=constant", "data=text", "data.src=en", "data.tgt=fr", "logger=tensorboard"],
    [SMOKE, "model=hybrid", "search=greedy", "data=multi30k", "match=parameters", "metric=[comet]"],
]
"""Overrides of configurations that together have the keys of every architecture and of every other group."""


@dataclass(frozen=True)
class Fault:
    """A key with a value that it may not have.

    Attributes:
        overrides: of the configuration that has the key.
        key: dotted.
        kind: of the value, one of ``BAD_VALUES``.
    """

    overrides: tuple[str, ...]
    key: str
    kind: str

    @property
    def value(self) -> Any:
        """The value."""
        return BAD_VALUES[self.kind]


@dataclass(frozen=True)
class Outcome:
    """How a configuration with a fault was received.

    Attributes:
        sentence: that the user reads; None if the value was accepted.
        wrong: what is wrong with that; None if nothing is.
    """

    sentence: str | None
    wrong: str | None


def faults(*overrides: str) -> list[Fault]:
    """Return every key of a configuration with each value of ``BAD_VALUES``."""
    return [Fault(overrides, key, kind) for key in leaves(_compose(overrides)) for kind in BAD_VALUES]


def outcome(fault: Fault) -> Outcome:
    """Check a configuration with a fault. A value that is accepted must be what the configuration then holds."""
    config, value = _compose(fault.overrides), fault.value
    try:
        given = OmegaConf.create(value) if isinstance(value, dict | list) else value
        OmegaConf.update(config, fault.key, given, merge=False)
        check(config)
        OmegaConf.resolve(config)
    except Exception as error:
        sentence = explain(error)
        if sentence is None:
            return Outcome(None, f"{type(error).__name__}: {error}")
        several = len(sentence.splitlines()) > 1
        return Outcome(sentence, f"several lines: {sentence}" if several else None)
    found = OmegaConf.select(config, fault.key)
    plain = OmegaConf.to_container(found) if isinstance(found, DictConfig | ListConfig) else found
    kept = plain == value or str(plain).replace("'", "") == str(value)
    return Outcome(None, None if kept else f"became {plain}")


def _compose(overrides: tuple[str, ...]) -> DictConfig:
    return copy.deepcopy(_composed(overrides))


@cache
def _composed(overrides: tuple[str, ...]) -> DictConfig:
    schema.register()
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return compose("train", overrides=list(overrides))


def leaves(config: Any, prefix: str = "") -> Iterator[str]:
    """Yield the keys of a configuration, those of lists as a whole."""
    for name in map(str, config):
        value = config._get_node(name)
        if isinstance(value, DictConfig) and not value._is_interpolation() and len(value):
            yield from leaves(value, f"{prefix}{name}.")
        elif name != "_target_":
            yield f"{prefix}{name}"
