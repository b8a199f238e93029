"""French translations of a toy sentence with one mistake each: agreement, clitics, adjectives, negation, elision.

A mistake is a change of one part of the sentence's structure, which ``toy_grammar`` then writes as if it were right. So
nothing else changes, and elision and contraction follow the changed words. Elision itself is changed in the words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import TypeVar

from triptych.data.toy_grammar import ELIDED, french_words, phrase_fr, render, spell, write_french
from triptych.data.toy_lexicon import (
    ASPIRATED,
    COUNTING,
    MASS,
    A,
    Adjective,
    Determiner,
    Noun,
    starts_with_vowel,
)
from triptych.data.toy_structure import (
    Clause,
    Clitic,
    Coordination,
    NounPhrase,
    Place,
    Pronoun,
    Sentence,
    agreement,
)

Part = Sentence | Clause | NounPhrase | Coordination | Place | Pronoun | Clitic
"""What a sentence consists of."""
Change = Callable[[Part], Iterator[tuple[str, Part]]]
"""Give changed copies of a part, each with its kind; none for a part that it does not change."""
Mistakes = Callable[[Sentence], Iterator[tuple[str, str]]]
"""Give French translations of a sentence that have one mistake, each with its kind."""

NEAR, FAR = 1, 4
"""Words between a subject's noun and its verb: at most so many, and at least so many."""
HIDDEN = "|"
"""A mark that keeps a word from being elided, or makes it be; it is removed from the finished line."""

P = TypeVar("P", bound=Part)


def parts(part: Part) -> Iterator[Part]:
    """Yield a part of a sentence and everything below it."""
    yield part
    for value in _below(part):
        yield from parts(value)


def changed(part: P, change: Change) -> Iterator[tuple[str, P]]:
    """Yield every copy of a part in which ``change`` has changed one thing, at any depth."""
    yield from change(part)  # type: ignore[misc]
    for field in fields(part):
        value = getattr(part, field.name)
        if isinstance(value, Part):
            for kind, new in changed(value, change):
                yield kind, replace(part, **{field.name: new})  # type: ignore[arg-type]
        elif isinstance(value, tuple):
            for i, each in enumerate(value):
                for kind, new in changed(each, change) if isinstance(each, Part) else ():
                    changed_parts = (*value[:i], new, *value[i + 1 :])
                    yield kind, replace(part, **{field.name: changed_parts})  # type: ignore[arg-type]


def _below(part: Part) -> Iterator[Part]:
    for field in fields(part):
        value = getattr(part, field.name)
        yield from (each for each in (value if isinstance(value, tuple) else (value,)) if isinstance(each, Part))


def words_of(line: str) -> list[str]:
    """Return the words and signs of a line; the apostrophe of an elided word belongs to it."""
    return re.findall(r"[\w-]+'?|[^\w\s]", line)


def number_mistakes(where: str) -> Mistakes:
    """Return mistakes in the number of a verb whose subject is a noun. Their kinds are the subject's number.

    Args:
        where: how far the verb is from the noun, see ``_distance``.
    """

    def change(part: Part) -> Iterator[tuple[str, Part]]:
        if isinstance(part, Clause) and isinstance(part.subject, NounPhrase) and _distance(part.subject) == where:
            subject = agreement(part.subject)
            wrong = replace(subject, plural=not subject.plural)
            yield "plural" if subject.plural else "singular", replace(part, wrong_agreement=wrong)

    return _written(change)


def _distance(subject: NounPhrase) -> str:
    """Return what stands between the noun of a subject and its verb.

    Returns:
        ``attractor``: a noun or a pronoun of the other number. ``near``: at most ``NEAR`` words, and no attractor.
        ``far``: at least ``FAR`` words, and no attractor. ``between``: neither.
    """
    agreeing = (NounPhrase, Coordination, Pronoun, Clitic)
    after = [one for part in _below(subject) for one in parts(part) if isinstance(one, agreeing)]
    if any(agreement(one).plural != subject.plural for one in after):
        return "attractor"
    distance = _words_after_noun(subject)
    return "near" if distance <= NEAR else "far" if distance >= FAR else "between"


def _words_after_noun(subject: NounPhrase) -> int:
    alone = replace(subject, owner=None, relative=None)
    below = len(spell(phrase_fr(subject))) - len(spell(phrase_fr(alone)))
    return below + sum(not adjective.precedes for adjective in subject.adjectives)


def _wrong_gender(part: Part) -> Iterator[tuple[str, Part]]:
    """Change the gender of an adjective after "être", or of a participle with it. Its kind is the subject's gender."""
    if not isinstance(part, Clause) or part.subject is None or agreement(part.subject).first:
        return
    verb = part.predicate
    if isinstance(verb, Adjective) or (verb.etre and part.past_tense):
        subject = agreement(part.subject)
        wrong = replace(subject, feminine=not subject.feminine)
        yield "feminine" if subject.feminine else "masculine", replace(part, wrong_agreement=wrong)


SWAPPED_GENDER = {"le": "la", "la": "le"}
SWAPPED_NUMBER = {"le": "les", "la": "les", "les": "le", "lui": "leur", "leur": "lui"}


def _wrong_clitic(part: Part) -> Iterator[tuple[str, Part]]:
    """Change the case, the gender or the number of a clitic, or put it after its verb."""
    if not isinstance(part, Clause):
        return
    if isinstance(clitic := part.object, Clitic):
        for kind, wrong in (
            ("case", clitic.dative),
            ("gender", SWAPPED_GENDER.get(clitic.direct)),
            ("number", SWAPPED_NUMBER.get(clitic.direct)),
        ):
            if wrong:
                yield kind, replace(part, object=replace(clitic, direct=wrong))
        agrees = part.past_tense and (clitic.agreement.feminine or clitic.agreement.plural)
        if not agrees:  # after the verb, the participle would not agree, a second change
            noun = Noun(clitic.en, clitic.en, clitic.direct, False, "person")
            yield "position", replace(part, object=NounPhrase(noun))
    if isinstance(clitic := part.recipient, Clitic):
        for kind, wrong in (("case", clitic.direct), ("number", SWAPPED_NUMBER.get(clitic.dative))):
            if wrong:
                yield kind, replace(part, recipient=replace(clitic, dative=wrong))


def _wrong_side(part: Part) -> Iterator[tuple[str, Part]]:
    """Put an adjective on the other side of its noun. Its kind says where it belongs."""
    if not isinstance(part, NounPhrase):
        return
    for i, adjective in enumerate(part.adjectives):
        wrong = replace(adjective, precedes=not adjective.precedes)
        kind = "before the noun" if adjective.precedes else "after the noun"
        yield kind, replace(part, adjectives=(*part.adjectives[:i], wrong, *part.adjectives[i + 1 :]))


def _wrong_negation(part: Part) -> Iterator[tuple[str, Part]]:
    """Drop or add ne … pas in a main clause, or keep the article after it, which becomes "de"."""
    if not isinstance(part, Sentence):
        return
    for i, clause in enumerate(part.clauses):
        if clause.content or (i == 0 and part.question):  # which are never negated
            continue
        thing = clause.object
        variable = isinstance(thing, NounPhrase) and thing.determiner in (A, *COUNTING)
        if not variable and not isinstance(thing, Coordination):
            kind = "dropped" if clause.negated else "added"
            yield kind, _with_clause(part, i, replace(clause, negated=not clause.negated))
        elif (
            clause.negated
            and isinstance(thing, NounPhrase)
            and thing.determiner is A
            and thing.noun.category not in MASS
        ):
            kept = replace(thing, determiner=replace(A))  # a copy, which the grammar does not know to become "de"
            yield "article", _with_clause(part, i, replace(clause, object=kept))


def _with_clause(sentence: Sentence, i: int, clause: Clause) -> Sentence:
    return replace(sentence, clauses=(*sentence.clauses[:i], clause, *sentence.clauses[i + 1 :]))


def _wrong_form(part: Part) -> Iterator[tuple[str, Part]]:
    """Give a determiner or an adjective its form before a vowel where it stands before a consonant, or the reverse."""
    if not isinstance(part, NounPhrase) or part.plural:
        return
    if (word := part.determiner) is not None and word is not A:
        yield "form", replace(part, determiner=_swapped_forms(word))
    for i, adjective in enumerate(part.adjectives):
        wrong = replace(adjective, masculine=adjective.before_vowel, before_vowel=adjective.masculine)
        yield "form", replace(part, adjectives=(*part.adjectives[:i], wrong, *part.adjectives[i + 1 :]))


def _swapped_forms(word: Determiner) -> Determiner:
    return replace(
        word,
        masculine=word.masculine_vowel,
        masculine_vowel=word.masculine,
        feminine=word.feminine_vowel,
        feminine_vowel=word.feminine,
    )


def _wrong_elision(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Leave out an elision, or elide before an h that forbids it."""
    words = french_words(sentence)
    for i, (word, after) in enumerate(pairwise(words)):
        if word not in ELIDED:
            continue
        contracts = word == "le" and i > 0 and words[i - 1] in ("de", "à")
        if starts_with_vowel(after):
            yield "missing", _unmarked([*words[:i], word + HIDDEN, *words[i + 1 :]], sentence)
        elif after.startswith(ASPIRATED) and not contracts:
            yield "undue", _unmarked([*words[: i + 1], f"a{HIDDEN}{after}", *words[i + 2 :]], sentence)


def _unmarked(words: list[str], sentence: Sentence) -> str:
    line = write_french(words, sentence)
    return line.replace(f"'a{HIDDEN}", "'").replace(HIDDEN, "")


def elision_mistakes(sentence: Sentence) -> Iterator[tuple[str, str]]:
    """Yield mistakes in elision, and in forms such as "cet" and "bel" that depend on the next sound as it does."""
    yield from _wrong_elision(sentence)
    yield from _written(_wrong_form)(sentence)


def _written(change: Change, *, same_words: tuple[str, ...] = ()) -> Mistakes:
    """Return the mistakes that a change of the structure makes.

    Args:
        change: what changes a part.
        same_words: kinds whose mistakes must have the words of the right translation, in another order.
    """

    def mistakes(sentence: Sentence) -> Iterator[tuple[str, str]]:
        right = Counter(words_of(render(sentence)[1].lower()))
        for kind, wrong in changed(sentence, change):
            line = write_french(french_words(wrong), wrong)
            if kind not in same_words or Counter(words_of(line.lower())) == right:
                yield kind, line

    return mistakes


gender_mistakes = _written(_wrong_gender)
clitic_mistakes = _written(_wrong_clitic, same_words=("position",))
adjective_mistakes = _written(_wrong_side, same_words=("before the noun", "after the noun"))
negation_mistakes = _written(_wrong_negation)
