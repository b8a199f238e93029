"""Translate sentences of a corpus, each through the languages of its route."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

from triptych.data.pairs import Section
from triptych.decoding.search import Search
from triptych.decoding.translator import Translation, Translator


def translate_sections(
    translator: Translator, sources: Iterable[str], sections: Sequence[Section], *, search: Search, search_tokens: int
) -> list[Translation]:
    """Return the translation of each source. Through a pivot, the translation into the pivot language is translated.

    Args:
        translator: the trained model.
        sources: lines of all sections, in order.
        sections: route and size of each.
        search: how to translate.
        search_tokens: maximum number of source tokens a batch, including padding.

    Returns:
        Translations in the order of the sources; ``cut`` says whether the length limit ended any of a route.
    """
    translations: list[Translation] = []
    remaining = iter(sources)
    for route, size in sections:
        found = [Translation(line, False) for line in islice(remaining, size)]
        for direction in pairwise(route):
            lines = [one.text for one in found]
            hop = translator.best(lines, search, search_tokens, direction)
            found = [Translation(new.text, new.cut or old.cut) for old, new in zip(found, hop, strict=True)]
        translations += found
    return translations
