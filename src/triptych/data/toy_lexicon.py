"""The words of the toy corpus, in English and French, with their gender and inflected forms.

Every English form has exactly one French translation, so that each source sentence has one translation. For this
reason every noun shows its gender in English (no "friend", no "student"), "they", "it" and "you" are absent, and every
verb has a past tense that differs from its present (no "read", no "put").
"""

from __future__ import annotations

from dataclasses import dataclass

ASPIRATED = ("hache", "hibou", "héros")
"""Words with an aspirated h, which forbids elision: "la hache", but "l'homme"."""

VOWELS = frozenset("aeiouyâéèêîôœh")
PLURAL_IN_X = ("bijou", "hibou")


def starts_with_vowel(word: str) -> bool:
    """Whether the word before a French word is elided: before a vowel, or before an h that is not aspirated."""
    return word[:1].lower() in VOWELS and not word.startswith(ASPIRATED)


def plural_fr(word: str) -> str:
    """Return the plural of a French noun, adjective or participle: livre, livres; cheval, chevaux; fils, fils."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith("eau") or word in PLURAL_IN_X else "s")


def with_s(word: str) -> str:
    """Add the -s of plural nouns and third persons to an English word: box, boxes; cry, cries; key, keys."""
    if word.endswith(("s", "x", "ch", "sh", "o")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


@dataclass(frozen=True)
class Noun:
    """An English noun and its French translation.

    Attributes:
        en: English singular.
        plural: English plural.
        fr: French singular.
        feminine: whether the French noun is feminine.
        category: meaning of the noun, a key of ``NOUNS``; it decides which verbs and adjectives go with it.
    """

    en: str
    plural: str
    fr: str
    feminine: bool
    category: str


@dataclass(frozen=True)
class Adjective:
    """An English adjective and its French translation.

    Attributes:
        en: English form.
        masculine: French masculine singular.
        before_vowel: French masculine singular before a vowel, as in "un vieil homme".
        feminine: French feminine singular.
        categories: categories of the nouns that it goes with.
        precedes: whether French puts it before the noun.
    """

    en: str
    masculine: str
    before_vowel: str
    feminine: str
    categories: tuple[str, ...]
    precedes: bool


@dataclass(frozen=True)
class Determiner:
    """An English determiner and its French translation.

    Forms named ``…_vowel`` stand before a vowel, such as "cet" and "mon". An empty form means that the determiner lacks
    the singular or the plural.
    """

    en: str
    en_plural: str
    masculine: str
    masculine_vowel: str
    feminine: str
    feminine_vowel: str
    fr_plural: str


@dataclass(frozen=True)
class Preposition:
    """An English preposition and its French translation."""

    en: str
    fr: str


@dataclass(frozen=True)
class Verb:
    """An English verb and its French translation.

    Attributes:
        base: English infinitive.
        past_form: English past tense.
        particle: English word before the complement: look *for*, talk *to*.
        present: French present-tense forms of je, il, nous and ils.
        participle: French past participle, masculine singular.
        frame: complements that the verb takes: ``alone`` (none), ``place`` (a place, always), ``direct`` (a direct
            object), ``dative`` (à somebody), ``gift`` (something à somebody) or ``content`` (a that-clause).
        etre: whether the French past tense takes être, so that the participle agrees with the subject.
        subjects: categories of nouns that can be the subject.
        objects: categories of nouns that can be the direct object.
        prepositions: prepositions of a place after the verb.
    """

    base: str
    past_form: str
    particle: str
    present: tuple[str, str, str, str]
    participle: str
    frame: str
    etre: bool
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    prepositions: tuple[Preposition, ...]


def _nouns(category: str, table: str) -> tuple[Noun, ...]:
    """Parse nouns of one category: comma-separated ``english french m|f``, irregular plurals as ``man/men``."""
    nouns = []
    for row in table.split(","):
        english, french, gender = row.split()
        singular, _, plural = english.partition("/")
        nouns.append(Noun(singular, plural or with_s(singular), french, gender == "f", category))
    return tuple(nouns)


NOUNS: dict[str, tuple[Noun, ...]] = {
    "person": _nouns(
        "person",
        "man/men homme m, boy garçon m, king roi m, prince prince m, father père m, brother frère m, son fils m,"
        "uncle oncle m, actor acteur m, waiter serveur m, hero héros m, woman/women femme f, girl fille f,"
        "queen reine f, princess princesse f, mother mère f, sister sœur f, aunt tante f, actress actrice f,"
        "waitress serveuse f",
    ),
    "name": _nouns("name", "Paul Paul m, Henri Henri m, Julien Julien m, Anne Anne f, Marie Marie f, Alice Alice f"),
    "animal": _nouns(
        "animal",
        "dog chien m, cat chat m, horse cheval m, bird oiseau m, owl hibou m, donkey âne m, bear ours m, cow vache f,"
        "mouse/mice souris f, goat chèvre f, frog grenouille f, hen poule f",
    ),
    "thing": _nouns(
        "thing",
        "hat chapeau m, coat manteau m, knife/knives couteau m, gift cadeau m, umbrella parapluie m, jewel bijou m,"
        "mirror miroir m, basket panier m, bicycle vélo m, newspaper journal m, egg œuf m, car voiture f,"
        "chair chaise f, lamp lampe f, dress robe f, key clé f, watch montre f, flower fleur f, plate assiette f,"
        "orange orange f, apple pomme f, axe hache f",
    ),
    "opening": _nouns(
        "opening", "door porte f, window fenêtre f, box boîte f, suitcase valise f, wardrobe armoire f, drawer tiroir m"
    ),
    "text": _nouns(
        "text", "book livre m, poem poème m, message message m, article article m, letter lettre f, story histoire f"
    ),
    "food": _nouns("food", "bread pain m, cheese fromage m, rice riz m, garlic ail m, meat viande f, salad salade f"),
    "drink": _nouns("drink", "milk lait m, tea thé m, wine vin m, water eau f, beer bière f"),
    "place": _nouns(
        "place",
        "village village m, park parc m, castle château m, museum musée m, shop magasin m, hotel hôtel m,"
        "hospital hôpital m, restaurant restaurant m, office bureau m, school école f, church église f,"
        "station gare f, library bibliothèque f, factory usine f",
    ),
    "home": _nouns("home", "garden jardin m, house maison f, kitchen cuisine f, forest forêt f"),
}
MASS = ("food", "drink")

LIVING = ("person", "animal")
SOLID = ("animal", "thing", "opening", "place", "home")
COLOURED = ("thing", "opening", "animal")


def _adjective(row: str, categories: tuple[str, ...], precedes: bool) -> Adjective:
    """Parse ``english masculine [masculine before a vowel] [feminine]``; the default feminine adds -e where needed."""
    english, masculine, *rest = row.split()
    feminine = rest[-1] if rest else masculine if masculine.endswith("e") else masculine + "e"
    return Adjective(english, masculine, rest[0] if len(rest) == 2 else masculine, feminine, categories, precedes)


ADJECTIVES = (
    _adjective("beautiful beau bel belle", ("person", "text", *SOLID), True),
    _adjective("old vieux vieil vieille", ("person", "text", *SOLID), True),
    _adjective("new nouveau nouvel nouvelle", ("text", "thing", "opening", "place", "home"), True),
    _adjective("big grand", SOLID, True),
    _adjective("small petit", ("person", *SOLID), True),
    _adjective("young jeune", LIVING, True),
    _adjective("pretty joli", SOLID, True),
    _adjective("good bon bonne", ("person", "text", *MASS), True),
    _adjective("bad mauvais", ("text", *MASS), True),
    _adjective("red rouge", COLOURED, False),
    _adjective("white blanc blanche", COLOURED, False),
    _adjective("black noir", COLOURED, False),
    _adjective("green vert", COLOURED, False),
    _adjective("grey gris", COLOURED, False),
    _adjective("expensive cher chère", ("thing", *MASS), False),
    _adjective("strange étrange", ("person", "text", *SOLID), False),
    _adjective("happy heureux heureuse", LIVING, False),
    _adjective("kind gentil gentille", LIVING, False),
    _adjective("clever intelligent", LIVING, False),
    _adjective("sad triste", ("person", "text"), False),
    _adjective("famous célèbre", ("person", "text", "place"), False),
    _adjective("tired fatigué", LIVING, False),
    _adjective("cold froid", MASS, False),
)

THE = Determiner("the", "the", "le", "le", "la", "la", "les")
A = Determiner("a", "some", "un", "un", "une", "une", "des")
THIS = Determiner("this", "these", "ce", "cet", "cette", "cette", "ces")
MY = Determiner("my", "my", "mon", "mon", "ma", "mon", "mes")
HIS = Determiner("his", "his", "son", "son", "sa", "son", "ses")
HER = Determiner("her", "her", "son", "son", "sa", "son", "ses")
OUR = Determiner("our", "our", "notre", "notre", "notre", "notre", "nos")
THEIR = Determiner("their", "their", "leur", "leur", "leur", "leur", "leurs")
EVERY = Determiner("every", "", "chaque", "chaque", "chaque", "chaque", "")
TWO = Determiner("", "two", "", "", "", "", "deux")
SEVERAL = Determiner("", "several", "", "", "", "", "plusieurs")
MANY = Determiner("", "many", "", "", "", "", "beaucoup de")
DEFINITE = (THE, THIS, MY, HIS, HER, OUR, THEIR)
COUNTING = (EVERY, TWO, SEVERAL, MANY)

IN, NEAR, BEHIND = Preposition("in", "dans"), Preposition("near", "près de"), Preposition("behind", "derrière")
TO, FROM, INTO = Preposition("to", "à"), Preposition("from", "de"), Preposition("", "dans")
AROUND = (IN, NEAR, BEHIND)


def _verb(
    english: str,
    french: str,
    frame: str,
    *,
    etre: bool = False,
    subjects: tuple[str, ...] = ("person",),
    objects: tuple[str, ...] = (),
    prepositions: tuple[Preposition, ...] = (),
) -> Verb:
    """Parse a verb.

    Args:
        english: ``base past [particle]``.
        french: the four present forms and the participle, or the infinitive of a regular verb in -er.
        frame: see ``Verb``; likewise all other arguments.
    """
    base, past_form, *particle = english.split()
    forms = french.split()
    if len(forms) == 1:
        stem = french.removesuffix("er")
        nous = stem + ("eons" if stem.endswith("g") else "ons")
        forms = [stem + "e", stem + "e", nous, stem + "ent", stem + "é"]
    je, il, nous, ils, participle = forms
    present = (je, il, nous, ils)
    return Verb(base, past_form, " ".join(particle), present, participle, frame, etre, subjects, objects, prepositions)


ANYTHING = ("person", "text", *SOLID)
GOODS = ("thing", "text")
VERBS = (
    _verb("see saw", "vois voit voyons voient vu", "direct", subjects=LIVING, objects=ANYTHING),
    _verb("find found", "trouver", "direct", subjects=LIVING, objects=("person", "text", "animal", "thing")),
    _verb("look looked for", "chercher", "direct", subjects=LIVING, objects=ANYTHING),
    _verb("look looked at", "regarder", "direct", subjects=LIVING, objects=ANYTHING),
    _verb("love loved", "aimer", "direct", subjects=LIVING, objects=("person", "animal", "text", "place", "home")),
    _verb("hear heard", "entends entend entendons entendent entendu", "direct", subjects=LIVING, objects=LIVING),
    _verb("listen listened to", "écouter", "direct", objects=LIVING),
    _verb("wait waited for", "attends attend attendons attendent attendu", "direct", objects=("person",)),
    _verb("help helped", "aider", "direct", objects=LIVING),
    _verb("buy bought", "achète achète achetons achètent acheté", "direct", objects=(*GOODS, *MASS)),
    _verb("sell sold", "vends vend vendons vendent vendu", "direct", objects=("animal", "thing", *MASS)),
    _verb("lose lost", "perds perd perdons perdent perdu", "direct", objects=GOODS),
    _verb("take took", "prends prend prenons prennent pris", "direct", objects=GOODS),
    _verb("open opened", "ouvre ouvre ouvrons ouvrent ouvert", "direct", objects=("opening",)),
    _verb("close closed", "fermer", "direct", objects=("opening",)),
    _verb("write wrote", "écris écrit écrivons écrivent écrit", "direct", objects=("text",)),
    _verb("understand understood", "comprends comprend comprenons comprennent compris", "direct", objects=("text",)),
    _verb("eat ate", "manger", "direct", objects=("food",)),
    _verb("drink drank", "bois boit buvons boivent bu", "direct", objects=("drink",)),
    _verb("talk talked to", "parler", "dative"),
    _verb("answer answered", "réponds répond répondons répondent répondu", "dative"),
    _verb("smile smiled at", "souris sourit sourions sourient souri", "dative"),
    _verb("obey obeyed", "obéis obéit obéissons obéissent obéi", "dative"),
    _verb("give gave", "donner", "gift", objects=GOODS),
    _verb("show showed", "montrer", "gift", objects=(*GOODS, "animal", "place")),
    _verb("bring brought", "apporter", "gift", objects=(*GOODS, *MASS)),
    _verb("sleep slept", "dors dort dormons dorment dormi", "alone", subjects=LIVING, prepositions=AROUND),
    _verb("work worked", "travailler", "alone", prepositions=AROUND),
    _verb("sing sang", "chanter", "alone", prepositions=AROUND),
    _verb("live lived", "habiter", "place", subjects=LIVING, prepositions=AROUND),
    _verb("arrive arrived", "arriver", "alone", etre=True, subjects=LIVING),
    _verb("leave left", "pars part partons partent parti", "alone", etre=True, subjects=LIVING),
    _verb("fall fell", "tomber", "alone", etre=True, subjects=LIVING, prepositions=AROUND),
    _verb("stay stayed", "rester", "alone", etre=True, subjects=LIVING, prepositions=AROUND),
    _verb("enter entered", "entrer", "place", etre=True, subjects=LIVING, prepositions=(INTO,)),
    _verb("go went", "vais va allons vont allé", "place", etre=True, prepositions=(TO,)),
    _verb("come came", "viens vient venons viennent venu", "place", etre=True, subjects=LIVING, prepositions=(FROM,)),
    _verb(
        "return returned",
        "reviens revient revenons reviennent revenu",
        "place",
        etre=True,
        subjects=LIVING,
        prepositions=(TO, FROM),
    ),
    _verb("say said", "dis dit disons disent dit", "content"),
    _verb("think thought", "penser", "content"),
    _verb("know knew", "sais sait savons savent su", "content"),
)
