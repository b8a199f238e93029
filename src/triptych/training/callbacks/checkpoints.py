"""Which checkpoints are kept, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.plugins.io import TorchCheckpointIO

from triptych.files import link, replacing
from triptych.runs.checkpoints import write
from triptych.runs.folder import LAST, PREVIOUS


class AtomicCheckpoints(TorchCheckpointIO):
    """Write a checkpoint beside its path, then rename it, so that a killed run keeps the one before.

    Lightning would write it to the folder for temporary files first, which may be small. The last state before the
    newest is kept too, to go on from if the newest is damaged.
    """

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any = None) -> None:
        path = Path(path)
        if path.name == LAST and path.exists():
            with replacing(path.with_name(PREVIOUS)) as beside:
                link(path, beside)
        write(checkpoint, path)


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
