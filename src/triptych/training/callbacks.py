"""What happens beside training: BLEU, samples, progress, and saving on Ctrl-C and SIGTERM."""

from __future__ import annotations

import secrets
import signal
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import lightning
import torch
from lightning.pytorch.callbacks import Callback, ModelCheckpoint, RichProgressBar
from lightning.pytorch.loggers import Logger, WandbLogger
from lightning.pytorch.plugins.io import TorchCheckpointIO

from triptych.contract.vocabulary import LanguageTags
from triptych.data.store import Store
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.batches import decode
from triptych.decoding.search import Search
from triptych.evaluation.metrics import corpus_scores
from triptych.files import replacing
from triptych.kernels.matmul import fast_products
from triptych.training.distributed import gather
from triptych.training.module import TranslationTask


class ValidationBleu(Callback):
    """Translates the validation set at every n-th validation, logs BLEU, and shows a few translations.

    Args:
        store: the validation ids.
        lines: source and reference lines of the same pairs.
        tokenizer: to read them.
        search: how to translate.
        search_tokens: padded source tokens that are translated at a time.
        every: validations from one to the next.
        samples: translations to show in the logger.
    """

    def __init__(
        self,
        *,
        store: Store,
        lines: tuple[list[str], list[str]],
        tokenizer: Tokenizer,
        search: Search,
        search_tokens: int,
        every: int,
        samples: int,
    ) -> None:
        self.sources = [store.pair(i)[0].tolist() for i in range(len(store))]
        self.tags = [LanguageTags(*tags) for tags in store.tags(range(len(store))).tolist()]
        self.lines = lines
        self.tokenizer = tokenizer
        self.search = search
        self.search_tokens = search_tokens
        self.every = every
        self.samples = samples
        self.validations = 0

    def on_validation_epoch_end(self, trainer: lightning.Trainer, task: lightning.LightningModule) -> None:
        if not isinstance(task, TranslationTask):
            return
        self.validations += 1
        if self.validations % self.every:
            return
        mine = range(trainer.global_rank, len(self.sources), trainer.world_size)
        with torch.compiler.set_stance("force_eager"):  # what was compiled for training would be compiled anew
            found = decode(
                task.model,
                [self.sources[i] for i in mine],
                search=self.search,
                search_tokens=self.search_tokens,
                device=task.device,
                tags=[self.tags[i] for i in mine],
            )
        texts = dict(zip(mine, self.tokenizer.decode([h[0].tokens for h in found], "tgt"), strict=True))
        texts = {i: text for part in gather(texts) for i, text in part.items()}
        hypotheses = [texts[i] for i in range(len(self.sources))]
        scores = corpus_scores(hypotheses, self.lines[1])
        task.log("validation/bleu", scores["bleu"], logger=False)  # for the checkpoint that keeps the best
        task.write({"validation/bleu": scores["bleu"]})
        samples = [list(row) for row in zip(*self.lines, hypotheses, strict=True)][: self.samples]
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                logger.log_text("validation/samples", ["source", "reference", "translation"], samples)

    def state_dict(self) -> dict[str, Any]:
        return {"validations": self.validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.validations = state_dict["validations"]


class Clock:
    """What is told of a training while it runs."""

    SHOWN: ClassVar = {
        "loss": ("train/loss", "{:.3f}"),
        "tokens/s": ("train/tokens_per_second", "{:,.0f}"),
        "perplexity": ("validation/perplexity", "{:.2f}"),
        "bleu": ("validation/bleu", "{:.1f}"),
    }

    def __init__(self, trainer: lightning.Trainer) -> None:
        self.start = (time.perf_counter(), trainer.global_step)

    def values(self, trainer: lightning.Trainer, task: lightning.LightningModule) -> dict[str, str]:
        """Loss, tokens a second, the latest validation, and the time left of the whole budget."""
        latest = getattr(task, "latest", {})
        values = {name: form.format(latest[key]) for name, (key, form) in self.SHOWN.items() if key in latest}
        done = trainer.global_step - self.start[1]
        if done:
            left = (trainer.max_steps - trainer.global_step) * (time.perf_counter() - self.start[0]) / done
            values["left"] = f"{int(left) // 60}:{int(left) % 60:02d}"
        return values


class ProgressLines(Callback):
    """One line a validation, for logs in files."""

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._clock = Clock(trainer)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        if trainer.is_global_zero:
            told = ", ".join(f"{name} {value}" for name, value in self._clock.values(trainer, pl_module).items())
            print(f"step {trainer.global_step:,}/{trainer.max_steps:,}: {told}", flush=True)


class ProgressBar(RichProgressBar):
    """Lightning's bar in a terminal."""

    def configure_columns(self, trainer: lightning.Trainer) -> list[Any]:
        """What it is, the bar, and steps done; the epochs, times and rates of batches would be told twice."""
        return super().configure_columns(trainer)[:3]

    def _get_train_description(self, current_epoch: int) -> str:
        return "Training  "

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        self._clock = Clock(trainer)

    def get_metrics(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> dict[str, Any]:
        return dict(self._clock.values(trainer, pl_module))


class AtomicCheckpoints(TorchCheckpointIO):
    """Writes a checkpoint beside its path, then renames it: a killed run leaves the one before whole."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        with replacing(Path(path)) as beside:
            super().save_checkpoint(checkpoint, beside, storage_options)


class FastProducts(Callback):
    """``fast_products`` in the steps of training, and not in the translations between them."""

    def __init__(self) -> None:
        self._during = ExitStack()

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._during.enter_context(fast_products(trainer.strategy.root_device))

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._during.close()

    on_validation_start = on_train_end
    on_validation_end = on_train_start

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self._during.close()


TOGETHER = 20
"""Optimizer steps after which several ranks ask each other whether one of them was told to stop."""


TERMINATED = 128 + signal.SIGTERM
"""The exit status of a process that was told to stop by SIGTERM, as schedulers do."""


class SaveOnSignal(Callback):
    """Ctrl-C and SIGTERM end training after the optimizer step at hand, and lose nothing; a second one ends it at once.

    Raises:
        KeyboardInterrupt: after Ctrl-C.
        SystemExit: after SIGTERM, with the status ``TERMINATED``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked = 0
        self._before: dict[signal.Signals, Any] = {}

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """After Lightning has put up its own handlers, which would stop training without saving."""
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)

    def on_train_batch_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        alone = trainer.world_size == 1
        due = batch_idx % trainer.accumulate_grad_batches == 0 and (alone or trainer.global_step % TOGETHER == 0)
        if due and (asked := max(gather(self.asked))):
            # The batch at hand is counted as ready already, by which validations would come one step early.
            trainer.fit_loop.epoch_loop.batch_progress.total.ready -= 1
            trainer.save_checkpoint(self.path)
            self._stop(asked)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """The last step is saved already, and a process that was told to stop does not go on to the test sets."""
        if asked := max(gather(self.asked)):
            self._stop(asked)

    def teardown(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, stage: str) -> None:
        self._restore()

    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _note(self, number: int, _: Any) -> None:
        if self.asked:
            self._stop(number)
        self.asked = number

    def _stop(self, number: int) -> None:
        if number == signal.SIGTERM:
            raise SystemExit(TERMINATED)
        raise KeyboardInterrupt


def best_and_last(folder: Path, *, monitor: str, keep: int) -> list[ModelCheckpoint]:
    """Best by ``validation/loss`` or ``validation/bleu`` (weights alone), last, and the last ``keep`` to average."""
    best = ModelCheckpoint(
        folder,
        filename="best",
        monitor=f"validation/{monitor}",
        mode="max" if monitor == "bleu" else "min",
        save_weights_only=True,
        enable_version_counter=False,
    )
    last = ModelCheckpoint(folder, filename="last", monitor=None, save_top_k=1, enable_version_counter=False)
    if keep <= 1:
        return [best, last]
    recent = ModelCheckpoint(
        folder,
        filename="recent-{step}",
        monitor="step",
        mode="max",
        save_top_k=keep,
        save_weights_only=True,
        auto_insert_metric_name=False,
        enable_version_counter=False,
    )
    # ``last`` comes last: whoever goes on from it has what was kept before.
    return [best, recent, last]


def wandb_logger(*, save_dir: str, project: str, entity: str | None, group: str | None, tags: list[str]) -> WandbLogger:
    """A W&B logger that is offline where no key is known, so that no account is needed.

    The run's identity is kept in its folder: a run that goes on continues the same dashboard.
    """
    import wandb

    offline = not wandb.login(prompt=False, verify=False)
    settings = wandb.Settings(silent=True, console="off", disable_git=True, disable_code=True)
    if offline:
        settings.mode = "offline"  # Lightning's own switch comes too late: asking for the key settled the mode
    identity = Path(save_dir) / "wandb.id"
    if not identity.exists():
        with replacing(identity) as beside:
            beside.write_text(secrets.token_hex(4))
    return WandbLogger(
        name=Path(save_dir).name,
        id=identity.read_text(),
        save_dir=save_dir,
        project=project,
        entity=entity,
        group=group,
        tags=list(tags),
        offline=offline,
        settings=settings,
    )


def close(loggers: Sequence[Logger], status: str) -> None:
    """Ends every logger, so that the next run of this process gets one of its own.

    Args:
        status: ``success`` or ``failed``.
    """
    for logger in loggers:
        logger.finalize(status)
        if isinstance(logger, WandbLogger):
            import wandb

            wandb.finish(exit_code=0 if status == "success" else 1)
