"""The toy corpus in four languages: sentences of the invented ones word by word, and which text is trained."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import pytest
from test_toy_grammar import ANNE, a, adjective, noun, the, verb

from triptych.data.pairs import Section
from triptych.data.toy import AND, HE, HIM, ME, PAST_OPENINGS, QUESTIONS, SHE, I, SentenceGenerator
from triptych.data.toy_grammar import render
from triptych.data.toy_invented import CONTENT_WORDS, FUNCTION_WORDS, OVS, SOV, InventedLanguage
from triptych.data.toy_languages import LANGUAGES, ToyLanguages
from triptych.data.toy_lexicon import IN, Adjective, Determiner, Noun, Preposition, Verb
from triptych.data.toy_structure import Clause, Coordination, NounPhrase, Phrase, Place, Pronoun, Sentence
from triptych.errors import UserError

SIZES: dict[str, Any] = {"train": 60, "validation": 10, "test": 10, "max_length": None, "max_length_ratio": None}
CENTRIC = ["en-sov", "sov-en", "en-ovs", "ovs-en"]


def english(meaning: object) -> str:
    match meaning:
        case Noun() | Adjective() | Preposition() | Phrase() | Pronoun():
            return meaning.en.strip(" ,")
        case Determiner():
            return meaning.en or meaning.en_plural
        case Verb():
            return meaning.base
    return str(meaning).upper()


def gloss(language: InventedLanguage, sentence: Sentence) -> str:
    """A line word by word: the English of each word, and its endings, such as ``king-PLURAL``."""
    meanings = {word: english(meaning) for meaning, word in language.words.items()}
    line = language.write(sentence)
    glosses = []
    for word in line[:-1].split():
        stem = next((name for name in ("Anne", "Paul") if word.startswith(name)), None)
        parts = [*re.findall(r"^...(?=(?:...)*$)|^....|...", word.lower() if stem is None else word[4:].lower())]
        glosses.append("-".join([*([stem] if stem else []), *(meanings[part] for part in parts)]))
    return " ".join(glosses) + line[-1]


KING, QUEEN = the("king", adjectives=(adjective("old"),)), the("queen", adjectives=(adjective("young"),))
GLOSSES = {
    "order, case and adjectives": (
        Clause(KING, verb("see"), object=QUEEN),
        "the old king the young queen OBJECT see.",
        "the queen-OBJECT young-OBJECT see the king old.",
    ),
    "plural, past and negation": (
        Clause(a("king", "old", plural=True), verb("look at"), past_tense=True, negated=True, object=HIM),
        "a old king-PLURAL he OBJECT look-PAST-NOT.",
        "he-OBJECT look-PAST-NOT a king-PLURAL old-PLURAL.",
    ),
    "a recipient": (
        Clause(SHE, verb("give"), object=a("book", plural=True), recipient=ANNE),
        "she Anne RECIPIENT a book-PLURAL OBJECT give.",
        "a book-PLURAL-OBJECT Anne-RECIPIENT give she.",
    ),
    "a place, and an owner": (
        Clause(the("dog", owner=the("king", plural=True)), verb("sleep"), place=Place(IN, the("garden"))),
        "the dog the king-PLURAL OWNER the garden in sleep.",
        "the garden-in sleep the dog the king-PLURAL-OWNER.",
    ),
    "to be, and a coordination": (
        Clause(Coordination(the("king"), the("queen")), adjective("happy"), past_tense=True),
        "the king AND the queen happy IS-PAST.",
        "happy IS-PAST the king AND the queen.",
    ),
    "case of a coordination": (
        Clause(I, verb("see"), object=Coordination(the("king"), the("queen"))),
        "I the king AND the queen OBJECT see.",
        "the king-OBJECT AND the queen-OBJECT see I.",
    ),
    "a relative clause without its subject": (
        Clause(the("dog", relative=Clause(None, verb("see"), object=ME)), verb("sleep")),
        "the dog WHO I OBJECT see sleep.",
        "sleep the dog WHO I-OBJECT see.",
    ),
    "a relative clause without its object": (
        Clause(HE, verb("hear"), object=the("dog", relative=Clause(the("king"), verb("see")))),
        "he the dog WHO the king see OBJECT hear.",
        "the dog-OBJECT WHO see the king hear he.",
    ),
    "a that-clause": (
        Clause(HE, verb("say"), content=Clause(I, verb("sleep"), past_tense=True)),
        "he THAT I sleep-PAST say.",
        "say he THAT sleep-PAST I.",
    ),
}


@pytest.mark.parametrize("name", GLOSSES)
def test_sentences_word_by_word(name: str) -> None:
    clause, sov, ovs = GLOSSES[name]
    assert gloss(SOV, Sentence((clause,))) == sov
    assert gloss(OVS, Sentence((clause,))) == ovs


def test_openings_links_and_questions() -> None:
    sleep = Clause(NounPhrase(noun("Paul")), verb("sleep"))
    told = Sentence((sleep, Clause(I, verb("sing"))), (AND,), opening=PAST_OPENINGS[0])
    assert gloss(SOV, told) == "yesterday Paul sleep and I sing."
    assert gloss(OVS, Sentence((sleep, sleep), (AND,), question=QUESTIONS[1])) == "sleep Paul why and sleep Paul?"


def test_every_word_differs_also_from_those_of_the_other_language() -> None:
    names = {"Paul", "Henri", "Julien", "Anne", "Marie", "Alice"}
    words = [word for language in (SOV, OVS) for word in language.words.values() if word not in names]
    assert len(words) == len(set(words)) == 2 * (len(CONTENT_WORDS) + len(FUNCTION_WORDS) - len(names))


def test_english_and_the_invented_languages_translate_one_to_one() -> None:
    generator = SentenceGenerator("short sentences, which come up again and again")
    drawn = [generator.sentence((1,)) for _ in range(20_000)]
    lines = {name: [write(sentence) for sentence in drawn] for name, write in LANGUAGES.items()}
    meanings = len(set(lines["en"]))
    assert meanings < 19_800, "too few sentences came up twice for this test to mean anything"
    for name in ("sov", "ovs"):
        assert len(set(lines[name])) == len(set(zip(lines["en"], lines[name], strict=True))) == meanings
    assert len(set(zip(lines["sov"], lines["fr"], strict=True))) == meanings
    assert lines["fr"] == [render(sentence)[1] for sentence in drawn]


def corpus(src: str = "sov", tgt: str = "ovs", directions: list[str] | None = CENTRIC, **rest: Any) -> ToyLanguages:
    return ToyLanguages(seed=1, src=src, tgt=tgt, directions=directions, pivot=rest.pop("pivot", None), **SIZES | rest)


def test_each_pair_of_languages_has_sentences_of_its_own_both_ways() -> None:
    found = corpus(pivot="en")
    assert found.languages == ("en", "sov", "ovs")
    assert found.sections["train"] == [Section(tuple(name.split("-")), 60) for name in CENTRIC]
    src, tgt = found.splits["train"]
    assert (src[:60], tgt[:60]) == (tgt[60:120], src[60:120])
    assert (src[120:180], tgt[120:180]) == (tgt[180:], src[180:])
    assert len({*src[:60], *src[120:180]}) > 115, "some short sentences may be in both"


def test_the_test_set_is_new_and_translated_directly_and_through_the_pivot() -> None:
    found = corpus(pivot="en")
    assert found.sections["test.via_en"] == [Section(("sov", "en", "ovs"), 10)]
    assert found.splits["test"] == found.splits["test.via_en"]
    known = {line for split in ("train", "validation") for side in found.splits[split] for line in side}
    assert known.isdisjoint(found.splits["test"].src)
    assert known.isdisjoint(found.splits["test"].tgt)
    assert found.splits["validation"].src[:10] == found.splits["validation"].src[20:30], "the same in all directions"


def test_a_further_direction_changes_no_text_of_the_others() -> None:
    found, supervised = corpus(), corpus(directions=[*CENTRIC, "sov-ovs"])
    assert supervised.splits["test"] == found.splits["test"]
    assert supervised.splits["train"].src[:240] == found.splits["train"].src
    assert supervised.sections["train"][4] == Section(("sov", "ovs"), 60)


def test_the_same_seed_gives_the_same_bytes_on_every_python() -> None:
    text = "\n".join(
        line for pairs in corpus(directions=[*CENTRIC, "en-fr"]).splits.values() for line in [*pairs.src, *pairs.tgt]
    )
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "51f06e67a94e37f5"


def test_one_direction_needs_no_list() -> None:
    assert corpus("fr", "sov", directions=None).sections["train"] == [Section(("fr", "sov"), 60)]


def test_impossible_corpora_are_refused() -> None:
    with pytest.raises(UserError, match="has no language 'de'; choose of en, fr, sov, ovs"):
        corpus("en", "de", directions=None)
    with pytest.raises(UserError, match=r"data\.test=0 must be at least 1"):
        corpus(test=0)
