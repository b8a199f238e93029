"""What a training has cost so far: tokens, FLOPs and seconds. They are the axes along which dashboards draw."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.accounting.flops import PairCounts, training_flops
from triptych.contract.model import TranslationModel

TOKENS, FLOPS, HOURS = "train/tokens", "train/flops", "train/hours"
TOKENS_PER_SECOND = "train/tokens_per_second"
FLOPS_PER_SECOND, SHARE_OF_PEAK = "train/flops_per_second", "train/share_of_peak"


@dataclass(frozen=True)
class Spent:
    """Source and target tokens, FLOPs of forward and backward passes, and seconds without validations."""

    tokens: int = 0
    flops: int = 0
    seconds: float = 0.0

    def axes(self) -> dict[str, float]:
        """Return the three as a dashboard names them."""
        return {TOKENS: float(self.tokens), FLOPS: float(self.flops), HOURS: self.seconds / 3600}

    def rates_since(self, before: Spent, peak: float | None) -> dict[str, float]:
        """Return the rates of the time since then.

        Args:
            before: what had been spent then.
            peak: FLOP/s that all devices together can reach; None for no share of it.
        """
        seconds = self.seconds - before.seconds
        rate = (self.flops - before.flops) / seconds
        share = {} if peak is None else {SHARE_OF_PEAK: rate / peak}
        return {TOKENS_PER_SECOND: (self.tokens - before.tokens) / seconds, FLOPS_PER_SECOND: rate, **share}


class FlopCount:
    """Count the FLOPs of training pairs, those of each pair of lengths once.

    Args:
        model: that is trained.
    """

    def __init__(self, model: TranslationModel) -> None:
        self._model = model
        self._of_one: dict[tuple[int, int, bool], int] = {}

    def __call__(self, pairs: PairCounts) -> int:
        """Return the FLOPs of these pairs, as ``accounting.training_flops`` counts them."""
        for kind in pairs.keys() - self._of_one.keys():
            self._of_one[kind] = training_flops(self._model, {kind: 1})
        return sum(count * self._of_one[kind] for kind, count in pairs.items())
