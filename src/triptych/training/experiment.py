"""Everything that a config names, built and checked, trained and scored."""

from __future__ import annotations

import contextlib
from typing import Any

import lightning
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger, Logger
from lightning.pytorch.utilities.exceptions import MisconfigurationException
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

import triptych
from triptych.accounting.cost import training_cost
from triptych.accounting.memory import peak_memory_bytes, reset_peak_memory
from triptych.accounting.parameters import count_parameters
from triptych.data.batching import unique_length_pairs
from triptych.data.corpus import TRAIN, VALIDATION
from triptych.errors import UserError
from triptych.files import replacing
from triptych.runs import checkpoints, speeds
from triptych.runs import folder as runs
from triptych.training.build import compile_of, data_of, products_of, task_of
from triptych.training.callbacks import (
    TERMINATED,
    AtomicCheckpoints,
    ProgressBar,
    ProgressLines,
    SaveOnSignal,
    ValidationBleu,
    best_and_last,
)
from triptych.training.data_seen import DataSeen
from triptych.training.distributed import say
from triptych.training.prepare import Prepared
from triptych.training.scoring import log_scores, score, settings

IN_TERMINAL = Console().is_terminal


class Experiment:
    """Everything that trains, built and checked before the run's folder is made.

    Args:
        config: resolved.
        folder: of the run.
        prepared: its corpus, tokenizer, ids and model.
        devices: how many, or which, for Lightning.

    Attributes:
        loggers: of the run, CSV first.
        device: where this process trains.
        compiled: whether ``torch.compile`` is used.
    """

    def __init__(
        self, config: DictConfig, folder: runs.RunFolder, prepared: Prepared, devices: int | list[int]
    ) -> None:
        self.config = config
        self.devices = devices
        self.folder = folder
        self.prepared = prepared
        self.search = instantiate(config.search)
        loss = instantiate(config.loss)
        callbacks = self._callbacks()
        self.data = data_of(config, prepared, loss, config.strategy.workers)
        self._check_lengths()
        self.total_steps = self.data.total_steps
        self._check_average()
        self.task = task_of(config, prepared, loss, self.total_steps)
        self._check_optimizer()
        self.trainer = self._trainer(callbacks)
        self._check_precision()
        self.device = self.trainer.strategy.root_device
        self.compiled = compile_of(config, self.task, self.device)
        csv = CSVLogger(folder.path, name="metrics", flush_logs_every_n_steps=1)
        # Last, since a dashboard begins a run, and keeps its identity in the folder.
        self.loggers: list[Logger] = [csv, *([instantiate(config.logger)] if config.logger else [])]
        self.trainer.loggers = self.loggers

    def fit(self) -> None:
        """Trains to the end of the budget, from the last checkpoint if there is one."""
        if self.trainer.is_global_zero:
            self._describe()
        for logger in self.loggers:
            logger.log_hyperparams(settings(self.config))
        resume = self.folder.last if self.folder.last.exists() else None
        if resume is not None:
            self.data.first_step = checkpoints.step_of(resume)
            say(f"going on from step {self.data.first_step:,}")
        reset_peak_memory(self.device)
        try:
            self.trainer.fit(self.task, datamodule=self.data, ckpt_path=resume, weights_only=True)
        except (KeyboardInterrupt, SystemExit) as stop:  # Lightning makes the one of the other
            saved = checkpoints.step_of(self.folder.last) if self.folder.last.exists() else 0
            say(f"stopped; the same command goes on from step {saved:,}.")
            if isinstance(stop, SystemExit) and stop.code == TERMINATED:
                raise
            raise KeyboardInterrupt from stop
        self.peak_memory = peak_memory_bytes(self.device)

    def finish(self, digest: str, training: str) -> None:
        """Writes down what was trained, translates the test sets with the best or averaged weights, and writes the
        result."""
        total = self.task.data_seen.of_all_ranks()
        if not self.trainer.is_global_zero:
            return
        logged = runs.metrics(self.folder)
        with replacing(self.folder.path / "metrics.csv") as beside:
            logged.to_csv(beside, index=False)
        result = {"config_hash": digest, "training_hash": training, **self._trained(total)}
        runs.write_json(self.folder.trained, result)
        scores = score(self.config, self.folder, self.prepared.corpus, self.device)
        runs.write_json(self.folder.result, {**result, **scores})
        trained, data = result["train"], self.prepared.corpus.fingerprint
        with contextlib.suppress(OSError):  # a cache that is full or gone costs no result
            speeds.record(self.config, data, trained["device"], speeds.steady(logged, trained["tokens_per_second"]))
        for logger in self.loggers[1:]:
            log_scores(logger, scores["test"])

    def _check_average(self) -> None:
        """There are as many checkpoints to keep as validations."""
        keep, every = self.config.checkpoint.keep, self.config.validation.every
        validations = -(-self.total_steps // every)
        if keep > validations:
            raise UserError(
                f"checkpoint.keep={keep} needs as many validations, and {self.total_steps:,} steps with "
                f"validation.every={every} make {validations}; lower one of the two."
            )

    def _check_precision(self) -> None:
        """Lightning takes another one, with a warning, where the device does not have it."""
        asked, got = str(self.config.strategy.precision), str(self.trainer.precision)
        if asked.split("-")[0] != got.split("-")[0]:
            raise UserError(f"strategy.precision={asked} does not work here; {got} does.")

    def _check_optimizer(self) -> None:
        """Lightning would make it only when training begins."""
        try:
            self.task.configure_optimizers()
        except (TypeError, ValueError) as error:
            raise UserError(f"optimizer: {str(error).rstrip('.')}.") from error

    def _check_lengths(self) -> None:
        """Of every pair, and of the longest translation of every sentence that will be translated."""
        for split, store in self.prepared.stores.items():
            hops = 0 if split == TRAIN else len(self.prepared.corpus.sections[split][0].route) - 1
            for src, tgt in unique_length_pairs(store.lengths)[0].tolist():
                self.prepared.model.check_lengths(src, tgt)
                for _ in range(hops):
                    longest = int(self.search.limit(torch.tensor(src)))
                    self.prepared.model.check_lengths(src, 1 + longest)
                    src = longest  # of what the next hop reads, </s> counted as well

    def _trainer(self, callbacks: list[Callback]) -> lightning.Trainer:
        strategy = self.config.strategy
        try:
            return lightning.Trainer(
                accelerator=strategy.accelerator,
                devices=self.devices,
                num_nodes=strategy.num_nodes,
                strategy=strategy.strategy,
                precision=strategy.precision,
                max_steps=self.total_steps,
                max_epochs=1,
                accumulate_grad_batches=self.config.batch.accumulate,
                gradient_clip_val=self.config.gradient_clip or None,
                val_check_interval=min(self.config.validation.every, self.total_steps) * self.config.batch.accumulate,
                check_val_every_n_epoch=None,
                num_sanity_val_steps=0,
                logger=False,
                plugins=[AtomicCheckpoints()],
                callbacks=callbacks,
                use_distributed_sampler=False,
                enable_progress_bar=IN_TERMINAL,
                enable_model_summary=False,
                default_root_dir=self.folder.path,
            )
        except (MisconfigurationException, ImportError, ValueError, RuntimeError) as error:
            chosen = ", ".join(f"{key}={strategy[key]}" for key in ("accelerator", "devices", "strategy", "precision"))
            reason = " ".join(str(error).split()).rstrip(".!")
            raise UserError(f"strategy ({chosen}) does not work here: {reason}.") from error

    def _describe(self) -> None:
        """What the run is, in its folder before it starts: the resolved config, the tokenizer, the first versions."""
        self.folder.path.mkdir(parents=True, exist_ok=True)
        self.prepared.tokenizer.save(self.folder.tokenizer)
        with replacing(self.folder.config) as beside:
            OmegaConf.save(self.config, beside)
        if not self.folder.versions.exists():
            runs.write_json(self.folder.versions, runs.versions())

    def _trained(self, total: DataSeen) -> dict[str, Any]:
        """``result.json`` but for its identity and its scores."""
        corpus, tokenizer = self.prepared.corpus, self.prepared.tokenizer
        parameters, non_embedding = count_parameters(self.task.model)
        return {
            "run": self.folder.path.name,
            "version": triptych.__version__,
            "seed": self.config.seed,
            "model": {
                "name": HydraConfig.get().runtime.choices["model"],
                "parameters": parameters,
                "parameters_non_embedding": non_embedding,
            },
            "data": {
                "name": corpus.name,
                "languages": list(corpus.languages),
                "fingerprint": corpus.fingerprint,
                "token_stream": total.stream.digest,
                "token_stream_after": total.digests_by_step,  # by optimizer steps
            },
            "tokenizer": {
                "name": tokenizer.name,
                "fingerprint": tokenizer.fingerprint,
                "vocab_size": tokenizer.vocabulary.tgt_size,
            },
            "train": {
                "steps": self.total_steps,
                "tokens_src": total.tokens_src,
                "tokens_tgt": total.tokens_tgt,
                "compiled": self.compiled,
                **training_cost(
                    self.task.model,
                    total.pairs,
                    tokens=total.tokens_src + total.tokens_tgt,
                    seconds=self.task.seconds,
                    device=self.device,
                    devices=self.trainer.world_size,
                    precision=str(self.config.strategy.precision),
                    peak_memory=self.peak_memory,
                ),
            },
            "versions": {**runs.versions(), **runs.started_by_other_code(self.folder)},
        }

    def _callbacks(self) -> list[Callback]:
        lines = self.prepared.corpus.splits[VALIDATION]
        validation = ValidationBleu(
            store=self.prepared.stores["validation"],
            lines=(list(lines.src), list(lines.tgt)),
            tokenizer=self.prepared.tokenizer,
            search=instantiate(self.config.validation.search),
            search_tokens=self.config.search_tokens,
            every=self.config.validation.bleu_every,
            samples=self.config.validation.samples,
        )
        return [
            validation,
            ProgressBar() if IN_TERMINAL else ProgressLines(),
            SaveOnSignal(self.folder.last),
            *products_of(self.config),
            *best_and_last(
                self.folder.checkpoints, monitor=self.config.checkpoint.monitor, keep=self.config.checkpoint.keep
            ),
        ]
