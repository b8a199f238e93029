"""Contrastive suites of the toy corpus: one phenomenon each, and pairs of sentences that differ in word order alone.

In the pairs of ``word_order`` two phrases, or their adjectives, are exchanged, so that both sources consist of the same
words. The right translation of the one is the wrong translation of the other. A model that does not see the order of
its source finds the same translation likelier for both, and so solves exactly half of the items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from random import Random

from triptych.data import toy_mistakes
from triptych.data.contrast import ContrastiveItem
from triptych.data.toy import SHORT, SentenceGenerator
from triptych.data.toy_grammar import render
from triptych.data.toy_lexicon import COUNTING, A, Verb
from triptych.data.toy_mistakes import Mistakes, Part, changed, number_mistakes, words_of
from triptych.data.toy_structure import Clause, NounPhrase, Sentence
from triptych.data.toy_vocabulary import BUILT_IN, ToyVocabulary

Contrasts = Callable[[Sentence], Iterator[list[ContrastiveItem]]]
"""Give the items that can be made of a sentence; items that belong together are in one list."""

NUMBERS, GENDERS = ("singular", "plural"), ("masculine", "feminine")


def with_mistakes(mistakes: Mistakes) -> Contrasts:
    """Return the items that contrast a sentence's translation with those that have a mistake."""

    def contrasts(sentence: Sentence) -> Iterator[list[ContrastiveItem]]:
        source, right = render(sentence)
        for kind, wrong in mistakes(sentence):
            if wrong != right:
                yield [ContrastiveItem(kind, source, right, wrong)]

    return contrasts


def order_pairs(sentence: Sentence) -> Iterator[list[ContrastiveItem]]:
    """Yield pairs of items whose sources have the same words in another order, each with the other's translation."""
    source, right = render(sentence)
    for kind, other in changed(sentence, _exchanged):
        other_source, other_right = render(other)
        same_words = Counter(words_of(source)) == Counter(words_of(other_source))  # the capital counts
        if same_words and source != other_source and right != other_right:
            yield [
                ContrastiveItem(kind, source, right, other_right),
                ContrastiveItem(kind, other_source, other_right, right),
            ]


def _exchanged(part: Part) -> Iterator[tuple[str, Part]]:
    """Exchange the subject of a clause with its object or its recipient, or only their adjectives."""
    if not isinstance(part, Clause) or not isinstance(part.subject, NounPhrase) or not isinstance(part.predicate, Verb):
        return
    subject, verb, thing, recipient = part.subject, part.predicate, part.object, part.recipient
    if isinstance(thing, NounPhrase):
        if not part.negated and _category(subject) in verb.objects and _category(thing) in verb.subjects:
            yield "roles", replace(part, subject=thing, object=subject)
        if adjectives := _exchanged_adjectives(subject, thing):
            yield "adjectives", replace(part, subject=adjectives[0], object=adjectives[1])
    if isinstance(recipient, NounPhrase):
        counted = subject.determiner in COUNTING or (subject.determiner is A and subject.plural)
        if _category(subject) == "person" and not counted and not subject.relative:
            yield "roles", replace(part, subject=recipient, recipient=subject)
        if adjectives := _exchanged_adjectives(subject, recipient):
            yield "adjectives", replace(part, subject=adjectives[0], recipient=adjectives[1])


def _category(phrase: NounPhrase) -> str:
    return "person" if phrase.noun.category == "name" else phrase.noun.category


def _exchanged_adjectives(one: NounPhrase, other: NounPhrase) -> tuple[NounPhrase, NounPhrase] | None:
    """Return two phrases with each other's adjective; None if one has not got exactly one, or they do not fit."""
    if len(one.adjectives) != 1 or len(other.adjectives) != 1:
        return None
    fits = all(
        phrase.noun.category in adjective.categories
        for phrase, adjective in ((one, other.adjectives[0]), (other, one.adjectives[0]))
    )
    return (replace(one, adjectives=other.adjectives), replace(other, adjectives=one.adjectives)) if fits else None


SUITES: dict[str, tuple[Contrasts, Sequence[str]]] = {
    "agreement_near": (with_mistakes(number_mistakes("near")), NUMBERS),
    "agreement_far": (with_mistakes(number_mistakes("far")), NUMBERS),
    "agreement_attractor": (with_mistakes(number_mistakes("attractor")), NUMBERS),
    "agreement_gender": (with_mistakes(toy_mistakes.gender_mistakes), GENDERS),
    "clitics": (with_mistakes(toy_mistakes.clitic_mistakes), ("case", "gender", "number", "position")),
    "adjective_order": (with_mistakes(toy_mistakes.adjective_mistakes), ("before the noun", "after the noun")),
    "negation": (with_mistakes(toy_mistakes.negation_mistakes), ("dropped", "added", "article")),
    "elision": (with_mistakes(toy_mistakes.elision_mistakes), ("missing", "undue", "form")),
    "word_order": (order_pairs, ("roles", "adjectives")),
}
"""The suites, with the kinds of their items. Each kind has its turn, so all are equally frequent."""


def suites(
    *, seed: int, items: int, known: Collection[str], vocabulary: ToyVocabulary = BUILT_IN
) -> dict[str, list[ContrastiveItem]]:
    """Make the suites of the toy corpus. No line of an item occurs in another item outside its pair.

    Args:
        seed: seed of the corpus.
        items: number of items in each suite.
        known: lines that no item may have on either side: the text of the corpus.
        vocabulary: words of the items.

    Returns:
        The items of each suite, by its name.
    """
    taken = {*known}
    found = {}
    for name, (contrasts, kinds_in_turn) in SUITES.items():
        generator = SentenceGenerator(f"{seed} {name}", vocabulary)
        found[name] = _draw(generator, Random(f"{seed} {name} choice"), contrasts, kinds_in_turn, items, taken)
    return found


def _draw(
    generator: SentenceGenerator,
    choice: Random,
    contrasts: Contrasts,
    kinds_in_turn: Sequence[str],
    items: int,
    taken: set[str],
) -> list[ContrastiveItem]:
    """Draw items whose lines are not in ``taken``, and add their lines to it."""
    found: list[ContrastiveItem] = []
    turn = 0
    while len(found) < items:
        kind = kinds_in_turn[turn % len(kinds_in_turn)]
        options = [one for one in contrasts(generator.sentence((1, 2))) if one[0].kind == kind and _usable(one, taken)]
        if options:
            chosen = options[int(choice.random() * len(options))]
            found += chosen
            taken |= {line for item in chosen for line in (item.source, item.right, item.wrong)}
            turn += 1
    return found[:items]


def _usable(together: Sequence[ContrastiveItem], taken: Collection[str]) -> bool:
    """Whether all lines are new and as long as those of training."""
    lines = [line for item in together for line in (item.source, item.right, item.wrong)]
    return not any(line in taken for line in lines) and all(len(line.split()) in SHORT for line in lines)
