"""What a sentence of the toy corpus says, before either language has put it into words."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.data.toy_lexicon import Adjective, Determiner, Noun, Preposition, Verb


@dataclass(frozen=True)
class Agreement:
    """What a subject, or a preceding object, imposes on verbs, adjectives and participles."""

    first: bool = False
    plural: bool = False
    feminine: bool = False


@dataclass(frozen=True)
class Pronoun:
    """A subject pronoun. The gender of "I" and "we" is unknown, so they never meet être or an adjective."""

    en: str
    fr: str
    agreement: Agreement


@dataclass(frozen=True)
class Clitic:
    """An object pronoun: French puts it before the verb, ``direct`` (il le voit) or ``dative`` (il lui parle)."""

    en: str
    direct: str
    dative: str
    agreement: Agreement


@dataclass(frozen=True)
class NounPhrase:
    """A determiner (none for a name), at most one adjective on each side, an owner, a relative clause.

    The relative clause lacks its subject, or the direct object that its verb asks for: that is where the noun belongs.
    """

    noun: Noun
    determiner: Determiner | None = None
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    owner: NounPhrase | None = None
    relative: Clause | None = None


@dataclass(frozen=True)
class Both:
    """Two noun phrases joined by "and"; masculine as soon as one of them is."""

    first: NounPhrase
    second: NounPhrase


@dataclass(frozen=True)
class Place:
    preposition: Preposition
    where: NounPhrase


@dataclass(frozen=True)
class Clause:
    """A subject (none in a relative clause about it), a verb or the adjective of a copula, and complements."""

    subject: NounPhrase | Both | Pronoun | None
    predicate: Verb | Adjective
    past: bool = False
    negated: bool = False
    object: NounPhrase | Both | Clitic | None = None
    recipient: NounPhrase | Clitic | None = None
    place: Place | None = None
    content: Clause | None = None


@dataclass(frozen=True)
class Phrase:
    """Words that no inflection touches: adverbs, conjunctions, question words."""

    en: str
    fr: str


@dataclass(frozen=True)
class Sentence:
    """Clauses joined by one link fewer. With ``question``, the first clause asks."""

    clauses: tuple[Clause, ...]
    links: tuple[Phrase, ...] = ()
    opening: Phrase | None = None
    question: Phrase | None = None


def agreement(subject: NounPhrase | Both | Pronoun | Clitic) -> Agreement:
    """What a subject imposes on its verb, or an object on the participle after it."""
    if isinstance(subject, Pronoun | Clitic):
        return subject.agreement
    if isinstance(subject, Both):
        return Agreement(plural=True, feminine=subject.first.noun.feminine and subject.second.noun.feminine)
    return Agreement(plural=subject.plural, feminine=subject.noun.feminine)
