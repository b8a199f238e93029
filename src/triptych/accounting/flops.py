"""Floating-point operations of training, and the share of a device's peak that they reach."""

from __future__ import annotations

from collections.abc import Mapping

from triptych.contract.model import TranslationModel

FORWARDS_PER_TRAINING_STEP = 3
"""Cost of a forward and a backward pass, in forward passes: the backward pass of a matrix product is two products of
the same size (Kaplan et al. 2020, section 2.1)."""

PairCounts = Mapping[tuple[int, int, bool], int]
"""Number of training pairs for each combination of source length, target length (both with special tokens, as in
``Batch``), and whether the loss included the source (lambda > 0)."""


def training_flops(model: TranslationModel, pairs: PairCounts) -> int:
    """Return the floating-point operations of the forward and backward passes over pairs, without padding."""
    return FORWARDS_PER_TRAINING_STEP * sum(
        count * (model.flops(src, tgt) - (0 if autoencoded else model.source_prediction_flops(src)))
        for (src, tgt, autoencoded), count in pairs.items()
    )


def mfu(flops: float, seconds: float, peak: float) -> float:
    """Return the model FLOPs utilisation (Chowdhery et al. 2022, appendix B): achieved FLOP/s divided by the peak.

    Raises:
        ValueError: ``seconds`` or ``peak`` is not positive.
    """
    if seconds <= 0 or peak <= 0:
        raise ValueError(f"MFU needs positive seconds and peak, but seconds={seconds} and peak={peak}")
    return flops / seconds / peak
