"""Names of heads, such as ``cross.1.3``, and what the model loses without each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from triptych.data.directions import Direction
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.layers.ablation import ablate_heads
from triptych.layers.recording import recordable_attentions

Shapes = Mapping[str, tuple[int, int]]
"""Layers and heads of each kind of attention, by the name of its attention map."""

Masks = dict[str, dict[int, Tensor]]
"""As ``ablate_heads`` takes them."""

TOKENS_A_BATCH = 4096
"""Tokens of a batch in which every sentence pair has another head switched off. It changes memory and speed only."""


def masks_of(names: Sequence[str], shapes: Shapes, model: str) -> Masks:
    """Return the masks that switch heads off.

    Args:
        names: ``KIND.LAYER.HEAD`` or, for all heads of a layer, ``KIND.LAYER``; layers and heads are counted from 1.
        shapes: of the model.
        model: its name, for messages.

    Raises:
        UserError: a name that is written in another way, or that the model does not have.
    """
    masks: Masks = {}
    for name in names:
        found = re.fullmatch(r"([^.]+)\.([1-9]\d*)(?:\.([1-9]\d*))?", name)
        layers, heads = shapes.get(found[1], (0, 0)) if found else (0, 0)
        if not found or int(found[2]) > layers or int(found[3] or 1) > heads:
            raise UserError(f"ablate={name} is no head or layer of {model}; {_allowed(shapes)}.")
        mask = masks.setdefault(found[1], {}).setdefault(int(found[2]) - 1, torch.ones(heads))
        mask[slice(None) if found[3] is None else int(found[3]) - 1] = 0
    return masks


def _allowed(shapes: Shapes) -> str:
    """Say which names ``masks_of`` takes."""
    if not shapes:
        return "it has none that can be switched off"
    last = [f"{name}.{layers}.{heads}" for name, (layers, heads) in shapes.items()]
    example = last[0].rpartition(".")[0]
    return f"give KIND.LAYER.HEAD, at most {' or '.join(last)}, or {example} for the whole layer"


def shapes_of(translator: Translator, shapes: Shapes) -> Shapes:
    """Return those of the attentions whose heads can be switched off (see ``RecordableAttention``)."""
    return {name: shapes[name] for name in recordable_attentions(translator.model) if name in shapes}


def effects_of_heads(
    translator: Translator, source: Sequence[int], target: Sequence[int], shapes: Shapes, direction: Direction | None
) -> dict[str, NDArray[np.float64]]:
    """Return the change of log p(target | source), in nats, when each head alone is switched off.

    Args:
        translator: of the model.
        source: ids without special ids, as those of ``target``.
        target: the translation that is scored.
        shapes: of the attentions whose heads are switched off.
        direction: source and target language.

    Returns:
        By name of the attention (layers, heads). A head with a change below 0 helped.
    """
    whole = float(translator.token_scores([source], [target], direction)[0].sum())
    effects = {name: np.zeros(shape) for name, shape in shapes.items()}
    every_head = [(name, *place) for name, shape in shapes.items() for place in np.ndindex(shape)]
    size = max(1, TOKENS_A_BATCH // (len(source) + len(target) + 3))
    for start in range(0, len(every_head), size):
        some = every_head[start : start + size]
        masks: Masks = {}
        for row, (name, layer, head) in enumerate(some):
            ones = torch.ones(len(some), shapes[name][1])
            masks.setdefault(name, {}).setdefault(layer, ones)[row, head] = 0
        with ablate_heads(translator.model, masks):
            scores = translator.token_scores([source] * len(some), [target] * len(some), direction)
        for (name, layer, head), tokens in zip(some, scores, strict=True):
            effects[name][layer, head] = float(tokens.sum()) - whole
    return effects
