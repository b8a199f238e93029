"""Every file of a run's folder and of the cache with every damage, and what each command says of it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from docs_build.command import triptych

SMALL = ["scale=smoke", "budget.steps=2", "data.train=300", "data.validation=3", "data.test=3", "data.test_long=3"]
SMALL += ["tokenizer.vocab_size=420", "cache=cache", "name=x", "metric=[bleu]", "search.max_length_extra=1"]
COMMANDS = {
    "report": ("report", "runs"),
    "translate": ("translate", "run=runs/x", "search_tokens=64"),
    "evaluate": ("evaluate", "run=runs/x", "split=validation"),
    "train": ("train", *SMALL),
}
"""Commands that read a run, by their names."""


def flipped(content: bytes) -> bytes:
    """Return a file's content with 200 of its bits changed."""
    draw = random.Random(len(content))
    changed = bytearray(content)
    for _ in range(min(200, len(content))):
        changed[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _to_bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def _to_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": _to_bytes(lambda content: b""),
    "truncated": _to_bytes(lambda content: content[: len(content) // 2]),
    "garbage": _to_bytes(lambda content: random.Random(1).randbytes(500)),
    "flipped bits": _to_bytes(flipped),
    "of another shape": _to_bytes(lambda content: b'{"a": [1, 2], "test": [1], "train": 3, "overrides": 5}'),
    "of another version": _to_bytes(lambda content: re.sub(rb'"format": *\d+', b'"format": 999', content)),
    "a list": _to_bytes(lambda content: b"[1]"),
    "not a number": _to_bytes(lambda content: b'{"validation": {"loss": NaN}, "test": {"test": {"bleu": NaN}}}'),
    "nested": _to_bytes(lambda content: b"[" * 100_000),
    "a folder": _to_folder,
    "missing": Path.unlink,
    "unreadable": lambda path: path.chmod(0),
}
"""What may have happened to a file, by its name."""


@dataclass(frozen=True)
class FileFault:
    """A damaged file, and a command that may read it.

    Attributes:
        file: its path below the folder of ``make``.
        damage: one of ``DAMAGES``.
        command: one of ``COMMANDS``.
    """

    file: str
    damage: str
    command: str


@dataclass(frozen=True)
class FileOutcome:
    """How a command ended.

    Attributes:
        sentence: its last line on standard error if it ended with a mistake; None if it did its work.
        wrong: what is wrong with that; None if nothing is.
    """

    sentence: str | None
    wrong: str | None


def make(folder: Path) -> None:
    """Train the run whose files are damaged, into ``runs/x`` and ``cache`` below a folder."""
    done = triptych("train", *SMALL, cwd=folder)
    if done.returncode:
        raise RuntimeError(done.stderr)


def faults(folder: Path) -> Iterator[FileFault]:
    """Yield each file with each damage and each command that may read it."""
    for path in sorted(path for top in ("runs/x", "cache") for path in (folder / top).rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if not name.endswith((".lock", "report.html")) and ".locks" not in name:
            yield from (FileFault(name, damage, command) for damage in DAMAGES for command in COMMANDS)


def outcome(made: Path, place: Path, fault: FileFault) -> FileOutcome:
    """Damage a file of a copy of what ``make`` has made, give a command, and return how that ended."""
    shutil.copytree(made, place, symlinks=True)
    if fault.command == "train":  # as if it had been stopped before its result was written
        (place / "runs" / "x" / "result.json").unlink(missing_ok=fault.file != "runs/x/result.json")
    if (path := place / fault.file).exists():
        DAMAGES[fault.damage](path)
    done = triptych(*COMMANDS[fault.command], cwd=place, stdin="a red house\n")
    shutil.rmtree(place)
    said = done.stderr.strip().splitlines()
    if done.returncode not in (0, 2):
        return FileOutcome(None, f"status {done.returncode}: {done.stderr[-300:]}")
    if "Traceback" in done.stderr + done.stdout or (done.returncode and not said[-1].startswith("triptych: ")):
        return FileOutcome(None, done.stderr[-300:])
    return FileOutcome(said[-1].removeprefix("triptych: ") if done.returncode else None, None)
