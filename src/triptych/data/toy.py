"""A built-in English-French corpus, made in seconds from a seed: sentences drawn from a synchronous grammar.

It has what makes translation between the two languages more than a dictionary: agreement across a clause, adjectives
on either side of the noun, ne … pas, clitics before the verb, elision and contraction, questions, relative clauses.
Each source has one translation, and ``test_long`` holds sentences longer than any in training.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from triptych.data.toy_grammar import render
from triptych.data.toy_lexicon import (
    ADJECTIVES,
    COUNTING,
    DEFINITE,
    FROM,
    INTO,
    LIVING,
    MASS,
    NOUNS,
    THE,
    TO,
    VERBS,
    A,
    Adjective,
    Determiner,
    Verb,
)
from triptych.data.toy_structure import Agreement, Both, Clause, Clitic, NounPhrase, Phrase, Place, Pronoun, Sentence
from triptych.errors import UserError

Pairs = tuple[list[str], list[str]]
"""English lines and their French translations, in the same order."""

T = TypeVar("T")

LANGUAGES = ("en", "fr")

SHORT = range(3, 26)
"""Words that a sentence may have, on either side and a lone "?" counted, in training, validation and test."""
LONG = range(27, 46)
"""Likewise in test_long: without its "?", such a sentence is still longer than any in training."""

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
NOW = (Phrase("today ,", "aujourd'hui ,"), Phrase("every day ,", "chaque jour ,"), Phrase("often ,", "souvent ,"))
THEN = (Phrase("yesterday ,", "hier ,"), Phrase("this morning ,", "ce matin ,"))
AND, WHEN, BECAUSE = Phrase(", and", "et"), Phrase("when", "quand"), Phrase("because", "parce que")
LINKS = (AND, Phrase(", but", ", mais"), Phrase(", so", ", donc"), WHEN, BECAUSE)

CONTENT = tuple(verb for verb in VERBS if verb.frame == "content")
BY_SUBJECT = {kind: tuple(v for v in VERBS if kind in v.subjects and v not in CONTENT) for kind in LIVING}
BY_OBJECT = {kind: tuple(v for v in VERBS if kind in v.objects) for kind in NOUNS}
BY_KIND = {kind: tuple(adjective for adjective in ADJECTIVES if kind in adjective.kinds) for kind in NOUNS}


class Speaker:
    """Draws structures that make sense. Of the generator only ``random()`` is used: Python keeps its sequence."""

    def __init__(self, seed: str) -> None:
        self._rng = random.Random(seed)

    def _chance(self, probability: float) -> bool:
        return self._rng.random() < probability

    def _pick(self, options: Sequence[T]) -> T:
        return options[int(self._rng.random() * len(options))]

    def sentence(self, clauses: Sequence[int]) -> Sentence:
        """A sentence of as many clauses as one of the given numbers; they share a tense."""
        past = self._chance(0.5)
        count = self._pick(clauses)
        if self._chance(0.15):
            asked = self._clause(past, plain=True)
            others = tuple(self._clause(past) for _ in range(count - 1))
            links = (WHEN, AND, BECAUSE, AND)[: len(others)]
            return Sentence((asked, *others), links, question=self._pick(QUESTIONS))
        opening = self._pick(THEN if past else NOW) if self._chance(0.15) else None
        links = tuple(self._pick(LINKS) for _ in range(count - 1))
        return Sentence(tuple(self._clause(past) for _ in range(count)), links, opening)

    def _clause(self, past: bool, plain: bool = False) -> Clause:
        """A main clause; a ``plain`` one is not negated and holds no that-clause."""
        negated = not plain and self._chance(0.2)
        if self._chance(0.15):
            return self._description(past, negated)
        if not past and not plain and self._chance(0.1):
            verb = self._pick(CONTENT)
            return Clause(self._subject("person", verb, past), verb, content=self._clause(self._chance(0.5), True))
        kind = "person" if self._chance(0.8) else "animal"
        verb = self._pick(BY_SUBJECT[kind])
        return self._complete(self._subject(kind, verb, past), verb, past, negated)

    def _description(self, past: bool, negated: bool) -> Clause:
        """A noun of any kind, or he or she, and its adjective."""
        kind = self._pick(("person", "animal", "thing", "opening", "text", "place", "home"))
        pronoun = kind == "person" and self._chance(0.4)
        subject = self._pick((HE, SHE)) if pronoun else self._noun_phrase(kind, relative=True)
        return Clause(subject, self._pick(BY_KIND[kind]), past, negated)

    def _subject(self, kind: str, verb: Verb, past: bool) -> NounPhrase | Both | Pronoun:
        if kind == "person" and self._chance(0.3):
            return self._pick((HE, SHE) if verb.etre and past else (I, WE, HE, SHE))
        if self._chance(0.12):
            return self._both(kind)
        return self._noun_phrase(kind, relative=True)

    def _both(self, kind: str) -> Both:
        first = second = self._noun_phrase(kind)
        while first.noun == second.noun:
            second = self._noun_phrase(kind)
        return Both(first, second)

    def _complete(
        self,
        subject: NounPhrase | Both | Pronoun | None,
        verb: Verb,
        past: bool,
        negated: bool = False,
        nested: bool = False,
    ) -> Clause:
        """A clause with the complements that its verb asks for; one ``nested`` in a noun phrase nests no other."""
        first = isinstance(subject, Pronoun) and subject.agreement.first
        direct = self._object(verb, past, negated, first, nested) if verb.objects else None
        recipient = None
        if verb.frame in ("dative", "gift"):
            recipient = self._recipient(first, clitic=not isinstance(direct, Clitic))
        return Clause(subject, verb, past, negated, direct, recipient, self._place(verb))

    def _object(self, verb: Verb, past: bool, negated: bool, first: bool, nested: bool) -> NounPhrase | Both | Clitic:
        kind = self._pick(verb.objects)
        if kind in LIVING and self._chance(0.3):
            # In the past the participle agrees with the object, so its gender must show in English.
            return self._pick((HIM, HER) if past else (HIM, HER, THEM) if first else (HIM, HER, THEM, ME, US))
        if negated:
            return self._noun_phrase(kind, counted=False)
        if kind not in MASS and self._chance(0.1):
            return self._both(kind)
        return self._noun_phrase(kind, relative=not nested)

    def _recipient(self, first: bool, clitic: bool) -> NounPhrase | Clitic:
        if clitic and self._chance(0.4):
            return self._pick((HIM, HER, THEM) if first else (HIM, HER, THEM, ME, US))
        return self._noun_phrase("person", known=True)

    def _place(self, verb: Verb) -> Place | None:
        if not verb.prepositions or (verb.frame != "place" and self._chance(0.4)):
            return None
        preposition = self._pick(verb.prepositions)
        # One goes to a school or comes from it; "aller à la cuisine" or "à la forêt" is nothing one says.
        kinds = ("place",) if preposition in (TO, FROM, INTO) else ("place", "home")
        return Place(preposition, self._noun_phrase(self._pick(kinds), known=True))

    def _noun_phrase(self, kind: str, relative: bool = False, known: bool = False, counted: bool = True) -> NounPhrase:
        """A noun phrase.

        Args:
            kind: of the noun.
            relative: whether a relative clause may follow.
            known: only determiners that à and de can stand before, so no "à des", "de plusieurs".
            counted: whether "every", "two", "several" and "many" are allowed, which a negation would muddle.
        """
        if kind == "person" and self._chance(0.12):
            return NounPhrase(self._pick(NOUNS["name"]))
        noun = self._pick(NOUNS[kind])
        determiner, plural = self._determiner(kind, known, counted)
        adjectives = self._adjectives(kind)
        owner = clause = None
        if determiner is THE and kind in ("animal", "thing", "opening", "text") and self._chance(0.15):
            owner = self._noun_phrase("person", known=True)
        elif relative and self._chance(0.25):
            clause = self._relative(kind)
        return NounPhrase(noun, determiner, plural, adjectives, owner, clause)

    def _determiner(self, kind: str, known: bool, counted: bool) -> tuple[Determiner, bool]:
        """A determiner, and whether the noun is in the plural."""
        plural = kind not in MASS and self._chance(0.3)
        draw = self._rng.random()
        if draw < 0.45:
            return THE, plural
        if draw < 0.65 and not (known and plural):
            return A, plural
        if draw < 0.75 and counted and not known and kind not in MASS:
            determiner = self._pick(COUNTING)
            return determiner, determiner.fr_plural != ""
        return self._pick(DEFINITE), plural

    def _adjectives(self, kind: str) -> tuple[Adjective, ...]:
        """None, one, or one that French puts before the noun and one that it puts after."""
        if self._chance(0.6):
            return ()
        adjective = self._pick(BY_KIND[kind])
        if adjective.precedes and self._chance(0.25):
            return adjective, self._pick([other for other in BY_KIND[kind] if not other.precedes])
        return (adjective,)

    def _relative(self, kind: str) -> Clause:
        """A clause that lacks its subject (qui) or its object (que)."""
        past = self._chance(0.5)
        if kind in LIVING and self._chance(0.5):
            return self._complete(None, self._pick(BY_SUBJECT[kind]), past, nested=True)
        if not BY_OBJECT[kind] or self._chance(0.2):
            return Clause(None, self._pick(BY_KIND[kind]), past)
        verb = self._pick(BY_OBJECT[kind])
        subject = self._pick((I, WE, HE, SHE)) if self._chance(0.4) else self._noun_phrase("person")
        first = isinstance(subject, Pronoun) and subject.agreement.first
        recipient = self._recipient(first, clitic=True) if verb.frame == "gift" else None
        return Clause(subject, verb, past, recipient=recipient)


def splits(*, seed: int, train: int, validation: int, test: int, test_long: int) -> dict[str, Pairs]:
    """The corpus, by split. No source occurs twice, in one split or in two.

    Training is drawn last: a smaller ``train`` leaves the other splits as they were, and is the beginning of a larger.

    Raises:
        UserError: if a split would be empty.
    """
    sizes = {"test": test, "validation": validation, "test_long": test_long, "train": train}
    seen: set[str] = set()
    drawn: dict[str, Pairs] = {}
    for name, size in sizes.items():
        if size < 1:
            raise UserError(f"The toy corpus needs at least one sentence in each split, but {name} is {size}.")
        lengths, clauses = (LONG, (3, 4, 5)) if name == "test_long" else (SHORT, (1, 2, 3))
        drawn[name] = _draw(Speaker(f"{seed} {name}"), size, lengths, clauses, seen)
    return {name: drawn[name] for name in ("train", "validation", "test", "test_long")}


def _draw(speaker: Speaker, size: int, lengths: range, clauses: Sequence[int], seen: set[str]) -> Pairs:
    """Sentences of admitted length, none of them in ``seen``, to which they are added."""
    english: list[str] = []
    french: list[str] = []
    while len(english) < size:
        source, target = render(speaker.sentence(clauses))
        if source not in seen and len(source.split()) in lengths and len(target.split()) in lengths:
            seen.add(source)
            english.append(source)
            french.append(target)
    return english, french
