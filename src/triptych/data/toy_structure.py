"""The structure of a toy sentence, shared by both languages: clauses, noun phrases, pronouns."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.data.toy_lexicon import Adjective, Determiner, Noun, Preposition, Verb


@dataclass(frozen=True)
class Agreement:
    """Person, number and gender that verbs, adjectives and participles take from a subject or a preceding object."""

    first: bool = False
    plural: bool = False
    feminine: bool = False


@dataclass(frozen=True)
class Pronoun:
    """A subject pronoun. "I" and "we" have no known gender, so they never occur with être or an adjective."""

    en: str
    fr: str
    agreement: Agreement


@dataclass(frozen=True)
class Clitic:
    """An object pronoun, which French puts before the verb: ``direct`` (il le voit) or ``dative`` (il lui parle)."""

    en: str
    direct: str
    dative: str
    agreement: Agreement


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its determiner (none for a name), adjectives, owner and relative clause.

    At most one adjective stands on each side of the French noun. The relative clause lacks its subject, or the direct
    object that its verb requires; the noun takes that role.
    """

    noun: Noun
    determiner: Determiner | None = None
    plural: bool = False
    adjectives: tuple[Adjective, ...] = ()
    owner: NounPhrase | None = None
    relative: Clause | None = None


@dataclass(frozen=True)
class Coordination:
    """Two noun phrases joined by "and"; masculine if either of them is."""

    first: NounPhrase
    second: NounPhrase


@dataclass(frozen=True)
class Place:
    """A complement of place."""

    preposition: Preposition
    where: NounPhrase


@dataclass(frozen=True)
class Clause:
    """A subject, a verb or an adjective after "to be", and complements. A relative clause may lack its subject.

    ``wrong_agreement`` is set where a contrastive item has a mistake: the agreement of its French verb.
    """

    subject: NounPhrase | Coordination | Pronoun | None
    predicate: Verb | Adjective
    past_tense: bool = False
    negated: bool = False
    object: NounPhrase | Coordination | Clitic | None = None
    recipient: NounPhrase | Clitic | None = None
    place: Place | None = None
    content: Clause | None = None
    wrong_agreement: Agreement | None = None


@dataclass(frozen=True)
class Phrase:
    """Words without inflection: adverbs, conjunctions, question words."""

    en: str
    fr: str


@dataclass(frozen=True)
class Sentence:
    """One or more clauses, with a link between every two. With ``question``, the first clause is a question."""

    clauses: tuple[Clause, ...]
    links: tuple[Phrase, ...] = ()
    opening: Phrase | None = None
    question: Phrase | None = None


def agreement(subject: NounPhrase | Coordination | Pronoun | Clitic) -> Agreement:
    """Return the agreement that a subject requires of its verb, or an object of the participle after it."""
    if isinstance(subject, Pronoun | Clitic):
        return subject.agreement
    if isinstance(subject, Coordination):
        return Agreement(plural=True, feminine=subject.first.noun.feminine and subject.second.noun.feminine)
    return Agreement(plural=subject.plural, feminine=subject.noun.feminine)
