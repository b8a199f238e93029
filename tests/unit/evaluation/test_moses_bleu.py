"""BLEU of the Multi30k literature, against sacremoses and sacreBLEU put together by hand."""

from __future__ import annotations

import pytest
import sacrebleu
from conftest import ROOT
from hydra.utils import instantiate
from omegaconf import OmegaConf
from sacremoses import MosesPunctNormalizer, MosesTokenizer

from triptych.errors import UserError
from triptych.evaluation.metrics import for_languages, score_corpus, standard_metrics
from triptych.evaluation.moses_bleu import MosesBleu, moses_preprocessing

FRENCH = ["Un homme « assis » lit l'Équipe aujourd'hui.", "L’enfant a 3 ans ; c'est vrai !", "Une femme (âgée) dort."]
HYPOTHESES = ["un homme assis lit l'équipe aujourd'hui.", "L'enfant a 3 ans; c'est faux!", "Une dame âgée dort."]


def by_hand(lines: list[str], language: str) -> list[str]:
    normalizer, tokenizer = MosesPunctNormalizer(language), MosesTokenizer(language)
    return [" ".join(tokenizer.tokenize(normalizer.normalize(line.lower()), escape=False)) for line in lines]


def test_the_score_is_sacrebleus_of_text_prepared_by_sacremoses() -> None:
    found = MosesBleu(language=None).for_languages(["fr"] * 3).score(HYPOTHESES, FRENCH, FRENCH)
    theirs = sacrebleu.corpus_bleu(by_hand(HYPOTHESES, "fr"), [by_hand(FRENCH, "fr")], tokenize="none", force=True)
    assert found.score == pytest.approx(theirs.score, abs=1e-9)
    assert found.details["brevity_penalty"] == theirs.bp
    assert found.signature.startswith("nrefs:1|case:mixed|eff:no|tok:none|")
    assert "|pre:lc.norm.tok|lang:fr|sacremoses:" in found.signature


def test_case_quotes_and_punctuation_do_not_count() -> None:
    assert moses_preprocessing("fr")("L’enfant dit « Oui » !") == 'l\' enfant dit " oui " !'
    shouted = [line.upper() for line in FRENCH]
    assert MosesBleu(language="fr").score(shouted, FRENCH, FRENCH).score == pytest.approx(100)


def test_the_language_decides() -> None:
    elided = ["l'homme d'hier", "c'est l'eau qu'il boit"]
    assert moses_preprocessing("fr")(elided[0]) == "l' homme d' hier"
    assert moses_preprocessing("en")(elided[0]) == "l 'homme d 'hier"
    hypotheses = ["l'homme d'hier matin", "c'est eau qu'il boit"]
    scores = [MosesBleu(language=one).score(hypotheses, elided, elided).score for one in ("fr", "en")]
    assert scores[0] != scores[1]


def test_lines_of_several_languages_each_have_their_own() -> None:
    mixed = MosesBleu(language=None).for_languages(["fr", "en"])
    pair = ["l'homme", "l'homme"]
    found = mixed.score(pair, pair, pair)
    assert "|lang:en+fr|" in found.signature
    given = MosesBleu(language="fr").for_languages(["en", "en"])
    assert "|lang:fr|" in given.score(pair, pair, pair).signature, "the user's own choice stays"


def test_the_option_is_given_the_target_language() -> None:
    (option,) = instantiate(OmegaConf.load(ROOT / "conf" / "metric" / "bleu_lc_norm_tok.yaml")).values()
    metrics = for_languages({"bleu_lc_norm_tok": option, **standard_metrics()}, ["fr"] * 3)
    scores = score_corpus(metrics, HYPOTHESES, FRENCH, FRENCH)
    assert "|lang:fr|" in scores["bleu_lc_norm_tok_signature"]
    assert scores["bleu_lc_norm_tok"] > scores["bleu"]
    with pytest.raises(UserError, match=r"metric\.bleu_lc_norm_tok\.language=null .* give language=en"):
        option.score(HYPOTHESES, FRENCH, FRENCH)
