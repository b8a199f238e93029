"""Thousands of made-up words for the toy corpus, so that many are rare, as in real text.

English and French words are made of the syllables of their languages, and the seed fixes each pair. Some pairs are
cognates: they share their root, and their endings correspond, as "-ity" does to "-ité". A model of subwords can
therefore guess some words that it has never seen. The built-in words remain the most frequent ones.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from triptych.data.toy_lexicon import ADJECTIVES, NOUNS, VERBS, Adjective, Noun, Verb, plural_fr, with_s
from triptych.data.toy_vocabulary import BUILT_IN, ToyVocabulary
from triptych.errors import UserError

T = TypeVar("T")
W = TypeVar("W", Noun, Adjective, Verb)

COGNATES, VOWEL_FIRST = 0.4, 0.15
"""Shares of the made-up words whose two sides have a common root, and of the roots that begin with a vowel."""
CLASSES = {"noun": 0.7, "adjective": 0.15, "verb": 0.15}
"""Shares of the classes of words among the stems."""
CATEGORIES = {
    "person": 0.28,
    "thing": 0.25,
    "animal": 0.14,
    "place": 0.12,
    "text": 0.1,
    "food": 0.04,
    "home": 0.03,
    "drink": 0.02,
    "opening": 0.02,
}
"""Shares of the categories among the nouns. Names are not added to."""

ENGLISH = (
    "b bl br cl cr d dr f fl fr g gl gr j k l m n p pl pr r s sk sl sn sp st t th tr tw v w",
    "a e i o u ee oo ai ow",
    "b ck d g ll m n nd ng nt p rd rk rm sh st t",
)
"""Onsets, vowels and final consonants of English syllables; ``FRENCH`` and ``SHARED`` likewise."""
FRENCH = (
    "b bl br c ch cr d dr f fl fr gr j l m n p pl pr r s t tr v",
    "a é i o u ou an on in oi eu",
    "b d f l m n p r t v",
)
SHARED = (
    "b bl br cl d dr f fl fr gr l m n p pl pr r s st t tr v",
    "a e i o u",
    "b d l m n p r t v",
)

NOUN_COGNATES = (
    ("ation", "ation", True),
    ("ity", "ité", True),
    ("ure", "ure", True),
    ("or", "eur", False),
    ("ent", "ent", False),
    ("age", "age", False),
)
"""Corresponding endings of nouns, and whether the French one is feminine."""
NOUN_ENDINGS = (
    *((ending, True) for ending in ("ette", "elle", "ine", "ade", "ance")),
    *((ending, False) for ending in ("on", "et", "ard", "in", "oir")),
)
ADJECTIVE_COGNATES = (("ic", "ique", "ique"), ("ive", "if", "ive"), ("ant", "ant", "ante"), ("able", "able", "able"))
"""Corresponding endings of adjectives: English, French masculine and feminine."""
ADJECTIVE_ENDINGS = (("ant", "ante"), ("u", "ue"), ("é", "ée"), ("if", "ive"), ("in", "ine"))
VERB_COGNATES = (("ate", "er"), ("ify", "ifier"), ("ise", "iser"))
"""Corresponding endings of verbs: English base, French infinitive."""

FIRST_WORDS = tuple(verb for verb in VERBS if not verb.etre and verb.frame != "content")
"""Verbs whose complements, subjects and objects the made-up verbs take."""


@functools.lru_cache(maxsize=2, typed=True)  # a vocabulary is its own key in the cache of ``toy.splits``
def zipf_vocabulary(seed: int, stems: int, exponent: float) -> ToyVocabulary:
    """Return a vocabulary of the built-in words followed by made-up ones.

    Args:
        seed: seed of the words.
        stems: number of nouns, adjectives and verbs together, names not counted.
        exponent: of Zipf's law, see ``ToyVocabulary``.

    Raises:
        UserError: there are fewer stems than built-in words of a class, or the exponent is not above 0.
    """
    if exponent <= 0:
        raise UserError(f"data.exponent={exponent} must be above 0; data=toy draws all words equally often.")
    built_in = {"noun": sum(map(len, NOUNS.values())) - len(NOUNS["name"])}
    built_in |= {"adjective": len(ADJECTIVES), "verb": len(VERBS)}
    missing = {name: round(share * stems) - built_in[name] for name, share in CLASSES.items()}
    if min(missing.values()) < 0:
        least = max(-(-built_in[name] // share) for name, share in CLASSES.items())
        raise UserError(f"data.stems={stems} must be at least {least:.0f}, for the built-in words are among them.")
    maker = WordMaker(seed)
    nouns = dict(NOUNS)
    for category, share in CATEGORIES.items():
        nouns[category] += tuple(maker.noun(category) for _ in range(round(share * missing["noun"])))
    adjectives = (*ADJECTIVES, *(maker.adjective() for _ in range(missing["adjective"])))
    verbs = (*VERBS, *(maker.verb() for _ in range(missing["verb"])))
    return ToyVocabulary(nouns, adjectives, verbs, exponent)


class WordMaker:
    """Make up words, none of which has a form that another word has.

    Args:
        seed: seed of the words.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"{seed} words")
        self._english = {form for word in _built_in_words() for form in english_forms(word)}
        self._french = {form for word in _built_in_words() for form in french_forms(word)}

    def noun(self, category: str) -> Noun:
        """Return a noun of a category."""

        def make() -> Noun:
            if self._rng.random() < COGNATES:
                root = self._root(SHARED, syllables=2)
                english, french, feminine = self._pick(NOUN_COGNATES)
                return Noun(root + english, with_s(root + english), root + french, feminine, category)
            english = self._root(ENGLISH, syllables=2)
            ending, feminine = self._pick(NOUN_ENDINGS)
            return Noun(english, with_s(english), self._root(FRENCH, syllables=2) + ending, feminine, category)

        return self._unique(make)

    def adjective(self) -> Adjective:
        """Return an adjective that follows its noun, for the nouns that a built-in one goes with."""
        categories = self._pick(ADJECTIVES).categories

        def make() -> Adjective:
            if self._rng.random() < COGNATES:
                english, masculine, feminine = self._pick(ADJECTIVE_COGNATES)
                root = self._root(SHARED, syllables=2)
                word, stem = root + english, root
            else:
                masculine, feminine = self._pick(ADJECTIVE_ENDINGS)
                word, stem = self._root(ENGLISH, syllables=2), self._root(FRENCH, syllables=2)
            return Adjective(word, stem + masculine, stem + masculine, stem + feminine, categories, precedes=False)

        return self._unique(make)

    def verb(self) -> Verb:
        """Return a regular verb, in -er, that is used as a built-in one is."""
        model = self._pick(FIRST_WORDS)

        def make() -> Verb:
            if self._rng.random() < COGNATES:
                root = self._root(SHARED, syllables=2)
                base, infinitive = (root + ending for ending in self._pick(VERB_COGNATES))
            else:
                base, infinitive = self._root(ENGLISH, syllables=2), self._root(FRENCH, syllables=2) + "er"
            stem = infinitive.removesuffix("er")
            past_form = base[:-1] + "ied" if base.endswith("y") else base.removesuffix("e") + "ed"
            present = (stem + "e", stem + "e", stem + "ons", stem + "ent")
            return replace(model, base=base, past_form=past_form, present=present, participle=stem + "é")

        return self._unique(make)

    def _pick(self, options: Sequence[T]) -> T:
        return options[int(self._rng.random() * len(options))]

    def _root(self, language: tuple[str, str, str], syllables: int) -> str:
        """Return some syllables, the last of which ends in a consonant."""
        onsets, vowels, finals = map(str.split, language)
        first = "" if self._rng.random() < VOWEL_FIRST else self._pick(onsets)
        others = (self._pick(onsets) + self._pick(vowels) for _ in range(syllables - 1))
        return "".join((first, self._pick(vowels), *others, self._pick(finals)))

    def _unique(self, make: Callable[[], W]) -> W:
        """Return the first word that ``make`` gives whose forms no other word has."""
        while True:
            word = make()
            english, french = english_forms(word), french_forms(word)
            if self._english.isdisjoint(english) and self._french.isdisjoint(french):
                self._english |= english
                self._french |= french
                return word


def english_forms(word: Noun | Adjective | Verb) -> set[str]:
    """Return the English forms of a word."""
    if isinstance(word, Noun):
        return {word.en, word.plural}
    return {word.en} if isinstance(word, Adjective) else {word.base, with_s(word.base), word.past_form}


def french_forms(word: Noun | Adjective | Verb) -> set[str]:
    """Return the French forms of a word."""
    if isinstance(word, Verb):
        participles = {word.participle, word.participle + "e"}
        return {*word.present, *participles, *map(plural_fr, participles)}
    singular = {word.fr} if isinstance(word, Noun) else {word.masculine, word.before_vowel, word.feminine}
    return {*singular, *map(plural_fr, singular)}


def _built_in_words() -> list[Noun | Adjective | Verb]:
    nouns = [noun for words in BUILT_IN.nouns.values() for noun in words]
    return [*nouns, *BUILT_IN.adjectives, *BUILT_IN.verbs]
