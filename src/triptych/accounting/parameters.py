"""Number of a model's parameters."""

from __future__ import annotations

from typing import NamedTuple

from triptych.contract.model import TranslationModel


class ParameterCount(NamedTuple):
    """Numbers of parameters; a tensor that several layers share is counted once.

    Attributes:
        total: all parameters.
        non_embedding: all parameters but those of the embeddings, of tokens and positions, and of the output projection
            (Kaplan et al. 2020, section 2.1).
    """

    total: int
    non_embedding: int


def count_parameters(model: TranslationModel) -> ParameterCount:
    """Count the parameters of a model."""
    total = sum(parameter.numel() for parameter in model.parameters())
    return ParameterCount(total, total - model.embedding_parameters)
