"""The tables on the page of a study and on the project's README that a report writes and nobody types."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports.formats import to_markdown_block
from triptych.reports.study import is_result, study_folder
from triptych.reports.table import Table

BEGIN, END = "<!-- {name}: written by triptych report -->", "<!-- end of {name} -->"
"""The lines of a page between which a table stands."""


def write_tables(home: Path, tables: Mapping[str, Table | None]) -> None:
    """Put tables between their two marks on the page of the study and on the README beside ``experiments``.

    On the study's page a table's name is followed by the scale, as in ``verdicts toy``; on the README the study stands
    between, as in ``summary architectures toy``. Nothing happens where a page has no such marks, or if ``home`` is not
    ``experiments/<study>/results/<scale>``.

    Args:
        home: the folder of the report.
        tables: by name; None where the report has no such table.

    Raises:
        UserError: a page has only one of two marks.
    """
    if not is_result(home):
        return
    study, scale = study_folder(home), home.resolve().name
    for name, table in tables.items():
        if table is not None:
            _write(study / "README.md", f"{name} {scale}", table)
            _write(study.parents[1] / "README.md", f"{name} {study.name} {scale}", table)


def _write(page: Path, name: str, table: Table) -> None:
    begin, end = (mark.format(name=name) for mark in (BEGIN, END))
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    if begin not in text and end not in text:
        return
    before, found, rest = text.partition(f"{begin}\n")
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise UserError(f"{page} must have the two lines {begin} and {end}, in this order, for its table.")
    with replacing(page) as beside:
        beside.write_text(f"{before}{begin}\n\n{to_markdown_block(table)}\n{end}{after}", encoding="utf-8")
