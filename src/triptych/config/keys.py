"""Keys of the YAML files with their comments, read as text: PyYAML drops comments, and Hydra takes its time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from triptych.config.conf_folder import conf_dir

CONFIG = {"forecast": "train"}
"""The configuration file of a command that has none of its own name."""
GLOBAL = ("scale", "experiment", "arm")
"""Groups whose files set keys of the whole configuration."""
_KEY = re.compile(r"(?P<indent> *)(?P<name>\w+):(?:\s+(?P<value>[^#\s].*?))?(?:\s+#\s*(?P<comment>.*))?$")
_DEFAULT = re.compile(r" +- (?P<name>[\w/@.]+)(?:: (?P<value>[^#]*?))?(?:\s+#\s*(?P<comment>.*))?$")


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
    found: list[Key] = []
    sections: list[tuple[int, str]] = []
    column = None  # of the last comment, which a line of comment alone goes on with if it begins there too
    for line in path.read_text(encoding="utf-8").splitlines():
        if (continued := re.fullmatch(r" +#\s*(.*)", line)) and line.index("#") == column:
            found[-1] = replace(found[-1], comment=f"{found[-1].comment} {continued[1]}")
        elif match := _KEY.fullmatch(line):
            indent = len(match["indent"])
            sections = [one for one in sections if one[0] < indent]
            name = ".".join([*(section for _, section in sections), match["name"]])
            sections.append((indent, match["name"]))
            found.append(Key(name, match["value"] or "", match["comment"] or ""))
            column = line.rindex(" #") + 1 if match["comment"] else None
    return [key for key in found if not key.name.startswith(("hydra", "defaults")) and not key.name.endswith("_")]


def groups_of_file(path: Path) -> list[Group]:
    """Return the groups of the defaults list of a YAML file; the names of files that it builds on have no options."""
    text = path.read_text(encoding="utf-8")
    listed = re.search(r"^defaults:\n((?: .*\n)*)", text, re.MULTILINE)
    groups = []
    for line in listed[1].splitlines() if listed else []:
        match = _DEFAULT.fullmatch(line)
        if match is None or match["name"].startswith(("_self_", "override")):
            continue
        listed_options = [one.strip() for one in (match["value"] or "").strip("[] ").split(",")]
        options = tuple(one for one in listed_options if one not in ("", "null"))
        groups.append(Group(match["name"], options, match["comment"] or ""))
    return groups


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
