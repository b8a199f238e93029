"""What to give instead of a key or an option that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from triptych.config.hints import hint, options_with_key
from triptych.config.search_path import config_folders
from triptych.config.types import OF_HYDRA

ALIKE = 0.75
"""Minimum ``difflib`` similarity for suggesting a key."""


def suggestion(key: str, command: str, overrides: Sequence[str]) -> str:
    """Return ``; `` and what to do instead of giving a key that does not exist; nothing if no key resembles it.

    Args:
        key: that does not exist.
        command: whose configuration was composed, such as ``train``.
        overrides: that were given to it; those that can be read choose the keys that there are.
    """
    from hydra import compose

    from triptych.config.composition import separate_hydra

    others = [o for o in overrides if "=" in o and not o.lstrip("+~").startswith((key, "hydra"))]
    try:
        with separate_hydra():
            config = compose(command, overrides=others)
    except Exception:  # another mistake beside this one
        return ""
    keys = all_keys(config)
    if found := hint(key, keys, command):
        return f"; {found}"
    last_parts = sorted((one for one in keys if one.rpartition(".")[2] == key), key=len)
    if not last_parts and command == "train" and (found := options_with_key(key, config_folders(), others)):
        return f"; {found}"
    section, _, name = key.rpartition(".")
    siblings = [one.rpartition(".")[2] for one in keys if section and one.rpartition(".")[0] == section]
    siblings = [one for one in siblings if one not in OF_HYDRA]
    if siblings:
        below = {one: one.rpartition(".")[2] for one in keys if one.startswith(f"{section}.")}
        alike = difflib.get_close_matches(name, below.values(), n=1)
        meant = next((one for one, last in below.items() if last in alike), None)
        return f"; did you mean {meant}?" if meant else f"; {section} has {', '.join(siblings)}."
    close = last_parts or difflib.get_close_matches(key, keys, n=1, cutoff=ALIKE)
    return f"; did you mean {close[0]}?" if close else ""


def all_keys(config: DictConfig, prefix: str = "") -> list[str]:
    """Return the keys of a configuration, with those of its sections as in ``search.beam_size``."""
    keys = []
    for name in map(str, config):
        keys.append(f"{prefix}{name}")
        inner = config._get_node(name)
        if isinstance(inner, DictConfig) and not OmegaConf.is_missing(config, name):
            keys += all_keys(inner, f"{prefix}{name}.")
    return keys


def unknown_option(group: str, option: str = "") -> str:
    """Return a sentence with the options of a group that Hydra does not list: of a list, or in folders.

    Args:
        group: such as ``arm``, whose options are in folders: ``arm=table3/base``.
        option: that does not exist.
    """
    there = sorted(
        path.relative_to(folder / group).with_suffix("")
        for folder in config_folders()
        for path in (folder / group).rglob("*.yaml")
    )
    alike = [one.as_posix() for one in there if option in (one.name, one.parent.name)]
    listed = alike or sorted({f"{one.parts[0]}/…" if len(one.parts) > 1 else one.name for one in there})
    return f"{group}={option} is unknown; choose one of {', '.join(listed)}."


def options_without_file(overrides: Sequence[str]) -> list[str]:
    """Return the overrides that choose an option that their group does not have."""
    wrong = []
    for override in overrides:
        key, _, values = override.partition("=")
        groups = [folder / key.lstrip("+~").partition("@")[0] for folder in config_folders()]
        if any(group.is_dir() for group in groups) and not all(
            any((group / f"{value}.yaml").exists() for group in groups) for value in values.split(",")
        ):
            wrong.append(override)
    return wrong
