"""Switch attention heads off while a model runs, to see what they are for.

Multi-head attention with a mask variable xi_h in {0, 1} for each head h (Michel et al. 2019, section 2.3,
https://arxiv.org/abs/1905.10650):

    MHAtt(x, q) = sum_h xi_h Att_h(x, q)

A head is off where xi_h = 0. Its context, the weighted mean of its values, is then zero at every query. Its weights are
as they were, and the bias of the projection that follows the heads stays. The heads of an attention that has one, such
as an RNN's, are switched off in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

import torch
from torch import Tensor, nn

from triptych.layers.recording import RecordableAttention, recordable_attentions

_masks: ContextVar[Mapping[nn.Module, Tensor]] = ContextVar("masks", default=MappingProxyType({}))
"""xi of each attention that has heads switched off."""


def mask_heads(attention: RecordableAttention, contexts: Tensor) -> Tensor:
    """Multiply contexts by xi; every attention calls this with its own.

    Args:
        attention: whose contexts they are.
        contexts: (B, heads, queries, features), or (B, queries, features) of an attention with one head.
    """
    if torch.compiler.is_compiling() or (mask := _masks.get().get(attention)) is None:
        return contexts
    xi = mask.to(contexts) if contexts.dim() == 4 else mask.to(contexts)[..., 0]
    return contexts * xi[..., None, None]


@contextmanager
def ablate_heads(model: nn.Module, masks: Mapping[str, Mapping[int, Tensor]]) -> Iterator[None]:
    """Run a model without some of its heads; in training and search too.

        with ablate_heads(model, {"cross": {0: torch.tensor([1, 1, 0, 1])}}):
            model(batch)  # without the third head of the first layer of cross-attention

    Nothing is kept on the model, and other models that run meanwhile have all their heads. What is compiled runs as it
    is written.

    Args:
        model: the whole model.
        masks: xi by the name of the attention (see ``RecordableAttention``) and its layer, counted from 0: (heads,), or
            (B, heads) to switch off other heads for each sentence of a batch.
    """
    attentions = recordable_attentions(model)
    found: dict[nn.Module, Tensor] = {}
    for name, layers in masks.items():
        found |= {attentions[name][layer]: mask for layer, mask in layers.items()}
    token = _masks.set(MappingProxyType({**_masks.get(), **found}))
    try:
        with torch.compiler.set_stance("force_eager"):
            yield
    finally:
        _masks.reset(token)
