"""What identifies a run: hashes of its configuration and text, and the name of its folder."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf

from triptych.config.global_batch import batches_per_step, is_sharded
from triptych.runs.contents import contents

NOT_IDENTIFYING = ("name", "output", "cache", "logger", "study", "jobs")
"""Keys that change where a run is kept, how it is shown, and beside which others it runs, but not what it computes."""
SHARED_VALUES = ("scale",)
"""Keys that other keys take their values from, and that nothing else reads."""
DATA_LOCATION = ("dir", "url", "cache")
"""Keys of ``data`` that say where the text lies. The text itself is identified by its fingerprint."""
OWN_LOCATION = "path"
"""Another one, of triptych's own corpora; a corpus of the user's may have something else under the name."""
LATER_KEYS: Mapping[str, Any] = {
    "init": None,
    "search.min_length": 0,
    "validation.search.min_length": 0,
    "batch.per_step": None,
    "data.columns": None,
    "data.clean": {
        "_target_": "triptych.data.cleaning.Cleaning",
        "duplicates": False,
        "identical": False,
        "max_words": None,
        "max_word_ratio": None,
        "languages": False,
    },
}
"""Keys that came after runs had been identified without them, and the value of each that changes nothing. With it the
key is left out, so that those runs keep their hashes."""
LATER_SEARCH_KEYS: Mapping[str, Any] = {"search.stop": "exact", "validation.search.stop": "exact"}
"""Keys that came later as well, but always count in hashes."""
ANY_DEVICES: Mapping[str, Any] = {"accelerator": "cpu", "devices": 1, "num_nodes": 1, "workers": 0}
"""Values that are hashed in the place of the real devices. They are those of one process on a CPU, so that runs of
earlier states of 0.3.0 that trained there keep their hashes."""
COPIES: Mapping[str, Any] = {"strategy": "auto"}
"""Value that is hashed in the place of ``strategy.strategy`` if every device has a copy of the model. Sharded runs are
others: their optimizer's state is numbered otherwise."""
SCORING = (
    "search",
    "search_tokens",
    "length_edges",
    "frequency_edges",
    "suite_items",
    "metric",
    "test",
    "checkpoint.average",
)
"""Keys that matter only after training."""
FOLDERS = r"[^\[\],]*/(?=[^\[\],])"
"""Regular expression of the folders of a path, which may stand in a list."""
QUOTED_VALUE = r"^([^=]+)=(['\"])([^'\"]*)\2$"
"""Regular expression of an override whose whole value is in quotes."""
BUDGET = (*SCORING, "budget")
"""Further keys that a training can differ in and have its first steps in common with others."""


def config_hash(
    config: DictConfig,
    data: str,
    *,
    reference: Mapping[str, Any] | None = None,
    leaving_out: Sequence[str] = (),
    with_devices: bool = False,
) -> str:
    """Return 8 hexadecimal digits that identify what a run computes.

    Args:
        config: of the run.
        data: fingerprint of its text.
        reference: configuration of the model whose size ``match`` copies.
        leaving_out: further keys to ignore. Without ``SCORING``, the hash identifies the training alone: runs that
            share it share their weights.
        with_devices: whether other devices, or another number of them, make another hash, as they did once.

    Raises:
        UserError: ``init`` names no run.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    if not with_devices:
        plain["batch"] |= {"accumulate": batches_per_step(config), "per_step": None}
        plain["strategy"] |= {**ANY_DEVICES, **({} if is_sharded(config) else COPIES)}
    plain["data"]["fingerprint"] = data
    plain["reference"] = reference
    for key, content in contents(config).items():
        *sections, last = key.split(".")
        functools.reduce(dict.__getitem__, sections, plain)[last] = content
    for key in (*NOT_IDENTIFYING, *SHARED_VALUES, *(f"data.{part}" for part in DATA_LOCATION), *leaving_out):
        *sections, last = key.split(".")
        functools.reduce(dict.__getitem__, sections, plain).pop(last, None)
    if str(plain["data"].get("_target_", "")).startswith("triptych.data."):
        plain["data"].pop(OWN_LOCATION, None)
    leave_out_unused(plain, LATER_KEYS)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]


def leave_out_unused(config: dict[str, Any], later: Mapping[str, Any]) -> None:
    """Delete from a configuration the keys that came later, where they have the value that changes nothing."""
    for key, unused in later.items():
        *sections, last = key.split(".")
        section = functools.reduce(lambda inner, name: inner.get(name) or {}, sections, config)
        if isinstance(section, dict) and last in section and section[last] == unused:
            del section[last]


def identifying_overrides(overrides: Sequence[str]) -> list[str]:
    """Return the overrides that change what a run computes, without ``++`` and quotes, which change nothing."""
    kept = [one for one in overrides if re.split(r"[./=]", one.lstrip("+~"))[0] not in (*NOT_IDENTIFYING, "hydra")]
    return [re.sub(QUOTED_VALUE, r"\1=\3", one.removeprefix("++")) for one in kept]


def display_overrides(overrides: Sequence[str]) -> list[str]:
    """Return the identifying overrides as tables show them: only the last part of a path or of a nested option."""
    pairs = [one.partition("=") for one in identifying_overrides(overrides)]
    return [f"{key}{equals}{re.sub(FOLDERS, '', value).rstrip('/')}" for key, equals, value in pairs]


def short_label(overrides: Sequence[str]) -> str:
    """Return a name for a folder: ``model=lm4mt``, ``loss.autoencode.alpha=0.1`` -> ``lm4mt-alpha_0.1``."""
    parts = []
    for override in display_overrides(overrides):
        key, _, value = override.lstrip("+~").partition("=")
        chosen = plain_name(value)
        parts.append(chosen if key in ("model", "arm") else f"{key.rpartition('.')[2]}_{chosen}")
    return plain_name("-".join(parts))


def plain_name(text: str) -> str:
    """Return a text as the name of a file: letters, digits, ``.``, ``_`` and ``-`` alone, at most 80 of them."""
    return re.sub(r"[^\w.-]+", "_", text).strip("._-")[:80]
