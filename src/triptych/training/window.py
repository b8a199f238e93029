"""The losses of the batches since the last line of the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from triptych.training.loss import LossParts

FIELDS = ("loss", "target_nll", "source_nll", "target_tokens", "source_tokens")
"""Fields of ``LossParts`` that are summed."""


class LossWindow:
    """The parts of the loss of each batch since the last line of the log, which stay on the device that trains.

    Its state goes into every checkpoint, so that the first line after a resume is of as many steps as any other.
    """

    def __init__(self) -> None:
        self._parts: list[LossParts] = []
        self._batches: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, parts: LossParts, step: int, batch: str) -> None:
        """Add a batch.

        Args:
            parts: of its loss.
            step: optimizer step that it belongs to, from 1.
            batch: ``Batch.description``.
        """
        self._parts.append(replace(parts, loss=parts.loss.detach()))
        self._batches.append((step, batch))

    def clear(self) -> None:
        """Begin the next line."""
        self._parts.clear()
        self._batches.clear()

    def sums(self) -> list[Tensor | float]:
        """Return the sum over the batches of each of ``FIELDS``; tensors are on the device that trains."""
        return [sum(getattr(parts, name) for parts in self._parts) for name in FIELDS]

    def first_not_finite(self) -> tuple[int, str] | None:
        """Return step and description of the first batch whose loss is not a number; None if all are."""
        losses = torch.stack([parts.loss for parts in self._parts]).isfinite().tolist()
        return next((batch for batch, finite in zip(self._batches, losses, strict=True) if not finite), None)

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the content as plain values and tensors on the CPU."""
        return [
            {
                "parts": {name: _to(value, "cpu") for name, value in vars(parts).items()},
                "step": step,
                "shape": batch,
            }
            for parts, (step, batch) in zip(self._parts, self._batches, strict=True)
        ]

    def load_state_dict(self, state: list[dict[str, Any]], device: torch.device) -> None:
        """Take on the content that ``state_dict`` returned, on a device."""
        self._parts = [LossParts(**{name: _to(value, device) for name, value in one["parts"].items()}) for one in state]
        self._batches = [(one["step"], one["shape"]) for one in state]


def share_of(states: Sequence[list[dict[str, Any]]], rank: int, ranks: int) -> list[dict[str, Any]]:
    """Return the state that a rank resumes from, given those of all ranks in the checkpoint.

    If the number of ranks has changed, the batches of each step are divided equally.
    """
    if len(states) == ranks:
        return states[rank]
    return sorted((batch for state in states for batch in state), key=lambda batch: batch["step"])[rank::ranks]


def _to(value: Any, device: torch.device | str) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value
