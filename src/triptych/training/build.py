"""What trains a prepared model, from a config: in a run, and where a forecast measures one."""

from __future__ import annotations

import logging
import warnings
from functools import partial

import torch
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback
from omegaconf import DictConfig

from triptych.data.datamodule import TranslationData
from triptych.errors import UserError
from triptych.training.budget import total_steps
from triptych.training.callbacks import FastProducts
from triptych.training.loss import TranslationLoss
from triptych.training.module import TranslationTask
from triptych.training.prepare import Prepared


def data_of(config: DictConfig, prepared: Prepared, loss: TranslationLoss, workers: int) -> TranslationData:
    """The batches, as many as the budget allows.

    Args:
        loss: whose part for the source decides what a pair's FLOPs are.
        workers: processes that load batches; 0 is this one.
    """
    return TranslationData(
        stores=prepared.stores,
        tokenizer=prepared.tokenizer,
        corpus=prepared.corpus,
        batch_tokens=config.batch.tokens,
        accumulate=config.batch.accumulate,
        seed=config.seed,
        workers=workers,
        ranks=config.strategy.devices * config.strategy.num_nodes,
        budget=partial(total_steps, **config.budget, model=prepared.model, autoencode=loss.autoencode),
    )


def task_of(config: DictConfig, prepared: Prepared, loss: TranslationLoss, steps: int) -> TranslationTask:
    """The model with its loss, optimizer and schedule over so many optimizer steps."""
    return TranslationTask(
        model=prepared.model,
        loss=loss,
        optimizer=instantiate(config.optimizer.optimizer),
        schedule=instantiate(config.optimizer.schedule),
        weight_decay=config.optimizer.weight_decay,
        total_steps=steps,
        log_every=config.log_every,
        tokenizer=prepared.tokenizer.fingerprint,
    )


def products_of(config: DictConfig) -> list[Callback]:
    """The faster products of a CPU, which ``torch.compile`` does not go with."""
    return [] if config.strategy.compile else [FastProducts()]


def compile_of(config: DictConfig, task: TranslationTask, device: torch.device) -> bool:
    """Whether the task is compiled now: where the strategy says so, or says nothing and a GPU trains.

    Raises:
        UserError: it cannot be done here, for want of a compiler, say.
    """
    chosen = config.strategy.compile
    if not (device.type == "cuda" if chosen is None else chosen):
        return False
    torch._dynamo.reset()  # what an earlier run of a sweep has left
    # A block is compiled for training and for validation, with padding and without.
    torch._dynamo.config.recompile_limit = 32
    try:
        torch.compile(torch.neg)(torch.ones(8, device=device))
    except Exception as error:  # whatever a compiler has to say
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise UserError(f"torch.compile does not work here ({reason}); set strategy.compile=false.") from error
    for part in (task.model, task.loss):
        part.compile(dynamic=True)
    return True


def quieten() -> None:
    """Lightning's advice is for those who write its loops, not for those who run them."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*(does not have many workers|lr_scheduler.step|weights_only).*")
