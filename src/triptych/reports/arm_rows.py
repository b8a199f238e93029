"""The rows of a report: one for each arm of a sweep, or for each config where no sweep made the runs."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from triptych.errors import UserError
from triptych.reports.labels import label_arms, leave_out_sections, section, shorten_keys
from triptych.reports.stored_run import StoredRun
from triptych.runs.identity import display_overrides
from triptych.sweeps.arms import FAILED, FINISHED, WAITING, Arm


@dataclass(frozen=True)
class ArmRow:
    """One arm of a report, with or without runs.

    Attributes:
        arm: the overrides in which it differs from the other arms, without the seed. Studies name their reference and
            published figures their arm by it.
        label: the arm's name in tables: ``arm`` with short keys, and what is missing of it. Unique in a report.
        runs: its runs, one for each seed, unfinished ones last.
        failures: why runs of it failed, a sentence each.
        complete: whether all its runs have finished.
    """

    arm: str
    label: str
    runs: tuple[StoredRun, ...]
    failures: tuple[str, ...] = ()
    complete: bool = True

    @property
    def finished(self) -> tuple[StoredRun, ...]:
        """The runs that have a result."""
        return tuple(run for run in self.runs if run.result)

    def bleu(self, test_set: str) -> float | None:
        """Return the BLEU of a test set, the mean over the seeds that have it; None if no seed has."""
        scores = [run.tests[test_set]["bleu"] for run in self.finished if "bleu" in run.tests.get(test_set, {})]
        return fmean(scores) if scores else None


def build_rows(
    folder: Path, arms: Sequence[Arm], runs: Sequence[StoredRun], reference: str | None = None
) -> list[ArmRow]:
    """Return a row for each arm of a sweep, in its order, then rows for the runs that belong to no arm.

    Where all runs compute alike, on whatever devices, no overrides of ``strategy`` tell arms apart.

    Args:
        folder: the folder that arms and runs were read from.
        arms: the arms of its sweep.
        runs: the runs at or below it.
        reference: the arm that a study compares the others with. Its name says which keys label an arm.

    Raises:
        UserError: there are neither arms nor runs, or an arm's run is not the one that the arm trained.
    """
    if not (runs or arms):
        raise UserError(f"no runs below {folder}; train one with `triptych train`.")
    names = {arm.run for arm in arms if arm.run}
    own = {run.id: run for run in runs if run.id in names}
    others = [run for run in runs if run.id not in names]
    _refuse_swapped(arms, own)
    unnamed = ("seed", "strategy") if _compute_alike(arms, runs) else ("seed",)
    rows = [*_rows_of_arms(arms, own, reference, unnamed), *_rows_of_configs(others, reference, unnamed)]
    return _unique(_shortened(rows))


def _compute_alike(arms: Sequence[Arm], runs: Sequence[StoredRun]) -> bool:
    """Whether all runs compute in the same way, though maybe on different devices.

    Unfinished arms do if a finished one has the same overrides of ``strategy``.
    """
    finished = {run.id: json.dumps(run.computation) for run in runs if run.result}
    known, unknown = set[frozenset[str]](), set[frozenset[str]]()
    for arm in arms:
        strategy = frozenset(one for one in arm.overrides if section(one) == "strategy")
        (known if arm.run in finished else unknown).add(strategy)
    return unknown <= known and len(set(finished.values())) == 1


def _refuse_swapped(arms: Sequence[Arm], runs: Mapping[str, StoredRun]) -> None:
    """Refuse runs whose folders were renamed, so that an arm would have another one's figures."""
    for arm in arms:
        run = runs.get(arm.run or "")
        found = run.result.get("config_hash") if run and run.result else None
        if run and arm.config_hash and found not in (None, arm.config_hash):
            raise UserError(
                f"{run.origin} is not the run that the arm {' '.join(arm.overrides)} trained; give the folders of the "
                "runs their names back."
            )


def runs_of(rows: Sequence[ArmRow]) -> list[StoredRun]:
    """Return the runs of all rows, each once, though it may belong to several arms."""
    return list(dict.fromkeys(run for row in rows for run in row.runs))


def _rows_of_arms(
    arms: Sequence[Arm], runs: Mapping[str, StoredRun], reference: str | None, unnamed: Collection[str]
) -> list[ArmRow]:
    """Return a row for each set of overrides.

    Args:
        arms: in the order of the sweep.
        runs: the runs that arms have, by id.
        reference: as in ``build_rows``.
        unnamed: sections of the overrides that tell no rows apart.
    """
    overrides = [leave_out_sections(display_overrides(arm.overrides), unnamed) for arm in arms]
    groups: dict[frozenset[str], list[Arm]] = defaultdict(list)
    for each, arm in zip(overrides, arms, strict=True):
        groups[frozenset(each)].append(arm)
    labels = dict(zip(map(frozenset, overrides), label_arms(overrides, reference), strict=True))
    rows = []
    for key, group in groups.items():
        found = list(dict.fromkeys(run for arm in group if (run := runs.get(arm.run or ""))))
        name = labels[key] or _model_name(found)
        states = {arm: _state(arm, runs.get(arm.run or "")) for arm in group}
        missing = _missing(states)
        failures = tuple(
            f"{' '.join([name, *(_seed(arm) if len(group) > 1 else [])])} failed: {arm.reason}"
            for arm in group
            if states[arm] == FAILED and arm.reason
        )
        first, *repetitions = _group_seeds(found) or [[]]
        unfinished = [run for run in found if not run.result]
        label = f"{name} ({missing})" if missing else name
        rows.append(ArmRow(name, label, (*first, *unfinished), failures, complete=not missing))
        rows += [ArmRow(name, name, tuple(seeds)) for seeds in repetitions]
    return rows


def _rows_of_configs(runs: Sequence[StoredRun], reference: str | None, unnamed: Collection[str]) -> list[ArmRow]:
    """Return a row for each config, ordered by label, seed and name, then a row for each unfinished run.

    Arguments as of ``_rows_of_arms``.
    """
    found = label_arms([leave_out_sections(run.overrides, unnamed) for run in runs], reference)
    labels = {run: _chosen_name(run) or label or _model_name([run]) for run, label in zip(runs, found, strict=True)}
    ordered = sorted(runs, key=lambda run: (labels[run], run.seed is None, run.seed or 0, run.name))
    rows = [ArmRow(labels[seeds[0]], labels[seeds[0]], tuple(seeds)) for seeds in _group_seeds(ordered)]
    unfinished = [run for run in ordered if not run.result]
    return rows + [ArmRow(labels[run], f"{labels[run]} (unfinished)", (run,), complete=False) for run in unfinished]


def _shortened(rows: Sequence[ArmRow]) -> list[ArmRow]:
    """Return the rows with the keys in their labels shortened."""
    return [
        replace(row, label=label) for row, label in zip(rows, shorten_keys([row.label for row in rows]), strict=True)
    ]


def _chosen_name(run: StoredRun) -> str | None:
    """Return the name that the user gave a run by ``name=…``, if any."""
    return run.config.get("name")


def _model_name(runs: Sequence[StoredRun]) -> str:
    """Return a label for runs that no override distinguishes from others."""
    return next((run.result["model"]["name"] for run in runs if run.result), "default")


def _group_seeds(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """Return the finished runs of each config, ordered by seed.

    A second run of a config with the same seed is a repetition and goes to a group of its own. So does a run without
    a seed.
    """
    groups: dict[tuple[str, int], list[StoredRun]] = defaultdict(list)
    repetitions: Counter[tuple[str, int | None]] = Counter()
    for run in runs:
        if run.result:
            config = run.id if run.seed is None else run.recipe
            groups[config, repetitions[config, run.seed]].append(run)
            repetitions[config, run.seed] += 1
    return [sorted(group, key=lambda run: run.seed or 0) for group in groups.values()]


def _missing(states: Mapping[Arm, str]) -> str:
    """Return what is missing of arms that differ only in their seeds, such as ``failed`` or ``seed=2 not run``."""
    if len(set(states.values())) == 1:
        return next(iter(states.values()))
    return "; ".join(" ".join([*_seed(arm), state]) for arm, state in states.items() if state)


def _seed(arm: Arm) -> list[str]:
    return [one for one in arm.overrides if one.startswith("seed=")]


def _state(arm: Arm, run: StoredRun | None) -> str:
    """Return why an arm has no result, empty if it has one."""
    if run and run.result:
        return ""
    if arm.status == FAILED:
        return FAILED
    if arm.status == FINISHED and run is None:
        return "its run is not here"
    return "not run" if arm.status == WAITING and arm.run is None else "unfinished"


def _unique(rows: Sequence[ArmRow]) -> list[ArmRow]:
    """Distinguish rows that share a label by the name or the path of their first run, or else by a number."""
    counts = Counter(row.label for row in rows)
    named = []
    for row in rows:
        if counts[row.label] > 1 and row.runs:
            run = row.runs[0]
            row = replace(row, label=f"{row.label} ({run.name if run.name != row.label else run.id})")
        named.append(row)
    numbers: Counter[str] = Counter()
    unique = []
    for row in named:
        numbers[row.label] += 1
        unique.append(replace(row, label=f"{row.label} #{numbers[row.label]}") if numbers[row.label] > 1 else row)
    return unique
