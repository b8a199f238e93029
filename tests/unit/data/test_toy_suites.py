"""The contrastive suites of the toy corpus: against mistakes written by hand, and over all items of a corpus."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_toy import FORBIDDEN
from test_toy_grammar import a, adjective, noun, the, verb

from triptych.data.contrast import ContrastiveItem, items_digest
from triptych.data.corpus import Corpus, Pairs, ToyCorpus
from triptych.data.tokenizer import SentencePieceTrainer
from triptych.data.toy import HE, HER, HIM, ME, SHE, THEM, WE, I
from triptych.data.toy_grammar import AVOIR, ETRE, render
from triptych.data.toy_lexicon import ADJECTIVES, HIS, MY, THIS, VERBS, A, plural_fr
from triptych.data.toy_mistakes import (
    Mistakes,
    adjective_mistakes,
    clitic_mistakes,
    elision_mistakes,
    gender_mistakes,
    negation_mistakes,
    number_mistakes,
    words_of,
)
from triptych.data.toy_structure import Clause, NounPhrase, Sentence
from triptych.data.toy_suites import SUITES, order_pairs
from triptych.errors import UserError

ITEMS = 48
SIZES = {"train": 3000, "validation": 50, "test": 50, "test_long": 20}
LIMITS = {"max_length": None, "max_length_ratio": None}
Suites = dict[str, list[ContrastiveItem]]


@pytest.fixture(scope="module")
def corpus() -> ToyCorpus:
    return ToyCorpus(seed=1, **SIZES, **LIMITS)


@pytest.fixture(scope="module")
def suites(corpus: ToyCorpus) -> Suites:
    return corpus.suites(ITEMS)


def found(mistakes: Mistakes, clause: Clause) -> dict[str, set[str]]:
    """The mistakes in a clause, by their kind."""
    right, lines = render(Sentence((clause,)))[1], {}
    for kind, line in mistakes(Sentence((clause,))):
        if line != right:
            lines.setdefault(kind, set()).add(line)
    return lines


NEAR, FAR, ATTRACTOR = (number_mistakes(where) for where in ("near", "far", "attractor"))
SEEN_BY_US = Clause(WE, verb("see"))
KEY_OF_KINGS = Clause(the("key", owner=the("king", plural=True)), adjective("old"))
CLAUSES: dict[str, tuple[Mistakes, Clause, dict[str, set[str]]]] = {
    "a verb that follows its noun": (
        NEAR,
        Clause(the("king", plural=True), verb("see"), past_tense=True, object=HIM),
        {"plural": {"Les rois l'a vu."}},
    ),
    "to be, whose adjective agrees as well": (
        NEAR,
        Clause(the("queen"), adjective("happy")),
        {"singular": {"La reine sont heureuses."}},
    ),
    "an owner of the other number": (ATTRACTOR, KEY_OF_KINGS, {"singular": {"La clé des rois sont vieilles."}}),
    "such an owner is not near": (NEAR, KEY_OF_KINGS, {}),
    "we see: a pronoun of the other number": (
        ATTRACTOR,
        Clause(the("dog", relative=SEEN_BY_US), verb("sleep")),
        {"singular": {"Le chien que nous voyons dorment."}},
    ),
    "four words of the same number": (
        FAR,
        Clause(the("dog", relative=Clause(None, verb("look at"), object=the("cat"))), verb("sleep")),
        {"singular": {"Le chien qui regarde le chat dorment."}},
    ),
    "gender of a participle": (
        gender_mistakes,
        Clause(the("queen", plural=True), verb("arrive"), past_tense=True),
        {"feminine": {"Les reines sont arrivés."}},
    ),
    "gender of an adjective": (gender_mistakes, Clause(HE, adjective("happy")), {"masculine": {"Il est heureuse."}}),
    "an adjective with one form": (gender_mistakes, Clause(HE, adjective("sad")), {}),
    "a direct clitic": (
        clitic_mistakes,
        Clause(SHE, verb("see"), object=HIM),
        {
            "case": {"Elle lui voit."},
            "gender": {"Elle la voit."},
            "number": {"Elle les voit."},
            "position": {"Elle voit le."},
        },
    ),
    "an elided clitic, which keeps its participle": (
        clitic_mistakes,
        Clause(HE, verb("hear"), past_tense=True, negated=True, object=HER),
        {"case": {"Il ne lui a pas entendue."}, "number": {"Il ne les a pas entendue."}},
    ),
    "a dative clitic": (
        clitic_mistakes,
        Clause(SHE, verb("talk to"), recipient=THEM),
        {"case": {"Elle les parle."}, "number": {"Elle lui parle."}},
    ),
    "me has one case": (clitic_mistakes, Clause(HE, verb("see"), object=ME), {"position": {"Il voit me."}}),
    "adjectives on either side": (
        adjective_mistakes,
        Clause(I, verb("see"), object=a("car", "small", "red")),
        {
            "before the noun": {"Je vois une voiture rouge petite."},
            "after the noun": {"Je vois une petite rouge voiture."},
        },
    ),
    "an adjective that would change its form": (adjective_mistakes, Clause(I, verb("see"), object=a("man", "old")), {}),
    "a negation": (
        negation_mistakes,
        Clause(I, verb("love"), negated=True, object=the("king")),
        {"dropped": {"J'aime le roi."}},
    ),
    "no negation": (negation_mistakes, Clause(HE, verb("sing"), past_tense=True), {"added": {"Il n'a pas chanté."}}),
    "pas de": (
        negation_mistakes,
        Clause(I, verb("see"), negated=True, object=a("bear", plural=True)),
        {"article": {"Je ne vois pas des ours."}},
    ),
    "an article that a negation would change": (negation_mistakes, Clause(I, verb("see"), object=a("bear")), {}),
    "two elisions": (
        elision_mistakes,
        Clause(I, verb("love"), object=the("man")),
        {"missing": {"Je aime l'homme.", "J'aime le homme."}},
    ),
    "de l'": (
        elision_mistakes,
        Clause(HE, verb("eat"), object=a("garlic")),
        {"missing": {"Il mange de le ail."}},
    ),
    "an h that forbids elision": (
        elision_mistakes,
        Clause(the("hero"), verb("sleep"), negated=True),
        {"undue": {"L'héros ne dort pas."}},
    ),
    "forms before a vowel and before a consonant": (
        elision_mistakes,
        Clause(
            NounPhrase(noun("man"), THIS, adjectives=(adjective("old"),)),
            verb("see"),
            object=NounPhrase(noun("actress"), MY),
        ),
        {
            "form": {
                "Cet vieil homme voit mon actrice.",
                "Ce vieux homme voit mon actrice.",
                "Ce vieil homme voit ma actrice.",
            }
        },
    ),
}


@pytest.mark.parametrize("name", CLAUSES)
def test_mistakes_read_as_written_by_hand(name: str) -> None:
    mistakes, clause, expected = CLAUSES[name]
    assert found(mistakes, clause) == expected


def test_a_mistake_is_found_in_any_clause_and_no_further_words_change() -> None:
    dogs = the("dog", plural=True, relative=Clause(the("king"), verb("see"), past_tense=True))
    sentence = Sentence((Clause(dogs, verb("sleep"), negated=True),))
    assert render(sentence)[1] == "Les chiens que le roi a vus ne dorment pas."
    assert [*NEAR(sentence)] == [("singular", "Les chiens que le roi ont vus ne dorment pas.")]
    assert [*ATTRACTOR(sentence)] == [("plural", "Les chiens que le roi a vus ne dort pas.")]


def pairs(clause: Clause) -> list[tuple[str, str, str]]:
    return [(first.kind, first.source, first.wrong) for first, _ in order_pairs(Sentence((clause,)))]


def test_phrases_are_exchanged_where_the_words_stay_the_same() -> None:
    king, queen = the("king", adjectives=(adjective("old"),)), the("queen", adjectives=(adjective("young"),))
    source = "The old king sees the young queen."
    assert pairs(Clause(king, verb("see"), object=queen)) == [
        ("roles", source, "La jeune reine voit le vieux roi."),
        ("adjectives", source, "Le jeune roi voit la vieille reine."),
    ]
    assert pairs(Clause(the("king"), verb("talk to"), recipient=the("queen"))) == [
        ("roles", "The king talks to the queen.", "La reine parle au roi.")
    ]
    assert pairs(Clause(the("king"), verb("see"), object=the("queen", plural=True))) == [], "see or sees"
    assert pairs(Clause(the("king"), verb("see"), object=NounPhrase(noun("queen"), A))) == [], "The or the"
    assert pairs(Clause(the("king"), verb("open"), object=the("door"))) == [], "no door opens a king"


def test_sizes_kinds_and_names(suites: Suites) -> None:
    assert list(suites) == list(SUITES)
    for name, items in suites.items():
        kinds = SUITES[name][1]
        together = 2 if name == "word_order" else 1
        counts = Counter(item.kind for item in items)
        assert len(items) == ITEMS
        assert set(counts) == {*kinds}
        assert max(counts.values()) - min(counts.values()) <= together


def test_the_same_arguments_give_the_same_items(corpus: ToyCorpus, suites: Suites) -> None:
    assert corpus.suites(ITEMS) == suites
    digest = items_digest([item for items in suites.values() for item in items])
    assert digest == "22c0a5bcd4c56324"


def test_no_line_occurs_in_the_corpus_or_twice(corpus: ToyCorpus, suites: Suites) -> None:
    corpus_lines = {line for split in corpus.splits.values() for side in split for line in side}
    sources = [item.source for items in suites.values() for item in items]
    assert len(set(sources)) == len(sources)
    targets = [line for name, items in suites.items() for item in items for line in targets_of(name, item)]
    assert len(set(targets)) == len(targets)
    assert corpus_lines.isdisjoint(sources)
    assert corpus_lines.isdisjoint(targets)
    assert corpus_lines.isdisjoint(item.wrong for item in suites["word_order"])


def targets_of(name: str, item: ContrastiveItem) -> list[str]:
    """Both translations; in pairs, the wrong one is the other item's right one."""
    return [item.right] if name == "word_order" else [item.right, item.wrong]


def test_right_translations_are_french_of_the_length_of_training(suites: Suites) -> None:
    for items in suites.values():
        for item in items:
            assert not [rule for rule, pattern in FORBIDDEN.items() if re.search(pattern, item.right, re.IGNORECASE)]
            for line in (item.source, item.right, item.wrong):
                assert 3 <= len(line.split()) <= 25
                assert line[0].isupper()
                assert "|" not in line


FULL = {"n'": "ne", "j'": "je", "m'": "me", "qu'": "que"}


def changes(item: ContrastiveItem) -> Iterator[tuple[str, str]]:
    """The words that differ, one by one; both sides must have the same number."""
    yield from ((ours, theirs) for ours, theirs in zip(*both(item), strict=True) if ours != theirs)


def both(item: ContrastiveItem) -> tuple[list[str], list[str]]:
    right, wrong = ([FULL.get(word, word) for word in words_of(line.lower())] for line in (item.right, item.wrong))
    return right, wrong


def both_ways(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return pairs | {(second, first) for first, second in pairs}


FORMS = {form for one in ADJECTIVES for form in (one.masculine, one.feminine)}
FORMS |= {verb.participle + ending for verb in VERBS if verb.etre for ending in ("", "e")}
NUMBERS = {(verb.present[1], verb.present[3]) for verb in VERBS} | {(form, plural_fr(form)) for form in FORMS}
NUMBERS = both_ways(NUMBERS | {(AVOIR[1], AVOIR[3]), (ETRE[1], ETRE[3]), ("était", "étaient")})
GENDERS = {(one.masculine, one.feminine) for one in ADJECTIVES}
GENDERS |= {(verb.participle, verb.participle + "e") for verb in VERBS if verb.etre}
GENDERS = both_ways(GENDERS | {(plural_fr(one), plural_fr(other)) for one, other in GENDERS})
CLITICS = {"le", "la", "l'", "les", "lui", "leur"}
FORMS_BY_SOUND = {(one.masculine, one.before_vowel) for one in ADJECTIVES}
for word in (THIS, MY, HIS):
    FORMS_BY_SOUND |= {(word.masculine, word.masculine_vowel), (word.feminine, word.feminine_vowel)}
FORMS_BY_SOUND = both_ways(FORMS_BY_SOUND)


@pytest.mark.parametrize("name", ["agreement_near", "agreement_far", "agreement_attractor"])
def test_wrong_number_changes_one_verb_and_what_agrees_with_it(suites: Suites, name: str) -> None:
    for item in suites[name]:
        found = [*changes(item)]
        assert 1 <= len(found) <= 2
        assert set(found) <= NUMBERS, item


def test_wrong_gender_changes_one_word(suites: Suites) -> None:
    for item in suites["agreement_gender"]:
        (pair,) = changes(item)
        assert pair in GENDERS, item


def test_wrong_clitics_change_one_pronoun_or_its_place(suites: Suites) -> None:
    for item in suites["clitics"]:
        if item.kind == "position":
            assert Counter(both(item)[0]) == Counter(both(item)[1])
        else:
            (pair,) = changes(item)
            assert set(pair) <= CLITICS, item


def test_wrong_adjective_order_changes_no_word(suites: Suites) -> None:
    for item in suites["adjective_order"]:
        right, wrong = both(item)
        assert right != wrong
        assert Counter(right) == Counter(wrong)


def test_wrong_negation_has_or_lacks_ne_and_pas(suites: Suites) -> None:
    for item in suites["negation"]:
        right, wrong = map(Counter, both(item))
        if item.kind == "article":
            (pair,) = changes(item)
            assert pair[0] in ("de", "d'")
            assert pair[1] in ("un", "une", "des")
        else:
            more, fewer = (right, wrong) if item.kind == "dropped" else (wrong, right)
            assert more - fewer == Counter(("ne", "pas"))
            assert not fewer - more


def test_wrong_elision_is_misspelled_in_one_place(suites: Suites) -> None:
    for item in suites["elision"]:
        right, wrong = (words_of(line) for line in (item.right, item.wrong))
        ((ours, theirs),) = ((ours, theirs) for ours, theirs in zip(right, wrong, strict=True) if ours != theirs)
        if item.kind == "form":
            assert (ours.lower(), theirs.lower()) in FORMS_BY_SOUND, item
        else:
            assert [rule for rule, pattern in FORBIDDEN.items() if re.search(pattern, item.wrong, re.IGNORECASE)], item
            assert (ours if item.kind == "missing" else theirs)[-1] == "'"


def test_pairs_of_order_have_the_same_pieces_and_each_others_translation(
    corpus: ToyCorpus, suites: Suites, tmp_path: Path
) -> None:
    trainer = SentencePieceTrainer(algorithm="bpe", joint=True, byte_fallback=False, train_lines=None, vocab_size=1400)
    tokenizer = trainer.fit(corpus, tmp_path)
    items = suites["word_order"]
    for first, second in zip(items[::2], items[1::2], strict=True):
        assert (first.right, first.wrong) == (second.wrong, second.right)
        one, other = tokenizer.encode([first.source, second.source], "src")
        assert one != other
        assert Counter(one) == Counter(other), "a model without order could tell them apart"


def test_only_corpora_with_suites_have_some(tmp_path: Path) -> None:
    splits = {name: Pairs(["a"], ["b"]) for name in ("train", "validation", "test")}
    assert Corpus("mine", ("en", "fr"), splits).suites(3) == {}
    with pytest.raises(UserError, match="named suites, which stands for its suites"):
        Corpus("mine", ("en", "fr"), {**splits, "suites": Pairs(["a"], ["b"])})
