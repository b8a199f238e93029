"""triptych train: build everything the config names, train, translate the test sets, write result.json."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych import runs
from triptych.commands import schema
from triptych.commands.hydra_app import require_values, run
from triptych.files import require_folder


def main(arguments: list[str]) -> int:
    schema.register()
    return run("train", train, arguments)


def train(config: DictConfig) -> None:
    """One run, from its config to its result.json; a finished run is only named, an interrupted one goes on."""
    require_values(config)
    schema.check(config)
    import lightning  # not before it is needed: --help and mistakes do not wait for it

    from triptych.commands.experiment import Experiment, say
    from triptych.commands.prepare import prepare
    from triptych.training.allocator import give_back_freed_memory, keep_freed_memory
    from triptych.training.callbacks import close

    for place in (config.output, config.cache):
        require_folder(Path(place).expanduser())
    corpus = instantiate(config.data)
    digest = runs.config_hash(config, corpus.fingerprint)
    folder = runs.find(Path(config.output).expanduser(), HydraConfig.get().overrides.task, digest)
    config.run_dir = str(folder.path)
    OmegaConf.resolve(config)
    if runs.made_by_other_code(folder):
        say(
            f"{folder.path} was begun by another version of triptych; give another output=… to train it from the start."
        )
    if folder.result.exists():
        say(f"finished before: {folder.path}")
        return
    quieten()
    give_back_freed_memory()
    keep_freed_memory()
    lightning.seed_everything(config.seed, workers=True, verbose=False)
    for line in corpus.report:
        say(line)
    prepared = prepare(config, corpus)
    experiment = Experiment(config, folder, prepared)
    for line in prepared.report():
        say(line)
    say(f"run: {folder.path}")
    status = "failed"
    try:
        experiment.fit()
        experiment.finish(digest)
        status = "success"
    finally:
        close(experiment.loggers, status)
    say(f"result: {folder.result}")


def quieten() -> None:
    """Lightning's advice is for those who write its loops, not for those who run them."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*(does not have many workers|lr_scheduler.step|weights_only).*")
