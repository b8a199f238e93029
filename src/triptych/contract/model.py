"""The contract between an architecture and everything else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from triptych.contract.batch import Batch, Prediction
from triptych.contract.exported import CTranslate2Model
from triptych.contract.gpu_shares import GpuShares
from triptych.contract.searchable import SearchableModel
from triptych.contract.stacked_layers import LayeredModule
from triptych.errors import UserError


@dataclass
class AttentionMap:
    """One kind of attention of one batch.

    Attributes:
        name: ``encoder``, ``decoder``, ``cross`` or ``sequence``.
        weights: (B, layers, heads, queries, keys); the row of a query that is not padding sums to 1.
        query_ids: (B, queries) ids of the tokens on the query axis, padded with ``<pad>``.
        key_ids: (B, keys) ids of the tokens on the key axis, padded with ``<pad>``.
        query_side: ``src``, ``tgt`` or ``joint``: the vocabulary that ``query_ids`` are of. ``joint`` are the tokens of
            both sides: those of the source, as many as ``Batch.src_lengths``, then those of the target.
        key_side: likewise for ``key_ids``.
    """

    name: str
    weights: Tensor
    query_ids: Tensor
    key_ids: Tensor
    query_side: str
    key_side: str

    def in_single_precision(self) -> AttentionMap:
        """Return the map with weights in single precision at least: NumPy has no bfloat16."""
        return replace(self, weights=self.weights.to(torch.promote_types(self.weights.dtype, torch.float32)))


class TranslationModel(LayeredModule, SearchableModel, ABC):
    """An architecture. The rest of the package trains, decodes, counts, draws and tests it by these methods alone.

    A model is also built on PyTorch's ``meta`` device, to be checked and measured. A constructor must therefore not
    depend on the values of tensors.

    Attributes:
        sizes: integer arguments of the constructor that ``match`` may change to make a model larger or smaller, in
            groups that get one value each, the coarsest group first. ``encoder.d_ff`` names an argument of a part.
    """

    sizes: tuple[tuple[str, ...], ...] = ()

    @abstractmethod
    def forward(self, batch: Batch) -> Prediction:
        """Predict every target token from those before it (teacher forcing)."""

    @abstractmethod
    def attention_maps(self, batch: Batch) -> list[AttentionMap]:
        """Return the attention of every layer over the pairs of a batch; an empty list for a model without attention.

        ``triptych.layers.recording.record_attention`` records it during ``forward``.
        """

    @abstractmethod
    def flops(self, src_length: int, tgt_length: int) -> int:
        """Count the floating-point operations of one forward pass of one pair.

        Matrix products alone are counted, two operations per multiply-add, the output projection
        (``hidden @ weight.T`` for every target of the ``Prediction``) included.

        Args:
            src_length: source tokens, ``</s>`` counted (as ``Batch.src_lengths``).
            tgt_length: target tokens, ``<s>`` and ``</s>`` counted (as ``Batch.tgt_lengths``).
        """

    def source_prediction_flops(self, src_length: int) -> int:
        """Count the part of ``flops`` that predicts source tokens, which a loss with lambda = 0 leaves out.

        It is 0 for most models, which predict none.
        """
        return 0

    @property
    def gpu_shares(self) -> GpuShares | None:
        """Shares of a GPU's peak that such a model reached; None if none was measured."""
        return None

    def check_lengths(self, src_length: int, tgt_length: int) -> None:
        """Raise ``UserError`` if a pair of these lengths (as in ``flops``) is too long; most models take any length."""

    def ctranslate2(self) -> CTranslate2Model:
        """Return the model in the form of CTranslate2.

        Raises:
            UserError: CTranslate2 has no form for the model, or is not installed.
        """
        raise UserError(f"CTranslate2 cannot run {type(self).__name__}; export a model of another architecture.")

    def huggingface(self) -> Any:
        """Return the model as a ``PreTrainedModel`` of Hugging Face's library ``transformers``.

        Raises:
            UserError: the library has no form for the model, or is not installed.
        """
        raise UserError(
            f"Hugging Face's library has no form for {type(self).__name__}; export a model of another architecture, or "
            "give format=safetensors."
        )

    @property
    @abstractmethod
    def embedding_parameters(self) -> int:
        """Number of parameters of embeddings, of tokens and positions, and output projection; a shared matrix once."""
