"""Read a file that triptych has written: the one place where it is opened, checked and, if need be, called damaged.

What a file must hold is a shape: a type such as ``dict[str, float]``, or a ``TypedDict`` or dataclass with the types
of its keys. Keys that a shape does not name are left alone, since later versions may add some. ``float`` is a finite
number.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from triptych.errors import UserError, one_line

if TYPE_CHECKING:
    import pandas as pd

WORDS: dict[Any, str] = {int: "integer", float: "finite number", bool: "truth value", str: "text", type(None): "null"}
ERRORS = (OSError, ValueError, TypeError, KeyError, RecursionError)
"""What reading a damaged file raises; a text that is no UTF-8 or no JSON is a ``ValueError``."""
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, which reads a configuration in a tenth of the time, where PyYAML was built with it."""
DEEPEST = 100
"""Most levels of nesting in a YAML file; a configuration has less than ten."""


class DamagedFile(UserError):
    """A file that triptych has written, and that cannot be what it wrote."""

    def __init__(self, path: Path, reason: object, remedy: str) -> None:
        self.path = path
        said = f"it lacks {reason}" if isinstance(reason, KeyError) else one_line(_reason(reason))
        super().__init__(f"{path} cannot be read ({said}); {remedy}.")


def read_json(path: Path, shape: Any, remedy: str) -> Any:
    """Return the content of a JSON file.

    Args:
        path: of the file.
        shape: that its content must have.
        remedy: what to do if it has not, as the end of a sentence.

    Raises:
        DamagedFile: no such file, or one that is damaged, unreadable or of another shape.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        check_shape(content, shape)
    except ERRORS as error:
        raise DamagedFile(path, error, remedy) from error
    return content


def read_yaml(path: Path) -> Any:
    """Return the content of a YAML file that triptych has written.

    Aliases are refused: triptych writes none, and a few lines of them can stand for gigabytes. So is deep nesting,
    which libyaml does not survive.

    Raises:
        OSError, ValueError, yaml.YAMLError: it cannot be read, is no YAML, has an alias, or is nested too deeply.
    """
    text, depth = path.read_text(encoding="utf-8"), 0
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("it has an alias, which no file of triptych's has")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise yaml.YAMLError(f"it is nested more than {DEEPEST} levels deep")
    return yaml.load(text, LOADER)


def read_table(path: Path, remedy: str, **options: Any) -> pd.DataFrame:
    """Return the table of a CSV file that has a column ``step``.

    Args:
        path: of the file.
        remedy: as for ``read_json``.
        options: of ``pandas.read_csv``.

    Raises:
        DamagedFile: as ``read_json``; a step or a figure is no number, where ``options`` do not ask for text.
    """
    import pandas as pd  # imported late: few files are tables

    try:
        table = pd.read_csv(path, **options)
        if "step" not in table:
            raise ValueError("it has no column step")
        texts = [name for name, kind in table.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
        if texts and "dtype" not in options:
            raise ValueError(f"its column {texts[0]} has no numbers")
    except ERRORS as error:
        raise DamagedFile(path, error, remedy) from error
    return table


def read_bytes(path: Path, remedy: str) -> bytes:
    """Return the content of a file. Raises ``DamagedFile`` as ``read_json``."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedFile(path, error, remedy) from error


def checksums(folder: Path) -> dict[str, list[int]]:
    """Return the size in bytes and the CRC-32 of each file in a folder, by its name."""
    return {path.name: checksum(path) for path in sorted(folder.iterdir()) if path.name[0] != "."}


def require_checksums(folder: Path, known: Mapping[str, Sequence[int]], remedy: str) -> None:
    """Compare the files of a folder with what ``checksums`` returned when they were written.

    Raises:
        DamagedFile: a file is missing or has changed.
    """
    for name, expected in known.items():
        try:
            found = checksum(folder / name)
        except OSError as error:
            raise DamagedFile(folder / name, error, remedy) from error
        if found != list(expected):
            raise DamagedFile(folder / name, ValueError("its checksum is wrong"), remedy)


def checksum(path: Path) -> list[int]:
    """Return the size of a file in bytes and its CRC-32."""
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return [size, crc]


def check_shape(value: Any, shape: Any, place: str = "its content") -> None:
    """Compare a value that JSON can hold with a shape.

    Raises:
        ValueError: it differs; the message names the first place where it does.
    """
    origin, inner = typing.get_origin(shape), typing.get_args(shape)
    if shape is Any:
        return
    if origin in (typing.Union, types.UnionType):
        _check_union(value, inner, place)
    elif origin in (typing.Required, typing.NotRequired):
        check_shape(value, inner[0], place)
    elif origin is dict:
        _require(isinstance(value, dict), place, "mapping")
        for key, item in value.items():
            check_shape(item, inner[1], _below(place, key))
    elif origin in (list, tuple):
        _require(isinstance(value, list), place, "list")
        for i, item in enumerate(value):
            check_shape(item, inner[0], f"{place}[{i}]")
    elif typing.is_typeddict(shape) or dataclasses.is_dataclass(shape):
        _check_keys(value, shape, place)
    else:
        _require(_fits(value, shape), place, WORDS[shape])


def _check_union(value: Any, shapes: Sequence[Any], place: str) -> None:
    failures = []
    for shape in shapes:
        try:
            check_shape(value, shape, place)
        except ValueError as error:
            failures.append(error)
        else:
            return
    raise failures[0]


def _check_keys(value: Any, shape: Any, place: str) -> None:
    _require(isinstance(value, dict), place, "mapping")
    hints = typing.get_type_hints(shape, include_extras=True)
    if dataclasses.is_dataclass(shape):
        missing = dataclasses.MISSING
        needed = [f.name for f in dataclasses.fields(shape) if f.default is missing and f.default_factory is missing]
    else:
        # Python does not see the marks of annotations that are strings, as those of all our files are.
        marks = {key: typing.get_origin(hint) for key, hint in hints.items()}
        unmarked = shape.__required_keys__ - {key for key, mark in marks.items() if mark is typing.NotRequired}
        needed = sorted(unmarked | {key for key, mark in marks.items() if mark is typing.Required})
    for key in needed:
        if key not in value:
            raise ValueError(f"{_below(place, key)} is missing")
    for key in hints.keys() & value.keys():
        check_shape(value[key], hints[key], _below(place, key))


def _fits(value: Any, shape: Any) -> bool:
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf
    return isinstance(value, shape) and not (shape is int and isinstance(value, bool))


def _require(holds: bool, place: str, word: str) -> None:
    if not holds:
        raise ValueError(f"{place} is no {word}")


def _below(place: str, key: str) -> str:
    return key if place == "its content" else f"{place}.{key}"


def _reason(error: object) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error) or type(error).__name__
