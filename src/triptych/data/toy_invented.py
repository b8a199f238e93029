"""Two invented languages of the toy corpus: a few rules of word order and case, over made-up words.

They say what the English sentence says, no more and no less, so every sentence has one translation from each of the
three languages into each other. (From French it may have several, because "son" is "his" as well as "her".)

``sov`` has the order subject, place, recipient, object, verb. A word after a phrase says which part of the sentence it
is, as in Japanese. Adjectives stand before their noun.

``ovs`` has the order object, recipient, place, verb, subject. Suffixes of case say it instead, and adjectives, which
stand after their noun, have the same suffixes.
"""

from __future__ import annotations

import random

from triptych.data.toy import (
    HE,
    HER,
    HIM,
    LINKS,
    ME,
    PAST_OPENINGS,
    PRESENT_OPENINGS,
    QUESTIONS,
    SHE,
    THEM,
    US,
    WE,
    I,
)
from triptych.data.toy_grammar import finish, linked
from triptych.data.toy_lexicon import (
    ADJECTIVES,
    AROUND,
    COUNTING,
    DEFINITE,
    FROM,
    INTO,
    NOUNS,
    TO,
    VERBS,
    A,
    Adjective,
    Preposition,
)
from triptych.data.toy_structure import Clause, Clitic, Coordination, NounPhrase, Pronoun, Sentence

PLURAL, PAST, NOT, IS, AND, THAT, WHO = "plural", "past", "not", "is", "and", "that", "who"
"""Endings and words that belong to the grammar."""
SUBJECT, OBJECT, RECIPIENT, PLACE, OWNER, VERB, CONTENT = (
    *("subject", "object", "recipient", "place", "owner", "verb", "content"),
)
"""Parts of a clause, and the owner of a noun. ``CONTENT`` is a that-clause."""

CONTENT_WORDS = (*(noun for words in NOUNS.values() for noun in words), *ADJECTIVES, *VERBS)
FUNCTION_WORDS = (
    *(PLURAL, PAST, NOT, IS, AND, THAT, WHO, OBJECT, RECIPIENT, OWNER),
    *(*AROUND, TO, FROM, INTO),
    *(A, *DEFINITE, *COUNTING),
    *(I, WE, HE, SHE, THEM),
    *(*QUESTIONS, *PRESENT_OPENINGS, *PAST_OPENINGS, *LINKS),
)
SAME_WORD: dict[Pronoun | Clitic, Pronoun | Clitic] = {ME: I, US: WE, HIM: HE, HER: SHE}
"""Pronouns that differ from another one in case alone."""


class InventedLanguage:
    """Write sentences in an invented language.

    Args:
        name: seed of its words.
        consonants: letters of its words; ``vowels`` likewise.
        order: order of the parts of a clause.
        case_suffixes: whether the part of the sentence that a phrase is, is said by suffixes of its nouns and
            adjectives, and adjectives follow their noun. Otherwise a word after the phrase says it.
    """

    def __init__(self, name: str, *, consonants: str, vowels: str, order: tuple[str, ...], case_suffixes: bool) -> None:
        self._order, self._case_suffixes = order, case_suffixes
        self.words = _make_words(name, consonants, vowels)

    def write(self, sentence: Sentence) -> str:
        """Return the line of a sentence. The word of a question stands at the end of its clause."""
        words = [self.words[sentence.opening]] if sentence.opening else []
        for position, (link, clause) in enumerate(linked(sentence)):
            words += [self.words[link]] if position else []
            words += self._clause(clause)
            words += [self.words[sentence.question]] if sentence.question and not position else []
        return finish(words, "?" if sentence.question else ".")

    def _clause(self, clause: Clause) -> list[str]:
        parts = {
            SUBJECT: self._phrase(clause.subject),
            OBJECT: self._phrase(clause.object, OBJECT),
            RECIPIENT: self._phrase(clause.recipient, RECIPIENT),
            PLACE: self._phrase(clause.place.where, clause.place.preposition) if clause.place else [],
            VERB: self._verb(clause),
            CONTENT: [self.words[THAT], *self._clause(clause.content)] if clause.content else [],
        }
        return [word for part in self._order for word in parts[part]]

    def _verb(self, clause: Clause) -> list[str]:
        ending = (self.words[PAST] if clause.past_tense else "") + (self.words[NOT] if clause.negated else "")
        if isinstance(clause.predicate, Adjective):
            return [self.words[clause.predicate], self.words[IS] + ending]
        return [self.words[clause.predicate] + ending]

    def _phrase(
        self, phrase: NounPhrase | Coordination | Pronoun | Clitic | None, case: str | Preposition | None = None
    ) -> list[str]:
        """Return the words of a phrase.

        Args:
            phrase: the phrase, or None for no words.
            case: part of the sentence that it is, or the preposition before it; None for a subject.
        """
        if phrase is None:
            return []
        mark = self.words[case] if case else ""
        suffix, after = (mark, []) if self._case_suffixes else ("", [mark] if mark else [])
        if isinstance(phrase, Coordination):
            first, second = (self._noun_phrase(one, suffix) for one in (phrase.first, phrase.second))
            return [*first, self.words[AND], *second, *after]
        if isinstance(phrase, NounPhrase):
            return [*self._noun_phrase(phrase, suffix), *after]
        return [self.words[SAME_WORD.get(phrase, phrase)] + suffix, *after]

    def _noun_phrase(self, phrase: NounPhrase, suffix: str) -> list[str]:
        number = self.words[PLURAL] if phrase.plural else ""
        noun = self.words[phrase.noun] + number + suffix
        adjectives = [self.words[adjective] for adjective in phrase.adjectives]
        words = [self.words[phrase.determiner]] if phrase.determiner else []
        if self._case_suffixes:
            words += [noun, *(adjective + number + suffix for adjective in adjectives)]
        else:
            words += [*adjectives, noun]
        words += self._phrase(phrase.owner, OWNER)
        return [*words, self.words[WHO], *self._clause(phrase.relative)] if phrase.relative else words


def _make_words(name: str, consonants: str, vowels: str) -> dict[object, str]:
    """Make up a word for all that the toy corpus has words for. Names of people remain.

    Words of content have the form CVCV, the others, which are also endings, CVC: so no two words look the same with
    any endings.
    """
    generator = random.Random(name)
    made: dict[object, str] = {}
    taken: set[str] = set()
    for meanings, form in (
        (CONTENT_WORDS, (consonants, vowels) * 2),
        (FUNCTION_WORDS, (consonants, vowels, consonants)),
    ):
        for meaning in meanings:
            while (word := "".join(letters[int(generator.random() * len(letters))] for letters in form)) in taken:
                pass
            taken.add(word)
            made[meaning] = word
    return made | {noun: noun.en for noun in NOUNS["name"]}


SOV = InventedLanguage(
    "sov",
    consonants="hkmnrsty",
    vowels="aiueo",
    order=(SUBJECT, PLACE, RECIPIENT, OBJECT, CONTENT, VERB),
    case_suffixes=False,
)
OVS = InventedLanguage(
    "ovs",
    consonants="bdfglpvz",
    vowels="aeiou",
    order=(OBJECT, RECIPIENT, PLACE, VERB, SUBJECT, CONTENT),
    case_suffixes=True,
)
