"""After training: the weights that are scored, and the scores of every test set."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from lightning.pytorch.loggers import Logger
from omegaconf import DictConfig, OmegaConf

from triptych.data.corpus import VALIDATION, Corpus
from triptych.data.tokenizer import Tokenizer
from triptych.errors import UserError
from triptych.evaluation.metrics import standard_metrics
from triptych.evaluation.splits import evaluate_split, save_evaluation, split_loss
from triptych.files import replacing
from triptych.runs import checkpoints
from triptych.runs import folder as runs
from triptych.runs.trained_run import load
from triptych.training.callbacks import close
from triptych.training.distributed import say


def score(config: DictConfig, folder: runs.RunFolder, corpus: Corpus, device: torch.device) -> dict[str, Any]:
    """Translates the test sets with the best or averaged weights; ``validation`` and ``test`` of ``result.json``."""
    checkpoint = "best"
    if config.checkpoint.average > 1:
        checkpoint = "averaged"
        fingerprint = Tokenizer.load(folder.tokenizer).fingerprint
        checkpoints.write_average(folder, config.checkpoint.average, fingerprint)
    trained = load(folder.path, checkpoint, str(device))
    validation = split_loss(trained, corpus, VALIDATION, config.search_tokens)
    search, test = instantiate(config.search), {}
    for split in corpus.test_names:
        say(f"translating {split} …")
        found = evaluate_split(
            trained,
            corpus,
            split,
            metrics=standard_metrics(),
            search=search,
            search_tokens=config.search_tokens,
            length_edges=config.length_edges,
            checkpoint=checkpoint,
        )
        save_evaluation(found, folder, split)
        test[split] = found.scores
        say(f"{split}: BLEU {found.scores['bleu']:.2f}, chrF {found.scores['chrf']:.2f}")
    return {"validation": validation, "test": test}


def settings(config: DictConfig) -> dict[str, Any]:
    """What a dashboard shows of a run: its config, and ``arm``, the overrides that tell it from others of its sweep."""
    chosen: Any = OmegaConf.to_container(config, resolve=True)
    told = runs.display_overrides(HydraConfig.get().overrides.task)
    return {**chosen, "arm": " ".join(one for one in told if not one.startswith(("seed=", "scale=", "experiment=")))}


def log_scores(logger: Logger, test: dict[str, Any]) -> None:
    """``test`` of ``result.json`` on a dashboard."""
    for split, scores in test.items():
        logger.log_metrics({f"{split}/{name}": scores[name] for name in ("bleu", "chrf")})


def adopt(
    config: DictConfig,
    folder: runs.RunFolder,
    trained: runs.RunFolder,
    corpus: Corpus,
    digest: str,
    devices: int | list[int],
) -> None:
    """Scores the weights of another run, which was trained alike, as this run's config says.

    The folder appears once it is whole, with its result.
    """
    config.model = OmegaConf.load(trained.config).model  # of the sizes that ``match`` has found
    shutil.rmtree(folder.path, ignore_errors=True)  # of a training that ended before its first checkpoint
    result = json.loads(trained.trained.read_text(encoding="utf-8"))
    own = {"run": folder.path.name, "config_hash": digest, "weights_of": trained.path.name}
    with replacing(folder.path) as beside:
        for name in ("tokenizer", "checkpoints"):
            # Weights are large, and never changed: another name for the same file is enough.
            shutil.copytree(trained.path / name, beside / name, copy_function=_link)
        (beside / "checkpoints" / "averaged.ckpt").unlink(missing_ok=True)
        for name in ("metrics.csv", "versions.json", "trained.json"):
            shutil.copyfile(trained.path / name, beside / name)
        OmegaConf.save(config, beside / "config.yaml")
        scores = score(config, runs.RunFolder(beside), corpus, torch.device(device_of(config, devices)))
        runs.write_json(beside / "result.json", {**result, **own, **scores})
    if config.logger:
        logger = instantiate(config.logger)
        logger.log_hyperparams({**settings(config), "weights_of": trained.path.name})
        log_scores(logger, scores["test"])
        close([logger], "success")


def _link(src: str, dst: str) -> None:
    try:
        os.link(Path(src).resolve(), dst)
    except OSError:  # another file system, or one that has no links
        shutil.copyfile(src, dst)


def device_of(config: DictConfig, devices: int | list[int] = 1) -> str:
    """Where the config's strategy would train, on the first of its devices.

    Raises:
        UserError: it wants a GPU, and none is here.
    """
    wanted = config.strategy.accelerator
    there = torch.cuda.is_available()
    if wanted in ("gpu", "cuda") and not there:
        raise UserError(f"strategy.accelerator={wanted}: no such GPU is here; take strategy=cpu, or name a --device.")
    if wanted == "cpu" or not there:
        return "cpu"
    return f"cuda:{devices[0]}" if isinstance(devices, list) else "cuda"
