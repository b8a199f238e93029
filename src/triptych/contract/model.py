"""The contract between an architecture and everything else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from triptych.contract.batch import Batch, Prediction
from triptych.contract.decoder_state import DecoderState
from triptych.errors import UserError

Trace = dict[str, list[Tensor]]
"""Attention weights by name, one (B, heads, queries, keys) tensor a layer, filled in by ``forward``."""


@dataclass
class AttentionMap:
    """One kind of attention of one batch.

    Attributes:
        name: ``encoder``, ``decoder``, ``cross`` or ``sequence``.
        weights: (B, layers, heads, queries, keys); the row of a query that is not padding sums to 1.
        query_ids: (B, queries) ids of the tokens on the query axis, padded with ``<pad>``.
        key_ids: (B, keys) ids of the tokens on the key axis, padded with ``<pad>``.
        query_side: ``src``, ``tgt`` or ``joint``: the vocabulary that ``query_ids`` are of.
        key_side: likewise for ``key_ids``.
    """

    name: str
    weights: Tensor
    query_ids: Tensor
    key_ids: Tensor
    query_side: str
    key_side: str


class TranslationModel(nn.Module, ABC):
    """An architecture. The frame trains, decodes, counts, draws and tests it through these methods alone.

    It is also built on PyTorch's ``meta`` device, to be checked and measured, where a tensor has no values to be read.

    Attributes:
        sizes: arguments of the constructor, integers, by which ``match`` makes a model larger or smaller: groups of
            them, the coarsest first; those of one group get one value.
    """

    sizes: ClassVar[tuple[tuple[str, ...], ...]] = ()

    @abstractmethod
    def forward(self, batch: Batch, trace: Trace | None = None) -> Prediction:
        """Teacher forcing. With a ``trace``, attention takes the path that returns weights and stores them there."""

    @abstractmethod
    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        """Reads the sources (B, S), each ending in ``</s>`` or its tag, with lengths (B,): encode, or prefill."""

    @abstractmethod
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """One decoding step: the last tokens (A * W,), first ``<s>`` or a tag, to logits (A * W, V) and a new state.

        W hypotheses of each of A sentences, side by side. A state is stepped from once: it may be written into.
        """

    @abstractmethod
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """The attention of every layer over the pairs of a batch; an empty list for a model without attention."""

    @abstractmethod
    def flops(self, src_length: int, tgt_length: int) -> int:
        """Floating-point operations of one forward pass of one pair, two a multiply-add, matrix products alone,
        the output projection (``hidden @ weight.T`` for every target of the ``Prediction``) included.

        Args:
            src_length: source tokens, ``</s>`` counted (as ``Batch.src_lengths``).
            tgt_length: target tokens, ``<s>`` and ``</s>`` counted (as ``Batch.tgt_lengths``).
        """

    def source_prediction_flops(self, src_length: int) -> int:
        """Of ``flops``, what predicting the source takes: a loss with lambda = 0 skips it. Most models predict none."""
        return 0

    def check_lengths(self, src_length: int, tgt_length: int) -> None:
        """Raises ``UserError`` where a pair of these lengths, as in ``flops``, is too long; most models take any."""

    def ctranslate2(self) -> Any:
        """The model as a ``ctranslate2.specs.ModelSpec`` without vocabularies, for ``triptych export``.

        Raises:
            UserError: CTranslate2 has no form for it, or is not installed.
        """
        raise UserError(f"CTranslate2 cannot run {type(self).__name__}; export a model of another architecture.")

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compiles, by ``torch.compile`` with these arguments, what training repeats; most models leave it alone."""

    @property
    @abstractmethod
    def embedding_parameters(self) -> int:
        """Parameters of embeddings and output projection, a shared matrix counted once."""
