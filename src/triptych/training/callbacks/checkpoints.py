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


class _Checkpoints(ModelCheckpoint):
    """Lightning's, which would forget the best score of a run whose folder has been moved.

    Its state holds the folder and paths below it; those of the folder as it was are read as those of today.
    """

    @property
    def state_key(self) -> str:
        return super().state_key.replace(type(self).__qualname__, ModelCheckpoint.__qualname__)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(_moved(state_dict, state_dict["dirpath"], str(self.dirpath)))


def _moved(state: Any, before: str, here: str) -> Any:
    """Return a state with the paths below one folder replaced by those below another."""
    if isinstance(state, str):
        return here + state.removeprefix(before) if state.startswith(before) else state
    if isinstance(state, dict):
        return {_moved(key, before, here): _moved(value, before, here) for key, value in state.items()}
    return state


def best_and_last(folder: Path, *, monitor: str, keep: int) -> list[ModelCheckpoint]:
    """Return the callbacks that keep the best weights, the last state, and the last weights to average.

    Args:
        folder: of the checkpoints.
        monitor: what is best, ``loss`` or ``bleu`` of the validation set.
        keep: number of the last weights to keep; none besides the last state if it is 1.
    """
    best = _Checkpoints(
        folder,
        filename="best",
        monitor=f"validation/{monitor}",
        mode="max" if monitor == "bleu" else "min",
        save_weights_only=True,
        enable_version_counter=False,
    )
    last = _Checkpoints(folder, filename="last", monitor=None, save_top_k=1, enable_version_counter=False)
    if keep <= 1:
        return [best, last]
    recent = _Checkpoints(
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
