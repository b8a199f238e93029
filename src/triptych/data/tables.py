"""Sentence pairs in tables: TSV files, plain or gzip, and Parquet files, one pair a row."""

from __future__ import annotations

import difflib
import glob
import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.data.directions import Direction
from triptych.data.pair_source import PairSource, file_identity
from triptych.data.text_file import read_lines
from triptych.errors import UserError, one_line

if TYPE_CHECKING:
    import pyarrow as pa

logger = logging.getLogger(__name__)

ENDINGS = (".tsv", ".tsv.gz", ".parquet")
"""How the names of tables end."""
_ROWS = 10_000
"""Rows of a Parquet file that are read at a time."""
_LINES_AFTER_HEADER = 100
"""Lines of a TSV file that its first line is compared with."""

Columns = Sequence[str | int]
"""Column of the source and that of the target, each by its name or by its number, which counts from 1."""


def is_table(source: str) -> bool:
    """Whether a file is a table, by its name."""
    return source.endswith(ENDINGS)


def check_columns(columns: Any, *, numbers: bool = True) -> None:
    """Check ``data.columns``.

    Args:
        columns: value of the key.
        numbers: whether columns may be numbers, beside names.

    Raises:
        UserError: it is not two different names or numbers.
    """
    listed = isinstance(columns, Sequence) and not isinstance(columns, str)
    if listed and len(columns) == 2 and columns[0] != columns[1] and all(_is_column(one, numbers) for one in columns):
        return
    shown = f"[{','.join(map(str, columns))}]" if listed else columns
    how = "by name or by number from 1, such as [en,fr] or [1,2]" if numbers else "by name, such as [en,fr]"
    raise UserError(f"data.columns={shown} must be the columns of source and target, {how}.")


def _is_column(column: Any, numbers: bool) -> bool:
    return isinstance(column, str) or (numbers and isinstance(column, int) and column is not True and column >= 1)


def find_table(folder: Path, source: str, columns: Columns | None, direction: Direction) -> TableRows:
    """Return a table, or several as one, such as ``train-*.parquet``, in the order of their names.

    Args:
        folder: where the files are.
        source: name of the file or files.
        columns: of both sides; None for those that are named as the languages or, in a TSV file, the first two.
        direction: languages of both sides.

    Raises:
        UserError: there is no such file.
    """
    path = folder / os.path.expanduser(source)
    found = [path]
    if "*" in source:
        found = [*map(Path, sorted(glob.glob(os.path.join(glob.escape(str(folder)), os.path.expanduser(source)))))]
    if missing := [file for file in found or [path] if not file.is_file()]:
        raise UserError(_no_table(missing[0]))
    if columns is None:
        columns = direction if source.endswith(".parquet") else (1, 2)
    table = TableRows(tuple(found), tuple(columns))
    if not source.endswith(".parquet") and not _named(columns):
        _warn_of_header(table, direction)
    return table


def _no_table(path: Path) -> str:
    if path.is_dir():
        return f"data: '{path}' is a folder; to read all its tables, give '{path.name}/*{path.suffix}'."
    there = [file.name for file in path.parent.glob("*") if is_table(file.name)]
    close = difflib.get_close_matches(path.name, there, n=5, cutoff=0)
    beside = f"; beside it there are {', '.join(close)}" if close else ""
    return f"data: there is no table '{path}'{beside}. Give the path of one, below data.dir or absolute."


def _warn_of_header(table: TableRows, direction: Direction) -> None:
    """Say so if the first line of a TSV file is read as a pair, and looks like names of columns.

    Those are the languages, say, or single words above lines that mostly have several.
    """
    (src, tgt), *others = [*islice(table, 1 + _LINES_AFTER_HEADER)] or [("", "")]
    names = {"source", "target", "src", "tgt", *(language.lower() for language in direction)}
    words = all(re.fullmatch(r"[^\W\d][\w.-]*\w", one) for one in (src, tgt))
    sentences = sum(" " in side for pair in others for side in pair)
    if src != tgt and ({src.lower(), tgt.lower()} <= names or (words and sentences > len(others))):
        _warn_once(
            f"the first line of {table.files[0]}, '{src}' and '{tgt}', is read as a pair; if it names columns, give "
            f"data.columns=[{src},{tgt}]"
        )


@cache
def _warn_once(message: str) -> None:
    """Log a message that several splits of one file would repeat."""
    logger.warning(message)


@dataclass(frozen=True)
class TableRows(PairSource):
    """Rows of one or more files with the same columns.

    In a TSV file, values stand between tabs, as they are: quotation marks are text. If columns are given by name, its
    first line has the names. If they are given by number, all lines are pairs.

    Attributes:
        files: the files, all of one kind.
        columns: of both sides. In a Parquet file, ``translation.en`` is the field ``en`` of the column ``translation``.
    """

    files: tuple[Path, ...]
    columns: tuple[str | int, ...]

    @property
    def name(self) -> str:
        """Name of the file, or of the first and the number of the others."""
        others = len(self.files) - 1
        return self.files[0].name + (f" and {others} more" if others else "")

    @property
    def identity(self) -> Sequence[Any]:
        """The columns, and the identities of the files."""
        return ["table", [*self.columns], *map(file_identity, self.files)]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield the pairs of all rows. A null value of a Parquet file is an empty sentence.

        Raises:
            UserError: a file or a line of a TSV file lacks a column, a value is no text, or a file is damaged.
        """
        for file in self.files:
            yield from _read_parquet(file, self.columns) if file.suffix == ".parquet" else _read_tsv(file, self.columns)


def _read_tsv(file: Path, columns: Columns) -> Iterator[tuple[str, str]]:
    lines = enumerate(read_lines(file, strip="\r"), start=1)
    numbers = _column_numbers(file, next(lines, (1, ""))[1].split("\t"), columns) if _named(columns) else columns
    src, tgt = (int(number) - 1 for number in numbers)
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) <= max(src, tgt):
            raise UserError(
                f"{file}:{number} has {len(fields)} column{'s' * (len(fields) > 1)}, and source and target are columns "
                f"{src + 1} and {tgt + 1} (data.columns); mend the line, or give other columns."
            )
        yield fields[src].strip(), fields[tgt].strip()


def _named(columns: Columns) -> bool:
    return any(isinstance(column, str) for column in columns)


def _column_numbers(file: Path, names: Sequence[str], columns: Columns) -> list[int]:
    """Return the number of each column, counted from 1.

    Raises:
        UserError: no column has the name, or there are fewer columns.
    """
    numbers = [
        (names.index(column) + 1 if column in names else 0) if isinstance(column, str) else column for column in columns
    ]
    for column, number in zip(columns, numbers, strict=True):
        if not 1 <= number <= len(names):
            raise UserError(
                f"{file} has no column {column}; it has {', '.join(names)}. Give the columns of source and target: "
                "data.columns=[SOURCE,TARGET]."
            )
    return numbers


def _read_parquet(file: Path, columns: Columns) -> Iterator[tuple[str, str]]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise UserError(f"{file} is a Parquet file, and pyarrow is not installed; pip install pyarrow.") from error
    try:
        with parquet.ParquetFile(file) as opened:
            names = [field.name for field in _leaves(opened.schema_arrow)]
            if twice := [name for name in names if names.count(name) > 1]:
                raise UserError(f"{file} has several columns named {twice[0]}; give each a name of its own.")
            chosen = [names[number - 1] for number in _column_numbers(file, names, columns)]
            for batch in opened.iter_batches(_ROWS, columns=chosen):
                flat = pa.Table.from_batches([batch])
                while any(pa.types.is_struct(field.type) for field in flat.schema):
                    flat = flat.flatten()
                sides = ([as_sentence(one, file, name) for one in flat[name].to_pylist()] for name in chosen)
                yield from zip(*sides, strict=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError, KeyError) as error:
        raise UserError(f"{file} cannot be read as a Parquet file ({one_line(error)}); get it again.") from error


def _leaves(fields: Any, prefix: str = "") -> Iterator[pa.Field]:
    """Yield the columns of a schema; a column of several fields is each of them, ``COLUMN.FIELD``."""
    import pyarrow as pa

    for field in fields:
        named = field.with_name(f"{prefix}{field.name}")
        if pa.types.is_struct(field.type):
            yield from _leaves([field.type.field(i) for i in range(field.type.num_fields)], f"{named.name}.")
        else:
            yield named


def as_sentence(value: Any, source: object, column: str) -> str:
    """Return a value of a table as a sentence on one line, without white space around it. None becomes an empty one.

    Raises:
        UserError: the value is no text.
    """
    if not isinstance(value, str | None):
        raise UserError(
            f"{source}: the column {column} has {value!r}, which is no text; give the columns of source and target: "
            "data.columns=[SOURCE,TARGET]."
        )
    return re.sub(r"\s*[\r\n]\s*", " ", (value or "").strip())
