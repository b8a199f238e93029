"""Speeds of trainings that were measured one at a time on an idle machine, kept beside the runs in ``speeds.json``.

The runs of a sweep share their machine, so their own times say little about the architectures. Reports turn tokens
into seconds by these speeds alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path

from triptych.runs.folder import write_json
from triptych.stored import DamagedFile, read_json

SPEEDS_FILE = "speeds.json"


@dataclass(frozen=True)
class ArmSpeed:
    """How fast one arm trains.

    Attributes:
        tokens_per_second: source and target tokens a second.
        parameters: of its model; a report checks that the runs have as many.
    """

    tokens_per_second: float
    parameters: int


@dataclass(frozen=True)
class MeasuredSpeeds:
    """The speeds of several arms, measured one after the other under the same conditions.

    Attributes:
        device: name of the device that trained, with its threads if it is a CPU.
        processor: model of the machine's processor; None where the system does not tell.
        precision: Lightning's name of the training precision.
        steps: optimizer steps that each arm was trained for.
        version: of triptych.
        arms: by the name of the arm in reports.
    """

    device: str
    processor: str | None
    precision: str
    steps: int
    version: str
    arms: dict[str, ArmSpeed]

    def __str__(self) -> str:
        where = ", ".join(filter(None, (self.device, self.processor, self.precision)))
        return f"{where}; {self.steps} steps each"


def write_speeds(path: Path, speeds: MeasuredSpeeds) -> None:
    """Write speeds to a file."""
    write_json(path, asdict(speeds))


def read_speeds(folder: Path) -> MeasuredSpeeds | None:
    """Return the speeds that a folder of runs or an archive has; None if it has none.

    Raises:
        UserError: the file cannot be read.
    """
    path = folder / SPEEDS_FILE
    if not path.is_file():
        return None
    remedy = f"delete it and measure again, by `triptych forecast … --speeds {path}`"
    stored = read_json(path, MeasuredSpeeds, remedy)
    arms = {name: ArmSpeed(speed["tokens_per_second"], speed["parameters"]) for name, speed in stored["arms"].items()}
    if not all(speed.tokens_per_second > 0 for speed in arms.values()):
        raise DamagedFile(path, "a speed is not above 0", remedy)
    known = {field.name: stored[field.name] for field in fields(MeasuredSpeeds)}
    return MeasuredSpeeds(**{**known, "arms": arms})
