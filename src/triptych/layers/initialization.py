"""Initial weights of a Transformer's linear layers, as in tensor2tensor, the code of Vaswani et al. 2017."""

from __future__ import annotations

from torch import nn


def init_linear(layer: nn.Linear, *stacked: int) -> None:
    """Initialise with Xavier's uniform distribution and a zero bias.

    Args:
        layer: to initialise.
        stacked: rows of each matrix, where the layer's weight stacks several. Each is initialised by itself, so that
            its bound does not depend on the others; none for a single matrix.
    """
    for matrix in layer.weight.detach().split(list(stacked) or len(layer.weight)):
        nn.init.xavier_uniform_(matrix)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
