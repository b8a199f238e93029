"""A model in the form of another program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctranslate2.specs import ModelSpec


@dataclass(frozen=True)
class CTranslate2Model:
    """A model as CTranslate2 runs it.

    Attributes:
        make_spec: makes its weights and shape, a copy; vocabularies are not registered yet. Raises ``UserError`` if
            CTranslate2 has no form for the model.
        prompt: for a decoder-only model, which CTranslate2 runs as a ``Generator``: gives the ids that stand before the
            target, given those of a source, which end in ``</s>``. None for an encoder-decoder, which it runs as a
            ``Translator``.
    """

    make_spec: Callable[[], ModelSpec]
    prompt: Callable[[Sequence[int]], list[int]] | None = None
