"""Record the attention weights of a model while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

import torch
from torch import Tensor, nn

_lists: ContextVar[Mapping[nn.Module, list[Tensor]]] = ContextVar("lists", default=MappingProxyType({}))
"""Where the weights of each attention are recorded."""


class RecordableAttention(nn.Module):
    """An attention whose weights ``record_attention`` can record.

    Args:
        name: what the weights are recorded as: ``encoder``, ``decoder``, ``cross`` or ``sequence``.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def is_recorded(self) -> bool:
        """Whether the weights of this attention are wanted."""
        return not torch.compiler.is_compiling() and self in _lists.get()

    def record(self, weights: Tensor) -> None:
        """Record weights (B, heads, queries, keys) if they are wanted."""
        if self.is_recorded():
            _lists.get()[self].append(weights.detach())


def recordable_attentions(model: nn.Module) -> dict[str, list[RecordableAttention]]:
    """Return the attentions of a model by their names, the lowest layer first."""
    found: dict[str, list[RecordableAttention]] = {}
    for module in model.modules():
        if isinstance(module, RecordableAttention):
            found.setdefault(module.name, []).append(module)
    return found


@contextmanager
def record_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Record the attention weights of one forward pass of a model.

        with record_attention(model) as weights:
            model(batch)
        weights["cross"]  # one (B, heads, queries, keys) tensor per layer, before dropout

    Nothing is kept on the model, and other models that run meanwhile are not recorded. What is compiled runs as it is
    written. A model without attention records nothing.
    """
    attentions = recordable_attentions(model)
    weights: dict[str, list[Tensor]] = {name: [] for name in attentions}
    lists: dict[nn.Module, list[Tensor]] = {
        layer: weights[name] for name, layers in attentions.items() for layer in layers
    }
    token = _lists.set({**_lists.get(), **lists})
    try:
        with torch.compiler.set_stance("force_eager"):
            yield weights
    finally:
        _lists.reset(token)
