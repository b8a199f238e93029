"""The arms of a sweep: a small file for each, in the folder ``arms`` beside their runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path

from triptych.errors import UserError
from triptych.runs.folder import RunFolder, read_record, write_json
from triptych.runs.identity import display_overrides, identifying_overrides, short_label
from triptych.runs.locks import run_lock
from triptych.stored import read_json

WAITING, RUNNING, FINISHED, FAILED, LEFT_OUT = "waiting", "running", "finished", "failed", "left out"


@dataclass(frozen=True)
class Arm:
    """One run of a sweep.

    Attributes:
        study: name of the experiment; None for a sweep of the user's own.
        place: in the order of the sweep, from 1.
        overrides: that identify the run, as tables show them.
        label: short name of the arm and of its run's folder; None for a sweep of one arm.
        run: name of its run's folder, once that is known.
        config_hash: of its run, likewise; None in files of earlier versions.
        status: ``waiting`` (or stopped by the user), ``running`` (or killed while it ran), ``finished``, ``failed``,
            or ``left out``: failed before its run had a folder, and not named by a later sweep.
        reason: why it failed, in one line.
        cut_off: number of times it was started and neither finished nor failed.
        identity: 8 hexadecimal digits over the overrides as they were given, part of its file's name.
    """

    study: str | None
    place: int
    overrides: tuple[str, ...]
    label: str | None = None
    run: str | None = None
    config_hash: str | None = None
    status: str = WAITING
    reason: str | None = None
    cut_off: int = 0
    identity: str = field(default="", compare=False)


def identify(overrides: Sequence[str]) -> str:
    """Return the identity of an arm, whatever the order of its overrides and wherever its run is kept."""
    return hashlib.sha256("\n".join(sorted(identifying_overrides(overrides))).encode()).hexdigest()[:8]


def read_arms(folder: Path) -> list[Arm]:
    """Return the arms of a sweep's output folder in their order; none where the folder is no sweep's.

    Raises:
        UserError: a damaged file.
    """
    arms = []
    for path in sorted((folder / "arms").glob("*.json")):
        identity = path.stem.partition("-")[2]
        stored = read_json(path, Arm, "delete it and run the sweep again")
        known = {field.name: stored[field.name] for field in fields(Arm) if field.name in stored}
        arms.append(Arm(**{**known, "overrides": tuple(stored["overrides"]), "identity": identity}))
    return sorted(arms, key=lambda arm: (arm.place, arm.identity))


def plan_arms(folder: Path, study: str | None, sweep: Sequence[Sequence[str]]) -> list[Arm]:
    """Write a file for each arm of a sweep. Arms that an earlier sweep has planned keep place and label.

    Args:
        folder: output of the sweep.
        study: name of the experiment.
        sweep: overrides of each arm.

    Raises:
        UserError: the folder holds the arms of another study.
    """
    with run_lock(folder / "arms", "plan", wait=True):
        known = {arm.identity: arm for arm in read_arms(folder)}
        if others := {arm.study for arm in known.values()} - {study}:
            named = " and ".join(sorted(f"the study {other}" if other else "no study" for other in others))
            raise UserError(f"{folder} already has a sweep, of {named}; give this one an output=… of its own.")
        labels = _labels({identify(overrides): tuple(display_overrides(overrides)) for overrides in sweep}, known)
        place = max((arm.place for arm in known.values()), default=0)
        arms = []
        for overrides in sweep:
            identity = identify(overrides)
            if identity not in known:
                place += 1
                shown = tuple(display_overrides(overrides))
                known[identity] = Arm(study, place, shown, labels[identity], identity=identity)
                write_arm(folder, known[identity])
            elif known[identity].status == LEFT_OUT:
                known[identity] = replace(known[identity], status=WAITING)
                write_arm(folder, known[identity])
            arms.append(known[identity])
        return arms


def _labels(new: dict[str, tuple[str, ...]], known: dict[str, Arm]) -> dict[str, str | None]:
    """Name each new arm by the overrides that not all arms of the folder share, without repeating a label."""
    everything = [*new.values(), *(arm.overrides for arm in known.values())]
    shared = set.intersection(*map(set, everything)) if everything else set()
    used = {arm.label for arm in known.values()}
    labels: dict[str, str | None] = {}
    for identity, overrides in new.items():
        label = short_label([one for one in overrides if one not in shared]) or None
        labels[identity] = f"{label}-{identity}" if label in used and label else label
        used.add(label)
    return labels


def leave_out_mistakes(folder: Path, sweep: Sequence[Sequence[str]]) -> None:
    """Mark as left out the arms that failed before their run folder existed and are not in this sweep.

    This sweep presumably corrects them. A report has no row for them, and names them below its table.
    """
    kept = {identify(overrides) for overrides in sweep}
    with run_lock(folder / "arms", "plan", wait=True):
        for arm in read_arms(folder):
            started = arm.run is not None and (folder / arm.run).exists()
            if kept and arm.identity not in kept and arm.status == FAILED and not started:
                write_arm(folder, replace(arm, status=LEFT_OUT))


def sweep_name(folder: Path) -> str:
    """Return the name under which dashboards group the runs of a sweep: the same when it is started again."""
    first = read_arms(folder)[0]
    return f"{first.study or folder.absolute().name}-{first.identity}"


def set_status(folder: Path, arm: Arm, status: str, *, run: RunFolder | None = None, reason: str | None = None) -> None:
    """Write down how an arm fares. Only the process that trains it may do so."""
    arm = current(folder, arm)
    cut_off = arm.cut_off + 1 if status == RUNNING else 0
    if run is not None:
        known = read_record(run).config_hash if run.record.exists() else None
        arm = replace(arm, run=run.path.name, config_hash=known)
    write_arm(folder, replace(arm, status=status, reason=reason, cut_off=cut_off))


def current(folder: Path, arm: Arm) -> Arm:
    """Return an arm as its file has it now; other processes may have changed it."""
    return next((one for one in read_arms(folder) if one.identity == arm.identity), arm)


def write_arm(folder: Path, arm: Arm) -> None:
    stored = {key: value for key, value in asdict(arm).items() if key != "identity"}
    write_json(folder / "arms" / f"{arm.place:03d}-{arm.identity}.json", stored)
