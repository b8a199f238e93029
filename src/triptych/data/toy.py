"""A built-in English-French corpus: sentences drawn from a synchronous grammar, generated in seconds from a seed.

Translating it takes more than a dictionary: agreement across a clause, adjectives on either side of the noun, ne … pas,
clitics before the verb, elision and contraction, questions, relative clauses. Each source sentence has exactly one
translation. The split ``test_long`` has sentences longer than any in training.
"""

from __future__ import annotations

import functools
import random
from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeVar

from triptych.data.toy_grammar import render
from triptych.data.toy_lexicon import (
    COUNTING,
    DEFINITE,
    FROM,
    INTO,
    LIVING,
    MASS,
    THE,
    TO,
    A,
    Adjective,
    Determiner,
    Verb,
)
from triptych.data.toy_structure import (
    Agreement,
    Clause,
    Clitic,
    Coordination,
    NounPhrase,
    Phrase,
    Place,
    Pronoun,
    Sentence,
)
from triptych.data.toy_vocabulary import BUILT_IN, ToyVocabulary, zipf_bounds
from triptych.errors import UserError

ToySplit = tuple[list[str], list[str]]
"""English lines and their French translations, in the same order."""

T = TypeVar("T")

LANGUAGES = ("en", "fr")

SHORT = range(3, 26)
"""Allowed number of words on either side in training, validation and test; a separate "?" counts as a word."""
LONG = range(27, 46)
"""Allowed number of words in test_long. Even without its "?", such a sentence is longer than any in training."""

I = Pronoun("I", "je", Agreement(first=True))  # noqa: E741
WE = Pronoun("we", "nous", Agreement(first=True, plural=True))
HE, SHE = Pronoun("he", "il", Agreement()), Pronoun("she", "elle", Agreement(feminine=True))
HIM, HER = Clitic("him", "le", "lui", Agreement()), Clitic("her", "la", "lui", Agreement(feminine=True))
THEM = Clitic("them", "les", "leur", Agreement(plural=True))
ME, US = (
    Clitic("me", "me", "me", Agreement(first=True)),
    Clitic("us", "nous", "nous", Agreement(first=True, plural=True)),
)

QUESTIONS = (Phrase("", "est-ce que"), Phrase("why", "pourquoi est-ce que"))
PRESENT_OPENINGS = (
    Phrase("today ,", "aujourd'hui ,"),
    Phrase("every day ,", "chaque jour ,"),
    Phrase("often ,", "souvent ,"),
)
PAST_OPENINGS = (Phrase("yesterday ,", "hier ,"), Phrase("this morning ,", "ce matin ,"))
AND, WHEN, BECAUSE = Phrase(", and", "et"), Phrase("when", "quand"), Phrase("because", "parce que")
LINKS = (AND, Phrase(", but", ", mais"), Phrase(", so", ", donc"), WHEN, BECAUSE)


class SentenceGenerator:
    """Draw random sentence structures that make sense.

    Of Python's generator only ``random()`` is used: its sequence for a seed is the same in every version of Python.
    """

    def __init__(self, seed: str, vocabulary: ToyVocabulary = BUILT_IN) -> None:
        self._rng = random.Random(seed)
        self._vocabulary = vocabulary

    def _chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def _pick(self, options: Sequence[T]) -> T:
        return options[int(self._rng.random() * len(options))]

    def _word(self, words: Sequence[T]) -> T:
        """Draw one of the words that fit, by the frequencies of the vocabulary."""
        if not self._vocabulary.exponent:
            return self._pick(words)
        return words[bisect_right(zipf_bounds(len(words), self._vocabulary.exponent), self._rng.random())]

    def sentence(self, clauses: Sequence[int]) -> Sentence:
        """Draw a sentence whose number of clauses is one of ``clauses``. All its clauses have the same tense."""
        past_tense = self._chance(0.5)
        count = self._pick(clauses)
        if self._chance(0.15):
            question = self._clause(past_tense, plain=True)
            others = tuple(self._clause(past_tense) for _ in range(count - 1))
            links = (WHEN, AND, BECAUSE, AND)[: len(others)]
            return Sentence((question, *others), links, question=self._pick(QUESTIONS))
        opening = self._pick(PAST_OPENINGS if past_tense else PRESENT_OPENINGS) if self._chance(0.15) else None
        links = tuple(self._pick(LINKS) for _ in range(count - 1))
        return Sentence(tuple(self._clause(past_tense) for _ in range(count)), links, opening)

    def _clause(self, past_tense: bool, plain: bool = False) -> Clause:
        """Draw a main clause. A ``plain`` one is not negated and contains no that-clause."""
        negated = not plain and self._chance(0.2)
        if self._chance(0.15):
            return self._description(past_tense, negated)
        if not past_tense and not plain and self._chance(0.1):
            verb = self._word(self._vocabulary.content_verbs)
            return Clause(
                self._subject("person", verb, past_tense), verb, content=self._clause(self._chance(0.5), True)
            )
        category = "person" if self._chance(0.8) else "animal"
        verb = self._word(self._vocabulary.verbs_by_subject[category])
        return self._complete(self._subject(category, verb, past_tense), verb, past_tense, negated)

    def _description(self, past_tense: bool, negated: bool) -> Clause:
        """Draw a clause of a noun, or of "he" or "she", with "to be" and an adjective."""
        category = self._pick(("person", "animal", "thing", "opening", "text", "place", "home"))
        pronoun = category == "person" and self._chance(0.4)
        subject = self._pick((HE, SHE)) if pronoun else self._noun_phrase(category, relative=True)
        return Clause(subject, self._word(self._vocabulary.adjectives_by_category[category]), past_tense, negated)

    def _subject(self, category: str, verb: Verb, past_tense: bool) -> NounPhrase | Coordination | Pronoun:
        if category == "person" and self._chance(0.3):
            return self._pick((HE, SHE) if verb.etre and past_tense else (I, WE, HE, SHE))
        if self._chance(0.12):
            return self._coordination(category)
        return self._noun_phrase(category, relative=True)

    def _coordination(self, category: str) -> Coordination:
        first = second = self._noun_phrase(category)
        while first.noun == second.noun:
            second = self._noun_phrase(category)
        return Coordination(first, second)

    def _complete(
        self,
        subject: NounPhrase | Coordination | Pronoun | None,
        verb: Verb,
        past_tense: bool,
        negated: bool = False,
        nested: bool = False,
    ) -> Clause:
        """Draw the complements that the verb requires. A ``nested`` clause has no relative clause itself."""
        first = isinstance(subject, Pronoun) and subject.agreement.first
        direct = self._object(verb, past_tense, negated, first, nested) if verb.objects else None
        recipient = None
        if verb.frame in ("dative", "gift"):
            recipient = self._recipient(first, clitic=not isinstance(direct, Clitic))
        return Clause(subject, verb, past_tense, negated, direct, recipient, self._place(verb))

    def _object(
        self, verb: Verb, past_tense: bool, negated: bool, first: bool, nested: bool
    ) -> NounPhrase | Coordination | Clitic:
        category = self._pick(verb.objects)
        if category in LIVING and self._chance(0.3):
            # In the past tense the participle agrees with the object, so the object must show its gender in English.
            return self._pick((HIM, HER) if past_tense else (HIM, HER, THEM) if first else (HIM, HER, THEM, ME, US))
        if negated:
            return self._noun_phrase(category, counted=False)
        if category not in MASS and self._chance(0.1):
            return self._coordination(category)
        return self._noun_phrase(category, relative=not nested)

    def _recipient(self, first: bool, clitic: bool) -> NounPhrase | Clitic:
        if clitic and self._chance(0.4):
            return self._pick((HIM, HER, THEM) if first else (HIM, HER, THEM, ME, US))
        return self._noun_phrase("person", known=True)

    def _place(self, verb: Verb) -> Place | None:
        if not verb.prepositions or (verb.frame != "place" and self._chance(0.4)):
            return None
        preposition = self._pick(verb.prepositions)
        # "Aller à la cuisine" and "aller à la forêt" are not idiomatic; "aller à l'école" is.
        categories = ("place",) if preposition in (TO, FROM, INTO) else ("place", "home")
        return Place(preposition, self._noun_phrase(self._pick(categories), known=True))

    def _noun_phrase(
        self, category: str, relative: bool = False, known: bool = False, counted: bool = True
    ) -> NounPhrase:
        """Draw a noun phrase.

        Args:
            category: category of the noun.
            relative: whether a relative clause may follow.
            known: whether to exclude determiners that cannot follow à and de, such as "des" and "plusieurs".
            counted: whether "every", "two", "several" and "many" are allowed; under negation they are ambiguous.
        """
        if category == "person" and self._chance(0.12):
            return NounPhrase(self._word(self._vocabulary.nouns["name"]))
        noun = self._word(self._vocabulary.nouns[category])
        determiner, plural = self._determiner(category, known, counted)
        adjectives = self._adjectives(category)
        owner = clause = None
        if determiner is THE and category in ("animal", "thing", "opening", "text") and self._chance(0.15):
            owner = self._noun_phrase("person", known=True)
        elif relative and self._chance(0.25):
            clause = self._relative(category)
        return NounPhrase(noun, determiner, plural, adjectives, owner, clause)

    def _determiner(self, category: str, known: bool, counted: bool) -> tuple[Determiner, bool]:
        """Draw a determiner, and whether the noun is plural."""
        plural = category not in MASS and self._chance(0.3)
        draw = self._rng.random()
        if draw < 0.45:
            return THE, plural
        if draw < 0.65 and not (known and plural):
            return A, plural
        if draw < 0.75 and counted and not known and category not in MASS:
            determiner = self._pick(COUNTING)
            return determiner, determiner.fr_plural != ""
        return self._pick(DEFINITE), plural

    def _adjectives(self, category: str) -> tuple[Adjective, ...]:
        """Draw no adjective, one, or two: one before and one after the French noun."""
        if self._chance(0.6):
            return ()
        adjectives = self._vocabulary.adjectives_by_category[category]
        adjective = self._word(adjectives)
        if adjective.precedes and self._chance(0.25):
            return adjective, self._word([other for other in adjectives if not other.precedes])
        return (adjective,)

    def _relative(self, category: str) -> Clause:
        """Draw a relative clause that lacks its subject (qui) or its object (que)."""
        past_tense = self._chance(0.5)
        if category in LIVING and self._chance(0.5):
            return self._complete(
                None, self._word(self._vocabulary.verbs_by_subject[category]), past_tense, nested=True
            )
        if not (verbs := self._vocabulary.verbs_by_object[category]) or self._chance(0.2):
            return Clause(None, self._word(self._vocabulary.adjectives_by_category[category]), past_tense)
        verb = self._word(verbs)
        subject = self._pick((I, WE, HE, SHE)) if self._chance(0.4) else self._noun_phrase("person")
        first = isinstance(subject, Pronoun) and subject.agreement.first
        recipient = self._recipient(first, clitic=True) if verb.frame == "gift" else None
        return Clause(subject, verb, past_tense, recipient=recipient)


def splits(
    *, seed: int, train: int, validation: int, test: int, test_long: int, vocabulary: ToyVocabulary = BUILT_IN
) -> dict[str, ToySplit]:
    """Generate the corpus and return it by split. No source sentence occurs twice in the whole corpus.

    Training is drawn last. Another size of ``train`` therefore leaves the other splits unchanged, and a smaller
    training split is the beginning of a larger one.

    Args:
        seed: seed of the random sentences.
        train: number of sentence pairs; ``validation``, ``test`` and ``test_long`` likewise.
        vocabulary: words of the sentences.

    Raises:
        UserError: a split would be empty.
    """
    sizes = {"test": test, "validation": validation, "test_long": test_long, "train": train}
    drawn = _draw_splits(seed, vocabulary, **sizes)
    return {name: (list(drawn[name][0]), list(drawn[name][1])) for name in ("train", "validation", "test", "test_long")}


@functools.lru_cache(maxsize=2, typed=True)  # the arms of a sweep share it
def _draw_splits(seed: int, vocabulary: ToyVocabulary, **sizes: int) -> dict[str, ToySplit]:
    """Generate the splits of these sizes, in that order."""
    seen: set[str] = set()
    drawn: dict[str, ToySplit] = {}
    for name, size in sizes.items():
        if size < 1:
            raise UserError(f"The toy corpus needs at least one sentence in each split, but {name} is {size}.")
        lengths, clauses = (LONG, (3, 4, 5)) if name == "test_long" else (SHORT, (1, 2, 3))
        drawn[name] = _draw(SentenceGenerator(f"{seed} {name}", vocabulary), size, lengths, clauses, seen)
    return drawn


def _draw(generator: SentenceGenerator, size: int, lengths: range, clauses: Sequence[int], seen: set[str]) -> ToySplit:
    """Draw sentences of the allowed lengths that are not in ``seen``, and add them to ``seen``."""
    english: list[str] = []
    french: list[str] = []
    while len(english) < size:
        source, target = render(generator.sentence(clauses))
        if source not in seen and len(source.split()) in lengths and len(target.split()) in lengths:
            seen.add(source)
            english.append(source)
            french.append(target)
    return english, french
