"""The toy corpus: counts, lengths, disjointness, and that its French is spelled and inflected as French is."""

from __future__ import annotations

import hashlib
import re
from itertools import combinations

import pytest

from triptych.data import toy
from triptych.data.toy import SentenceGenerator, ToySplit
from triptych.data.toy_grammar import render
from triptych.data.toy_lexicon import NOUNS, VERBS, plural_fr
from triptych.errors import UserError

SIZES = {"train": 20_000, "validation": 500, "test": 500, "test_long": 500}


@pytest.fixture(scope="module")
def corpus() -> dict[str, ToySplit]:
    return toy.splits(seed=1, **SIZES)


@pytest.fixture(scope="module")
def french(corpus: dict[str, ToySplit]) -> list[str]:
    return [line for _, lines in corpus.values() for line in lines]


def test_each_split_has_the_sentences_asked_for(corpus: dict[str, ToySplit]) -> None:
    assert {name: (len(english), len(french)) for name, (english, french) in corpus.items()} == {
        name: (size, size) for name, size in SIZES.items()
    }


def test_no_source_occurs_twice(corpus: dict[str, ToySplit]) -> None:
    sources = {name: set(english) for name, (english, _) in corpus.items()}
    assert {name: len(lines) for name, lines in sources.items()} == SIZES
    for one, other in combinations(sources.values(), 2):
        assert one.isdisjoint(other)


@pytest.mark.parametrize("side", [0, 1])
def test_lengths(corpus: dict[str, ToySplit], side: int) -> None:
    def words(line: str) -> int:
        return len(line.removesuffix(" ?").split())

    lengths = {name: [words(line) for line in pairs[side]] for name, pairs in corpus.items()}
    assert min(lengths["train"]) >= 3
    assert max(lengths["train"]) <= 25
    for name in ("validation", "test"):
        assert max(lengths[name]) <= max(lengths["train"])
        assert sum(15 <= length <= 25 for length in lengths[name]) > SIZES[name] / 4
        assert sum(length < 10 for length in lengths[name]) > SIZES[name] / 4
    assert min(lengths["test_long"]) > max(lengths["train"])


@pytest.mark.parametrize("side", [0, 1])
def test_each_language_has_over_300_word_forms_nearly_all_learnable(corpus: dict[str, ToySplit], side: int) -> None:
    forms = {name: set(re.findall(r"[\w-]+", " ".join(pairs[side]).lower())) for name, pairs in corpus.items()}
    assert len(forms["train"]) > 300
    for name in ("validation", "test", "test_long"):
        assert len(forms[name] - forms["train"]) <= 2


def test_the_same_seed_gives_the_same_bytes_on_every_python() -> None:
    drawn = toy.splits(seed=7, train=300, validation=20, test=20, test_long=20)
    text = "\n".join(line for pairs in drawn.values() for lines in pairs for line in lines)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest == "05ee067009265b8e58efa34f520bbabeddc0f054fbc6ccd1b2f3d7bdb7c80695"


def test_a_smaller_train_changes_nothing_else(corpus: dict[str, ToySplit]) -> None:
    small = toy.splits(seed=1, **{**SIZES, "train": 200})
    assert {name: small[name] for name in small if name != "train"} == {
        name: corpus[name] for name in corpus if name != "train"
    }
    assert small["train"][0] == corpus["train"][0][:200]


def test_another_seed_gives_another_corpus(corpus: dict[str, ToySplit]) -> None:
    other = toy.splits(seed=2, train=200, validation=20, test=20, test_long=20)
    assert other["train"][0] != corpus["train"][0][:200]


def test_a_source_has_one_translation() -> None:
    generator = SentenceGenerator("short sentences, which come up again and again")
    translations: dict[str, set[str]] = {}
    for _ in range(20_000):
        source, target = render(generator.sentence((1,)))
        translations.setdefault(source, set()).add(target)
    assert [found for found in translations.values() if len(found) > 1] == []
    assert len(translations) < 19_800, "too few sentences came up twice for this test to mean anything"


def test_an_empty_split_is_refused() -> None:
    with pytest.raises(UserError, match="test is 0"):
        toy.splits(seed=1, train=10, validation=1, test=0, test_long=1)


VOWEL = "[aeiouyâéèêîôœ]|h(?!éros|ibou|ache)"
FORBIDDEN = {
    "an elision is missing": rf"\b(le|la|de|ne|que|je|me) ({VOWEL})",
    "an elision before a consonant": rf"\b(l|d|n|qu|j|m)'(?!{VOWEL})",
    "a contraction is missing": r"\b(de|à) les?\b",
    "a contraction before a vowel": rf"\b(du|au|ce|ma|sa) ({VOWEL})",
    "a consonant form before a vowel": rf"\b(un|le|ce|mon|son|notre|leur|du|au) (beau|vieux|nouveau) ({VOWEL})",
    "a vowel form before a consonant": rf"\b(cet|bel|vieil|nouvel) (?!{VOWEL})",
    "de with a determiner it excludes": r"\bde (des|un|une|du|plusieurs|beaucoup)\b|\bpas une?\b",
    "a doubled or misplaced blank": r"  | [,.]|\S\?| '|' ",
    "a plural with a singular": r"\b(les|des|mes|ses|nos|ces|deux|plusieurs) (le|la|les|un|une|est|a)\b",
    "ne without pas": r"\b(ne |n')(?!(\S+ ){1,3}?pas\b|\S+ pas\b|\S*'\S+ pas\b)",
}


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_french_spelling_over_the_whole_corpus(french: list[str], rule: str) -> None:
    wrong = [line for line in french if re.search(FORBIDDEN[rule], line, re.IGNORECASE)]
    assert wrong == []


def test_the_forbidden_patterns_find_what_they_forbid() -> None:
    mistakes = {
        "an elision is missing": "Le ami dort.",
        "an elision before a consonant": "L'héros dort.",
        "a contraction is missing": "Il parle à le roi.",
        "a contraction before a vowel": "Il vient du hôtel.",
        "a consonant form before a vowel": "Un vieux homme dort.",
        "a vowel form before a consonant": "Cet roi dort.",
        "de with a determiner it excludes": "Il vient de des parcs.",
        "a doubled or misplaced blank": "Dort-il?",
        "a plural with a singular": "Les le roi dort.",
        "ne without pas": "Il ne dort.",
    }
    assert mistakes.keys() == FORBIDDEN.keys()
    for rule, mistake in mistakes.items():
        assert re.search(FORBIDDEN[rule], mistake, re.IGNORECASE), rule


def test_sentences_begin_with_a_capital_and_end_as_they_should(corpus: dict[str, ToySplit]) -> None:
    for english, french in corpus.values():
        for source, target in zip(english, french, strict=True):
            assert source[0].isupper()
            assert target[0].isupper()
            assert (source[-1], target[-2:]) == ("?", " ?") or (source[-1] == target[-1] == "." and target[-2] != " ")


def test_participles_agree_with_a_plain_subject(french: list[str]) -> None:
    gender = {word.fr: word.feminine for words in NOUNS.values() for word in words}
    participles = "|".join(verb.participle for verb in VERBS if verb.etre)
    found = 0
    for line in french:
        match = re.match(rf"(?:Le |La |Un |Une |L')(\w+) est ({participles})(e?s?)\b", line)
        if match:
            found += 1
            assert match[3] == ("e" if gender[match[1]] else ""), line
        plural = re.match(rf"Les (\w+) sont ({participles})(e?s?)\b", line)
        if plural:
            singular = next(word for word in gender if plural_fr(word) == plural[1])
            assert plural[3] == ("es" if gender[singular] else "s"), line
    assert found > 100
