"""The largest elements of long rows."""

from __future__ import annotations

import torch
from torch import Tensor

from triptych import kernels

BLOCK = 64
"""Elements of a block whose maximum is found at a time. Of 16 to 128, 32 and 64 were the fastest."""


def topk_reference(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``topk`` by PyTorch's, which sorts no values either."""
    values, columns = x.topk(count, dim=1, sorted=False)
    return values, columns


def topk(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the largest elements of each row of x (R, V), in any order, and their columns: each (R, count).

    On a CPU, PyTorch's compares element by element, but finds maxima of blocks by vector instructions. The largest
    elements lie in the blocks with the largest maxima, and only those are searched.
    """
    num_blocks = x.shape[1] // BLOCK
    if not (kernels.fast() and x.is_cpu and num_blocks > 2 * count):
        return topk_reference(x, count)
    rest = num_blocks * BLOCK  # the first column after the last whole block
    blocks = x.unfold(1, BLOCK, BLOCK)  # (R, num_blocks, BLOCK), a view
    chosen = blocks.amax(2).topk(count, dim=1, sorted=False).indices
    candidates = torch.cat([blocks[torch.arange(len(x))[:, None], chosen].flatten(1), x[:, rest:]], dim=1)
    values, found = candidates.topk(count, dim=1, sorted=False)
    starts = torch.cat([chosen * BLOCK, chosen.new_full((len(x), 1), rest)], dim=1)  # each block's first column
    return values, starts.gather(1, found // BLOCK) + found % BLOCK
