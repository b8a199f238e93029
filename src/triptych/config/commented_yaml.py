"""The one reader of YAML files with their comments, which PyYAML drops. It needs no Hydra, which takes its time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from triptych.stored import LOADER

PACKAGE = re.compile(r"#\s*@package\s+(\S+)")


@dataclass(frozen=True)
class CommentedKey:
    """A key of a YAML file.

    Attributes:
        name: with the names of its sections, such as ``schedule.warmup``.
        value: as it is written.
        comment: above it, behind it, and below that in the same column; empty for none.
        enclosing: comment of the innermost section that has one.
        style: of its value: ``plain``, ``block`` (a section or a list over several lines) or ``inline`` (a section on
            one line).
        is_inner: whether it is in a section on one line.
    """

    name: str
    value: str
    comment: str
    enclosing: str
    style: str
    is_inner: bool

    @property
    def is_section(self) -> bool:
        """Whether other keys are in it."""
        return self.style == "inline" or (self.style == "block" and not self.value.startswith("- "))


@dataclass(frozen=True)
class DefaultsEntry:
    """An entry of a defaults list.

    Attributes:
        name: of a group, with ``@package`` if it has one; or of a file that this one builds on.
        options: that are chosen; none for ``null``, and for a file.
        comment: on its line.
        names_file: whether it is a file and no group.
        overrides: whether it replaces the option that another file has chosen.
    """

    name: str
    options: tuple[str, ...]
    comment: str
    names_file: bool
    overrides: bool


@dataclass(frozen=True)
class CommentedFile:
    """What a YAML file says.

    Attributes:
        summary: comment at its top.
        package: of ``# @package``; None without one.
        keys: in the order of the file, sections before what is in them, without the defaults list.
        defaults: the defaults list.
    """

    summary: str
    package: str | None
    keys: tuple[CommentedKey, ...]
    defaults: tuple[DefaultsEntry, ...]


@cache
def read_commented(path: Path) -> CommentedFile:
    """Read a YAML file with its comments."""
    return parse_commented(path.read_text(encoding="utf-8"))


def parse_commented(text: str) -> CommentedFile:
    """Parse the text of a YAML file with its comments."""
    summary, package, first = _header(text)
    comments = _comments(text, first)
    root = yaml.compose(text, Loader=LOADER)
    items = root.value if isinstance(root, yaml.MappingNode) else []
    defaults: list[Any] = next((node.value for key, node in items if key.value == "defaults"), [])
    keys = _keys([item for item in items if item[0].value != "defaults"], "", "", False, text, comments)
    return CommentedFile(summary, package, tuple(keys), tuple(_defaults(defaults, comments)))


def summary_of(path: Path) -> str:
    """Return the comment that a YAML file begins with, as one line. The rest of the file is not parsed."""
    return _header(path.read_text(encoding="utf-8"))[0]


def _header(text: str) -> tuple[str, str | None, int]:
    """Return the comment at the top, the package that it names, and the number of its lines."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    package = next((found[1] for line in lines[:first] if (found := PACKAGE.match(line))), None)
    said = [line.lstrip("# ").rstrip() for line in lines[:first] if not PACKAGE.match(line)]
    return " ".join(said), package, first


@dataclass
class _Comments:
    """Comments of a file by line, each with its column."""

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


def _comments(text: str, first: int) -> _Comments:
    """Find the comments below the header, which ends before the line ``first``."""
    ends: dict[int, int] = {}
    for token in yaml.scan(text, Loader=LOADER):
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


def _keys(
    items: list[Any], section: str, enclosing: str, is_inner: bool, text: str, comments: _Comments
) -> Iterator[CommentedKey]:
    """Yield keys of a section, and those of the sections in it."""
    for key, node in items:
        name = f"{section}.{key.value}" if section else key.value
        alone = sum(other.start_mark.line == key.start_mark.line for other, _ in items) == 1
        comment = comments.of(key.start_mark.line) if alone else ""
        comment = "" if comment == enclosing else comment  # a mapping on one line has one comment
        value = text[node.start_mark.index : node.end_mark.index].strip()
        inner = node.value if isinstance(node, yaml.MappingNode) else []
        if isinstance(node, yaml.CollectionNode) and not node.flow_style:
            style = "block"
        else:
            style = "inline" if inner else "plain"
        yield CommentedKey(name, value, comment, enclosing, style, is_inner)
        yield from _keys(inner, name, comment or enclosing, is_inner or style == "inline", text, comments)


def _defaults(nodes: list[Any], comments: _Comments) -> Iterator[DefaultsEntry]:
    for node in nodes:
        if isinstance(node, yaml.ScalarNode):
            yield DefaultsEntry(node.value, (), comments.of(node.start_mark.line), names_file=True, overrides=False)
            continue
        ((key, value),) = node.value
        name = key.value.removeprefix("override ")
        chosen = [one.value for one in value.value] if isinstance(value, yaml.SequenceNode) else [value.value]
        options = tuple(one for one in chosen if one not in ("null", ""))
        comment = comments.of(key.start_mark.line)
        yield DefaultsEntry(name, options, comment, names_file=False, overrides=name != key.value)
