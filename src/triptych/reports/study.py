"""What a study says of its arms, and what the literature reports beside them."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import triptych
from triptych.errors import UserError, require_one_of
from triptych.reports.stored_runs import Run
from triptych.sweeps.arms import Arm

EXPERIMENTS = Path(triptych.__file__).parents[2] / "experiments"
"""The studies of a checkout; a wheel has none, and its reports no published figures."""
VARIABLE = ("tokens", "search")
NEEDED = ("arm", "source", "set_up")
"""Columns of every ``published.csv``; each of the others is a figure, named for what it is."""


@dataclass(frozen=True)
class Study:
    """What the arms of a report were made for.

    Attributes:
        name: None where they belong to no study, or to several.
        reference: the arm that the others are tested against, if any.
        varies: what the arms differ in on purpose although a fair comparison would refuse it: ``tokens`` (the stream
            of batches), ``search`` (how they decode).
        deviations: from the published set-up, a clause each.
    """

    name: str | None
    reference: str | None
    varies: frozenset[str]
    deviations: tuple[str, ...]


@dataclass(frozen=True)
class Published:
    """The figures of a study's literature.

    Attributes:
        header: the name of each figure.
        cells: by arm, as they were published, blank where they were not.
        notes: where they are from, and how they were made, a line each.
    """

    header: tuple[str, ...]
    cells: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def beside(self, arm: str) -> tuple[str, ...]:
        """The figures of one arm, blank where there are none."""
        return self.cells.get(arm, ("",) * len(self.header))


def find_study(folder: Path, arms: Sequence[Arm], runs: Sequence[Run]) -> Study:
    """The study that the arms name, or else the runs, or else the place ``experiments/<study>/results/<folder>``.

    Raises:
        UserError: the arms belong to several studies, or theirs varies what no study can.
    """
    nodes = [run.config.get("study") or {} for run in runs]
    names = {arm.study for arm in arms} or {node["name"] for node in nodes if node.get("name")}
    if arms and len(names) > 1:
        listed = ", ".join(sorted(name or "no study" for name in names))
        raise UserError(
            f"{folder} holds the arms of several studies ({listed}); give each sweep an output=… of its own, "
            "and report that."
        )
    if len(names) > 1:
        return Study(None, None, frozenset(), ())
    name = next(iter(names), None) or (_home(folder).name if _is_result(folder) else None)
    own = [node for node in nodes if node.get("name") == next(iter(names), None)]
    varies = own[0].get("varies") or () if own else ()
    for what in varies:
        require_one_of(VARIABLE, "study", varies=what)
    return Study(
        name=name,
        reference=own[0].get("reference") if own else None,
        varies=frozenset(varies),
        deviations=tuple(dict.fromkeys(text for node in own for text in node.get("deviations") or ())),
    )


def read_published(folder: Path, study: Study) -> Published:
    """``published.csv`` of a study: of the one in whose ``results`` the folder lies, or else of the checkout.

    Raises:
        UserError: the file has a mistake.
    """
    home = _home(folder) if _is_result(folder) else EXPERIMENTS / (study.name or "")
    path = home / "published.csv"
    if study.name is None or not path.is_file():
        return Published((), {}, ())
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file, restval="")
        try:
            lines, header = list(reader), reader.fieldnames or ()
        except ValueError as error:
            raise UserError(f"{path} cannot be read ({error}); it is a table in UTF-8.") from error
    for column in NEEDED:
        if column not in header:
            raise UserError(f"{path} has no column {column}; it needs {', '.join(NEEDED)}, and a column a figure.")
    figures = tuple(name for name in header if name not in NEEDED)
    cells: dict[str, tuple[str, ...]] = {}
    sources: dict[tuple[str, str], list[str]] = defaultdict(list)
    for number, line in enumerate(lines, start=2):
        arm = line["arm"].strip()
        if not arm or arm in cells or not line["source"].strip() or None in line:
            raise UserError(
                f"row {number} of {path} ({arm or 'no arm'}) must have an arm of its own, a source, and no more cells "
                f"than the {len(header)} columns."
            )
        cells[arm] = tuple(line[name].strip() for name in figures)
        sources[line["source"].strip(), line["set_up"].strip()].append(arm)
    return Published(figures, cells, tuple(_notes(sources)))


def subfolders(folder: Path) -> list[str]:
    """The names of the folders in ``folder``, in alphabetical order; in ``experiments`` they are the studies."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _notes(sources: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """``Published: source; set-up.``, with the arms that it is said of where that is not all of them."""
    notes = []
    for told, arms in sources.items():
        whose = f" ({', '.join(arms)})" if len(sources) > 1 else ""
        notes.append(f"Published{whose}: {'; '.join(filter(None, told)).rstrip('.')}.")
    return notes


def _is_result(folder: Path) -> bool:
    """Whether a folder is ``experiments/<study>/results/<folder>``."""
    parts = folder.resolve().parts
    return parts[-2:-1] == ("results",) and parts[-4:-3] == ("experiments",)


def _home(folder: Path) -> Path:
    return folder.resolve().parents[1]
