"""The synchronous grammar of the toy corpus: write one structure as an English and as a French sentence.

This module alone knows word order, agreement, elision and contraction. French words are collected separately ("de",
"le", "ami"), and ``spell`` joins them at the end, because elision and contraction depend on the neighbouring words ("de
l'ami", "du garçon").
"""

from __future__ import annotations

from triptych.data.toy_lexicon import MASS, A, Adjective, Determiner, Verb, plural_fr, starts_with_vowel, with_s
from triptych.data.toy_structure import (
    Agreement,
    Clause,
    Clitic,
    Coordination,
    NounPhrase,
    Phrase,
    Pronoun,
    Sentence,
    agreement,
)

AVOIR = ("ai", "a", "avons", "ont")
ETRE = ("suis", "est", "sommes", "sont")
ELIDED = ("le", "la", "de", "ne", "que", "je", "me")
"""Words that lose their vowel before another one."""


def render(sentence: Sentence) -> tuple[str, str]:
    """Return the English and the French sentence."""
    return write_english(sentence), write_french(french_words(sentence), sentence)


def write_english(sentence: Sentence) -> str:
    """Return the English sentence."""
    words: list[str] = []
    for opening in (sentence.opening, sentence.question):
        words += opening.en.split() if opening else []
    for position, (link, clause) in enumerate(linked(sentence)):
        is_question = position == 0 and sentence.question is not None
        words += [*link.en.split(), *_clause_en(clause, is_question)]
    return finish(_article(words), "?" if sentence.question else ".")


def french_words(sentence: Sentence) -> list[str]:
    """Return the French words of a sentence, before elision and contraction."""
    words: list[str] = []
    for opening in (sentence.opening, sentence.question):
        words += opening.fr.split() if opening else []
    for link, clause in linked(sentence):
        words += [*link.fr.split(), *_clause_fr(clause)]
    return words


def write_french(words: list[str], sentence: Sentence) -> str:
    """Return the line of a sentence with these words, which ``spell`` has still to join."""
    return finish(spell(words), " ?" if sentence.question else ".")


def linked(sentence: Sentence) -> list[tuple[Phrase, Clause]]:
    """Return each clause with the link before it, which is empty for the first."""
    return list(zip((Phrase("", ""), *sentence.links), sentence.clauses, strict=True))


def finish(words: list[str], end: str) -> str:
    """Return the line of a sentence's words, with a capital and a sign at its end."""
    line = " ".join(words).replace(" ,", ",")
    return line[0].upper() + line[1:] + end


def _article(words: list[str]) -> list[str]:
    """Replace "a" with "an" before a vowel. The lexicon has no word like "hour" or "useful"."""
    followed = zip(words, [*words[1:], "."], strict=True)
    return ["an" if word == "a" and after[0] in "aeiou" else word for word, after in followed]


def _phrase_en(phrase: NounPhrase | Coordination, negated: bool = False) -> list[str]:
    """Return the English words of a phrase. As the object of a ``negated`` verb it has "any" instead of "some"."""
    if isinstance(phrase, Coordination):
        return [*_phrase_en(phrase.first), "and", *_phrase_en(phrase.second)]
    words = []
    if phrase.determiner:
        many = phrase.plural or (phrase.determiner is A and phrase.noun.category in MASS)
        word = phrase.determiner.en_plural if many else phrase.determiner.en
        words.append("any" if negated and word == "some" else word)
    words += [adjective.en for adjective in phrase.adjectives]
    words.append(phrase.noun.plural if phrase.plural else phrase.noun.en)
    if phrase.owner:
        words += ["of", *_phrase_en(phrase.owner)]
    if phrase.relative:
        about_subject = phrase.relative.subject is None
        words.append("who" if about_subject and phrase.noun.category == "person" else "that")
        words += _clause_en(phrase.relative, antecedent=agreement(phrase))
    return words


def _clause_en(clause: Clause, is_question: bool = False, antecedent: Agreement | None = None) -> list[str]:
    subject = _subject_en(clause)
    features = antecedent if clause.subject is None else agreement(clause.subject)
    assert features is not None, "only a relative clause goes without a subject"
    singular = not (features.first or features.plural)
    negation = ["not"] if clause.negated else []
    if isinstance(clause.predicate, Adjective):
        be = ("was" if singular else "were") if clause.past_tense else "is" if singular else "are"
        rest = [*negation, clause.predicate.en]
        return [be, *subject, *rest] if is_question else [*subject, be, *rest]
    verb = clause.predicate
    if is_question or clause.negated:
        auxiliary = "did" if clause.past_tense else "does" if singular else "do"
        start = [auxiliary, *subject] if is_question else [*subject, auxiliary]
        return [*start, *negation, verb.base, *_complements_en(clause, verb)]
    present = with_s(verb.base) if singular else verb.base
    return [*subject, verb.past_form if clause.past_tense else present, *_complements_en(clause, verb)]


def _subject_en(clause: Clause) -> list[str]:
    if clause.subject is None:
        return []
    return [clause.subject.en] if isinstance(clause.subject, Pronoun) else _phrase_en(clause.subject)


def _complements_en(clause: Clause, verb: Verb) -> list[str]:
    words = verb.particle.split()
    if isinstance(clause.recipient, Clitic):
        words.append(clause.recipient.en)
    if isinstance(clause.object, Clitic):
        words.append(clause.object.en)
    elif clause.object:
        words += _phrase_en(clause.object, clause.negated)
    if isinstance(clause.recipient, NounPhrase):
        words += [*(["to"] if verb.frame == "gift" else []), *_phrase_en(clause.recipient)]
    if clause.place:
        words += [*clause.place.preposition.en.split(), *_phrase_en(clause.place.where)]
    if clause.content:
        words += ["that", *_clause_en(clause.content)]
    return words


def spell(words: list[str]) -> list[str]:
    """Apply elision (le homme: l'homme; que il: qu'il) and contraction (de le: du; à les: aux) to French words.

    Words are processed from the last to the first, so that elision comes before contraction: "de le homme" becomes "de
    l'homme", not "du homme".
    """
    contracted = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}
    spelled: list[str] = []
    for word in reversed(words):
        after = spelled[-1] if spelled else ""
        if word in ELIDED and starts_with_vowel(after):
            spelled[-1] = word[:-1] + "'" + after
        elif (word, after) in contracted:
            spelled[-1] = contracted[word, after]
        else:
            spelled.append(word)
    return spelled[::-1]


def _inflect(masculine: str, feminine: str, features: Agreement) -> str:
    form = feminine if features.feminine else masculine
    return plural_fr(form) if features.plural else form


def phrase_fr(phrase: NounPhrase | Coordination, negated: bool = False) -> list[str]:
    """Return the French words of a phrase, before elision and contraction.

    As the object of a ``negated`` verb it has "de" for un, des and du.
    """
    if isinstance(phrase, Coordination):
        return [*phrase_fr(phrase.first), "et", *phrase_fr(phrase.second)]
    features = agreement(phrase)
    words = [plural_fr(phrase.noun.fr) if phrase.plural else phrase.noun.fr]
    for adjective in reversed(phrase.adjectives):
        if adjective.precedes:
            meets_vowel = not features.plural and starts_with_vowel(words[0])
            masculine = adjective.before_vowel if meets_vowel else adjective.masculine
            words.insert(0, _inflect(masculine, adjective.feminine, features))
        else:
            words.append(_inflect(adjective.masculine, adjective.feminine, features))
    if phrase.determiner:
        words = [*_determiner_fr(phrase, phrase.determiner, words[0], negated), *words]
    if phrase.owner:
        words += ["de", *phrase_fr(phrase.owner)]
    if phrase.relative:
        words += ["qui" if phrase.relative.subject is None else "que", *_clause_fr(phrase.relative, features)]
    return words


def _determiner_fr(phrase: NounPhrase, determiner: Determiner, after: str, negated: bool) -> list[str]:
    vowel, feminine = starts_with_vowel(after), phrase.noun.feminine
    if determiner is A:
        if negated or (phrase.plural and any(adjective.precedes for adjective in phrase.adjectives)):
            return ["de"]
        if phrase.noun.category in MASS:
            return ["de", "la" if feminine else "le"]
    if phrase.plural:
        return determiner.fr_plural.split()
    if feminine:
        return [determiner.feminine_vowel if vowel else determiner.feminine]
    return [determiner.masculine_vowel if vowel else determiner.masculine]


def _clause_fr(clause: Clause, antecedent: Agreement | None = None) -> list[str]:
    """Return the French words of a clause.

    Args:
        antecedent: agreement of the noun before a relative clause, for the clause's verb or participle.
    """
    features = antecedent if clause.subject is None else agreement(clause.subject)
    assert features is not None, "only a relative clause goes without a subject"
    subject: list[str] = []
    if clause.subject is not None:
        subject = [clause.subject.fr] if isinstance(clause.subject, Pronoun) else phrase_fr(clause.subject)
    verb, after_verb = _verb_fr(clause, clause.wrong_agreement or features, antecedent)
    ne, pas = (["ne"], ["pas"]) if clause.negated else ([], [])
    return [*subject, *ne, *_clitics(clause), verb, *pas, *after_verb, *_complements_fr(clause)]


def _verb_fr(clause: Clause, features: Agreement, antecedent: Agreement | None) -> tuple[str, list[str]]:
    """Return the finite verb, and the adjective or participle that follows it (after "pas" in a negated clause)."""
    person = 2 * features.plural + (not features.first)
    predicate = clause.predicate
    if isinstance(predicate, Adjective):
        be = ("étaient" if features.plural else "était") if clause.past_tense else ETRE[person]
        return be, [_inflect(predicate.masculine, predicate.feminine, features)]
    if not clause.past_tense:
        return predicate.present[person], []
    if predicate.etre:
        return ETRE[person], [_inflect(predicate.participle, predicate.participle + "e", features)]
    preceding = antecedent if clause.subject is not None else None
    if isinstance(clause.object, Clitic):
        preceding = clause.object.agreement
    return AVOIR[person], [_inflect(predicate.participle, predicate.participle + "e", preceding or Agreement())]


def _clitics(clause: Clause) -> list[str]:
    direct = [clause.object.direct] if isinstance(clause.object, Clitic) else []
    return direct + ([clause.recipient.dative] if isinstance(clause.recipient, Clitic) else [])


def _complements_fr(clause: Clause) -> list[str]:
    words: list[str] = []
    if clause.object and not isinstance(clause.object, Clitic):
        words += phrase_fr(clause.object, clause.negated)
    if isinstance(clause.recipient, NounPhrase):
        words += ["à", *phrase_fr(clause.recipient)]
    if clause.place:
        words += [*clause.place.preposition.fr.split(), *phrase_fr(clause.place.where)]
    if clause.content:
        words += ["que", *_clause_fr(clause.content)]
    return words
