"""Speeds of trainings that were measured one at a time on an idle machine, kept beside the runs in ``speeds.json``.

The runs of a sweep share their machine, so their own times say little about the architectures. Reports turn tokens
into seconds by these speeds alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from triptych.errors import UserError
from triptych.runs.folder import write_json

SPEEDS_FILE = "speeds.json"


@dataclass(frozen=True)
class ArmSpeed:
    """How fast one arm trains.

    Attributes:
        tokens_per_second: source and target tokens a second.
        parameters: of its model, by which a report knows that the runs train the same model.
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
    arms: Mapping[str, ArmSpeed]

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
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        arms = {str(name): ArmSpeed(**speed) for name, speed in stored["arms"].items()}
        if not all(speed.tokens_per_second > 0 for speed in arms.values()):
            raise ValueError("a speed is not above 0")
        return MeasuredSpeeds(**{**stored, "arms": arms})
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(
            f"{path} cannot be read ({error}); delete it and measure again, by `triptych forecast … --speeds {path}`."
        ) from error
