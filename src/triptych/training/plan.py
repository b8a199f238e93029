"""What follows from a run's configuration before anything is built: its text, its hashes and its folder."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hydra.utils import instantiate

from triptych import __version__
from triptych.config.composition import RunConfig
from triptych.data.corpus import Corpus
from triptych.errors import UserError
from triptych.files import require_folder
from triptych.runs.folder import FORMAT, RunFolder, RunRecord, find_run, read_record
from triptych.runs.identity import BUDGET, SCORING, config_hash, display_overrides, plain_name
from triptych.runs.versions import versions


@dataclass(frozen=True)
class RunPlan:
    """One run, planned.

    Attributes:
        run_config: what the user asked for.
        corpus: text of the run.
        reference: configuration of the model whose size ``match`` copies; None without ``match``.
        config_hash: identifies what the run computes; ``training_hash`` identifies its training alone, and
            ``trunk_hash`` its training without the budget.
        folder: of the run, which need not exist yet.
        sweep: name that the runs of a sweep share; None for a run by itself.
        label: what a sweep calls the arm; None for a run by itself.
    """

    run_config: RunConfig
    corpus: Corpus
    reference: dict[str, Any] | None
    config_hash: str
    training_hash: str
    trunk_hash: str
    folder: RunFolder
    sweep: str | None
    label: str | None

    @property
    def arm(self) -> str:
        """Overrides that set the run apart from others of its study and scale, without the seed."""
        shown = display_overrides(self.run_config.overrides)
        return " ".join(one for one in shown if not one.startswith(("seed=", "scale=", "experiment=")))

    @property
    def group(self) -> str | None:
        """Name that dashboards gather the run's study under: the study's, or else that of its sweep."""
        return self.run_config.config.study.name or self.sweep

    @property
    def record(self) -> RunRecord:
        """What run.json says of the run."""
        return RunRecord(
            format=FORMAT,
            version=__version__,
            name=self.folder.path.name,
            label=self.label or self.folder.path.name,
            overrides=self.run_config.overrides,
            config_hash=self.config_hash,
            training_hash=self.training_hash,
            versions=versions(),
        )


def plan_run(run_config: RunConfig, *, sweep: str | None = None, label: str | None = None) -> RunPlan:
    """Read the text of a run and find its folder.

    Args:
        run_config: what the user asked for.
        sweep: name that the runs of a sweep share.
        label: what the sweep calls the arm.

    Raises:
        UserError: text that cannot be read, a folder that cannot be written, or a name that another run has.
    """
    config = run_config.config
    output = Path(config.output).expanduser()
    require_folder(output, "output")
    require_folder(Path(config.cache).expanduser(), "cache")
    reference = run_config.reference_model
    corpus = instantiate(config.data)
    hash_of = partial(config_hash, config, corpus.fingerprint, reference=reference)
    if find_run(output, hash_of()) is None and find_run(output, hash_of(with_devices=True)):
        hash_of = partial(hash_of, with_devices=True)  # a run of an earlier state of 0.3.0
    whole, training, trunk = hash_of(), hash_of(leaving_out=SCORING), hash_of(leaving_out=BUDGET)
    folder = run_folder(run_config, whole, label)
    return RunPlan(run_config, corpus, reference, whole, training, trunk, folder, sweep, label)


def run_folder(run_config: RunConfig, config_hash: str, label: str | None) -> RunFolder:
    """Return the folder of the run that a hash identifies; a new one if the output has no such run.

    Raises:
        UserError: the user's name for the run is no plain name, or belongs to another run.
    """
    output = Path(run_config.config.output).expanduser()
    return find_run(output, config_hash) or _new_folder(output, run_config, label, config_hash)


def _new_folder(output: Path, run_config: RunConfig, label: str | None, config_hash: str) -> RunFolder:
    """Name a run's folder: as the user says, else by the arm's label, else by model, data and hash.

    Raises:
        UserError: the user's name has characters that a folder's name should not have, or belongs to another run.
    """
    name = run_config.config.name
    if name is not None and name != plain_name(name):
        raise UserError(f"name={name} is no plain name; use letters, digits, '.', '_' and '-', at most 80 of them.")
    if name and label is None:
        folder = RunFolder(output / name)
        require_same_run(folder, config_hash)
        return folder
    default = "-".join(plain_name(run_config.choices[group]) for group in ("model", "data"))
    wanted = "-".join(part for part in (name, label) if part)
    if wanted and not (output / wanted).exists():
        return RunFolder(output / wanted)
    return RunFolder(output / f"{wanted or default}-{config_hash}")


def require_same_run(folder: RunFolder, config_hash: str) -> None:
    """Raise ``UserError`` if a folder exists and holds another run than the one that the hash identifies."""
    if folder.path.exists() and (other := read_record(folder).config_hash) != config_hash:
        raise UserError(
            f"{folder.path} is another run, of another configuration or other text (its hash is {other}, and that of "
            f"this one {config_hash}); give another name=… or output=…."
        )
