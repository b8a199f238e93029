"""The grammar of the toy corpus against sentences translated by hand."""

from __future__ import annotations

import pytest

from triptych.data.toy import AND, BECAUSE, HE, HER, HIM, ME, PAST_OPENINGS, QUESTIONS, SHE, THEM, WE, I
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
from triptych.data.toy_structure import Clause, Coordination, NounPhrase, Phrase, Place, Sentence

ASKED, ASKED_WHY = QUESTIONS


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
        Clause(the("queen", plural=True), verb("arrive"), past_tense=True),
        "The queens arrived.",
        "Les reines sont arrivées.",
    ),
    "two nouns: masculine if one is": (
        Clause(Coordination(the("girl"), the("boy")), verb("leave"), past_tense=True, negated=True),
        "The girl and the boy did not leave.",
        "La fille et le garçon ne sont pas partis.",
    ),
    "two nouns: feminine if both are": (
        Clause(Coordination(the("girl"), ANNE), adjective("happy"), past_tense=True),
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
        Clause(WE, verb("open"), past_tense=True, negated=True, object=a("wardrobe")),
        "We did not open a wardrobe.",
        "Nous n'avons pas ouvert d'armoire.",
    ),
    "any": (
        Clause(SHE, verb("buy"), negated=True, object=a("horse", plural=True)),
        "She does not buy any horses.",
        "Elle n'achète pas de chevaux.",
    ),
    "partitive": (
        Clause(I, verb("eat"), past_tense=True, object=Coordination(a("bread"), a("garlic"))),
        "I ate some bread and some garlic.",
        "J'ai mangé du pain et de l'ail.",
    ),
    "clitic before the verb": (Clause(I, verb("wait for"), object=THEM), "I wait for them.", "Je les attends."),
    "clitic between ne and être or avoir, participle agrees": (
        Clause(HE, verb("hear"), past_tense=True, negated=True, object=HER),
        "He did not hear her.",
        "Il ne l'a pas entendue.",
    ),
    "dative clitic": (Clause(SHE, verb("talk to"), recipient=HIM), "She talks to him.", "Elle lui parle."),
    "gift to a clitic": (
        Clause(HENRI, verb("give"), past_tense=True, object=a("orange"), recipient=THEM),
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
        Clause(HE, verb("go"), past_tense=True, place=Place(TO, the("school", owner=ANNE))),
        "He went to the school of Anne.",
        "Il est allé à l'école d'Anne.",
    ),
    "h that does not elide": (
        Clause(the("hero"), verb("stay"), past_tense=True, place=Place(NEAR, the("owl", plural=True))),
        "The hero stayed near the owls.",
        "Le héros est resté près des hiboux.",
    ),
    "possessive before a vowel": (
        Clause(NounPhrase(noun("actress"), MY), verb("enter"), place=Place(INTO, the("castle"))),
        "My actress enters the castle.",
        "Mon actrice entre dans le château.",
    ),
    "qui": (
        Clause(the("girl", relative=Clause(None, verb("fall"), past_tense=True)), verb("sing")),
        "The girl who fell sings.",
        "La fille qui est tombée chante.",
    ),
    "que: the participle agrees with what precedes": (
        Clause(the("letter", plural=True, relative=Clause(HE, verb("write"), past_tense=True)), adjective("sad")),
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
    sings, leave = Clause(HE, verb("sing"), past_tense=True), Clause(the("aunt", plural=True), verb("leave"))
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
    assert render(Sentence((sings, stays, leave), (BECAUSE, Phrase(", but", ", mais")), PAST_OPENINGS[0])) == (
        "Yesterday, he sang because the uncle stays behind the church, but the aunts leave.",
        "Hier, il a chanté parce que l'oncle reste derrière l'église, mais les tantes partent.",
    )
    assert render(Sentence((stays, sings), (AND,))) == (
        "The uncle stays behind the church, and he sang.",
        "L'oncle reste derrière l'église et il a chanté.",
    )


def test_elision_goes_before_contraction() -> None:
    assert spell(["de", "le", "homme", "à", "les", "héros"]) == ["de", "l'homme", "aux", "héros"]
    assert spell(["de", "le", "hibou", "à", "le", "âne"]) == ["du", "hibou", "à", "l'âne"]


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
