"""The page of attention of a translation that a served run has given."""

from __future__ import annotations

from triptych.attention.explorer import Attention
from triptych.data.directions import Direction
from triptych.decoding.search import Search
from triptych.decoding.translator import Translator
from triptych.errors import UserError

MOST_PIECES = 128
"""Pieces that source and target may have each: the page grows with their product, and its figures need a forward pass
of the pair for each head."""


class AttentionPages:
    """Draw the attention of one model over a sentence and its translation.

    Args:
        translator: of the model.
        name: of the model, on the page.
        search: that found the translations.
        direction: source and target language.
    """

    def __init__(self, translator: Translator, name: str, search: Search, direction: Direction) -> None:
        self.translator = translator
        self.name = name
        self.search = search
        self.direction = direction

    def has_attention(self) -> bool:
        """Whether there is something to draw; this runs the model."""
        return bool(self._attention(*self.translator.pair_ids(["."], ["."])))

    def __call__(self, sentence: str, translation: str | None) -> str:
        """Return the page, one HTML file as ``triptych attend`` writes it.

        Args:
            sentence: to translate.
            translation: a translation of it; None for the best one. One that the search finds is drawn in the pieces
                that the model wrote, and any other text in those of the tokenizer.

        Raises:
            UserError: more pieces than can be drawn, or a pair that the model cannot take.
        """
        (source,) = self.translator.tokenizer.encode([sentence], "src")
        _check_length("the sentence", source)
        (found,) = self.translator.hypotheses([sentence], self.search, direction=self.direction)
        if translation is None:
            target = found[0].tokens
        else:
            written = {self.translator.text_of(one): one.tokens for one in reversed(found)}
            target = written.get(translation) or self.translator.tokenizer.encode([translation], "tgt")[0]
        _check_length("the translation", target)
        return self._attention([source], [target]).html()

    def _attention(self, sources: list[list[int]], targets: list[list[int]]) -> Attention:
        return Attention(self.translator, self.name, sources, targets, self.direction)


def _check_length(name: str, ids: list[int]) -> None:
    if len(ids) > MOST_PIECES:
        raise UserError(f"{name} has {len(ids)} pieces, and attention is drawn over at most {MOST_PIECES}.")
