"""triptych train: build everything the config names, train, translate the test sets, write result.json."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import lightning
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.utils import instantiate
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import CSVLogger, Logger
from omegaconf import DictConfig, OmegaConf

import triptych
from triptych import accounting, evaluation, runs
from triptych.commands import schema
from triptych.commands.hydra_app import resolve, run
from triptych.commands.prepare import Prepared, prepare
from triptych.data.datamodule import TranslationData
from triptych.files import replacing
from triptych.training.allocator import keep_freed_memory
from triptych.training.callbacks import AtomicCheckpoints, Progress, SaveOnInterrupt, ValidationBleu, checkpoints
from triptych.training.task import TranslationTask


def main(arguments: list[str]) -> int:
    schema.register()
    return run("train", train, arguments)


def train(config: DictConfig) -> None:
    """One run, from its config to its result.json; a finished run is only named, an interrupted one goes on."""
    schema.check(config)
    digest = runs.config_hash(config)
    name = runs.run_name(HydraConfig.get().overrides.task, digest)
    folder = runs.RunFolder(Path(config.output).expanduser() / name)
    config.run_dir = str(folder.path)
    resolve(config)
    if folder.result.exists():
        print(f"finished before: {folder.path}")
        return
    quieten()
    keep_freed_memory()
    lightning.seed_everything(config.seed, workers=True, verbose=False)
    prepared = prepare(config)
    experiment = Experiment(config, folder, prepared)
    folder.path.mkdir(parents=True, exist_ok=True)
    prepared.tokenizer.save(folder.tokenizer)
    with replacing(folder.config) as beside:
        OmegaConf.save(config, beside)
    for line in prepared.report():
        print(line)
    print(f"run: {folder.path}", flush=True)
    experiment.fit()
    experiment.finish(digest)
    print(f"result: {folder.result}")


BEST = {"loss": "idxmin", "bleu": "idxmax"}


class Experiment:
    """Everything that trains, built and checked before the first step."""

    def __init__(self, config: DictConfig, folder: runs.RunFolder, prepared: Prepared) -> None:
        self.config = config
        self.folder = folder
        self.prepared = prepared
        self.search = instantiate(config.search)
        self.data = TranslationData(
            stores=prepared.stores,
            tokenizer=prepared.tokenizer,
            corpus=prepared.corpus,
            batch_tokens=config.batch.tokens,
            accumulate=config.batch.accumulate,
            seed=config.seed,
            workers=config.strategy.workers,
            ranks=_ranks(config.strategy),
            **config.budget,
        )
        self.total_steps = self.data.total_steps
        self.task = TranslationTask(
            model=prepared.model,
            loss=instantiate(config.loss),
            optimizer=instantiate(config.optimizer.optimizer),
            schedule=instantiate(config.optimizer.schedule),
            weight_decay=config.optimizer.weight_decay,
            total_steps=self.total_steps,
            log_every=config.log_every,
            tokenizer=prepared.tokenizer.fingerprint,
        )

    def fit(self) -> None:
        """Trains to the end of the budget, from the last checkpoint if there is one."""
        loggers = self._loggers()
        try:
            trainer = lightning.Trainer(
                accelerator=self.config.strategy.accelerator,
                devices=self.config.strategy.devices,
                num_nodes=self.config.strategy.num_nodes,
                strategy=self.config.strategy.strategy,
                precision=self.config.strategy.precision,
                max_steps=self.total_steps,
                max_epochs=1,
                accumulate_grad_batches=self.config.batch.accumulate,
                gradient_clip_val=self.config.gradient_clip or None,
                val_check_interval=min(self.config.validation.every, self.total_steps) * self.config.batch.accumulate,
                check_val_every_n_epoch=None,
                num_sanity_val_steps=0,
                logger=loggers,
                plugins=[AtomicCheckpoints()],
                callbacks=self._callbacks(),
                use_distributed_sampler=False,
                enable_model_summary=False,
                default_root_dir=self.folder.path,
            )
            resume = self.folder.last if self.folder.last.exists() else None
            if resume is not None:
                self.data.first_step = runs.step_of(resume)
                print(f"going on from step {self.data.first_step:,}")
            trainer.fit(self.task, datamodule=self.data, ckpt_path=resume, weights_only=True)
        except (KeyboardInterrupt, SystemExit):
            print(f"stopped at step {trainer.global_step:,}; the same command goes on from there.", flush=True)
            raise
        finally:
            for logger in loggers:
                logger.finalize("success")
        if trainer.global_step < self.total_steps:  # Ctrl-C, which Lightning turns into a graceful end
            raise KeyboardInterrupt

    def finish(self, digest: str) -> None:
        """Translates the test sets with the best or averaged weights and writes the result."""
        checkpoint = "best"
        if self.config.checkpoint.average > 1:
            checkpoint = "averaged"
            recent = sorted(self.folder.checkpoints.glob("recent-*.ckpt"))
            torch.save(
                {
                    "state_dict": {f"model.{name}": value for name, value in runs.average(recent).items()},
                    "tokenizer": self.prepared.tokenizer.fingerprint,
                },
                self.folder.checkpoints / "averaged.ckpt",
            )
        device = self.task.device
        translator = runs.load(
            self.folder.path, checkpoint, "cpu" if self.config.strategy.accelerator == "cpu" else str(device)
        )
        test = {}
        for split in self.prepared.corpus.test_names:
            found = evaluation.evaluate(
                translator,
                self.prepared.corpus,
                split,
                search=self.search,
                batch_tokens=self.config.batch.tokens,
                length_edges=self.config.length_edges,
                progress=lambda name: print(f"translating {name} …", flush=True),
            )
            evaluation.save(found, self.folder, split)
            test[split] = found.scores
        with replacing(self.folder.path / "metrics.csv") as beside:
            runs.metrics(self.folder).to_csv(beside, index=False)
        runs.write_json(self.folder.result, {**self._result(digest), "test": test})
        for split, scores in test.items():
            print(f"{split}: BLEU {scores['bleu']:.2f}, chrF {scores['chrf']:.2f}")

    def _result(self, digest: str) -> dict[str, Any]:
        total, non_embedding = accounting.parameters(self.task.model)
        consumed = self.task.consumed
        flops = accounting.training_flops(self.task.model, consumed.pairs)
        tokens = consumed.tokens_src + consumed.tokens_tgt
        seconds = self.task.seconds
        peak, peak_source = accounting.peak_flops(self.task.device)
        ranks = _ranks(self.config.strategy)
        return {
            "run": self.folder.path.name,
            "config_hash": digest,
            "version": triptych.__version__,
            "seed": self.config.seed,
            "model": {
                "name": HydraConfig.get().runtime.choices["model"],
                "parameters": total,
                "parameters_non_embedding": non_embedding,
            },
            "data": {
                "name": self.prepared.corpus.name,
                "languages": list(self.prepared.corpus.languages),
                "fingerprint": self.prepared.corpus.fingerprint,
                "token_stream": consumed.stream.hexdigest(),
            },
            "tokenizer": {
                "name": self.prepared.tokenizer.name,
                "fingerprint": self.prepared.tokenizer.fingerprint,
                "vocab_size": self.prepared.tokenizer.vocabulary.tgt_size,
            },
            "train": {
                "steps": self.total_steps,
                "tokens_src": consumed.tokens_src * ranks,
                "tokens_tgt": consumed.tokens_tgt * ranks,
                "flops": flops * ranks,
                "flops_6nd": accounting.flops_6nd(non_embedding, tokens * ranks),
                "seconds": seconds,
                "tokens_per_second": tokens * ranks / seconds,
                "device": accounting.device_name(self.task.device),
                "peak_flops": peak,
                "peak_source": peak_source,
                "mfu": accounting.mfu(flops, seconds, peak),
                "peak_memory_bytes": accounting.peak_memory_bytes(self.task.device),
            },
            "validation": self._validation(),
            "versions": {
                name: __import__(name).__version__ for name in ("torch", "lightning", "sentencepiece", "sacrebleu")
            },
        }

    def _validation(self) -> dict[str, float]:
        logged, monitor = runs.metrics(self.folder), self.config.checkpoint.monitor
        columns = ["validation/loss", "validation/perplexity", "validation/bleu"]
        by_step = logged.groupby("step")[columns].first().dropna(subset=f"validation/{monitor}")
        best = by_step.loc[by_step[f"validation/{monitor}"].agg(BEST[monitor])]
        return {name: float(best[f"validation/{name}"]) for name in ("loss", "perplexity")}

    def _loggers(self) -> list[Logger]:
        csv = CSVLogger(self.folder.path, name="metrics", flush_logs_every_n_steps=1)
        more = [instantiate(self.config.logger)] if self.config.logger else []
        for logger in [csv, *more]:
            logger.log_hyperparams(OmegaConf.to_container(self.config, resolve=True))
        return [csv, *more]

    def _callbacks(self) -> list[Callback]:
        validation = ValidationBleu(
            store=self.prepared.stores["validation"],
            lines=self.prepared.corpus.splits["validation"],
            tokenizer=self.prepared.tokenizer,
            search=instantiate(self.config.validation.search),
            batch_tokens=self.config.batch.tokens,
            every=self.config.validation.bleu_every,
            samples=self.config.validation.samples,
        )
        return [
            validation,
            Progress(),
            SaveOnInterrupt(self.folder.last),
            *checkpoints(
                self.folder.checkpoints, monitor=self.config.checkpoint.monitor, keep=self.config.checkpoint.average
            ),
        ]


def _ranks(strategy: DictConfig) -> int:
    return int(strategy.devices) * int(strategy.num_nodes)


def quieten() -> None:
    """Lightning's advice is for those who write its loops, not for those who run them."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")
    warnings.filterwarnings("ignore", message=".*(does not have many workers|lr_scheduler.step|weights_only).*")
