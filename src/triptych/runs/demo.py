"""The small trained runs that come with the package, each named ``demo:NAME``, and sentences to try them on."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from triptych.errors import UserError, one_line

FOLDER = Path(__file__).parents[1] / "demo"
PREFIX = "demo:"


def demo_names() -> list[str]:
    """Return the names of the runs, such as ``transformer``."""
    return sorted(path.parent.name for path in FOLDER.glob("*/run.json"))


def demo_examples() -> list[tuple[str, str]]:
    """Return sentences of the built-in corpus' test set, each with its reference."""
    lines = [(FOLDER / f"examples.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fr")]
    return list(zip(*lines, strict=True))


def is_demo(folder: Path) -> bool:
    """Whether a folder is that of one of these runs, which stay as they came."""
    return folder.resolve().parent == FOLDER.resolve()


def locate_run(run: str | PathLike[str]) -> Path:
    """Return the folder of a run that is named by its folder, or by ``demo:NAME``.

    Raises:
        UserError: there is no demo run of this name, or no folder can have it.
    """
    if not str(run).startswith(PREFIX):
        folder = Path(run).expanduser()
        try:
            folder.exists()
        except (OSError, ValueError) as error:  # a name that is too long, or has a null byte
            raise UserError(f"run={one_line(run)} can be no folder ({one_line(error)}); give that of a run.") from error
        return folder
    name = str(run).removeprefix(PREFIX)
    if name not in demo_names():
        raise UserError(f"run={run} is unknown; choose one of {', '.join(PREFIX + name for name in demo_names())}.")
    return FOLDER / name
