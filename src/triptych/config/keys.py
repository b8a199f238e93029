"""Keys and groups of the YAML files as help and completion show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triptych.config.commented_yaml import read_commented
from triptych.config.conf_folder import conf_dir

CONFIG = {"prepare": "train", "forecast": "train", "dashboard": "train"}
"""The configuration file of a command that has none of its own name."""
GLOBAL = ("scale", "experiment", "arm")
"""Groups whose files set keys of the whole configuration."""


@dataclass(frozen=True)
class Key:
    """A key of a YAML file.

    Attributes:
        name: with the names of its sections, such as ``schedule.warmup``.
        value: as the file has it; empty for a section.
        comment: beside it, with the lines of comment that follow.
    """

    name: str
    value: str
    comment: str


@dataclass(frozen=True)
class Group:
    """A group that a command chooses an option of.

    Attributes:
        key: that chooses, such as ``model`` or ``search@validation.search``.
        options: those that are chosen, several in a list; none for ``null``.
        comment: beside it.
    """

    key: str
    options: tuple[str, ...]
    comment: str

    @property
    def folder(self) -> str:
        """Folder with the group's options."""
        return self.key.partition("@")[0]

    @property
    def section(self) -> str:
        """Where the keys of the options stand."""
        return self.key.rpartition("@")[2].replace("/", ".")


def keys_of_file(path: Path) -> list[Key]:
    """Return the keys of a YAML file without those of Hydra, sections among them."""
    return [
        Key(key.name, "" if key.style == "block" else key.value, key.comment)
        for key in read_commented(path).keys
        if not key.is_inner and not key.name.startswith("hydra") and not key.name.endswith("_")
    ]


def groups_of_file(path: Path) -> list[Group]:
    """Return the groups of the defaults list of a YAML file; the names of files that it builds on have no options."""
    return [
        Group(default.name, default.options, default.comment)
        for default in read_commented(path).defaults
        if default.name != "_self_" and not default.overrides
    ]


def groups_of(command: str) -> list[Group]:
    """Return the groups that a command takes."""
    return [group for group in groups_of_file(config_file(command)) if not group.key.endswith("_schema")]


def keys_of(command: str) -> list[Key]:
    """Return the keys of a command that belong to no group."""
    return keys_of_file(config_file(command))


def config_file(command: str) -> Path:
    """Return the YAML file of a command."""
    return conf_dir() / f"{CONFIG.get(command, command)}.yaml"


def keys_of_group(group: Group, folders: Sequence[Path]) -> list[Key]:
    """Return the keys of a group's chosen options, with the section of the group in their names."""
    keys: dict[str, Key] = {}
    for option in group.options:
        for key in _keys_of_option(group.folder, option, folders):
            name = key.name if group.folder in GLOBAL else f"{group.section}.{key.name}"
            earlier = keys.get(name)
            keys[name] = Key(name, key.value, key.comment or (earlier.comment if earlier else ""))
    wanted = f"{group.section}." if group.folder in GLOBAL else ""
    return [key for key in keys.values() if key.name.startswith(wanted)]


def _keys_of_option(folder: str, option: str, folders: Iterable[Path]) -> Iterator[Key]:
    """Yield the keys of an option, first those of the options that it builds on."""
    path = next((one for base in folders if (one := base / folder / f"{option}.yaml").is_file()), None)
    if path is None:
        return
    for base in groups_of_file(path):
        if not base.options:
            yield from _keys_of_option(folder, base.key, folders)
        for inner in base.options:
            for key in _keys_of_option(f"{folder}/{base.folder}", inner, folders):
                yield replace(key, name=f"{base.section}.{key.name}")
    yield from keys_of_file(path)


def allowed_values(key: Key) -> list[str]:
    """Return the values that a key can have, as far as its file says: ``a | b`` in the comment, or a truth value."""
    if key.value in ("true", "false"):
        return ["true", "false"]
    parts = key.comment.split(" | ")
    if len(parts) == 1:
        return []
    before, colon, after = parts[0].partition(": ")
    first = after.rpartition(": ")[2] or after if colon and " " in before else before  # said of the key, not the value
    return [part.strip().split(":")[0].split()[0] for part in (first, *parts[1:]) if part.strip()]
