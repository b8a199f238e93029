"""The rows of a report: the arms of a sweep, or, where no sweep told them, what the names of the runs' folders tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from triptych.errors import UserError
from triptych.reports.stored_runs import Run
from triptych.runs.identity import display_overrides
from triptych.sweeps.arms import FAILED, FINISHED, WAITING, Arm


@dataclass(frozen=True)
class Row:
    """One arm, whether it has been run or not.

    Attributes:
        arm: the overrides in which it differs from the other arms, the seed left out. A study names its reference by
            it, and published figures the arm that they stand beside.
        label: what tables call it: the arm, and what is missing of it; unique in a report.
        runs: its runs, one a seed, unfinished ones last.
        failures: why a run of it failed, a sentence each.
    """

    arm: str
    label: str
    runs: tuple[Run, ...]
    failures: tuple[str, ...] = ()

    @property
    def finished(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.result)

    def bleu(self, test_set: str) -> float | None:
        """Its BLEU of a test set, the mean over the seeds that have it."""
        scores = [run.tests[test_set]["bleu"] for run in self.finished if test_set in run.tests]
        return fmean(scores) if scores else None


def read_rows(folder: Path, arms: Sequence[Arm], runs: Sequence[Run], reference: str | None = None) -> list[Row]:
    """The arms of the sweep that wrote to ``folder``, in its order, then the runs below it that are none of its arms.

    Args:
        folder: of the sweep.
        arms: that it was to make.
        runs: below it.
        reference: the arm that a study holds the others against: it tells which keys an arm of the study is called by.

    Raises:
        UserError: there are neither arms nor runs.
    """
    if not (runs or arms):
        raise UserError(f"no runs below {folder}; train one with `triptych train`.")
    places = {folder / arm.run for arm in arms if arm.run}
    own = {run.name: run for run in runs if run.folder in places}
    others = [run for run in runs if run.folder not in places]
    return _unique([*_of_arms(arms, own, reference), *_of_names(others, reference)])


def runs_of(rows: Sequence[Row]) -> list[Run]:
    """The runs of all rows, each once, though it may serve several arms."""
    return list({run.folder: run for row in rows for run in row.runs}.values())


def _of_arms(arms: Sequence[Arm], runs: Mapping[str, Run], reference: str | None) -> list[Row]:
    """A row for each set of overrides; arms that differ in their seeds alone share it.

    Args:
        arms: in the order of the sweep.
        runs: those that the arms have, by name.
        reference: as in ``read_rows``.
    """
    told = [[part for part in display_overrides(arm.overrides) if not part.startswith("seed=")] for arm in arms]
    groups: dict[frozenset[str], list[Arm]] = defaultdict(list)
    for parts, arm in zip(told, arms, strict=True):
        groups[frozenset(parts)].append(arm)
    names = dict(zip(map(frozenset, told), _labels(told, reference), strict=True))
    rows = []
    for overrides, group in groups.items():
        found = list({run.name: run for arm in group if (run := runs.get(arm.run or ""))}.values())
        name = names[overrides] or _model(found)
        states = {arm: _state(arm, runs.get(arm.run or "")) for arm in group}
        missing = _missing(states)
        failures = tuple(
            f"{' '.join([name, *(_seed(arm) if len(group) > 1 else [])])} failed: {arm.reason}"
            for arm in group
            if states[arm] == FAILED and arm.reason
        )
        first, *others = _seeds(found) or [[]]
        unfinished = [run for run in found if not run.result]
        rows.append(Row(name, f"{name} ({missing})" if missing else name, (*first, *unfinished), failures))
        rows += [Row(name, name, tuple(repeated)) for repeated in others]
    return rows


def _of_names(runs: Sequence[Run], reference: str | None) -> list[Row]:
    """A row for each config; ordered by label, seed and name, each unfinished run in a row of its own at the end."""
    labels = _labels([run.overrides for run in runs], reference)
    named = {run.folder: label or _model([run]) for run, label in zip(runs, labels, strict=True)}
    ordered = sorted(runs, key=lambda run: (named[run.folder], run.seed is None, run.seed or 0, run.name))
    rows = [Row(named[seeds[0].folder], named[seeds[0].folder], tuple(seeds)) for seeds in _seeds(ordered)]
    left = [run for run in ordered if not run.result]
    return rows + [Row(named[run.folder], f"{named[run.folder]} (unfinished)", (run,)) for run in left]


def _labels(told: Sequence[Sequence[str]], reference: str | None) -> list[str]:
    """What tells lists of overrides apart, in words; of a choice of model or arm the choice alone.

    What the reference is called by is told of all, first and in its order, though they may not differ in it.
    """
    keys = _keys(reference, {_key(part) for parts in told for part in parts})
    shared = set.intersection(*map(set, told)) if told and (keys or len(told) > 1) else set()
    labels = []
    for parts in told:
        first = sorted((part for part in parts if _key(part) in keys), key=lambda part: keys.index(_key(part)))
        others = [part for part in parts if _key(part) not in keys and part not in shared]
        labels.append(" ".join(part.removeprefix("model=").removeprefix("arm=") for part in (*first, *others)))
    return labels


def _keys(reference: str | None, given: Collection[str]) -> list[str]:
    """Of ``loss.autoencode.alpha=0.1`` that key; of ``base`` alone, ``arm`` or ``model``."""
    option = "arm" if "arm" in given else "model"
    return [_key(part) if "=" in part else option for part in (reference or "").split()]


def _key(part: str) -> str:
    return part.partition("=")[0]


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


def _missing(states: Mapping[Arm, str]) -> str:
    """What keeps arms that differ in their seeds alone from being finished: ``failed``, ``seed=2 not run``."""
    if len(set(states.values())) == 1:
        return next(iter(states.values()))
    return "; ".join(" ".join([*_seed(arm), state]) for arm, state in states.items() if state)


def _seed(arm: Arm) -> list[str]:
    return [part for part in arm.overrides if part.startswith("seed=")]


def _state(arm: Arm, run: Run | None) -> str:
    if run and run.result:
        return ""
    if arm.status == FAILED:
        return FAILED
    if arm.status == FINISHED and run is None:
        return "its run is not here"
    return "not run" if arm.status == WAITING and arm.run is None else "unfinished"


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
