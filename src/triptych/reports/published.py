"""The figures that the literature reports for a study, and their differences from the reference that they had."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import triptych
from triptych.errors import UserError
from triptych.reports.study import Study, is_result, study_folder
from triptych.reports.table import Table, keep_columns, make_cells, show_signed

EXPERIMENTS = Path(triptych.__file__).parents[2] / "experiments"
"""The studies of a checkout. An installed wheel has none, so its reports have no published figures."""
REQUIRED_COLUMNS = ("arm", "source", "set_up")
"""Columns of every ``published.csv``. Each other column is a figure, and its header says which."""
QUALITY = ("BLEU", "perplexity")
"""Words in the header of a figure that says how good translations are."""
AGAINST = "against"
"""The optional column that names the arm of the file that a publication compares an arm with."""


@dataclass(frozen=True)
class PublishedDifference:
    """A published figure minus that of the arm that the publication compares it with.

    Attributes:
        value: the difference.
        decimals: decimals of the more precise figure, or, if one is approximate, of the less precise.
        approximate: whether a figure was published as "about …".
        against: the arm that it is compared with.
        metric: the name of the figure.
        source: the publication.
    """

    value: float
    decimals: int
    approximate: bool
    against: str
    metric: str
    source: str

    def __str__(self) -> str:
        sign = "≈ " if self.approximate else ""
        return f"{sign}{show_signed(self.value, self.decimals)}"


@dataclass(frozen=True)
class Published:
    """The figures that the literature reports for a study.

    Attributes:
        header: the name of each figure.
        cells: the figures of each arm as they were published, blank where they were not.
        notes: the source and the set-up of the figures, a line each.
        against: the arm that a publication compares an arm with, where it is not the study's reference.
        sources: the publication that an arm's figures are from.
    """

    header: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    against: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def beside(self, arm: str) -> tuple[str, ...]:
        """Return the figures of one arm, blank where there are none."""
        return self.cells.get(arm, ("",) * len(self.header))

    def difference(self, arm: str, reference: str | None) -> PublishedDifference | None:
        """Return the published difference from the study's reference, in a kind of BLEU; None if there is none.

        There is none either if the publication compares the arm with another one, so that the difference would not
        stand for the same as ours. ``reference (…)`` is the reference, as another publication trained it.

        Args:
            arm: the arm.
            reference: the study's reference.
        """
        base = self.against.get(arm, reference)
        if reference is None or base is None or base == arm:
            return None
        if base != reference and not base.startswith(f"{reference} ("):
            return None
        return next(iter(self.between(arm, base, ("BLEU",))), None)

    def between(self, arm: str, base: str, figures: Sequence[str] = QUALITY) -> list[PublishedDifference]:
        """Return the published differences of two arms, one for each figure that both have.

        Args:
            arm: the arm.
            base: the arm that it is compared with.
            figures: words of the header that mark a column of figures; by default those of quality.
        """
        found = []
        for name, ours, theirs in zip(self.header, self.beside(arm), self.beside(base), strict=True):
            one, other = _read_number(ours), _read_number(theirs)
            if any(word in name for word in figures) and one and other:
                approximate = one[2] or other[2]
                decimals = min(one[1], other[1]) if approximate else max(one[1], other[1])
                source = self.sources.get(arm, "")
                found.append(PublishedDifference(one[0] - other[0], decimals, approximate, base, name, source))
        return found

    @property
    def table(self) -> Table | None:
        """All figures as they were published; None if there are none."""
        if not self.cells:
            return None
        lines = [[arm, *figures, self.against.get(arm, "")] for arm, figures in self.cells.items()]
        notes = [*self.notes, "Other test sets, metrics and sizes than ours: only differences can be compared, if any."]
        table = Table("Published figures", make_cells(["arm", *self.header, AGAINST], lines), notes)
        return table if self.against else keep_columns(table, range(1 + len(self.header)))


def read_published(folder: Path, study: Study) -> Published:
    """Read the ``published.csv`` of a study.

    For a folder in the ``results`` of a study it is that study's file, for any other folder the checkout's.

    Raises:
        UserError: the file has a mistake.
    """
    home = study_folder(folder) if is_result(folder) else EXPERIMENTS / (study.name or "")
    path = home / "published.csv"
    if study.name is None or not path.is_file():
        return Published((), {}, ())
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restval="")
        try:
            lines, header = list(reader), reader.fieldnames or ()
        except ValueError as error:
            raise UserError(f"{path} cannot be read ({error}); it is a table in UTF-8.") from error
    for column in REQUIRED_COLUMNS:
        if column not in header:
            raise UserError(f"{path} has no column {column}; it needs {', '.join(REQUIRED_COLUMNS)} and its figures.")
    figures = tuple(name for name in header if name not in (*REQUIRED_COLUMNS, AGAINST))
    cells: dict[str, tuple[str, ...]] = {}
    sources: dict[tuple[str, str], list[str]] = defaultdict(list)
    against: dict[str, str] = {}
    for number, line in enumerate(lines, start=2):
        arm = line["arm"].strip()
        if not arm or arm in cells or not line["source"].strip() or None in line:
            raise UserError(
                f"row {number} of {path} ({arm or 'no arm'}) must have an arm of its own, a source, and no more cells "
                f"than the {len(header)} columns."
            )
        cells[arm] = tuple(line[name].strip() for name in figures)
        sources[line["source"].strip(), line["set_up"].strip()].append(arm)
        if base := line.get(AGAINST, "").strip():
            against[arm] = base
    for arm, base in against.items():
        if base not in cells:
            raise UserError(f"{path} compares {arm} with {base}, which has no row there.")
    publications = {arm: source for (source, _), arms in sources.items() for arm in arms}
    return Published(figures, cells, tuple(_notes(sources)), against, publications)


def _read_number(text: str) -> tuple[float, int, bool] | None:
    """Return a published number, its decimals, and whether it was published as "about"; None if it is no number."""
    found = re.fullmatch(r"(about )?(\d+(?:\.(\d+))?)", text)
    return None if found is None else (float(found[2]), len(found[3] or ""), bool(found[1]))


def _notes(sources: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """Return a note for each source and set-up, with the names of its arms if there are several."""
    notes = []
    for source, arms in sources.items():
        whose = f" ({', '.join(arms)})" if len(sources) > 1 else ""
        notes.append(f"Published{whose}: {'; '.join(filter(None, source)).rstrip('.')}.")
    return notes
