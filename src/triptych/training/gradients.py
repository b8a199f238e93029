"""How large gradients are, before they are clipped."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from triptych.training.sharding import norms


class GradientNorms:
    """The norm of the gradient, and of each parameter's, at the steps at which they are measured.

    Everything stays on the device that trains until it is asked for.

    Args:
        model: the parameters that are trained.

    Attributes:
        total: () norm of the whole gradient at the last measured step; None before the first one.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.total: Tensor | None = None
        self._measured: list[tuple[int, list[str], Tensor]] = []

    def measure(self, step: int) -> None:
        """Measure the gradients that the parameters have now, before the optimizer step of this number.

        Collective, if the model is sharded: every rank must call it.
        """
        found = {name: p.grad for name, p in self._model.named_parameters() if p.grad is not None}
        each = norms(list(found.values()))
        self.total = torch.linalg.vector_norm(each)
        self._measured = [*self._measured[-1:], (step, list(found), each)]

    @property
    def largest(self) -> str | None:
        """The largest gradient of a parameter at the last measured step whose gradients were numbers, in words."""
        for step, names, each in reversed(self._measured):
            if each.isfinite().all():
                k = int(each.argmax())
                return f"at step {step:,}, the largest gradient was that of {names[k]}, with a norm of {each[k]:.3g}"
        return None
