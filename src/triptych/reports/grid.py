"""A sweep that tries every combination of three or more parameters, as a grid: what each choice costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from triptych.reports.arm_rows import ArmRow
from triptych.reports.measures import Measure
from triptych.reports.table import MISSING, Table, make_cells

FEWEST = 3
"""Smallest number of parameters of a grid. A sweep of fewer is read from the first table."""
Settings = tuple[str, ...]


@dataclass(frozen=True)
class Grid:
    """Arms by the values of their parameters, as text.

    Attributes:
        first: the name of the first parameter.
        others: the names of those that are neither the first nor the columns'.
        column: the name of the numeric parameter whose values are the columns.
        columns: its values, ascending.
        arms: the arm of each value of the first, of the others, and of the columns'.
    """

    first: str
    others: tuple[str, ...]
    column: str
    columns: tuple[str, ...]
    arms: Mapping[tuple[str, Settings, str], ArmRow]

    @property
    def lines(self) -> list[tuple[str, Settings]]:
        """The values of the first and of the other parameters, a pair for each line of the grid."""
        return list(dict.fromkeys((first, others) for first, others, _ in self.arms))

    @property
    def groups(self) -> list[str]:
        """The values of the first parameter."""
        return list(dict.fromkeys(first for first, _, _ in self.arms))

    @property
    def settings(self) -> list[tuple[Settings, str]]:
        """Every combination of the other parameters and the columns'."""
        return list(dict.fromkeys((others, column) for _, others, column in self.arms))


@dataclass(frozen=True)
class MeasuredGrid:
    """A grid with the value of each arm in one measure.

    Attributes:
        grid: the arms.
        measure: the measure.
        value: returns the mean over the seeds of an arm; None if it has no value.
    """

    grid: Grid
    measure: Measure
    value: Callable[[ArmRow], float | None]

    def trials(self, group: str) -> dict[tuple[Settings, str], float]:
        """Return the values of a group by their settings, without those that were not measured."""
        found = {setting: self.value(self.grid.arms[group, *setting]) for setting in self.grid.settings}
        return {setting: value for setting, value in found.items() if value is not None}

    def best(self, group: str) -> tuple[Settings, str] | None:
        """Return the settings of the best trial of a group; None if nothing was measured."""
        trials = self.trials(group)
        choose = max if self.measure.higher_is_better else min
        return choose(trials, key=lambda setting: trials[setting]) if trials else None

    def is_better(self, one: float, other: float) -> bool:
        """Return whether a value is better than another."""
        return one > other if self.measure.higher_is_better else one < other


def find_grid(rows: Sequence[ArmRow]) -> Grid | None:
    """Return the grid that the arms of a report make; None if they are no full product of three parameters or more.

    The columns are the numeric parameter, other than the first, that has the most values.
    """
    named = [_parameters(row) for row in rows]
    keys = list(named[0]) if named else []
    if any(list(each) != keys for each in named):
        return None
    values = {key: list(dict.fromkeys(each[key] for each in named)) for key in keys}
    keys = [key for key in keys if len(values[key]) > 1]
    numeric = [key for key in keys[1:] if all(map(_is_number, values[key]))]
    distinct = {tuple(each[key] for key in keys) for each in named}
    if len(keys) < FEWEST or not numeric or not len(rows) == len(distinct) == prod(len(values[key]) for key in keys):
        return None
    column = max(numeric, key=lambda key: len(values[key]))
    others = [key for key in keys[1:] if key != column]
    found = {(each[keys[0]], tuple(each[key] for key in others), each[column]): row
             for each, row in zip(named, rows, strict=True)}  # fmt: skip
    columns = sorted(values[column], key=float)
    ordered = product(values[keys[0]], product(*(values[key] for key in others)), columns)
    return Grid(
        first=_name(keys[0], rows),
        others=tuple(_name(key, rows) for key in others),
        column=_name(column, rows),
        columns=tuple(columns),
        arms={place: found[place] for place in ordered},
    )


def tabulate_grid(found: MeasuredGrid) -> Table:
    """Return the value of every arm: a line for each combination of the other parameters, the best of a group bold."""
    grid, measure = found.grid, found.measure
    best = {(group, found.best(group)) for group in grid.groups}
    bold, cells = set(), []
    for i, (group, others) in enumerate(grid.lines):
        line = [group, *others]
        for column in grid.columns:
            if (group, (others, column)) in best:
                bold.add((i, len(line)))
            line.append(_text(found.value(grid.arms[group, others, column]), measure))
        cells.append(line)
    columns = [(grid.column, column) for column in grid.columns]
    better = "Higher" if measure.higher_is_better else "Lower"
    named = ", ".join((grid.first, *grid.others, grid.column))
    return Table(
        f"Grid, {measure.title}",
        make_cells([grid.first, *grid.others, *columns], cells),
        [f"{measure.title} ({measure.unit}) by {named}. {better} is better."],
        best=frozenset(bold),
        best_note=f"Bold: the best of each {grid.first}. It was chosen by these figures.",
        prose=frozenset(range(1 + len(grid.others))),
    )


def tabulate_best(found: MeasuredGrid) -> Table:
    """Return the best trial of each group, and how far its others lie from it."""
    grid, measure, cells = found.grid, found.measure, []
    for group in grid.groups:
        trials, best = found.trials(group), found.best(group)
        if best is None:
            cells.append([group, *[MISSING] * (len(grid.others) + 4)])
            continue
        ranked = sorted(trials.values(), reverse=measure.higher_is_better)
        gaps = [measure.text(value - ranked[0]) for value in (*ranked[1:2], ranked[-1])] if len(ranked) > 1 else []
        cells.append([group, *best[0], best[1], _text(ranked[0], measure), *(gaps or [MISSING] * 2)])
    header = [grid.first, *grid.others, grid.column, measure.name, "Δ second best", "Δ worst"]
    notes = [
        f"Each {grid.first} has {len(grid.settings)} trials. Δ is the difference from the best, in {measure.unit}."
    ]
    ends = {grid.columns[0], grid.columns[-1]}
    if at_end := [group for group in grid.groups if (best := found.best(group)) and best[1] in ends]:
        notes.append(
            f"At the lowest or highest {grid.column} that was tried: {', '.join(at_end)}. One beyond it may be better."
        )
    return Table(f"Best trials, {measure.title}", make_cells(header, cells), notes)


def tabulate_orders(found: MeasuredGrid) -> Table:
    """Return for each pair of groups how often their trials are ordered as their best trials are."""
    grid, measure, cells = found.grid, found.measure, []
    for pair in combinations(grid.groups, 2):
        trials = {group: found.trials(group) for group in pair}
        if not all(trials.values()):
            cells.append([f"{pair[0]}, {pair[1]}", *[MISSING] * 3])
            continue
        best = {group: trials[group][setting] for group in pair if (setting := found.best(group))}
        ahead, behind = pair if not found.is_better(best[pair[1]], best[pair[0]]) else pair[::-1]
        equal = [(trials[ahead][key], trials[behind][key]) for key in trials[ahead] if key in trials[behind]]
        every = list(product(trials[ahead].values(), trials[behind].values()))
        counts = [f"{sum(found.is_better(*two) for two in pairs)} of {len(pairs)}" for pairs in (equal, every)]
        cells.append([f"{ahead} before {behind}", measure.text(best[ahead] - best[behind]), *counts])
    header = ["order of the best trials", "Δ of the best", "same order, equal settings", "same order, all pairings"]
    notes = [
        f"Δ is the first's best trial minus the second's, in {measure.unit}. Then the number of pairings of a trial of "
        "each in which the first is better too: with equal settings, and all.",
        "Trials of one seed differ by chance as well.",
    ]
    return Table(f"Orders over the grid, {measure.title}", make_cells(header, cells), notes)


def _parameters(row: ArmRow) -> dict[str, str]:
    """Return the parameters in an arm's name. The key of a value without one is empty."""
    parts = [part.partition("=") for part in row.arm.split()]
    return {key if sign else "": value if sign else key for key, sign, value in parts}


def _name(key: str, rows: Sequence[ArmRow]) -> str:
    """Return the last part of a key, or, where arms' names leave it out, the key that some run gives such a value."""
    if key:
        return key.rpartition(".")[2]
    given = (one.partition("=") for row in rows for run in row.runs for one in run.overrides)
    values = {part for row in rows for part in row.arm.split() if "=" not in part}
    return next((option for option, _, value in given if value in values), "arm")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(value: float | None, measure: Measure) -> str:
    return MISSING if value is None else f"{value:.{measure.decimals}f}"
