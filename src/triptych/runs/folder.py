"""A run's folder: its resolved config, checkpoints, translations and result."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout
from omegaconf import DictConfig, OmegaConf

import triptych
from triptych.files import replacing

LIBRARIES = ("torch", "lightning", "sentencepiece", "sacrebleu", "numpy")
UNIDENTIFYING = ("output", "cache", "logger", "run_dir", "sweep", "study")
"""Keys that change where a run goes and how it is told of, and not what it computes."""
PLACES = ("dir", "url", "cache")
"""Keys of ``data`` that say where the text is; what it is, its fingerprint says."""
SCORING = ("search", "search_tokens", "length_edges", "checkpoint.average")
"""Keys that matter only once training has ended."""


def config_hash(config: DictConfig, data: str, *, leaving_out: Sequence[str] = ()) -> str:
    """8 hexadecimal digits that identify what a run computes: its config, but for places, and its data.

    With ``SCORING`` left out, they identify its training: runs that share them share their weights.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True)
    plain["data"]["fingerprint"] = data
    for key in (*UNIDENTIFYING, *(f"data.{place}" for place in PLACES), *leaving_out):
        *sections, last = key.split(".")
        functools.reduce(dict.__getitem__, sections, plain).pop(last, None)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]


def identifying_overrides(overrides: Sequence[str]) -> list[str]:
    """The overrides that say what a run computes."""
    return [one for one in overrides if re.split(r"[./=]", one.lstrip("+~"))[0] not in (*UNIDENTIFYING, "hydra")]


def display_overrides(overrides: Sequence[str]) -> list[str]:
    """The same to be read: of a path, its last part."""
    pairs = [one.partition("=") for one in identifying_overrides(overrides)]
    return [f"{key}{equals}{Path(value).name if '/' in value else value}" for key, equals, value in pairs]


def run_name(overrides: Sequence[str], digest: str) -> str:
    """A folder's name: the overrides that tell, and the config's hash.

    Commas stand between overrides alone, so that a report can tell them apart: a list's become pluses.
    """
    name = re.sub(r"[^\w=.,+-]+", "_", ",".join(one.replace(",", "+") for one in display_overrides(overrides))) or "default"
    return f"{name[:150]}-{digest}"


def find(output: Path, overrides: Sequence[str], digest: str) -> RunFolder:
    """The folder of a run below ``output``: one that has its hash, whatever its name, or a new one."""
    there = sorted(output.glob(f"*-{digest}")) if output.is_dir() else []
    return RunFolder(there[0] if there else output / run_name(overrides, digest))


class RunLocked(Exception):
    """Another process has the run in hand."""


@contextmanager
def run_lock(output: Path, name: str, *, wait: bool = False) -> Iterator[None]:
    """A lock that the system takes back from a process that dies.

    Args:
        output: the folder of the runs; the lock is a file below its ``.locks``.
        name: what is locked.
        wait: for whoever has it.

    Raises:
        RunLocked: another process has it, and ``wait`` is False.
    """
    folder = output / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / name, timeout=-1 if wait else 0)
    try:
        with lock:
            yield
    except Timeout as error:
        raise RunLocked(name) from error


@dataclass(frozen=True)
class RunFolder:
    """Where a run keeps what."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def trained(self) -> Path:
        """The result but for its scores, there once training has ended."""
        return self.path / "trained.json"

    @property
    def versions(self) -> Path:
        return self.path / "versions.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def last(self) -> Path:
        return self.checkpoints / "last.ckpt"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer"

    @property
    def translations(self) -> Path:
        return self.path / "translations"


def write_json(path: Path, value: Any) -> None:
    """Writes beside, then renames: a reader sees the whole file or none."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """One line each, likewise atomic."""
    with replacing(path) as beside:
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def metrics(folder: RunFolder) -> pd.DataFrame:
    """What the run logged, by step; of a run that was interrupted, each part up to where the next went on.

    A part that was killed while its file was made anew is empty.
    """
    table = pd.DataFrame()
    for path in sorted(
        folder.path.glob("metrics/version_*/metrics.csv"), key=lambda p: int(p.parent.name.split("_")[1])
    ):
        if not path.stat().st_size:
            continue
        part = pd.read_csv(path)
        table = pd.concat([table[table["step"] < part["step"].min()] if len(table) else table, part])
    return table.reset_index(drop=True)


def versions() -> dict[str, str]:
    """Of Python, of the libraries that a result depends on, and of this package's source."""
    libraries = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version(), **libraries, "source": source()}


def source() -> str:
    """16 hexadecimal digits that identify the package's code."""
    package = Path(triptych.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def trained_alike(folder: RunFolder, training: str) -> RunFolder | None:
    """Another run of the same output and the same code, whose training was the same, has ended, and left checkpoints;
    scored or not."""
    for path in sorted(folder.path.parent.glob("[!.]*/trained.json")):
        other = RunFolder(path.parent)
        result = json.loads(path.read_text(encoding="utf-8"))
        alike = result.get("training_hash") == training and result.get("versions", {}).get("source") == source()
        if other.path != folder.path and alike and (other.checkpoints / "best.ckpt").exists():
            return other
    return None


def started_by_other_code(folder: RunFolder) -> dict[str, str]:
    """``begun``, the source of the package that a run began with, where that is not this one's; nothing otherwise.

    Its config's hash does not tell.
    """
    if not folder.versions.exists():
        return {}
    first = json.loads(folder.versions.read_text(encoding="utf-8")).get("source")
    return {} if first == source() else {"begun": first}
