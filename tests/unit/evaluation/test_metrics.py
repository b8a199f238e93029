"""Corpus metrics: sacreBLEU's figures, the options of ``conf/metric``, and metrics of one's own."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import sacrebleu
from conftest import ROOT
from hydra.utils import instantiate
from made_runs import corpus_scores
from omegaconf import OmegaConf

from triptych.errors import UserError
from triptych.evaluation.metrics import (
    Bleu,
    ChrF,
    Metric,
    MetricScore,
    Ter,
    for_languages,
    score_corpus,
    standard_metrics,
)

REFERENCES = [
    "Les raisons d'un tel optimisme, chez les uns, et pessimisme, chez les autres ?",
    "Le chat est assis sur le tapis.",
    "Il pleut.",
]
HYPOTHESES = [
    "Les raisons de cet optimisme, chez les uns, et du pessimisme, chez les autres ?",
    "Le chat est sur le tapis.",
    "Il neige.",
]


def sacrebleu_command(folder: Path, *metrics: str) -> list[dict[str, object]]:
    """What the command ``sacrebleu`` says of the translations."""
    for name, lines in (("hypotheses", HYPOTHESES), ("references", REFERENCES)):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sacrebleu", "references", "-i", "hypotheses", "-m", *metrics, "-w", "8"]
    answer = json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)
    return answer if isinstance(answer, list) else [answer]  # of one metric it is no list


def test_corpus_scores_are_those_of_the_sacrebleu_command(tmp_path: Path) -> None:
    bleu, chrf = sacrebleu_command(tmp_path, "bleu", "chrf")
    scores = corpus_scores(HYPOTHESES, REFERENCES)
    assert scores["bleu"] == pytest.approx(bleu["score"], abs=1e-6)
    assert scores["chrf"] == pytest.approx(chrf["score"], abs=1e-6)
    assert scores["bleu_signature"] == bleu["signature"]
    assert scores["chrf_signature"] == chrf["signature"]


def test_a_perfect_translation_scores_100() -> None:
    scores = corpus_scores(REFERENCES, REFERENCES)
    assert scores["bleu"] == pytest.approx(100)
    assert scores["chrf"] == pytest.approx(100)
    assert "tok:13a" in scores["bleu_signature"]


def test_kept_references_are_those_of_the_score() -> None:
    kept, fresh = standard_metrics(), [standard_metrics() for _ in range(3)]
    references = list(REFERENCES)
    for metrics in fresh:
        scores = [score_corpus(one, HYPOTHESES, references, HYPOTHESES) for one in (kept, metrics)]
        assert scores[0] == scores[1]
        references.append(references.pop(0))  # in place


class ExactMatches:
    """A metric as a user may write it: the share of translations that equal their reference, or copy their source."""

    name = "exact"

    def __init__(self, *, copies: bool) -> None:
        self.copies = copies

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        wanted = sources if self.copies else references
        return MetricScore(sum(map(str.__eq__, hypotheses, wanted)) / len(hypotheses), f"copies:{self.copies}")


def test_a_metric_of_ones_own_is_named_by_its_target() -> None:
    metric = instantiate({"_target_": f"{__name__}.ExactMatches", "copies": True})
    assert isinstance(metric, Metric)
    scores = score_corpus({"exact": metric, **standard_metrics()}, ["a", "b"], ["a", "c"], ["x", "b"])
    of_bleu = ["bleu", "bleu_signature", "bleu_details"]
    assert list(scores) == ["exact", "exact_signature", *of_bleu, "chrf", "chrf_signature"]
    assert (scores["exact"], scores["exact_signature"]) == (0.5, "copies:True")


def test_a_metric_must_return_a_score_with_a_signature() -> None:
    class Plain:
        name = "plain"

        def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> float:
            return 1.0

    with pytest.raises(UserError, match=r"metric\.plain: Plain\.score returned float; let it return"):
        score_corpus({"plain": Plain()}, ["a"], ["a"], ["a"])


def test_a_score_must_be_a_number() -> None:
    """A result was written that could not be read."""

    class Undefined:
        name = "undefined"

        def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
            return MetricScore(math.nan, "v1")

    with pytest.raises(UserError, match=r"metric\.undefined: Undefined\.score returned nan, which is no finite number"):
        score_corpus({"undefined": Undefined()}, ["a"], ["a"], ["a"])


def options(*names: str) -> dict[str, Metric]:
    """The metrics of these files of ``conf/metric``, as Hydra merges them."""
    return dict(instantiate(OmegaConf.merge(*(OmegaConf.load(ROOT / "conf" / "metric" / f"{n}.yaml") for n in names))))


def test_the_options_are_sacrebleus_defaults(tmp_path: Path) -> None:
    metrics = options("bleu", "chrf", "ter")
    assert {key: metric.name for key, metric in metrics.items()} == {"bleu": "BLEU", "chrf": "chrF", "ter": "TER"}
    scores = score_corpus(metrics, HYPOTHESES, REFERENCES, REFERENCES)
    for theirs in sacrebleu_command(tmp_path, "bleu", "chrf", "ter"):
        key = theirs["name"].lower().replace("chrf2", "chrf")
        assert scores[key] == pytest.approx(theirs["score"], abs=1e-6)
        assert scores[f"{key}_signature"] == theirs["signature"]
    pair = score_corpus(options("bleu", "chrf"), HYPOTHESES, REFERENCES, REFERENCES)
    assert pair == corpus_scores(HYPOTHESES, REFERENCES)


def test_the_details_of_bleu_are_sacrebleus(tmp_path: Path) -> None:
    (bleu,) = sacrebleu_command(tmp_path, "bleu")
    details = corpus_scores(HYPOTHESES, REFERENCES)["bleu_details"]
    # 78.6/50.0/33.3/21.1 (BP = 0.931 ratio = 0.933 hyp_len = 28 ref_len = 30)
    precisions, rest = str(bleu["verbose_score"]).split(" (")
    assert [f"{one:.1f}" for one in details["precisions"]] == precisions.split("/")
    assert rest.startswith(f"BP = {details['brevity_penalty']:.3f} ratio = {details['length_ratio']:.3f} ")
    mean = math.prod(details["precisions"]) ** (1 / 4)
    assert corpus_scores(HYPOTHESES, REFERENCES)["bleu"] == pytest.approx(details["brevity_penalty"] * mean)


def test_chrfpp_is_sacrebleus(tmp_path: Path) -> None:
    (theirs,) = sacrebleu_command(tmp_path, "chrf", "--chrf-word-order", "2")
    scores = score_corpus(options("chrfpp"), HYPOTHESES, REFERENCES, REFERENCES)
    assert scores["chrfpp"] == pytest.approx(theirs["score"], abs=1e-6)
    assert scores["chrfpp_signature"] == theirs["signature"]


def test_settings_change_score_and_signature() -> None:
    shouted = [line.upper() for line in REFERENCES]
    for metric, mark in (
        (Bleu(tokenize="char", lowercase=True), "case:lc|eff:no|tok:char"),
        (ChrF(char_order=6, word_order=2, beta=2, lowercase=True), "case:lc|eff:yes|nc:6|nw:2"),
    ):
        found = metric.score(shouted, REFERENCES, REFERENCES)
        assert found.score == pytest.approx(100)
        assert mark in found.signature
    assert ChrF(char_order=6, word_order=2, beta=2, lowercase=False).name == "chrF++"
    plain = {"normalized": False, "no_punct": False, "asian_support": False}
    assert Ter(**plain, case_sensitive=False).score(shouted, REFERENCES, REFERENCES).score == 0
    assert Ter(**plain, case_sensitive=True).score(shouted, REFERENCES, REFERENCES).score > 90


def test_exact_match_counts_equal_lines() -> None:
    lines = [REFERENCES[0], REFERENCES[1].upper(), "Il neige."]
    found = score_corpus(options("exact_match"), lines, REFERENCES, REFERENCES)
    assert found == {"exact_match": pytest.approx(100 / 3), "exact_match_signature": "nrefs:1|case:mixed"}


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(UserError, match=r"metric\.bleu\.tokenize=14a is unknown; choose one of 13a, "):
        Bleu(tokenize="14a", lowercase=False)
    with pytest.raises(UserError, match=r"metric\.chrf\.char_order=0"):
        ChrF(char_order=0, word_order=0, beta=2, lowercase=False)


def test_unequal_or_no_lines_are_refused() -> None:
    with pytest.raises(ValueError, match="2 hypotheses, 3 references"):
        corpus_scores(HYPOTHESES[:2], REFERENCES)
    with pytest.raises(ValueError, match="2 sources"):
        score_corpus(standard_metrics(), HYPOTHESES, REFERENCES, REFERENCES[:2])
    with pytest.raises(ValueError, match="at least one"):
        corpus_scores([], [])


@pytest.mark.parametrize(
    ("language", "tokenization", "ours", "theirs"),
    [
        ("zh", "zh", "他每天早上在公园里跑步。", "他每天早上都在公园里跑步。"),
        ("zh-CN", "zh", "他每天早上在公园里跑步。", "他每天早上都在公园里跑步。"),
        ("zho_Hans", "zh", "他每天早上在公园里跑步。", "他每天早上都在公园里跑步。"),
        ("de", "13a", "Der Hund schläft, hier.", "Der Hund schläft hier."),
    ],
)
def test_the_target_language_chooses_the_tokenization(language: str, tokenization: str, ours: str, theirs: str) -> None:
    chosen = for_languages({"bleu": Bleu(tokenize="language", lowercase=False)}, [language])["bleu"]
    found = chosen.score([ours], [theirs], [""])
    expected = Bleu(tokenize=tokenization, lowercase=False).score([ours], [theirs], [""])
    assert found == expected
    assert f"|tok:{tokenization}|" in found.signature
    assert 0 < found.score < 100
    assert sacrebleu.corpus_bleu([ours], [[theirs]], tokenize=tokenization).score == found.score


def test_a_given_tokenization_holds_for_every_language_and_text_of_two_kinds_has_none() -> None:
    given = Bleu(tokenize="13a", lowercase=False)
    assert for_languages({"bleu": given}, ["zh", "de"])["bleu"] is given
    with pytest.raises(UserError, match=r"tokenize=language means 13a and zh for this text; choose one"):
        Bleu(tokenize="language", lowercase=False).for_languages(["zh", "de"])
    assert Bleu(tokenize="language", lowercase=False).for_languages(["fr", "de"]) is not None


def test_the_tokenization_of_a_language_that_nobody_has_named() -> None:
    with pytest.raises(UserError, match=r"tokenize=language needs the target language; give tgt="):
        Bleu(tokenize="language", lowercase=False).score(["a"], ["a"], [""])


@pytest.mark.parametrize(("language", "package"), [("ja", "MeCab"), ("ko", "mecab_ko")])
def test_a_tokenization_that_is_not_installed_is_named(language: str, package: str) -> None:
    if importlib.util.find_spec(package):
        pytest.skip(f"{package} is installed")
    with pytest.raises(UserError, match=rf"tokenize={language}-mecab cannot be used here"):
        Bleu(tokenize="language", lowercase=False).for_languages([language])
