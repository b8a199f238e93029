"""The attention of a model over sentence pairs: its weights, its page, and what changes with heads switched off."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from triptych.attention.content import content_of_ablation, contents_of_views
from triptych.attention.heads import Masks, Shapes, effects_of_heads, masks_of, shapes_of
from triptych.attention.page import build_page
from triptych.attention.views import KINDS, View, views_of
from triptych.attention.words import tokens_of
from triptych.contract.model import AttentionMap
from triptych.contract.vocabulary import EOS
from triptych.data.directions import Direction
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.files import require_output, writing
from triptych.layers.ablation import ablate_heads

FRAME_HEIGHT = 760
"""Height of the page in a notebook, in pixels."""


@dataclass(frozen=True)
class AttentionPage:
    """A page of attention, which a notebook shows.

    Attributes:
        html: the page, one file that needs no other.
    """

    html: str

    def _repr_html_(self) -> str:
        """Return the page in a frame."""
        page = html.escape(self.html)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"AttentionPage({len(self.html)} characters)"


class Attention(Sequence[AttentionMap]):
    """The attention of one model over sentence pairs, computed with teacher forcing.

    It is a sequence of attention maps, whose weights are (pairs, layers, heads, queries, keys). In a notebook it shows
    itself as a page.

    Args:
        translator: the model with its tokenizer.
        name: of the model, on the page.
        sources: ids of each pair, without special ids; ``targets`` likewise.
        direction: source and target language; None for the direction of the test sets.
        whole: for a model with heads switched off, the same pairs with all heads.
        off: names of the heads that are switched off.
    """

    def __init__(
        self,
        translator: Translator,
        name: str,
        sources: list[list[int]],
        targets: list[list[int]],
        direction: Direction | None = None,
        whole: Attention | None = None,
        off: Sequence[str] = (),
    ) -> None:
        self.translator = translator
        self.name = name
        self.sources = sources
        self.targets = targets
        self.direction = direction
        self.whole = whole
        self.off = tuple(off)
        self.masks: Masks = {} if whole is None else masks_of(off, whole.shapes, name)

    def without(self, *heads: str) -> Attention:
        """Return the attention over the same pairs with heads switched off, as in ``triptych.layers.ablation``.

        Args:
            heads: such as ``cross.1.3``, the third head of the first layer, or ``cross.1``, the whole layer.

        Raises:
            UserError: no heads, or one that the model does not have.
        """
        if not heads:
            raise UserError("ablate names no head; give one such as cross.1.1.")
        return Attention(self.translator, self.name, self.sources, self.targets, self.direction, self, heads)

    @contextmanager
    def _heads_off(self) -> Iterator[None]:
        with ablate_heads(self.translator.model, self.masks):
            yield

    @cached_property
    def maps(self) -> list[AttentionMap]:
        """One map for each kind of attention; none if the model has no attention, or there are no pairs."""
        with self._heads_off():
            return self.translator.attention_of_ids(self.sources, self.targets, self.direction)

    @cached_property
    def token_scores(self) -> list[NDArray[np.float64]]:
        """For each pair, log p in nats of each target token after those before it, the last one ``</s>``."""
        if not self.sources:
            return []
        with self._heads_off():
            found = self.translator.token_scores(self.sources, self.targets, self.direction)
        return [tokens.numpy(force=True) for tokens in found]

    @property
    def scores(self) -> list[float]:
        """log p(target | source) of each pair in nats, ``</s>`` included."""
        return [float(tokens.sum()) for tokens in self.token_scores]

    @property
    def changes(self) -> list[float]:
        """How much the scores differ from those with all heads, in nats; 0 where no head is switched off."""
        before = self.scores if self.whole is None else self.whole.scores
        return [after - one for after, one in zip(self.scores, before, strict=True)]

    @cached_property
    def translations(self) -> list[str]:
        """The model's own translation of each source."""
        with self._heads_off():
            return self.translator.translate(self.source_texts, direction=self.direction)

    @property
    def source_texts(self) -> list[str]:
        return self.translator.tokenizer.decode(self.sources, "src")

    @property
    def target_texts(self) -> list[str]:
        return self.translator.tokenizer.decode(self.targets, "tgt")

    @property
    def shapes(self) -> Shapes:
        """Layers and heads of each kind of attention whose heads can be switched off."""
        layers_and_heads = {one.name: (one.weights.shape[1], one.weights.shape[2]) for one in self.maps}
        return shapes_of(self.translator, layers_and_heads)

    @cached_property
    def effects(self) -> list[dict[str, NDArray[np.float64]]]:
        """For each pair, the change of its score when a head is switched off alone: (layers, heads) for each kind."""
        pairs = zip(self.sources, self.targets, strict=True)
        return [effects_of_heads(self.translator, *pair, self.shapes, self.direction) for pair in pairs]

    def views(self, index: int = 0) -> list[View]:
        """Return the kinds of attention of one pair, without padding and with the tokens on both axes."""
        lengths = len(self.sources[index]) + 1, len(self.targets[index]) + 1
        return views_of(self.maps, index, lengths, self.translator.tokenizer)

    def most_needed_head(self) -> str | None:
        """Return the head without which the first pair's score falls most, of those that are on; None if none is."""
        effects = (self.whole or self).effects[0] if self.sources else {}
        named = {
            f"{name}.{layer + 1}.{head + 1}": float(changes[layer, head])
            for name, changes in effects.items()
            for layer, head in np.ndindex(changes.shape)
            if layer not in self.masks.get(name, {}) or self.masks[name][layer][head] == 1
        }
        return min(named, key=lambda name: named[name], default=None)

    def ablation(self, index: int = 0) -> dict[str, Any]:
        """Return what the heads that are off have changed for a pair, as ``content_of_ablation`` has it."""
        assert self.whole is not None
        predicted = tokens_of([*self.targets[index], EOS], "tgt", self.translator.tokenizer)
        scores = self.whole.token_scores[index], self.token_scores[index]
        return content_of_ablation(predicted, scores, (self.whole.translations[index], self.translations[index]))

    def content(self) -> dict[str, Any]:
        """Return what the page holds of this model, as JSON has it."""
        pairs = []
        texts = zip(self.source_texts, self.target_texts, strict=True)
        for index, (source, target) in enumerate(texts):
            effects = self.effects[index] if self.whole is None else {}
            pair = {
                "source": source,
                "target": target,
                "score": self.scores[index],
                "views": contents_of_views(self.views(index), effects, self.off),
            }
            if self.whole is not None:
                pair["ablation"] = self.ablation(index)
            pairs.append(pair)
        return {"name": self.name, "off": self.off, "pairs": pairs}

    def html(self, *beside: Attention) -> str:
        """Return the page, one file that needs no other.

        Args:
            beside: other models' attention over as many pairs, drawn beside this one.

        Raises:
            UserError: nothing to draw.
        """
        columns = [column for one in (self, *beside) for column in ((one.whole, one) if one.whole else (one,))]
        for one in columns:
            if not one.maps:
                raise UserError(
                    f"{one.name}: there is no attention to draw; give a model that has some and a sentence."
                )
        found = {view.kind: view.kind for one in columns for view in one.views()}
        titles = {kind: title for kind, title in KINDS.items() if kind in found}
        return build_page([one.content() for one in columns], titles | {k: k for k in found if k not in titles})

    def write(self, path: str | PathLike[str], *beside: Attention) -> Path:
        """Write the page, and return its path; arguments as of ``html``.

        Raises:
            UserError: nothing to draw, or a path where no file can be written.
        """
        place = Path(path).expanduser()
        require_output(str(path), {})
        page = self.html(*beside)
        with writing(place) as file:
            file.write(page.encode())
        return place

    def beside(self, *others: Attention) -> AttentionPage:
        """Return the page with other models' attention over as many pairs beside this one, for notebooks.

        Raises:
            UserError: nothing to draw.
        """
        return AttentionPage(self.html(*others))

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks."""
        return AttentionPage(self.html() if self.maps else "This model has no attention.")._repr_html_()

    def __repr__(self) -> str:
        shapes = ", ".join(f"{one.name} {tuple(one.weights.shape)}" for one in self.maps)
        return f"Attention({self.name!r}, {len(self.sources)} pairs: {shapes or 'none'})"

    def __len__(self) -> int:
        return len(self.maps)

    @overload
    def __getitem__(self, index: int) -> AttentionMap: ...
    @overload
    def __getitem__(self, index: slice) -> list[AttentionMap]: ...
    def __getitem__(self, index: int | slice) -> AttentionMap | list[AttentionMap]:
        return self.maps[index]
