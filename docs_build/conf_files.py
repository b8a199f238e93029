"""Configuration files with their comments, which PyYAML leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import yaml

from docs_build.repository import ROOT

CONF = ROOT / "conf"
PACKAGE = re.compile(r"#\s*@package\s+(\S+)")


@dataclass(frozen=True)
class Key:
    """A key whose value is no mapping.

    Attributes:
        name: dotted, from the top of the whole configuration, such as ``model.d_model``.
        value: as it is written in the file.
        comment: on its line or above it; empty for none.
        enclosing: comment of the innermost enclosing mapping that has one.
    """

    name: str
    value: str
    comment: str
    enclosing: str


@dataclass(frozen=True)
class Choice:
    """An option that a file chooses in its defaults list.

    Attributes:
        group: such as ``model``, or ``validation.search`` for ``search@validation.search``.
        source: group whose options it has, such as ``search``.
        option: name of the option; a list of them as text; empty for none.
        comment: on its line.
        overrides: whether it replaces the option that another file has chosen.
    """

    group: str
    source: str
    option: str
    comment: str
    overrides: bool


@dataclass(frozen=True)
class ConfFile:
    """A file of conf/.

    Attributes:
        path: without the ending, relative to conf/: ``train``, ``model/rnn``, ``arm/table3/base``.
        summary: comment at its top.
        keys: in the order of the file.
        choices: of its defaults list.
        parents: options of its own group that it starts from.
    """

    path: str
    summary: str
    keys: tuple[Key, ...]
    choices: tuple[Choice, ...]
    parents: tuple[str, ...]

    @property
    def group(self) -> str:
        """Folder of the file; empty for the file of a command. An arm's group is ``arm``."""
        folder = self.path.rpartition("/")[0]
        return "arm" if folder.startswith("arm/") else folder

    @property
    def option(self) -> str:
        """Name by which a command line chooses the file."""
        return self.path.removeprefix(f"{self.group}/")

    @property
    def targets(self) -> dict[str, str]:
        """Class that each mapping with a ``_target_`` builds, by the mapping's dotted key."""
        found = {name: target for parent in self.parents for name, target in conf_file(parent).targets.items()}
        own = {key.name.removesuffix("._target_"): key.value for key in self.keys if key.name.endswith("._target_")}
        return found | own


@dataclass
class _Comments:
    """Comments of a file by line."""

    trailing: dict[int, tuple[int, str]] = field(default_factory=dict)
    own_line: dict[int, tuple[int, str]] = field(default_factory=dict)

    def of(self, line: int) -> str:
        """Return the comment of the key on a line: above it, behind it, and below that in the same column."""
        above: list[tuple[int, str]] = []
        while line - 1 - len(above) in self.own_line:
            above.insert(0, self.own_line[line - 1 - len(above)])
        column, text = self.trailing.get(line, (-1, ""))
        parts = [one for at, one in above if not self._continues(line - len(above), at)] + [text]
        below = line + 1
        while column >= 0 and below in self.own_line and self.own_line[below][0] == column:
            parts.append(self.own_line[below][1])
            below += 1
        return " ".join(filter(None, parts))

    def _continues(self, first: int, column: int) -> bool:
        """Whether comment lines from ``first`` on go on with the comment behind the key before them."""
        return self.trailing.get(first - 1, (-1, ""))[0] == column


@cache
def conf_file(path: str) -> ConfFile:
    """Read a file of conf/ by its path without the ending."""
    text = (CONF / f"{path}.yaml").read_text(encoding="utf-8")
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    header = [line for line in lines[:first] if not PACKAGE.match(line)]
    package = next((found[1] for line in lines[:first] if (found := PACKAGE.match(line))), None)
    group = path.rpartition("/")[0]
    prefix = "" if package == "_global_" else group.replace("/", ".")
    comments = _comments(text, first)
    root = yaml.compose(text)
    items = root.value if isinstance(root, yaml.MappingNode) else []
    choices, parents = _defaults(next((node for key, node in items if key.value == "defaults"), None), group, comments)
    keys = _keys([item for item in items if item[0].value != "defaults"], prefix, "", text, comments)
    summary = " ".join(line.lstrip("# ") for line in header)
    return ConfFile(path, summary, tuple(keys), tuple(choices), tuple(parents))


def conf_files() -> list[ConfFile]:
    """Return all files of conf/, by path."""
    return [conf_file(path.relative_to(CONF).with_suffix("").as_posix()) for path in sorted(CONF.rglob("*.yaml"))]


def options(group: str) -> list[ConfFile]:
    """Return the options of a group, the default one first."""
    default = next((choice.option for choice in conf_file("train").choices if choice.source == group), "")
    found = [one for one in conf_files() if one.group == group]
    return sorted(found, key=lambda one: one.option != default)


def _comments(text: str, first: int) -> _Comments:
    """Find the comments below the header, which ends before the line ``first``."""
    ends: dict[int, int] = {}
    for token in yaml.scan(text):
        if not isinstance(token, yaml.StreamEndToken | yaml.BlockEndToken):
            ends[token.end_mark.line] = max(ends.get(token.end_mark.line, 0), token.end_mark.column)
    found = _Comments()
    for i, line in enumerate(text.splitlines()):
        comment = re.match(r"\s*#\s*(.*)", line[ends.get(i, 0) :])
        if comment is None or i < first:
            continue
        column = line.index("#", ends.get(i, 0))
        is_own_line = not line[:column].strip()
        (found.own_line if is_own_line else found.trailing)[i] = (column, comment[1].strip())
    return found


def _keys(items: list[Any], prefix: str, enclosing: str, text: str, comments: _Comments) -> Iterator[Key]:
    for key, node in items:
        name = f"{prefix}.{key.value}" if prefix else key.value
        alone = sum(other.start_mark.line == key.start_mark.line for other, _ in items) == 1
        comment = comments.of(key.start_mark.line) if alone else ""
        comment = "" if comment == enclosing else comment  # a mapping on one line has one comment
        if isinstance(node, yaml.MappingNode) and node.value:
            yield from _keys(node.value, name, comment or enclosing, text, comments)
        else:
            yield Key(name, text[node.start_mark.index : node.end_mark.index].strip(), comment, enclosing)


def _defaults(node: Any, group: str, comments: _Comments) -> tuple[list[Choice], list[str]]:
    """Return what a defaults list chooses of other groups, and the options of its own group that it starts from."""
    choices, parents = [], []
    for entry in node.value if node is not None else []:
        if isinstance(entry, yaml.ScalarNode):
            if entry.value != "_self_" and not entry.value.endswith("_schema"):
                path = entry.value if entry.value.startswith("/") else f"{group}/{entry.value}"
                parents.append(path.lstrip("/"))
            continue
        ((key, value),) = entry.value
        overrides, name = key.value.startswith("override "), key.value.removeprefix("override ")
        source, _, package = name.lstrip("/").partition("@")
        option = ", ".join(one.value for one in value.value) if isinstance(value, yaml.SequenceNode) else value.value
        chosen = "" if option in ("null", "") else option
        if not source.startswith("hydra/"):
            full = source if name.startswith("/") or not group else f"{group}/{source}"
            choices.append(Choice(package or full, full, chosen, comments.of(key.start_mark.line), overrides))
    return choices, parents
