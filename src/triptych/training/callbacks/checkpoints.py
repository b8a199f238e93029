"""Which checkpoints are kept, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from triptych.files import replacing


class AtomicCheckpoints(TorchCheckpointIO):
    """Write a checkpoint beside its path, then rename it, so that a killed run keeps the one before."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        with replacing(Path(path)) as beside:
            super().save_checkpoint(checkpoint, beside, storage_options)


def best_and_last(folder: Path, *, monitor: str, keep: int) -> list[ModelCheckpoint]:
    """Return the callbacks that keep the best weights, the last state, and the last weights to average.

    Args:
        folder: of the checkpoints.
        monitor: what is best, ``loss`` or ``bleu`` of the validation set.
        keep: number of the last weights to keep; none besides the last state if it is 1.
    """
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
    # The last state is saved last: a run that resumes from it finds what the others had saved by then.
    return [best, recent, last]
