"""The arms of a sweep: a small file each, in the folder ``arms`` beside their runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from triptych.errors import UserError
from triptych.runs.folder import display_overrides, identifying_overrides, run_lock, write_json

WAITING, RUNNING, FINISHED, FAILED, LEFT_OUT = "waiting", "running", "finished", "failed", "left out"


@dataclass(frozen=True)
class Arm:
    """One run that a sweep is to make.

    Attributes:
        study: the experiment's name; None for a sweep of the user's own.
        place: in the order of the sweep, from 1.
        overrides: those that tell what it computes; of a path, the last part.
        run: its folder's name, once that is known.
        status: ``waiting`` (or stopped by hand), ``running`` (or killed while it ran), ``finished``, ``failed``, or
            ``left out``: failed before its run had a folder, and not named by a later sweep.
        reason: why it failed, in one line.
        cut_off: how often it was begun, and neither finished nor failed.
        identity: 8 hexadecimal digits over the overrides as they were given, in the name of its file.
    """

    study: str | None
    place: int
    overrides: tuple[str, ...]
    run: str | None = None
    status: str = WAITING
    reason: str | None = None
    cut_off: int = 0
    identity: str = field(default="", compare=False)


def identify(overrides: Sequence[str]) -> str:
    """Of an arm, whatever the order of its overrides, and wherever its run goes."""
    return hashlib.sha256("\n".join(sorted(identifying_overrides(overrides))).encode()).hexdigest()[:8]


def read_arms(folder: Path) -> list[Arm]:
    """In their order; none where ``folder`` is not a sweep's output.

    Raises:
        UserError: a file that is no arm's.
    """
    arms = []
    for path in sorted((folder / "arms").glob("*.json")):
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
            arms.append(Arm(**{**stored, "overrides": tuple(stored["overrides"]), "identity": path.stem.split("-")[1]}))
        except (OSError, ValueError, TypeError, KeyError, IndexError) as error:
            raise UserError(f"{path} cannot be read ({error}); delete it and run the sweep again.") from error
    return sorted(arms, key=lambda arm: (arm.place, arm.identity))


def plan(folder: Path, study: str | None, sweep: Sequence[Sequence[str]]) -> list[Arm]:
    """The arms of a sweep, each with a file; those that an earlier sweep has planned keep their places.

    Raises:
        UserError: the folder holds the arms of another study.
    """
    with run_lock(folder, "plan", wait=True):
        known = {arm.identity: arm for arm in read_arms(folder)}
        if others := {arm.study for arm in known.values()} - {study}:
            told = " and ".join(sorted(other or "a sweep of no study" for other in others))
            raise UserError(f"{folder} holds the arms of {told}; give this sweep an output=… of its own.")
        place = max((arm.place for arm in known.values()), default=0)
        arms = []
        for overrides in sweep:
            identity = identify(overrides)
            if identity not in known:
                place += 1
                known[identity] = Arm(study, place, tuple(display_overrides(overrides)), identity=identity)
                write(folder, known[identity])
            elif known[identity].status == LEFT_OUT:
                known[identity] = replace(known[identity], status=WAITING)
                write(folder, known[identity])
            arms.append(known[identity])
        return arms


def leave_out_mistakes(folder: Path, sweep: Sequence[Sequence[str]]) -> None:
    """Arms that failed before their run had a folder, and are not of this sweep, which may be the one that was meant:
    a report has no row of theirs, and names them below its table."""
    kept = {identify(overrides) for overrides in sweep}
    with run_lock(folder, "plan", wait=True):
        for arm in read_arms(folder):
            begun = arm.run is not None and (folder / arm.run).exists()
            if kept and arm.identity not in kept and arm.status == FAILED and not begun:
                write(folder, replace(arm, status=LEFT_OUT))


def name(folder: Path) -> str:
    """What dashboards group the runs of a sweep by: the same when it is started again."""
    first = read_arms(folder)[0]
    return f"{first.study or folder.absolute().name}-{first.identity}"


def note(folder: Path, arm: Arm, status: str, *, run: str | None = None, reason: str | None = None) -> None:
    """Writes down how an arm fares, which whoever has it in hand may do."""
    arm = now(folder, arm)
    cut_off = arm.cut_off + 1 if status == RUNNING else 0
    write(folder, replace(arm, status=status, run=run or arm.run, reason=reason, cut_off=cut_off))


def now(folder: Path, arm: Arm) -> Arm:
    """What other processes have made of an arm since it was read."""
    return next((one for one in read_arms(folder) if one.identity == arm.identity), arm)


def write(folder: Path, arm: Arm) -> None:
    stored = {key: value for key, value in asdict(arm).items() if key != "identity"}
    write_json(_path(folder, arm), stored)


def _path(folder: Path, arm: Arm) -> Path:
    return folder / "arms" / f"{arm.place:03d}-{arm.identity}.json"
