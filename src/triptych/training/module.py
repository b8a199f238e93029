"""The LightningModule: one for every architecture."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.strategies import ModelParallelStrategy
from torch import Tensor
from torch.optim import Optimizer
from torchmetrics import MeanMetric

from triptych.accounting.peaks import device_kind
from triptych.contract.batch import Batch
from triptych.contract.model import TranslationModel
from triptych.errors import UserError
from triptych.runs.checkpoints import TRAINING_HASH
from triptych.training.data_seen import DataSeen
from triptych.training.distributed import all_gather
from triptych.training.gradients import GradientNorms
from triptych.training.loss import TranslationLoss
from triptych.training.sharding import ShardedModel
from triptych.training.spending import TOKENS, TOKENS_PER_SECOND, FlopCount, Spent
from triptych.training.window import FIELDS, LossWindow, share_of

Schedule = Callable[[int, int], float]
logger = logging.getLogger(__name__)


class TranslationModule(lightning.LightningModule):
    """Train any ``TranslationModel``, through its contract alone.

    Args:
        model: the architecture.
        loss: L = lambda * L_AE + L_MT.
        optimizer: makes an optimizer of parameter groups and a learning rate.
        schedule: the learning rate of step s (from 1) of S.
        weight_decay: on matrices; biases and normalisation gains have none.
        total_steps: S, optimizer steps of the whole budget.
        log_every: optimizer steps between two lines of the log.
        tokenizer: fingerprint that every checkpoint carries.

    Attributes:
        batch_description: of the batch that is computed, or was last, in words; empty before the first one.
        diverged: whether the loss is not a number any more. Training then ends.
        changed_devices: whether other devices, or another number of them, have trained a part, so that seconds do not
            compare.
        peak: FLOP/s that all devices together can reach; dashboards show the share reached. None if it is not known.
        training_hash: of the training, which its checkpoints name; None if the caller sets none, as in benchmarks.
    """

    def __init__(
        self,
        *,
        model: TranslationModel,
        loss: TranslationLoss,
        optimizer: Callable[..., Optimizer],
        schedule: Schedule,
        weight_decay: float,
        total_steps: int,
        log_every: int,
        tokenizer: str,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.make_optimizer = optimizer
        self.schedule = schedule
        self.weight_decay = weight_decay
        self.total_steps = total_steps
        self.log_every = log_every
        self.tokenizer = tokenizer
        self.data_seen = DataSeen()
        self.batch_description = ""
        self.diverged = False
        self.changed_devices = False
        self.peak: float | None = None
        self.training_hash: str | None = None
        self.seconds = 0.0
        self.latest: dict[str, float] = {}
        self.validation_loss = MeanMetric(nan_strategy=math.inf)  # a batch without a number makes the whole infinite
        self._sharded: ShardedModel | None = None
        self._random: dict[str, Tensor] | None = None
        self._window = LossWindow()
        self._window_start = self._spent = Spent()
        self._flops = FlopCount(model)
        self._gradients = GradientNorms(model)

    def configure_model(self) -> None:
        """Shard the model, if the strategy does. Lightning calls this once the processes know each other."""
        if isinstance(self.trainer.strategy, ModelParallelStrategy) and self._sharded is None:
            dtype = torch.bfloat16 if self.trainer.precision == "bf16-mixed" else torch.float32
            self._sharded = ShardedModel(self.model, self.trainer.strategy.device_mesh["data_parallel"], dtype)

    def whole_model(self) -> TranslationModel:
        """Return the model, or a copy that is not sharded. Collective: every rank must call it."""
        return self.model if self._sharded is None else self._sharded.whole()

    def configure_optimizers(self) -> Any:
        parameters = list(self.model.parameters())
        matrices, vectors = ([p for p in parameters if (p.dim() > 1) == wanted] for wanted in (True, False))
        groups = [{"params": matrices, "weight_decay": self.weight_decay}, {"params": vectors, "weight_decay": 0.0}]
        optimizer = self.make_optimizer([group for group in groups if group["params"]], lr=1.0)
        if self.device.type in ("cuda", "cpu"):
            for group in optimizer.param_groups:
                # Not by the constructor: Lightning would refuse to clip gradients, for the sake of scaled ones.
                if "fused" in group and group["fused"] is None and not group.get("foreach"):
                    group["fused"] = True
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: self.schedule(i + 1, self.total_steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def on_before_batch_transfer(self, batch: Batch, dataloader_idx: int) -> Batch:
        """Keep a batch while it is still on the CPU: counting it there does not wait for the device."""
        self._on_cpu, self.batch_description = batch, batch.description
        return batch

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        return batch.to(device, non_blocking=True)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        parts = self.loss(self.model(batch), batch.step_tokens, self.global_step / self.total_steps)
        self._window.add(parts, self.global_step + 1, self.batch_description)
        self._lambda = parts.lambda_
        # Lightning divides by the accumulated batches, and data-parallel ranks average; the loss is a share already.
        return parts.loss * self.trainer.accumulate_grad_batches * self.trainer.world_size

    def on_train_start(self) -> None:
        # The weights were drawn alike on all ranks; dropout is not. A resumed run then restores its own state.
        if shift := self.global_rank + self.trainer.world_size * self.global_step:
            torch.manual_seed(torch.initial_seed() + shift)
        self._started = time.perf_counter() - self.seconds
        self._window_start = self._count_spent(self.seconds)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Restore the random state of the checkpoint, so that a resumed run draws the same dropout masks."""
        if self._random is not None:
            set_random_state(self._random, self.device)
            self._random = None

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        number = batch_idx * self.trainer.world_size + self.global_rank  # as the sampler deals them
        self.data_seen.update(self._on_cpu, number, autoencoded=self._lambda > 0)
        self.data_seen.record_stream(self.global_step)
        stepped = (batch_idx + 1) % self.trainer.accumulate_grad_batches == 0
        if stepped and self.global_step % self.log_every == 0:
            self._log_window()
        if self.global_step == self.total_steps:
            self.trainer.should_stop = True  # Lightning then validates and saves, whatever the budget
            self._wait()
        self.seconds = time.perf_counter() - self._started

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Take the norm of the gradient before it is clipped, at the steps that are logged."""
        if (self.global_step + 1) % self.log_every == 0:
            self._gradients.measure(self.global_step + 1)

    def _log_window(self) -> None:
        """Log the steps since the last line. Training waits for the device only here and when it pauses.

        Nothing is logged, and training ends, if the loss is not a number any more.
        """
        *of_window, norm = self._sums()
        sums = dict(zip(FIELDS, of_window, strict=True))
        if not math.isfinite(sums["loss"]):
            found = self._window.first_not_finite()  # None: on another rank alone
            step, shape = found or (self.global_step, "another process")
            self._end_diverged(f"the loss is not finite at step {step:,}, in a batch of {shape}")
            return
        spent = self._count_spent(time.perf_counter() - self._started)
        rates = spent.rates_since(self._window_start, self.peak)
        values = {
            "train/loss": sums["loss"] * self.trainer.accumulate_grad_batches / len(self._window),
            "train/L_MT": sums["target_nll"] / max(1, sums["target_tokens"]),
            "train/lambda": self._lambda,
            "train/lr": self.schedule(self.global_step, self.total_steps),
            TOKENS_PER_SECOND: rates[TOKENS_PER_SECOND],
            TOKENS: float(spent.tokens),
        }
        if self._gradients.total is not None:
            values["train/gradient_norm"] = norm
        if sums["source_tokens"]:
            values["train/L_AE"] = sums["source_nll"] / sums["source_tokens"]
        self.write(values, rates)
        self._window.clear()
        self._window_start = spent

    def _end_diverged(self, reason: str) -> None:
        """End training after this step, and say why."""
        if not self.diverged:
            largest = f" ({found})" if (found := self._gradients.largest) else ""
            logger.warning("%s: training has diverged%s; lower the learning rate.", reason, largest)
        self.diverged = True
        self.trainer.should_stop = True

    def is_finite(self) -> bool:
        """Return whether the losses of training and of the present validation are numbers. Collective."""
        return not self.diverged and math.isfinite(self.validation_loss.compute())

    def _count_spent(self, seconds: float) -> Spent:
        """Count what training has cost so far, on all ranks. Collective: every rank must call it.

        Args:
            seconds: of training so far.
        """
        tokens = self.data_seen.tokens_src + self.data_seen.tokens_tgt
        flops = self._flops(self.data_seen.pairs) if self._has_dashboards else 0
        if self.trainer.world_size > 1:
            own = torch.tensor([tokens, flops], dtype=torch.float64, device=self.device)
            tokens, flops = map(int, self.trainer.strategy.reduce(own, reduce_op="sum").tolist())
        self._spent = Spent(tokens, flops, seconds)
        return self._spent

    @property
    def _has_dashboards(self) -> bool:
        return any(not isinstance(logger, CSVLogger) for logger in self.loggers)

    def _sums(self) -> list[float]:
        """Return the sums of ``FIELDS`` over the logged steps and all ranks, and last the gradient norm.

        One transfer from the device brings them all.
        """
        sums = self._window.sums()
        norm = self._gradients.total
        sums.append(0.0 if norm is None else norm / self.trainer.world_size)
        window = torch.stack([torch.as_tensor(x, dtype=torch.float32, device=self.device) for x in sums])
        return self.trainer.strategy.reduce(window, reduce_op="sum").tolist()

    def _wait(self) -> None:
        """Wait until the device has finished, so that its time counts as training time."""
        if self.device.type != "cpu":
            torch.accelerator.synchronize(self.device)

    def on_validation_epoch_start(self) -> None:
        self._wait()
        self._paused = time.perf_counter()
        if self._has_dashboards:
            self._count_spent(self.seconds)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        parts = self.loss(self.model(batch), batch.step_tokens, progress=1.0)
        self.validation_loss.update(parts.target_nll / parts.target_tokens, parts.target_tokens)

    def on_validation_epoch_end(self) -> None:
        loss = self.validation_loss.compute()
        if not self.is_finite():
            self._end_diverged(f"the validation loss is not finite after step {self.global_step:,}")
        self.validation_loss.reset()
        self.log("validation/loss", loss, logger=False)  # for the checkpoint that keeps the best
        self.write({"validation/loss": loss.item(), "validation/perplexity": loss.exp().item()})

    def write(self, values: dict[str, float], further: Mapping[str, float] = MappingProxyType({})) -> None:
        """Write one line to every log, at this step. Lightning's own ``log`` would repeat it at later steps.

        Args:
            values: of the line.
            further: what dashboards alone get. They also get what training has cost by the last logged step or
                validation, the axes along which they draw.
        """
        self.latest.update(values)
        shown = {**self._spent.axes(), **values, **further}
        for logger in self.loggers:
            logger.log_metrics(values if isinstance(logger, CSVLogger) else shown, step=self.global_step)

    def on_validation_end(self) -> None:
        """Leave the time of validation out of training time."""
        self._started += time.perf_counter() - self._paused

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["tokenizer"] = self.tokenizer
        checkpoint[TRAINING_HASH] = self.training_hash
        checkpoint["data_seen"] = all_gather(self.data_seen.state_dict())
        checkpoint["seconds"] = self.seconds
        checkpoint["random"] = all_gather(self._random or random_state(self.device))
        checkpoint["changed_devices"] = self.changed_devices
        checkpoint["device"] = device_kind(self.trainer.strategy.root_device)
        checkpoint["stopped"], checkpoint["diverged"] = self.trainer.should_stop, self.diverged
        checkpoint["window"] = all_gather(self._window.state_dict())

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Go on from a checkpoint. It may be of more or fewer processes, if they had as many batches a step together.

        A training that was over before its budget, such as by early stopping, ends at once.

        Raises:
            UserError: the checkpoint is of version 0.2.
        """
        rank, ranks, before = self.global_rank, self.trainer.world_size, len(checkpoint["data_seen"])
        try:
            self.data_seen = DataSeen.of_rank(checkpoint["data_seen"], rank, ranks)
        except ValueError as error:
            raise UserError(
                f"{self.trainer.ckpt_path} is of a version of triptych that hashed the batches otherwise; go on with "
                "that version, or give another output=… to train from the start."
            ) from error
        self.seconds = checkpoint["seconds"]
        self._window.load_state_dict(share_of(checkpoint["window"], rank, ranks), self.device)
        self.trainer.should_stop, self.diverged = checkpoint.get("stopped", False), checkpoint.get("diverged", False)
        device = device_kind(self.trainer.strategy.root_device)
        self.changed_devices = checkpoint["changed_devices"] or checkpoint.get("device", device) != device
        if before == ranks:
            self._random = checkpoint["random"][rank]
            return
        self.changed_devices = True
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        for counts in (progress["total"], progress["current"]):
            counts.update(dict.fromkeys(counts, checkpoint["global_step"] * self.trainer.accumulate_grad_batches))
        if rank == 0:
            logger.info("%d processes go on with the training of %d: same batches, other dropout.", ranks, before)


def random_state(device: torch.device) -> dict[str, Tensor]:
    """Return the states of the generators that dropout draws from: the CPU's, and that of a GPU if it trains."""
    own = {"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"cpu": torch.get_rng_state(), **own}


def set_random_state(state: dict[str, Tensor], device: torch.device) -> None:
    """Restore what ``random_state`` returned for a device of the same kind."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
