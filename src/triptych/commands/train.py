"""triptych train: build everything the config names, train, translate the test sets, write result.json."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.config import schema
from triptych.config.composition import run
from triptych.config.explanations import explain
from triptych.errors import UserError
from triptych.files import remove_leftovers, require_folder
from triptych.runs import folder as runs
from triptych.sweeps.sweep import MULTIRUN, Sweep, arms_of, as_arm, rank_zero

if TYPE_CHECKING:
    from triptych.data.corpus import Corpus


SHOWN = ("-h", "--help", "--hydra-help", "-c", "--cfg", "-i", "--info", "--version", "-sc", "--shell-completion")
"""Options by which Hydra shows something, and runs nothing."""


def main(arguments: list[str]) -> int:
    """One run, or all arms of a sweep; an experiment may say itself that it is one.

    Raises:
        UserError: what the configuration cannot be; a sweep's arms say it themselves.
    """
    schema.register()
    named = any(one in MULTIRUN or one.startswith(("experiment=", "hydra.mode=")) for one in arguments)
    shown = any(one.split("=")[0] in SHOWN for one in arguments)
    found = arms_of(arguments) if named and not shown else None
    if found is None:
        return run("train", job, arguments)
    sweep = Sweep(arguments, *found)
    for wait in (False, True):
        if wait and not sweep.unfinished:
            break
        try:
            run("train", partial(as_arm, train, wait=wait), arguments)
        except Exception as error:
            if explain(error) is not None:  # of the configuration, of a sweeper that chooses its arms as it goes along
                raise
            print(f"triptych: the launcher broke off: {' '.join(str(error).split())}", file=sys.stderr)
    return sweep.finish()


def job(config: DictConfig) -> None:
    try:
        train(config)
    except runs.RunLocked as busy:
        raise UserError(f"another process trains {config.run_dir}; wait for it, or give another output=….") from busy


def train(config: DictConfig, *, wait: bool = False, begin: Callable[[], None] = lambda: None) -> None:
    """One run, from its config to its result.json; a finished run is only named, an interrupted one goes on.

    Args:
        config: as composed.
        wait: for another process that has this run in hand.
        begin: called when the run is this process's.

    Raises:
        UserError: something that the config asks for cannot be.
        RunLocked: another process has this run in hand.
    """
    # Not before they are needed: --help does not wait for them.
    from triptych import kernels
    from triptych.config.validation import check
    from triptych.sweeps.match import resolve_reference
    from triptych.training.distributed import say

    check(config)
    output = Path(config.output).expanduser()
    for place in (output, Path(config.cache).expanduser()):
        require_folder(place)
    overrides = HydraConfig.get().overrides.task
    resolve_reference(config, overrides)
    corpus = instantiate(config.data)
    identify = partial(runs.config_hash, config, corpus.fingerprint)
    digest, training = identify(), identify(leaving_out=runs.SCORING)
    config.run_dir = str(runs.find(output, overrides, digest).path)
    OmegaConf.resolve(config)
    # The other ranks are of the same run.
    with runs.run_lock(output, digest, wait=wait) if rank_zero() else nullcontext():
        folder = runs.find(output, overrides, digest)  # again: another process may have made it meanwhile
        config.run_dir = str(folder.path)
        other = runs.started_by_other_code(folder)
        if folder.result.exists():
            say(f"finished before{', by other code' if other else ''}: {folder.path}")
            return
        begin()
        if other:
            say(f"{folder.path} was begun by other code; give another output=… to train it from the start.")
        with kernels.use(config.strategy.get("kernels", "fast")):
            _train_or_score(config, folder, corpus, digest, training)
    say(f"result: {folder.result}")


def _train_or_score(config: DictConfig, folder: runs.RunFolder, corpus: Corpus, digest: str, training: str) -> None:
    import lightning

    from triptych.kernels.malloc import give_back_freed_memory, keep_freed_memory
    from triptych.training.build import quieten
    from triptych.training.devices import claimed
    from triptych.training.distributed import say
    from triptych.training.scoring import adopt

    quieten()
    if rank_zero():
        remove_leftovers(folder.path)
    give_back_freed_memory()
    keep_freed_memory()
    lightning.seed_everything(config.seed, workers=True, verbose=False)
    for line in corpus.report:
        say(line)
    devices = config.strategy.devices
    if devices * config.strategy.num_nodes > 1:
        _train(config, folder, corpus, digest, training, devices)
        return
    # Of runs that share their weights one trains, and the others wait to score them.
    with (
        runs.run_lock(folder.path.parent, f"{training}.training", wait=True),
        claimed(config.strategy.accelerator, devices) as devices,
    ):
        trained = None if folder.last.exists() else runs.trained_alike(folder, training)
        if trained:
            say(f"weights of {trained.path}")
            adopt(config, folder, trained, corpus, digest, devices)
        else:
            _train(config, folder, corpus, digest, training, devices)


def _train(
    config: DictConfig, folder: runs.RunFolder, corpus: Corpus, digest: str, training: str, devices: int | list[int]
) -> None:
    from triptych.training.callbacks import close
    from triptych.training.distributed import say
    from triptych.training.experiment import Experiment
    from triptych.training.prepare import prepare

    prepared = prepare(config, corpus)
    experiment = Experiment(config, folder, prepared, devices)
    for line in prepared.report():
        say(line)
    say(f"run: {folder.path}")
    status = "failed"
    try:
        experiment.fit()
        try:
            experiment.finish(digest, training)
        except KeyboardInterrupt:
            say("stopped; the same command translates again, and does not train again.")
            raise
        status = "success"
    finally:
        close(experiment.loggers, status)
