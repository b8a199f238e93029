"""The verdicts on the page of a study, ``experiments/<study>/README.md``, which a report writes and nobody types."""

from __future__ import annotations

from pathlib import Path

from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports.formats import to_markdown_cells
from triptych.reports.study import is_result, study_folder
from triptych.reports.tables import Table

BEGIN, END = "<!-- verdicts {scale}: written by triptych report -->", "<!-- end of verdicts {scale} -->"
"""The lines of a page between which the verdicts stand."""


def write_verdicts(home: Path, verdicts: Table | None) -> None:
    """Put the table of verdicts between the two marks of its scale on the page of the study.

    Nothing happens if ``home`` is not ``experiments/<study>/results/<scale>``, if the study has no page, or if the page
    has no marks.

    Args:
        home: the folder of the report.
        verdicts: the table; None if the study makes no claims.

    Raises:
        UserError: the page has only one of the two marks.
    """
    if verdicts is None or not is_result(home):
        return
    page = study_folder(home) / "README.md"
    begin, end = (mark.format(scale=home.resolve().name) for mark in (BEGIN, END))
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    if begin not in text and end not in text:
        return
    before, found, rest = text.partition(f"{begin}\n")
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise UserError(f"{page} must have the two lines {begin} and {end}, in this order, for its verdicts.")
    with replacing(page) as beside:
        beside.write_text(f"{before}{begin}\n\n{to_markdown_cells(verdicts, home)}\n{end}{after}", encoding="utf-8")
