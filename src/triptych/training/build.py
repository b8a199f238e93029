"""Build what trains: one function a part, shared by training, forecasts and benchmarks."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import lightning
import torch
from hydra.errors import InstantiationException
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger, Logger
from lightning.pytorch.strategies import Strategy
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from omegaconf import DictConfig
from rich.console import Console

from triptych.accounting.parameters import count_parameters
from triptych.config.global_batch import batches_per_process, is_sharded, num_processes
from triptych.contract.model import TranslationModel
from triptych.data import store
from triptych.data.corpus import TRAIN, VALIDATION, Corpus
from triptych.data.datamodule import TranslationData
from triptych.data.pairs import target_languages
from triptych.data.store import Store
from triptych.data.text_figures import TextFigures, text_figures
from triptych.data.tokenizer import Tokenizer
from triptych.errors import UserError
from triptych.evaluation.metrics import Metric, deciding_bleu
from triptych.files import require_folder
from triptych.runs.folder import RunFolder
from triptych.training.budget import total_steps
from triptych.training.callbacks.checkpoints import AtomicCheckpoints, best_and_last
from triptych.training.callbacks.fast_training import FastTraining
from triptych.training.callbacks.give_back_memory import GiveBackMemory
from triptych.training.callbacks.largest_first import LargestFirst
from triptych.training.callbacks.progress import ProgressBar, ProgressLines
from triptych.training.callbacks.save_on_signal import SaveOnSignal
from triptych.training.callbacks.validation_bleu import ValidationBleu
from triptych.training.loss import TranslationLoss
from triptych.training.match import BUDGET_TIMES, SAMPLED_PAIRS, matched_sizes, multiple, resized
from triptych.training.module import TranslationModule
from triptych.training.sharding import sharded_strategy


@dataclass(frozen=True)
class TrainingParts:
    """What trains a run. Each part is built from those before it.

    Attributes:
        stores: ids of each split.
        sizes: of ``matched_sizes``.
    """

    corpus: Corpus
    tokenizer: Tokenizer
    stores: dict[str, Store]
    sizes: dict[str, int]
    model: TranslationModel
    loss: TranslationLoss
    data: TranslationData
    module: TranslationModule

    @cached_property
    def text(self) -> TextFigures:
        """Figures of the text that a reader of the scores should know."""
        return text_figures(self.corpus, self.tokenizer, self.stores)

    def report_of_text(self) -> list[str]:
        """Describe what of the text was left out, and the tokenizer, a line each."""
        lines = self.tokenizer.lines
        return [
            *self.stores[TRAIN].report,
            f"tokenizer: {self.tokenizer.name}" + (f", trained on {lines:,} lines" if lines else ""),
        ]

    def report_of_model(self) -> list[str]:
        """Describe the model, a line each."""
        total, non_embedding = count_parameters(self.model)
        return [
            f"model: {total:,} parameters, {non_embedding:,} without embeddings",
            *(f"match: {name}={size}" for name, size in self.sizes.items()),
        ]


def prepare_text(config: DictConfig, corpus: Corpus) -> tuple[Tokenizer, dict[str, Store]]:
    """Train the tokenizer of a run and encode its text, unless the cache holds them; return the ids of each split.

    Raises:
        UserError: a cache that cannot be made, or a tokenizer that does not go with the text.
    """
    cache = Path(config.cache).expanduser()
    if not cache.exists():
        require_folder(cache, "cache")
    tokenizer = instantiate(config.tokenizer).fit(corpus, cache)
    return tokenizer, store.prepare(corpus, tokenizer, cache, corpus.max_length, corpus.max_length_ratio)


def build_parts(
    config: DictConfig, corpus: Corpus, reference: Mapping[str, Any] | None, *, workers: int | None = None
) -> TrainingParts:
    """Build everything that trains but the trainer. What the cache holds is opened, not made again.

    Args:
        config: of the run.
        corpus: its text.
        reference: configuration of the model whose size ``match`` copies, if any.
        workers: processes that make batches, 0 for none besides this one; None for ``config.strategy.workers``.

    Raises:
        UserError: a cache that cannot be made, or parts that do not go together.
    """
    tokenizer, stores = prepare_text(config, corpus)
    sizes: dict[str, int] = {}
    if reference is not None:
        lengths = stores[TRAIN].lengths
        sample = lengths[:: -(-len(lengths) // SAMPLED_PAIRS)]
        sizes = matched_sizes(config, reference, tokenizer.vocabulary, sample)
    model = instantiate(resized(config.model, sizes), vocabulary=tokenizer.vocabulary)
    loss = instantiate(config.loss)
    data = TranslationData(
        stores=stores,
        tokenizer=tokenizer,
        corpus=corpus,
        batch_tokens=config.batch.tokens,
        accumulate=batches_per_process(config),
        seed=config.seed,
        workers=config.strategy.workers if workers is None else workers,
        ranks=num_processes(config),
        budget=partial(
            total_steps, **config.budget, times=multiple(config, BUDGET_TIMES), model=model, autoencode=loss.autoencode
        ),
        cache=Path(config.cache).expanduser(),
    )
    module = build_module(config, model, loss, data.total_steps, tokenizer.fingerprint)
    return TrainingParts(corpus, tokenizer, stores, sizes, model, loss, data, module)


def build_module(
    config: DictConfig, model: TranslationModel, loss: TranslationLoss, steps: int, tokenizer: str
) -> TranslationModule:
    """Build the LightningModule that trains a model over so many optimizer steps.

    Args:
        tokenizer: fingerprint that every checkpoint carries.

    Raises:
        UserError: the optimizer does not take its settings.
    """
    module = TranslationModule(
        model=model,
        loss=loss,
        optimizer=instantiate(config.optimizer.optimizer),
        schedule=instantiate(config.optimizer.schedule),
        weight_decay=config.optimizer.weight_decay,
        total_steps=steps,
        log_every=config.log_every,
        tokenizer=tokenizer,
    )
    try:
        module.configure_optimizers()  # Lightning would make it only when training begins
    except (TypeError, ValueError) as error:
        raise UserError(f"optimizer: {str(error).rstrip('.')}.") from error
    return module


def build_callbacks(
    config: DictConfig, parts: TrainingParts, folder: RunFolder, metrics: Mapping[str, Metric]
) -> list[Callback]:
    """Build the callbacks that every run has, and those of ``config.callbacks``; BLEU has its settings in ``metrics``.

    Raises:
        UserError: as ``deciding_bleu``.
    """
    lines, console = parts.corpus.splits[VALIDATION], Console()
    search = instantiate(config.validation.search)
    validation_bleu = ValidationBleu(
        store=parts.stores[VALIDATION],
        lines=(list(lines.src), list(lines.tgt)),
        tokenizer=parts.tokenizer,
        search=search,
        # As many hypotheses at a time as in the search of the test sets: few rows at a time are slow.
        search_tokens=max(1, config.search_tokens * config.search.beam_size // search.beam_size),
        bleu=deciding_bleu(metrics, target_languages(parts.corpus.sections[VALIDATION])),
        every=config.validation.bleu_every,
        samples=config.validation.samples,
    )
    return [
        validation_bleu,
        ProgressBar(console) if console.is_terminal else ProgressLines(),
        SaveOnSignal(folder.last),
        *fast_training(config),
        GiveBackMemory(),
        LargestFirst(parts.module, parts.data),
        *(instantiate(node) for node in config.callbacks.values()),
        *best_and_last(folder.checkpoints, monitor=config.checkpoint.monitor, keep=config.checkpoint.keep),
    ]


def fast_training(config: DictConfig) -> list[Callback]:
    """Return the callback that chooses a CPU's faster products; ``torch.compile`` does not go with it."""
    return [] if config.strategy.compile else [FastTraining()]


def build_loggers(config: DictConfig, folder: RunFolder) -> list[Logger]:
    """Build the loggers of a run, its CSV files first. A dashboard starts its run when it is built.

    Raises:
        UserError: a logger needs a package that is not installed.
    """
    csv = CSVLogger(folder.path, name="metrics", flush_logs_every_n_steps=1)
    return [csv, *(_build_logger(name, node) for name, node in config.logger.items())]


def _build_logger(name: str, node: DictConfig) -> Logger:
    try:
        return instantiate(node)
    except InstantiationException as error:
        if not isinstance(cause := error.__cause__, ModuleNotFoundError):
            raise
        reason = " ".join(str(cause).split())
        raise UserError(f"logger={name} needs a package that is not installed ({reason}).") from error


def build_trainer(
    config: DictConfig,
    *,
    steps: int,
    devices: int | list[int],
    callbacks: Sequence[Callback],
    folder: Path | None,
) -> lightning.Trainer:
    """Build Lightning's trainer.

    Args:
        config: of the run; ``config.trainer`` holds further arguments.
        steps: optimizer steps after which it stops.
        devices: how many devices, or which.
        callbacks: in the order in which Lightning calls them.
        folder: of the run; None to measure speed: one device trains alone, without validation and checkpoints.

    Raises:
        UserError: the strategy, its precision or another argument does not work here.
    """
    strategy, measuring, accumulated = config.strategy, folder is None, batches_per_process(config)
    arguments = {
        "accelerator": strategy.accelerator,
        "devices": 1 if measuring else devices,
        "num_nodes": 1 if measuring else strategy.num_nodes,
        "strategy": "auto" if measuring else _strategy(config),
        "precision": strategy.precision,
        "max_steps": steps,
        "max_epochs": 1,
        "accumulate_grad_batches": accumulated,
        "val_check_interval": min(config.validation.every, steps) * accumulated,
        "check_val_every_n_epoch": None,
        "num_sanity_val_steps": 0,
        "logger": False,
        "plugins": [AtomicCheckpoints()],
        "callbacks": list(callbacks),
        "use_distributed_sampler": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "enable_checkpointing": not measuring,
        "log_every_n_steps": config.log_every,
        "default_root_dir": folder,
        **({"limit_val_batches": 0} if measuring else {}),
    }
    try:
        trainer = lightning.Trainer(**{**instantiate(config.trainer, _convert_="all"), **arguments})
    except (MisconfigurationException, ImportError, ValueError, RuntimeError, TypeError) as error:
        chosen = [f"{key}={strategy[key]}" for key in ("accelerator", "devices", "strategy", "precision")]
        chosen += [f"trainer.{key}={value}" for key, value in config.trainer.items()]
        reason = " ".join(str(error).split()).rstrip(".!")
        raise UserError(f"strategy ({', '.join(chosen)}) does not work here: {reason}.") from error
    wanted, got = str(strategy.precision), str(trainer.precision)
    if wanted.split("-")[0] != got.split("-")[0]:  # Lightning takes another one, with a warning
        raise UserError(f"strategy.precision={wanted} does not work here; {got} does.")
    return trainer


def _strategy(config: DictConfig) -> str | Strategy:
    """Return what Lightning's trainer takes as its strategy."""
    return sharded_strategy(num_processes(config)) if is_sharded(config) else str(config.strategy.strategy)


def compile_parts(config: DictConfig, module: TranslationModule, device: torch.device) -> bool:
    """Compile the module if the strategy says so, or says nothing and a GPU trains; return whether it did.

    Raises:
        UserError: it cannot be done here, for want of a compiler, say.
    """
    chosen = config.strategy.compile
    if not (device.type == "cuda" if chosen is None else chosen):
        return False
    torch._dynamo.reset()  # forget what an earlier run of a sweep has compiled
    # A block is compiled for training and for validation, with padding and without.
    torch._dynamo.config.recompile_limit = 32
    try:
        torch.compile(torch.neg)(torch.ones(8, device=device))
    except Exception as error:  # whatever a compiler has to say
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise UserError(f"torch.compile does not work here ({reason}); set strategy.compile=false.") from error
    for part in (module.model, module.loss):
        part.compile(dynamic=True)
    return True


def silence_lightning() -> None:
    """Hide Lightning's advice, which is for people who write its loops."""
    for part in ("pytorch", "fabric"):
        logging.getLogger(f"lightning.{part}").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*(does not have many workers|lr_scheduler.step|weights_only).*")
