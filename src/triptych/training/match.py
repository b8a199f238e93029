"""``match=parameters`` and ``match=flops``: solve for sizes, so that models of equal size are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from triptych.accounting.parameters import count_parameters
from triptych.config.validation import build_without_values
from triptych.contract.vocabulary import Vocabulary
from triptych.data.epoch_plan import Lengths
from triptych.errors import UserError

TOLERANCE = 0.02
SIZE_TIMES, BUDGET_TIMES = "times", "budget_times"
"""Keys of ``match`` that may be left out: multiples of the reference's size, and of the budget."""
LARGEST = 2**16
"""Largest value of a size that is solved for."""
LAMBDA_SAMPLES = 1000
"""Points of training at which lambda is evaluated, to know for how long the loss predicts the source."""
SAMPLED_PAIRS = 1000
"""Number of sentence pairs whose FLOPs are made equal."""


def matched_sizes(
    config: DictConfig, reference: Mapping[str, Any], vocabulary: Vocabulary, lengths: Lengths
) -> dict[str, int]:
    """Solve for the sizes that bring a model within ``TOLERANCE`` of the reference, or of a multiple of it.

    The first group of ``TranslationModel.sizes`` that can do it is enough. Otherwise that group stays at its nearest
    value and the next one makes up the rest. FLOPs are counted as in training by ``config.loss``.

    Args:
        config: of the run.
        reference: ``RunConfig.reference_model``.
        vocabulary: of the tokenizer.
        lengths: (n, 2) source and target tokens of some pairs, to count FLOPs per token.

    Returns:
        Constructor arguments as ``TranslationModel.sizes`` names them, and their values; empty if the model is within
        the tolerance as it is.

    Raises:
        UserError: no sizes bring the model there.
    """
    model: Any = OmegaConf.to_container(config.model, resolve=True)
    measure = _measure(config, vocabulary, lengths)
    wanted = multiple(config, SIZE_TIMES) * measure(reference)
    sizes: dict[str, int] = {}
    if abs(measure(model) / wanted - 1) <= TOLERANCE:
        return {}
    groups = build_without_values(model, vocabulary).sizes
    if any(isinstance(group, str) for group in groups):
        raise UserError(f"{model['_target_']}.sizes must be groups of names, such as (('d_ff',),), not {groups}.")
    for group in groups:

        def measure_size(size: int, given: Any = sizes, group: tuple[str, ...] = group) -> float:
            return measure(resized(model, {**given, **dict.fromkeys(group, size)}))

        sizes = {**sizes, **dict.fromkeys(group, nearest_size(measure_size, wanted))}
        if abs(measure(resized(model, sizes)) / wanted - 1) <= TOLERANCE:
            return sizes
    reached = f"the nearest has {measure(resized(model, sizes)):,.0f}" if sizes else "it has no sizes to change"
    raise UserError(
        f"match={config.match.by} cannot bring {model['_target_'].rpartition('.')[2]} to the {wanted:,.0f} of "
        f"{_times(config)}{config.match.reference}; {reached}."
    )


def resized(model: Any, sizes: Mapping[str, int]) -> Any:
    """Return a model's configuration with other sizes, as ``matched_sizes`` returns them."""
    return OmegaConf.merge(model, OmegaConf.from_dotlist([f"{name}={size}" for name, size in sizes.items()]))


def with_sizes(config: DictConfig, sizes: Mapping[str, int]) -> DictConfig:
    """Return the configuration of a run with the sizes that ``match`` has found."""
    if not sizes:
        return config
    merged = OmegaConf.merge(config, {"model": resized(config.model, sizes)})
    assert isinstance(merged, DictConfig)
    return merged


def multiple(config: DictConfig, key: str) -> float:
    """Return a multiple that ``match`` names, 1 where it names none.

    Args:
        config: of the run.
        key: ``SIZE_TIMES`` or ``BUDGET_TIMES``.
    """
    return 1.0 if config.match is None else float(config.match.get(key, 1.0))


def _times(config: DictConfig) -> str:
    times = multiple(config, SIZE_TIMES)
    return "" if times == 1 else f"{times:g} times "


def _measure(config: DictConfig, vocabulary: Vocabulary, lengths: Lengths) -> Callable[[Any], float]:
    """Return a function from a model's configuration to its non-embedding parameters, or its FLOPs per token."""
    autoencode = instantiate(config.loss).autoencode
    skipped = sum(autoencode(step / LAMBDA_SAMPLES) == 0 for step in range(LAMBDA_SAMPLES)) / LAMBDA_SAMPLES
    pairs = Counter(map(tuple, lengths.tolist()))

    def measure(model: Any) -> float:
        built = build_without_values(model, vocabulary)
        if config.match.by == "parameters":
            return count_parameters(built).non_embedding
        flops = (
            count * (built.flops(src, tgt) - skipped * built.source_prediction_flops(src))
            for (src, tgt), count in pairs.items()
        )
        return sum(flops) / int(lengths.sum())

    return measure


def nearest_size(measure: Callable[[int], float], wanted: float) -> int:
    """Return the size from 1 to ``LARGEST`` whose measure, which grows with it, is nearest to the one wanted."""
    low, high = 1, 2
    while high < LARGEST and measure(high) < wanted:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measure(middle) < wanted else (low, middle)
    return min(low, high, key=lambda size: abs(measure(size) - wanted))
