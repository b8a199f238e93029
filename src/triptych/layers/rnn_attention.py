"""Attention of a recurrent decoder to the source (Bahdanau et al. 2015, Luong et al. 2015).

The score says how well the source position h_j fits the decoder's state s. The memory has the h_j, which Bahdanau calls
the annotations. Here are the scores, one class each:

============  =============================================  ======================================================
score         score(s, h_j)                                  source
============  =============================================  ======================================================
additive      v^T tanh(W s + U h_j + b)                      Bahdanau et al. 2015, appendix A.1.2, the alignment
                                                             model a(s_{i-1}, h_j); the bias b is ours
dot           s^T h_j                                        Luong et al. 2015, section 3.1
general       s^T W h_j                                      Luong et al. 2015, section 3.1
concat        v^T tanh(W [s; h_j])                           Luong et al. 2015, section 3.1
scaled_dot    s^T h_j / sqrt(H)                              Vaswani et al. 2017, equation 1
============  =============================================  ======================================================

One more score is one more class, and its name in ``SCORES``: the configuration then knows it as ``model.score=…``.

B sentences, Q queries, S source positions, H the dimension of a query, M of the memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

from torch import Tensor, nn

from triptych.errors import UserError, require_one_of
from triptych.kernels.in_place import tanh_of_sum
from triptych.kernels.loop_matmul import matmul
from triptych.kernels.packed_linear import Linear
from triptych.layers.ablation import mask_heads
from triptych.layers.recording import RecordableAttention


class Score(nn.Module, ABC):
    """How well a source position fits a query.

    What depends on the source alone, the keys, is computed once per sentence.

    Args:
        query_size: H.
        memory_size: M.

    Attributes:
        needs_equal_sizes: whether H and M must be equal.
    """

    needs_equal_sizes: ClassVar[bool] = False

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__()
        self.query_size = query_size
        self.key: nn.Linear | None = None
        self.query: nn.Linear | None = None

    def keys(self, memory: Tensor) -> Tensor:
        """Return what the score needs of a memory (B, S, M): (B, S, H)."""
        return memory if self.key is None else self.key(memory)

    @abstractmethod
    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores (B, Q, S) of queries (B, Q, H) and keys (B, S, H).

        Args:
            query: states of the decoder.
            keys: of ``keys``.
        """

    def loop_matrices(self, keys: Tensor) -> list[Tensor]:
        """Return the matrices that every step of a loop multiplies by, see ``loop_products``."""
        return [keys.transpose(1, 2)] if self.query is None else [self.query.weight.T]

    def flops(self, queries: int, positions: int) -> int:
        """Count those of the keys and scores of one sentence."""
        total = 0 if self.key is None else positions * self.key.weight.numel()
        total += 0 if self.query is None else queries * self.query.weight.numel()
        return 2 * (total + queries * positions * self.query_size)


class Additive(Score):
    """v^T tanh(W s + U h_j + b): the alignment model of Bahdanau et al. 2015, appendix A.1.2. The bias b is ours."""

    bias: ClassVar[bool] = True

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.key = Linear(memory_size, query_size, bias=self.bias)  # U
        self.query = nn.Linear(query_size, query_size, bias=False)  # W
        self.energy = nn.Linear(query_size, 1, bias=False)  # v

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        assert self.query is not None
        ws = matmul(query, self.query.weight.T)
        return self.energy(tanh_of_sum(ws.unsqueeze(2), keys.unsqueeze(1))).squeeze(3)


class Concat(Additive):
    """v^T tanh(W [s; h_j]) (Luong et al. 2015, section 3.1): the additive score without a bias, as W = [W_s W_h]."""

    bias = False


class Dot(Score):
    """s^T h_j (Luong et al. 2015, section 3.1)."""

    needs_equal_sizes = True

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return matmul(query, keys.transpose(1, 2))


class ScaledDot(Dot):
    """s^T h_j / sqrt(H) (Vaswani et al. 2017, equation 1)."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return super().forward(query * self.query_size**-0.5, keys)


class General(Score):
    """s^T W h_j (Luong et al. 2015, section 3.1)."""

    def __init__(self, query_size: int, memory_size: int) -> None:
        super().__init__(query_size, memory_size)
        self.key = Linear(memory_size, query_size, bias=False)  # W

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        return matmul(query, keys.transpose(1, 2))


SCORES: dict[str, type[Score]] = {
    "additive": Additive,
    "dot": Dot,
    "general": General,
    "concat": Concat,
    "scaled_dot": ScaledDot,
}
LUONG_SCORES = tuple(name for name in SCORES if name != "additive")
"""The scores that ``model.attention=luong`` has a choice of; Bahdanau's attention is additive."""


class AttendedMemory(NamedTuple):
    """What attention needs of the sources.

    Attributes:
        keys: (B, S, H) of ``RNNAttention.keys``.
        memory: (B, S, M) h, the outputs of the encoder.
        mask: (B, 1, S), True where the source is no padding.
    """

    keys: Tensor
    memory: Tensor
    mask: Tensor


class RNNAttention(RecordableAttention):
    """Scores, their softmax, and the mean of the memory that they weigh.

        alpha_ij = exp(e_ij) / sum_k exp(e_ik)    Bahdanau et al. 2015, equation 6; Luong et al. 2015, equation 7
        c_i = sum_j alpha_ij h_j                  Bahdanau et al. 2015, equation 5; Luong et al. 2015, section 3.1

    Args:
        score: one of ``SCORES``.
        query_size: H.
        memory_size: M.

    Raises:
        UserError: unknown score, or one that needs equal sizes where they are not.
    """

    def __init__(self, *, score: str, query_size: int, memory_size: int) -> None:
        super().__init__("cross")
        require_one_of(SCORES, "model", score=score)
        if SCORES[score].needs_equal_sizes and query_size != memory_size:
            raise UserError(
                f"model.score={score} needs states and memory of one size, and these have {query_size} and "
                f"{memory_size}; set model.score=general."
            )
        self.memory_size = memory_size
        self.score = SCORES[score](query_size, memory_size)

    def keys(self, memory: Tensor) -> Tensor:
        """Return what the score needs of a memory (B, S, M): (B, S, H)."""
        return self.score.keys(memory)

    def forward(self, query: Tensor, attended: AttendedMemory) -> tuple[Tensor, Tensor]:
        """Attend from queries (B, Q, H): contexts (B, Q, M), and weights (B, Q, S), zero on padding."""
        scores = self.score(query, attended.keys)
        weights = scores.masked_fill(~attended.mask, float("-inf")).softmax(dim=-1)
        return mask_heads(self, matmul(weights.to(attended.memory.dtype), attended.memory)), weights

    def loop_matrices(self, attended: AttendedMemory) -> list[Tensor]:
        """Return the matrices that every step of a loop multiplies by."""
        return [*self.score.loop_matrices(attended.keys), attended.memory]

    def flops(self, queries: int, positions: int) -> int:
        """Count those of the keys, scores and contexts of one sentence."""
        return self.score.flops(queries, positions) + 2 * queries * positions * self.memory_size


def check_attention(attention: str, score: str | None, attention_layer: str, input_feeding: bool) -> None:
    """Raise ``UserError`` if a choice of attention is unknown, or without effect."""
    require_one_of(("none", "bahdanau", "luong"), "model", attention=attention)
    require_one_of(("top", "bottom"), "model", attention_layer=attention_layer)
    if attention == "luong":
        require_one_of(LUONG_SCORES, "model", score=score or "general")
    elif score is not None:
        raise UserError(
            f"model.score={score} belongs to model.attention=luong, and model.attention={attention} has no choice; "
            "set model.score=null."
        )
    if input_feeding and attention != "luong":
        raise UserError(
            f"model.input_feeding=true needs model.attention=luong, not {attention}; set model.input_feeding=false."
        )
    if attention_layer == "bottom" and attention != "bahdanau":
        raise UserError(
            f"model.attention_layer=bottom needs model.attention=bahdanau, not {attention}; "
            "set model.attention_layer=top."
        )
