"""Translate sentences of a corpus, each through the languages of its route, with one length penalty or several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, pairwise

from triptych.data.pairs import Section
from triptych.decoding.search import Search
from triptych.decoding.translator import Translation, Translator


def translate_sections(
    translator: Translator,
    sources: Iterable[str],
    sections: Sequence[Section],
    *,
    penalties: Sequence[float],
    search: Search,
    search_tokens: int,
) -> list[list[Translation]]:
    """Return the translation of each source, with each of several length penalties.

    Through a pivot, the translation into the pivot language is translated.

    Args:
        translator: the trained model.
        sources: lines of all sections, in order.
        sections: route and size of each.
        penalties: alpha of each, in place of that of ``search``. One search finds the translations with all of them;
            beyond a pivot, there is one for each, since what is translated then depends on the penalty.
        search: how to translate.
        search_tokens: maximum number of source tokens a batch, including padding.

    Returns:
        For each penalty, translations in the order of the sources; ``cut`` says whether the length limit ended any of a
        route.
    """
    translations: list[list[Translation]] = [[] for _ in penalties]
    remaining = iter(sources)
    for route, size in sections:
        first, *beyond = pairwise(route)
        found = translator.best_by_penalty(islice(remaining, size), penalties, search, search_tokens, first)
        for penalty, before, all_of_penalty in zip(penalties, found, translations, strict=True):
            for direction in beyond:
                again = search.with_length_penalty(penalty)
                after = translator.best([one.text for one in before], again, search_tokens, direction)
                before = [Translation(new.text, new.cut or old.cut) for old, new in zip(before, after, strict=True)]
            all_of_penalty += before
    return translations
