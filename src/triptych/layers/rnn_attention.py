"""Attention between a recurrent decoder and its encoder (Bahdanau et al. 2015, Luong et al. 2015).

B sentences, Q queries, S source positions, H features of a query, M of the memory.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from triptych.errors import UserError, require_one_of
from triptych.kernels.loop_matmul import Product

SCORES = ("additive", "concat", "general", "dot", "scaled_dot")


class Alignment(nn.Module):
    """How well the source position h_j fits the decoder's state s: e_j; their softmax; the context sum_j alpha_j h_j.

    ============  ============================  ===========================
    score         e_j                           source
    ============  ============================  ===========================
    additive      v^T tanh(V h_j + W s + b)     Bahdanau et al., appendix A
    concat        v^T tanh(W [s; h_j])          Luong et al., equation 8
    general       s^T W h_j                     Luong et al., equation 8
    dot           s^T h_j                       Luong et al., equation 8
    scaled_dot    s^T h_j / sqrt(H)             Vaswani et al., section 3.2
    ============  ============================  ===========================

    Whatever depends on h_j alone is computed once a sentence, by ``keys``.

    Args:
        score: one of ``SCORES``.
        query_size: H.
        memory_size: M.

    Raises:
        UserError: unknown score, or a plain product of vectors of unequal size.
    """

    def __init__(self, *, score: str, query_size: int, memory_size: int) -> None:
        super().__init__()
        require_one_of(SCORES, "model", score=score)
        if score in ("dot", "scaled_dot") and query_size != memory_size:
            raise UserError(
                f"model.score={score} needs states and memory of one size, and these have {query_size} and "
                f"{memory_size}; set model.score=general."
            )
        self.query_size, self.memory_size = query_size, memory_size
        summed = score in ("additive", "concat")
        projected = summed or score == "general"
        self.scale = query_size**-0.5 if score == "scaled_dot" else None
        self.key = nn.Linear(memory_size, query_size, bias=score == "additive") if projected else None
        self.query = nn.Linear(query_size, query_size, bias=False) if summed else None
        self.energy = nn.Linear(query_size, 1, bias=False) if summed else None

    def keys(self, memory: Tensor) -> Tensor:
        """The memory's part (B, S, H) of the score, of the memory (B, S, M)."""
        return memory if self.key is None else self.key(memory)

    def forward(
        self, query: Tensor, keys: Tensor, memory: Tensor, mask: Tensor, product: Product = torch.matmul
    ) -> tuple[Tensor, Tensor]:
        """Contexts (B, Q, M) and weights (B, Q, S), zero on padding.

        Args:
            query: (B, Q, H) states of the decoder.
            keys: (B, S, H) from ``keys``.
            memory: (B, S, M) outputs of the encoder.
            mask: (B, 1, S), True where the source is no padding.
            product: with whatever a loop of steps shares.
        """
        if self.query is not None and self.energy is not None:
            asked = product(query, self.query.weight.T)
            scores = self.energy((asked.unsqueeze(2) + keys.unsqueeze(1)).tanh_()).squeeze(3)
        else:
            query = query if self.scale is None else query * self.scale
            scores = product(query, keys.transpose(1, 2))
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        return product(weights.to(memory.dtype), memory), weights

    def shared(self, keys: Tensor, memory: Tensor) -> list[Tensor]:
        """What every call of a loop multiplies by."""
        asked = [keys.transpose(1, 2)] if self.query is None else [self.query.weight.T]
        return [*asked, memory]

    def flops(self, queries: int, positions: int) -> int:
        """Of the keys, scores and contexts of one sentence."""
        total = 0 if self.key is None else positions * self.key.weight.numel()
        total += 0 if self.query is None else queries * self.query.weight.numel()
        return 2 * (total + queries * positions * (self.query_size + self.memory_size))
