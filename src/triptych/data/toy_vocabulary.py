"""The words that toy sentences are drawn from, and how often each is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate

from triptych.data.toy_lexicon import ADJECTIVES, LIVING, NOUNS, VERBS, Adjective, Noun, Verb


@dataclass(frozen=True, eq=False)
class ToyVocabulary:
    """Nouns, adjectives and verbs, the most frequent ones first.

    Attributes:
        nouns: nouns by category.
        exponent: of Zipf's law. Among n words that fit, the one of rank r is drawn with a probability proportional to
            r^-exponent; 0 draws all of them equally often.
    """

    nouns: Mapping[str, tuple[Noun, ...]]
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    exponent: float

    @cached_property
    def content_verbs(self) -> tuple[Verb, ...]:
        """Verbs that take a that-clause."""
        return tuple(verb for verb in self.verbs if verb.frame == "content")

    @cached_property
    def verbs_by_subject(self) -> dict[str, tuple[Verb, ...]]:
        """Verbs by a category of nouns that can be their subject, without those of that-clauses."""
        plain = [verb for verb in self.verbs if verb.frame != "content"]
        return {category: tuple(verb for verb in plain if category in verb.subjects) for category in LIVING}

    @cached_property
    def verbs_by_object(self) -> dict[str, tuple[Verb, ...]]:
        """Verbs by a category of nouns that can be their direct object."""
        return {category: tuple(verb for verb in self.verbs if category in verb.objects) for category in self.nouns}

    @cached_property
    def adjectives_by_category(self) -> dict[str, tuple[Adjective, ...]]:
        """Adjectives by a category of nouns that they go with."""
        return {
            category: tuple(one for one in self.adjectives if category in one.categories) for category in self.nouns
        }


BUILT_IN = ToyVocabulary(NOUNS, ADJECTIVES, VERBS, exponent=0.0)


@cache
def zipf_bounds(words: int, exponent: float) -> Sequence[float]:
    """Return the upper bound of each rank's share of the numbers from 0 to 1, by Zipf's law."""
    weights = [rank**-exponent for rank in range(1, words + 1)]
    total = sum(weights)
    return [*(bound / total for bound in accumulate(weights[:-1])), 1.0]
