"""The rows of a report: the arms of a sweep, or, where no sweep told them, what the names of the runs' folders tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from triptych.errors import UserError
from triptych.report.results import Run, find_runs
from triptych.runs import telling
from triptych.sweeps import Arm


@dataclass(frozen=True)
class Row:
    """One arm, whether it has been run or not.

    Attributes:
        arm: the overrides in which it differs from the other arms, the seed left out. A study names its reference by
            it, and published figures the arm that they stand beside.
        label: what tables call it: the arm, and what is missing of it; unique in a report.
        runs: its runs, one a seed, unfinished ones last.
    """

    arm: str
    label: str
    runs: tuple[Run, ...]

    @property
    def finished(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.result)

    def bleu(self, test_set: str) -> float | None:
        """Its BLEU of a test set, the mean over the seeds that have it."""
        scores = [run.tests[test_set]["bleu"] for run in self.finished if test_set in run.tests]
        return fmean(scores) if scores else None


def read_rows(folder: Path, arms: Sequence[Arm]) -> list[Row]:
    """The arms of the sweep that wrote to ``folder``, in its order, then the runs below it that are none of its arms.

    Raises:
        UserError: the folder is missing or holds neither, or a run's files cannot be read.
    """
    runs = find_runs(folder)
    if not (runs or arms):
        raise UserError(f"no runs below {folder}; train one with `triptych train`.")
    places = {folder / arm.run for arm in arms if arm.run}
    own = {run.name: run for run in runs if run.folder in places}
    return _unique([*_of_arms(arms, own), *_of_names([run for run in runs if run.folder not in places])])


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """The runs of all rows, each once, though it may serve several arms."""
    return list({run.folder: run for row in rows for run in row.runs}.values())


def _of_arms(arms: Sequence[Arm], runs: Mapping[str, Run]) -> list[Row]:
    """A row for each set of overrides; arms that differ in their seeds alone share it.

    Args:
        arms: in the order of the sweep.
        runs: those that the arms have, by name.
    """
    told = [[part for part in telling(arm.overrides) if not part.startswith("seed=")] for arm in arms]
    groups: dict[frozenset[str], list[Arm]] = defaultdict(list)
    for parts, arm in zip(told, arms, strict=True):
        groups[frozenset(parts)].append(arm)
    names = dict(zip(map(frozenset, told), _labels(told), strict=True))
    rows = []
    for overrides, group in groups.items():
        found = list({run.name: run for arm in group if (run := runs.get(arm.run or ""))}.values())
        name = names[overrides] or _model(found)
        missing = _missing([(arm, runs.get(arm.run or "")) for arm in group])
        first, *others = _seeds(found) or [[]]
        unfinished = [run for run in found if not run.result]
        rows.append(Row(name, f"{name} ({missing})" if missing else name, (*first, *unfinished)))
        rows += [Row(name, name, tuple(repeated)) for repeated in others]
    return rows


def _of_names(runs: Sequence[Run]) -> list[Row]:
    """A row for each config; ordered by label, seed and name, each unfinished run in a row of its own at the end."""
    labels = _labels([run.overrides for run in runs])
    named = {run.folder: label or _model([run]) for run, label in zip(runs, labels, strict=True)}
    ordered = sorted(runs, key=lambda run: (named[run.folder], run.seed is None, run.seed or 0, run.name))
    rows = [Row(named[seeds[0].folder], named[seeds[0].folder], tuple(seeds)) for seeds in _seeds(ordered)]
    left = [run for run in ordered if not run.result]
    return rows + [Row(named[run.folder], f"{named[run.folder]} (unfinished)", (run,)) for run in left]


def _labels(told: Sequence[Sequence[str]]) -> list[str]:
    """What tells lists of overrides apart, in words; of a choice of model or arm the choice alone."""
    shared = set.intersection(*map(set, told)) if len(told) > 1 else set()
    return [
        " ".join(part.removeprefix("model=").removeprefix("arm=") for part in parts if part not in shared)
        for parts in told
    ]


def _model(runs: Sequence[Run]) -> str:
    """What to call runs that no override tells apart from others."""
    return next((run.result["model"]["name"] for run in runs if run.result), "default")


def _seeds(runs: Sequence[Run]) -> list[list[Run]]:
    """The finished runs of each config, in the order of their seeds.

    A config run twice with one seed is a repetition, and no second seed; a run without a seed stands alone.
    """
    groups: dict[tuple[str, int], list[Run]] = defaultdict(list)
    again: Counter[tuple[str, int | None]] = Counter()
    for run in runs:
        if run.result:
            config = str(run.folder) if run.seed is None else run.recipe
            groups[config, again[config, run.seed]].append(run)
            again[config, run.seed] += 1
    return [sorted(group, key=lambda run: run.seed or 0) for group in groups.values()]


def _missing(arms: Sequence[tuple[Arm, Run | None]]) -> str:
    """What keeps arms that differ in their seeds alone from being finished: ``failed: …``, ``seed=2 not run``."""
    states = {arm: _state(arm, run) for arm, run in arms}
    if len(set(states.values())) == 1:
        return next(iter(states.values()))
    seeds = {arm: " ".join(part for part in arm.overrides if part.startswith("seed=")) for arm in states}
    return "; ".join(f"{seeds[arm]} {state}".strip() for arm, state in states.items() if state)


def _state(arm: Arm, run: Run | None) -> str:
    if run and run.result:
        return ""
    if arm.status == "failed":
        return f"failed: {arm.reason}" if arm.reason else "failed"
    if arm.status == "finished" and run is None:
        return "its run is not here"
    return "not run" if arm.status == "waiting" else "unfinished"


def _unique(rows: Sequence[Row]) -> list[Row]:
    """Rows that share a label are told apart by the name of their first run, or else by a number."""
    counts = Counter(row.label for row in rows)
    told = [
        replace(row, label=f"{row.label} ({row.runs[0].name})") if counts[row.label] > 1 and row.runs else row
        for row in rows
    ]
    again: Counter[str] = Counter()
    unique = []
    for row in told:
        again[row.label] += 1
        unique.append(replace(row, label=f"{row.label} #{again[row.label]}") if again[row.label] > 1 else row)
    return unique
