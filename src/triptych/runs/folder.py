"""A run's folder: which files it holds, and how they are written and found."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from triptych.errors import UserError
from triptych.files import RUN_FILE, replacing
from triptych.runs.versions import source_hash
from triptych.stored import read_json, read_table

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2
"""Version of the files in a run's folder. Format 1 (triptych 0.1) had no run.json."""
WITHOUT_RECORD = "0.1"
"""How the versions begin whose runs had no run.json."""
LAST, PREVIOUS = "last.ckpt", "previous.ckpt"
"""Names of the checkpoints that training goes on from: the newest, and the one before it, kept while a run trains."""

RECORD_REMEDY = "train the run again in another output=…"
METRICS_REMEDY = "delete it, and the report of the run lacks its curve"
MOST_NAMED = 5
"""Most runs of a folder that a message names."""


@dataclass(frozen=True)
class RunRecord:
    """run.json: what a run is, written before it trains.

    Attributes:
        format: ``FORMAT``.
        version: of triptych.
        name: of the run's folder.
        label: what a sweep calls the arm; the folder's name for a run by itself.
        overrides: of the command line, as they were given.
        config_hash: identifies what the run computes; ``training_hash`` identifies its training alone.
        versions: of Python, of libraries, and of this package's source.
    """

    format: int
    version: str
    name: str
    label: str
    overrides: tuple[str, ...]
    config_hash: str
    training_hash: str
    versions: dict[str, str]


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run's files."""

    path: Path

    @property
    def record(self) -> Path:
        return self.path / RUN_FILE

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def result(self) -> Path:
        return self.path / "result.json"

    @property
    def trained(self) -> Path:
        """The result without scores, written when training has ended."""
        return self.path / "trained.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def last(self) -> Path:
        return self.checkpoints / LAST

    @property
    def previous(self) -> Path:
        return self.checkpoints / PREVIOUS

    @property
    def trunk(self) -> Path:
        """The state of training where its cooldown begins, which trainings with larger budgets go on from."""
        return self.path / "trunk"

    @property
    def branch(self) -> Path:
        """Which run's trunk this run went on from; absent for a run that trained all its steps itself."""
        return self.path / "branch.json"

    @property
    def tokenizer(self) -> Path:
        return self.path / "tokenizer"

    @property
    def translations(self) -> Path:
        return self.path / "translations"

    @property
    def suites(self) -> Path:
        """The items of contrastive suites, with what the model makes of them."""
        return self.path / "suites"


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file beside ``path``, then rename it: readers see the whole file or none."""
    with replacing(path) as beside:
        beside.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write one text a line beside ``path``, then rename the file."""
    with replacing(path) as beside:
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def write_record(folder: RunFolder, record: RunRecord) -> None:
    write_json(folder.record, asdict(record))


def read_record(folder: RunFolder) -> RunRecord:
    """Read a run's run.json.

    Raises:
        UserError: the folder holds no run, one of another version of triptych, or a damaged file.
    """
    if not folder.record.exists():
        if not folder.config.exists():
            raise UserError(_no_run(folder.path))
        version = _version_of(folder)
        if not version.startswith(WITHOUT_RECORD):
            raise UserError(f"run={folder.path} has lost its {RUN_FILE}; put it back, or train the run again.")
        raise UserError(
            f"run={folder.path} was made by triptych {version}, whose runs this version cannot load; use "
            "that version for it, or train it again."
        )
    stored = read_json(folder.record, dict[str, Any], RECORD_REMEDY)
    if isinstance(stored.get("format"), int) and stored["format"] != FORMAT:
        raise UserError(
            f"run={folder.path} was made by triptych {stored.get('version')}, whose runs this version cannot load; use "
            "that version for it, or train it again."
        )
    stored = read_json(folder.record, RunRecord, RECORD_REMEDY)
    known = {field.name: stored[field.name] for field in fields(RunRecord)}
    return RunRecord(**{**known, "overrides": tuple(stored["overrides"])})


def _no_run(path: Path) -> str:
    """Return the sentence that refuses a folder without a run; one of several runs, as a sweep's, names some."""
    names = [record.parent.name for record in sorted(path.glob("[!.]*/run.json"))]
    if not names:
        return f"run={path} is no run folder (it has no run.json); give one that triptych made."
    listed = ", ".join(names[:MOST_NAMED]) + (f" … (of {len(names)})" if len(names) > MOST_NAMED else "")
    return f"run={path} is a folder of runs; choose one, such as run={path / names[0]}: {listed}."


def _version_of(folder: RunFolder) -> str:
    """Return the version of triptych that made a folder without run.json; 0.1 where no file says it."""
    for path in (folder.result, folder.trained):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return str(json.loads(path.read_text(encoding="utf-8")).get("version", "0.1"))
    return "0.1"


def runs_below(output: Path) -> Iterator[tuple[RunFolder, RunRecord]]:
    """Give the runs that lie directly in a folder, by name, with their records.

    Damaged runs and those of other versions are passed over: they are no reason not to train another one beside them.
    """
    for path in sorted(output.glob("[!.]*/run.json")):
        folder = RunFolder(path.parent)
        try:
            record = read_record(folder)
        except UserError:
            continue
        yield folder, record


def find_run(output: Path, config_hash: str) -> RunFolder | None:
    """Return the run in a folder that computes what the hash identifies, whatever its name."""
    return next((folder for folder, record in runs_below(output) if record.config_hash == config_hash), None)


def find_trained(folder: RunFolder, training_hash: str) -> RunFolder | None:
    """Return another run beside this one with the same training, finished by today's code, that has its weights."""
    for other, record in runs_below(folder.path.parent):
        complete = other.trained.exists() and (other.checkpoints / "best.ckpt").exists()
        if other.path == folder.path or record.training_hash != training_hash or not complete:
            continue
        with contextlib.suppress(UserError):  # a damaged one is no reason not to train
            trained = read_json(other.trained, dict[str, Any], RECORD_REMEDY)
            versions = trained.get("versions")
            if isinstance(versions, dict) and versions.get("source") == source_hash():
                return other
    return None


def started_by_other_code(folder: RunFolder) -> str | None:
    """Return the hash of the package's source that a run was started with, if it is not today's. Else None."""
    if not folder.record.exists():
        return None
    first = read_record(folder).versions.get("source")
    return None if first == source_hash() else first


def read_metrics(folder: RunFolder) -> pd.DataFrame:
    """Return what the run logged, by step.

    An interrupted run has a file for each part. A part counts up to the first step of the next one. A part that was
    killed while its file was rewritten is empty.
    """
    import pandas as pd  # imported late: --help does not wait for it

    table = pd.DataFrame()
    parts = folder.path.glob("metrics/version_*/metrics.csv")
    for path in sorted(parts, key=lambda path: int(path.parent.name.split("_")[1])):
        if not path.stat().st_size:
            continue
        part = read_table(path, METRICS_REMEDY)
        table = pd.concat([table[table["step"] < part["step"].min()] if len(table) else table, part])
    return table.reset_index(drop=True)
