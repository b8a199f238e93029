"""The toy corpus: counts, disjointness, and above all that its French is right."""

from __future__ import annotations

import hashlib
import re
from itertools import combinations

import pytest

from triptych.data import toy
from triptych.data.toy import AND, BECAUSE, HE, HER, HIM, ME, QUESTIONS, SHE, THEM, THEN, WE, I, Pairs
from triptych.data.toy_grammar import render, spell
from triptych.data.toy_lexicon import (
    ADJECTIVES,
    BEHIND,
    FROM,
    IN,
    INTO,
    MANY,
    MY,
    NEAR,
    NOUNS,
    SEVERAL,
    THE,
    THIS,
    TO,
    VERBS,
    A,
    Adjective,
    Noun,
    Verb,
    plural_fr,
    with_s,
)
from triptych.data.toy_structure import Both, Clause, NounPhrase, Phrase, Place, Sentence
from triptych.errors import UserError

ASKED, ASKED_WHY = QUESTIONS
SIZES = {"train": 20_000, "validation": 500, "test": 500, "test_long": 500}


@pytest.fixture(scope="module")
def corpus() -> dict[str, Pairs]:
    return toy.splits(seed=1, **SIZES)


@pytest.fixture(scope="module")
def french(corpus: dict[str, Pairs]) -> list[str]:
    return [line for _, lines in corpus.values() for line in lines]


def noun(english: str) -> Noun:
    return next(word for words in NOUNS.values() for word in words if word.en == english)


def adjective(english: str) -> Adjective:
    return next(word for word in ADJECTIVES if word.en == english)


def verb(english: str) -> Verb:
    return next(word for word in VERBS if f"{word.base} {word.particle}".strip() == english)


def the(english: str, **rest: object) -> NounPhrase:
    return NounPhrase(noun(english), THE, **rest)  # type: ignore[arg-type]


def a(english: str, *adjectives: str, plural: bool = False) -> NounPhrase:
    return NounPhrase(noun(english), A, plural, tuple(adjective(word) for word in adjectives))


ANNE, HENRI = NounPhrase(noun("Anne")), NounPhrase(noun("Henri"))
OLD_MAN = NounPhrase(noun("man"), THIS, adjectives=(adjective("old"),))

EXPECTED = {
    "participle with être agrees": (
        Clause(the("queen", plural=True), verb("arrive"), past=True),
        "The queens arrived.",
        "Les reines sont arrivées.",
    ),
    "two nouns: masculine if one is": (
        Clause(Both(the("girl"), the("boy")), verb("leave"), past=True, negated=True),
        "The girl and the boy did not leave.",
        "La fille et le garçon ne sont pas partis.",
    ),
    "two nouns: feminine if both are": (
        Clause(Both(the("girl"), ANNE), adjective("happy"), past=True),
        "The girl and Anne were happy.",
        "La fille et Anne étaient heureuses.",
    ),
    "adjective before and after": (
        Clause(I, verb("see"), object=a("car", "small", "red")),
        "I see a small red car.",
        "Je vois une petite voiture rouge.",
    ),
    "before a vowel: vieil, cet": (
        Clause(OLD_MAN, verb("sleep"), negated=True),
        "This old man does not sleep.",
        "Ce vieil homme ne dort pas.",
    ),
    "cet, du and h": (
        Clause(NounPhrase(noun("man"), THIS), verb("come"), place=Place(FROM, the("hospital"))),
        "This man comes from the hospital.",
        "Cet homme vient de l'hôpital.",
    ),
    "des becomes de before an adjective, not after": (
        Clause(a("bird", "beautiful", plural=True), verb("see"), object=a("owl", "black", plural=True)),
        "Some beautiful birds see some black owls.",
        "De beaux oiseaux voient des hiboux noirs.",
    ),
    "un becomes de when negated": (
        Clause(WE, verb("open"), past=True, negated=True, object=a("wardrobe")),
        "We did not open a wardrobe.",
        "Nous n'avons pas ouvert d'armoire.",
    ),
    "any": (
        Clause(SHE, verb("buy"), negated=True, object=a("horse", plural=True)),
        "She does not buy any horses.",
        "Elle n'achète pas de chevaux.",
    ),
    "partitive": (
        Clause(I, verb("eat"), past=True, object=Both(a("bread"), a("garlic"))),
        "I ate some bread and some garlic.",
        "J'ai mangé du pain et de l'ail.",
    ),
    "clitic before the verb": (Clause(I, verb("wait for"), object=THEM), "I wait for them.", "Je les attends."),
    "clitic between ne and être or avoir, participle agrees": (
        Clause(HE, verb("hear"), past=True, negated=True, object=HER),
        "He did not hear her.",
        "Il ne l'a pas entendue.",
    ),
    "dative clitic": (Clause(SHE, verb("talk to"), recipient=HIM), "She talks to him.", "Elle lui parle."),
    "gift to a clitic": (
        Clause(HENRI, verb("give"), past=True, object=a("orange"), recipient=THEM),
        "Henri gave them an orange.",
        "Henri leur a donné une orange.",
    ),
    "me elides": (Clause(HE, verb("obey"), negated=True, recipient=ME), "He does not obey me.", "Il ne m'obéit pas."),
    "au and aux": (
        Clause(the("boy"), verb("show"), object=NounPhrase(noun("key"), MY), recipient=the("king", plural=True)),
        "The boy shows my key to the kings.",
        "Le garçon montre ma clé aux rois.",
    ),
    "no contraction before a name or l'": (
        Clause(HE, verb("go"), past=True, place=Place(TO, the("school", owner=ANNE))),
        "He went to the school of Anne.",
        "Il est allé à l'école d'Anne.",
    ),
    "h that does not elide": (
        Clause(the("hero"), verb("stay"), past=True, place=Place(NEAR, the("owl", plural=True))),
        "The hero stayed near the owls.",
        "Le héros est resté près des hiboux.",
    ),
    "possessive before a vowel": (
        Clause(NounPhrase(noun("actress"), MY), verb("enter"), place=Place(INTO, the("castle"))),
        "My actress enters the castle.",
        "Mon actrice entre dans le château.",
    ),
    "qui": (
        Clause(the("girl", relative=Clause(None, verb("fall"), past=True)), verb("sing")),
        "The girl who fell sings.",
        "La fille qui est tombée chante.",
    ),
    "que: the participle agrees with what precedes": (
        Clause(the("letter", plural=True, relative=Clause(HE, verb("write"), past=True)), adjective("sad")),
        "The letters that he wrote are sad.",
        "Les lettres qu'il a écrites sont tristes.",
    ),
    "beaucoup d'": (
        Clause(NounPhrase(noun("bear"), MANY, plural=True), verb("live"), place=Place(IN, the("forest"))),
        "Many bears live in the forest.",
        "Beaucoup d'ours habitent dans la forêt.",
    ),
    "that-clause": (
        Clause(I, verb("think"), content=Clause(ANNE, adjective("tired"))),
        "I think that Anne is tired.",
        "Je pense qu'Anne est fatiguée.",
    ),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_clause_reads_as_written_by_hand(name: str) -> None:
    clause, english, french = EXPECTED[name]
    assert render(Sentence((clause,))) == (english, french)


def test_questions_and_links_read_as_written_by_hand() -> None:
    sings, leave = Clause(HE, verb("sing"), past=True), Clause(the("aunt", plural=True), verb("leave"))
    described = Clause(NounPhrase(noun("cow"), SEVERAL, plural=True), adjective("old"))
    stays = Clause(the("uncle"), verb("stay"), place=Place(BEHIND, the("church")))
    assert render(Sentence((sings,), question=ASKED)) == ("Did he sing?", "Est-ce qu'il a chanté ?")
    assert render(Sentence((leave,), question=ASKED_WHY)) == (
        "Why do the aunts leave?",
        "Pourquoi est-ce que les tantes partent ?",
    )
    assert render(Sentence((described,), question=ASKED)) == (
        "Are several cows old?",
        "Est-ce que plusieurs vaches sont vieilles ?",
    )
    assert render(Sentence((sings, stays, leave), (BECAUSE, Phrase(", but", ", mais")), THEN[0])) == (
        "Yesterday, he sang because the uncle stays behind the church, but the aunts leave.",
        "Hier, il a chanté parce que l'oncle reste derrière l'église, mais les tantes partent.",
    )
    assert render(Sentence((stays, sings), (AND,))) == (
        "The uncle stays behind the church, and he sang.",
        "L'oncle reste derrière l'église et il a chanté.",
    )


def test_elision_goes_before_contraction() -> None:
    assert (
        spell("de le homme à les héros de le hibou à le ami".split()) == "de l'homme aux héros du hibou à l'ami".split()
    )


@pytest.mark.parametrize(
    ("singular", "plural"),
    [("cheval", "chevaux"), ("hibou", "hiboux"), ("bleu", "bleus"), ("manteau", "manteaux"), ("fils", "fils")],
)
def test_french_plurals(singular: str, plural: str) -> None:
    assert plural_fr(singular) == plural


@pytest.mark.parametrize(
    ("word", "expected"),
    [("box", "boxes"), ("story", "stories"), ("key", "keys"), ("watch", "watches"), ("go", "goes"), ("see", "sees")],
)
def test_english_s(word: str, expected: str) -> None:
    assert with_s(word) == expected


def test_each_split_has_the_sentences_asked_for(corpus: dict[str, Pairs]) -> None:
    assert {name: (len(english), len(french)) for name, (english, french) in corpus.items()} == {
        name: (size, size) for name, size in SIZES.items()
    }


def test_no_source_occurs_twice(corpus: dict[str, Pairs]) -> None:
    sources = {name: set(english) for name, (english, _) in corpus.items()}
    assert {name: len(lines) for name, lines in sources.items()} == SIZES
    for one, other in combinations(sources.values(), 2):
        assert one.isdisjoint(other)


@pytest.mark.parametrize("side", [0, 1])
def test_lengths(corpus: dict[str, Pairs], side: int) -> None:
    def words(line: str) -> int:
        return len(line.removesuffix(" ?").split())

    lengths = {name: [words(line) for line in pairs[side]] for name, pairs in corpus.items()}
    assert min(lengths["train"]) >= 2 and max(lengths["train"]) <= 25
    for name in ("validation", "test"):
        assert max(lengths[name]) <= max(lengths["train"])
        assert sum(15 <= length <= 25 for length in lengths[name]) > SIZES[name] / 4
        assert sum(length < 10 for length in lengths[name]) > SIZES[name] / 4
    assert min(lengths["test_long"]) > max(lengths["train"])


@pytest.mark.parametrize("side", [0, 1])
def test_each_language_has_over_300_word_forms_nearly_all_learnable(corpus: dict[str, Pairs], side: int) -> None:
    forms = {name: set(re.findall(r"[\w-]+", " ".join(pairs[side]).lower())) for name, pairs in corpus.items()}
    assert len(forms["train"]) > 300
    for name in ("validation", "test", "test_long"):
        assert len(forms[name] - forms["train"]) <= 2


def test_the_same_seed_gives_the_same_bytes_on_every_python() -> None:
    drawn = toy.splits(seed=7, train=300, validation=20, test=20, test_long=20)
    text = "\n".join(line for pairs in drawn.values() for lines in pairs for line in lines)
    assert hashlib.sha256(text.encode()).hexdigest() == "05ee067009265b8e58efa34f520bbabeddc0f054fbc6ccd1b2f3d7bdb7c80695"


def test_a_smaller_train_changes_nothing_else(corpus: dict[str, Pairs]) -> None:
    small = toy.splits(seed=1, **{**SIZES, "train": 200})
    assert {name: small[name] for name in small if name != "train"} == {
        name: corpus[name] for name in corpus if name != "train"
    }
    assert small["train"][0] == corpus["train"][0][:200]


def test_another_seed_gives_another_corpus(corpus: dict[str, Pairs]) -> None:
    other = toy.splits(seed=2, train=200, validation=20, test=20, test_long=20)
    assert other["train"][0] != corpus["train"][0][:200]


def test_a_source_has_one_translation_whatever_the_seed(corpus: dict[str, Pairs]) -> None:
    translations: dict[str, str] = {}
    repeated = 0
    drawn = [toy.splits(seed=seed, train=8_000, validation=1, test=1, test_long=1) for seed in (2, 3)]
    for pairs in (pairs for made in (corpus, *drawn) for pairs in made.values()):
        for source, target in zip(*pairs, strict=True):
            repeated += source in translations
            assert translations.setdefault(source, target) == target
    assert repeated > 100, "too few sentences came up twice for this test to mean anything"


def test_an_empty_split_is_refused() -> None:
    with pytest.raises(UserError, match="test is 0"):
        toy.splits(seed=1, train=10, validation=1, test=0, test_long=1)


VOWEL = "[aeiouyâéèêîôœ]|h(?!éros|ibou|ache)"
FORBIDDEN = {
    "an elision is missing": rf"\b(le|la|de|ne|que|je|me) ({VOWEL})",
    "an elision before a consonant": rf"\b(l|d|n|qu|j|m)'(?!{VOWEL})",
    "a contraction is missing": r"\b(de|à) les?\b",
    "a contraction before a vowel": rf"\b(du|au|ce|ma|sa|beau|vieux|nouveau) (?!est|a |aux?\b|et\b)({VOWEL})(?!\w*[sx]\b)",
    "a vowel form before a consonant": rf"\b(cet|bel|vieil|nouvel) (?!{VOWEL})",
    "de with a determiner it excludes": r"\b(de|d'|pas) (des|un|une|du|plusieurs|beaucoup)\b(?<!pas un)",
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
        "a vowel form before a consonant": "Cet roi dort.",
        "de with a determiner it excludes": "Il vient de des parcs.",
        "a doubled or misplaced blank": "Dort-il?",
        "a plural with a singular": "Les le roi dort.",
        "ne without pas": "Il ne dort.",
    }
    assert mistakes.keys() == FORBIDDEN.keys()
    for rule, mistake in mistakes.items():
        assert re.search(FORBIDDEN[rule], mistake, re.IGNORECASE), rule


def test_sentences_begin_with_a_capital_and_end_as_they_should(corpus: dict[str, Pairs]) -> None:
    for english, french in corpus.values():
        for source, target in zip(english, french, strict=True):
            assert source[0].isupper() and target[0].isupper()
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
