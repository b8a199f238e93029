"""The built-in corpus with made-up words: their forms and their frequencies."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from itertools import chain

import numpy as np
import pytest
from test_toy import FORBIDDEN

from triptych.data import toy
from triptych.data.corpus import ToyZipfCorpus
from triptych.data.toy_lexicon import Adjective, Noun, Verb, starts_with_vowel
from triptych.data.toy_made_up import english_forms, french_forms, zipf_vocabulary
from triptych.data.toy_vocabulary import BUILT_IN, ToyVocabulary, zipf_bounds
from triptych.errors import UserError
from triptych.evaluation.word_recall import training_counts

SIZES = {"train": 20_000, "validation": 200, "test": 200, "test_long": 20}
LIMITS = {"max_length": None, "max_length_ratio": None, "join": None}


@pytest.fixture(scope="module")
def vocabulary() -> ToyVocabulary:
    return zipf_vocabulary(seed=1, stems=5000, exponent=1.0)


@pytest.fixture(scope="module")
def corpus() -> ToyZipfCorpus:
    return ToyZipfCorpus(seed=1, stems=5000, exponent=1.0, **SIZES, **LIMITS)


def made_up(vocabulary: ToyVocabulary) -> list[Noun | Adjective | Verb]:
    words = chain(*vocabulary.nouns.values(), vocabulary.adjectives, vocabulary.verbs)
    known = {*chain(*BUILT_IN.nouns.values()), *BUILT_IN.adjectives, *BUILT_IN.verbs}
    return [word for word in words if word not in known]


def test_there_are_as_many_stems_as_asked_for_and_the_built_in_ones_come_first(vocabulary: ToyVocabulary) -> None:
    names = len(vocabulary.nouns["name"])
    nouns = sum(map(len, vocabulary.nouns.values())) - names
    assert nouns + len(vocabulary.adjectives) + len(vocabulary.verbs) == pytest.approx(5000, abs=10)
    for category, words in BUILT_IN.nouns.items():
        assert vocabulary.nouns[category][: len(words)] == words
    assert vocabulary.adjectives[: len(BUILT_IN.adjectives)] == BUILT_IN.adjectives
    assert names == 6


def test_no_form_belongs_to_two_words(vocabulary: ToyVocabulary) -> None:
    plain = toy.splits(seed=1, train=2000, validation=1, test=1, test_long=1)["train"]
    for side, forms in enumerate((english_forms, french_forms)):
        counts = Counter(form for word in made_up(vocabulary) for form in forms(word))
        assert counts.most_common(1)[0][1] == 1
        assert counts.keys().isdisjoint(re.findall(r"[\w-]+", " ".join(plain[side]).lower()))


def test_words_sound_as_their_language_does_and_cognates_share_their_beginning(vocabulary: ToyVocabulary) -> None:
    words = made_up(vocabulary)
    french = [form for word in words for form in french_forms(word)]
    assert not [form for form in french if re.search(r"[kw]|th|sh|^h|[^a-zéïèêâô]", form)]
    assert 0.05 < sum(map(starts_with_vowel, french)) / len(french) < 0.3
    nouns = [word for word in words if isinstance(word, Noun)]
    cognates = [word for word in nouns if word.en[:4] == word.fr[:4]]
    assert 0.35 < len(cognates) / len(nouns) < 0.45


def test_the_seed_fixes_the_words(vocabulary: ToyVocabulary) -> None:
    again, other = (zipf_vocabulary(seed, 5000, 1.0) for seed in (1, 2))
    assert (again.nouns, again.adjectives, again.verbs) == (
        vocabulary.nouns,
        vocabulary.adjectives,
        vocabulary.verbs,
    )
    assert other.nouns["thing"][-1] != vocabulary.nouns["thing"][-1]
    text = "\n".join(word.en + word.fr for word in vocabulary.nouns["person"])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "b3bd513453d1642f"


def test_ranks_follow_zipfs_law() -> None:
    bounds = np.diff([0.0, *zipf_bounds(4, 1.0)])
    assert bounds == pytest.approx(np.array([12, 6, 4, 3]) / 25)
    assert zipf_bounds(3, 2.0)[-1] == 1


def test_many_words_are_rare(corpus: ToyZipfCorpus, vocabulary: ToyVocabulary) -> None:
    counts = training_counts(corpus, "fr")
    seen = [sum(counts[form] for form in french_forms(word)) for word in made_up(vocabulary)]
    share = {
        "never": sum(times == 0 for times in seen) / len(seen),
        "1-5": sum(1 <= times <= 5 for times in seen) / len(seen),
        "more": sum(times > 5 for times in seen) / len(seen),
    }
    assert share["never"] > 0.02, share
    assert share["1-5"] > 0.25, share
    assert share["more"] > 0.1, share
    rare = [word for line in corpus.splits["test"].tgt for word in re.findall(r"\w+", line.lower()) if counts[word] < 6]
    assert len(rare) > 100


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_french_spelling_of_made_up_words(corpus: ToyZipfCorpus, rule: str) -> None:
    lines = corpus.splits["train"].tgt[:5000]
    assert [line for line in lines if re.search(FORBIDDEN[rule], line, re.IGNORECASE)] == []


def test_suites_are_made_of_the_same_words(corpus: ToyZipfCorpus, vocabulary: ToyVocabulary) -> None:
    suites = corpus.suites(6)
    text = " ".join(item.right.lower() for items in suites.values() for item in items)
    forms = {form for word in made_up(vocabulary) for form in french_forms(word)}
    assert forms & {*re.findall(r"\w+", text)}
    assert {len(items) for items in suites.values()} == {6}


def test_impossible_vocabularies_are_refused() -> None:
    with pytest.raises(UserError, match=r"data\.stems=100 must be at least 27\d"):
        zipf_vocabulary(0, 100, 1.0)
    with pytest.raises(UserError, match=r"data\.exponent=0 must be above 0; data=toy"):
        zipf_vocabulary(0, 5000, 0)
