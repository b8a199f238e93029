"""``match=parameters`` and ``match=flops``: models of equal size, so that the comparison is of architectures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf, open_dict

from triptych.accounting import cost as accounting
from triptych.config.composition import compose_run
from triptych.config.validation import on_meta
from triptych.contract.vocabulary import Vocabulary
from triptych.data.batching import Lengths
from triptych.errors import UserError, require_one_of
from triptych.runs import folder as runs

TOLERANCE = 0.02
LARGEST = 2**16
"""Of a size that is solved for."""
SAMPLED = 1000
"""Points of training at which lambda is asked for."""


def resolve_reference(config: DictConfig, overrides: Sequence[str]) -> None:
    """Puts the reference's own config into ``config.match.model``: what the arm changes of its model is left out.

    Raises:
        UserError: ``match`` names no measure.
    """
    if config.match is None:
        return
    require_one_of(("parameters", "flops"), "match", by=config.match.by)
    told = runs.identifying_overrides(overrides)
    kept = [one for one in told if re.split(r"[./=]", one.lstrip("+~"))[0] not in ("model", "arm")]
    reference = compose_run([*kept, f"model={config.match.reference}"])
    with open_dict(config.match):
        config.match.model = OmegaConf.to_container(reference.model, resolve=True)


def matched(config: DictConfig, vocabulary: Vocabulary, lengths: Lengths) -> dict[str, int]:
    """The sizes, by argument, that bring ``config.model`` within ``TOLERANCE`` of the reference; none if it is there.

    The first group of ``TranslationModel.sizes`` that can do it is enough; otherwise it stays at its nearest value, and
    the next group does the rest. FLOPs are those of training by ``config.loss``.

    Args:
        config: resolved, with ``match.model``.
        vocabulary: of the tokenizer.
        lengths: (n, 2) source and target tokens of some pairs, for FLOPs a token.

    Raises:
        UserError: the model has no sizes that could do it.
    """
    autoencode = instantiate(config.loss).autoencode
    predicted = sum(autoencode(step / SAMPLED) > 0 for step in range(SAMPLED)) / SAMPLED
    pairs = Counter(map(tuple, lengths.tolist()))

    def measure(model: Any) -> float:
        built = on_meta(model, vocabulary)
        if config.match.by == "parameters":
            return accounting.parameters(built)[1]
        unpredicted = 1 - predicted
        return sum(
            count * (built.flops(src, tgt) - unpredicted * built.source_prediction_flops(src))
            for (src, tgt), count in pairs.items()
        ) / int(lengths.sum())

    model: Any = OmegaConf.to_container(config.model, resolve=True)
    wanted = measure(config.match.model)
    sizes: dict[str, int] = {}
    if abs(measure(model) / wanted - 1) <= TOLERANCE:
        return {}
    for group in on_meta(model, vocabulary).sizes:

        def of_size(size: int, given: Any = model | sizes, group: tuple[str, ...] = group) -> float:
            return measure({**given, **dict.fromkeys(group, size)})

        sizes |= dict.fromkeys(group, nearest(of_size, wanted))
        if abs(measure(model | sizes) / wanted - 1) <= TOLERANCE:
            return sizes
    reached = f"the nearest has {measure(model | sizes):,.0f}" if sizes else "it has no sizes to change"
    raise UserError(
        f"match={config.match.by} cannot bring {model['_target_'].rpartition('.')[2]} to the {wanted:,.0f} of "
        f"{config.match.reference}; {reached}."
    )


def nearest(measure: Callable[[int], float], wanted: float) -> int:
    """The size from 1 to ``LARGEST`` whose measure, which rises with it, is nearest to the one wanted."""
    low, high = 1, 2
    while high < LARGEST and measure(high) < wanted:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if measure(middle) < wanted else (low, middle)
    return min(low, high, key=lambda size: abs(measure(size) - wanted))
