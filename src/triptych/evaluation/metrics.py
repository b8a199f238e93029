"""Corpus metrics: the interface, sacreBLEU's BLEU, chrF and TER, and exact match.

sacreBLEU: Post 2018, https://aclanthology.org/W18-6319.

Scores of one metric are comparable only if their signatures are equal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from triptych.errors import UserError, require_at_least, require_one_of
from triptych.evaluation.checks import require_equal_counts

M = TypeVar("M", BLEU, CHRF)
BY_LANGUAGE = "language"
"""Value of ``metric.bleu.tokenize`` that leaves the choice to the target language."""
TOKENIZERS = {
    **dict.fromkeys(("zh", "zho", "chi", "cmn"), "zh"),
    **dict.fromkeys(("ja", "jpn"), "ja-mecab"),
    **dict.fromkeys(("ko", "kor"), "ko-mecab"),
}
"""sacreBLEU's tokenisation for languages that are written without spaces, or whose words it cuts up. Codes are those of
ISO 639, without a region or a script."""
OTHER_LANGUAGES = "13a"


@dataclass(frozen=True)
class MetricScore:
    """Score of a corpus.

    Attributes:
        score: the score, on the scale of its metric; 0 to 100 for BLEU and chrF.
        signature: all settings of the metric, and its version, in one line.
        details: figures that the score is made of, by name, as JSON can hold them.
    """

    score: float
    signature: str
    details: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Metric(Protocol):
    """A corpus metric. Any class with this name and this method can be the ``_target_`` of a YAML of ``conf/metric``.

    One that reads the sources has an attribute ``reads_sources = True``; it is refused where there are none.

    Attributes:
        name: what tables call it, such as ``BLEU``.
    """

    name: str

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        """Score detokenised translations, given one reference and one source for each of them."""


@runtime_checkable
class LanguageMetric(Protocol):
    """A metric whose settings follow from the target language, which it is given before it scores."""

    def for_languages(self, languages: Sequence[str]) -> Metric:
        """Return the metric for lines whose target languages are these, one for each line."""


def for_languages(metrics: Mapping[str, Metric], languages: Sequence[str]) -> dict[str, Metric]:
    """Return the metrics, with those that depend on the target language set to these, one for each line."""
    return {
        name: metric.for_languages(languages) if isinstance(metric, LanguageMetric) else metric
        for name, metric in metrics.items()
    }


class Bleu:
    """Corpus BLEU, 0 to 100.

    Args:
        tokenize: sacreBLEU's tokenisation, such as ``13a``, ``intl``, ``zh`` or ``char``; or ``language``, that of the
            target language: ``zh``, ``ja-mecab``, ``ko-mecab``, and ``13a`` for all others.
        lowercase: whether to ignore case.

    Raises:
        UserError: sacreBLEU has no such tokenisation, or it needs a package that is not installed.
    """

    name = "BLEU"

    def __init__(self, *, tokenize: str, lowercase: bool) -> None:
        require_one_of([*sorted(BLEU.TOKENIZERS), BY_LANGUAGE], "metric.bleu", tokenize=tokenize)
        self._settings: dict[str, Any] = {"tokenize": tokenize, "lowercase": lowercase}
        self._metric = KeptReferences(BLEU, self._settings)
        if tokenize == BY_LANGUAGE:
            return
        try:
            BLEU(**self._settings)
        except (ImportError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise UserError(f"metric.bleu.tokenize={tokenize} cannot be used here ({reason}); choose 13a.") from error

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        """Score hypotheses.

        Raises:
            UserError: the tokenisation is that of a language which nobody has named.
        """
        if self._settings["tokenize"] == BY_LANGUAGE:
            raise UserError(
                f"metric.bleu.tokenize={BY_LANGUAGE} needs the target language; give tgt=…, or choose a tokenisation."
            )
        return bleu_score(self._metric.of(references), hypotheses)

    def for_languages(self, languages: Sequence[str]) -> Metric:
        """Return the metric for lines whose target languages are these, one for each line.

        Raises:
            UserError: ``language`` means several tokenisations for these lines, or one that is not installed.
        """
        if self._settings["tokenize"] != BY_LANGUAGE:
            return self
        codes = {re.split("[-_]", language)[0].lower() for language in languages}
        found = sorted({TOKENIZERS.get(code, OTHER_LANGUAGES) for code in codes})
        if len(found) != 1:
            raise UserError(
                f"metric.bleu.tokenize={BY_LANGUAGE} means {' and '.join(found)} for this text; choose one of them."
            )
        return Bleu(**{**self._settings, "tokenize": found[0]})


class ChrF:
    """Corpus chrF, the F-score of character n-grams (Popović 2015), 0 to 100; chrF++ (2017) with ``word_order=2``.

    Args:
        char_order: longest character n-grams.
        word_order: longest word n-grams; 0 for none.
        beta: weight of recall relative to precision.
        lowercase: whether to ignore case.

    Raises:
        UserError: an order or a weight is too small.
    """

    def __init__(self, *, char_order: int, word_order: int, beta: int, lowercase: bool) -> None:
        require_at_least(1, "metric.chrf", char_order=char_order, beta=beta)
        require_at_least(0, "metric.chrf", word_order=word_order)
        self.name = "chrF" + "+" * word_order
        self._settings: dict[str, Any] = {
            "char_order": char_order,
            "word_order": word_order,
            "beta": beta,
            "lowercase": lowercase,
        }
        self._metric = KeptReferences(CHRF, self._settings)

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        return _sacrebleu_score(self._metric.of(references), hypotheses)


class Ter:
    """Corpus translation edit rate (Snover et al. 2006): edits for 100 reference words. Lower is better.

    Args:
        normalized: whether to tokenise punctuation.
        no_punct: whether to remove punctuation.
        asian_support: whether to split Asian characters.
        case_sensitive: whether to distinguish case.
    """

    name = "TER"

    def __init__(self, *, normalized: bool, no_punct: bool, asian_support: bool, case_sensitive: bool) -> None:
        self._settings: dict[str, Any] = {
            "normalized": normalized,
            "no_punct": no_punct,
            "asian_support": asian_support,
            "case_sensitive": case_sensitive,
        }

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        return _sacrebleu_score(TER(**self._settings, references=[references]), hypotheses)


class ExactMatch:
    """Share of translations that are their reference, character for character, 0 to 100."""

    name = "exact match"

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        equal = sum(ours == theirs for ours, theirs in zip(hypotheses, references, strict=True))
        return MetricScore(100 * equal / len(references), "nrefs:1|case:mixed")


def _sacrebleu_score(metric: CHRF | TER, hypotheses: Sequence[str]) -> MetricScore:
    score = metric.corpus_score(hypotheses, None).score
    return MetricScore(score, metric.get_signature().format())  # complete only after scoring


class KeptReferences(Generic[M]):
    """A metric of sacreBLEU for references, whose n-grams it keeps until others are given: half of the work of a score.

    Args:
        metric: its class.
        settings: its other arguments.
    """

    def __init__(self, metric: type[M], settings: Mapping[str, Any]) -> None:
        self._metric: type[M] = metric
        self._settings = settings
        self._last: tuple[list[str], M] | None = None

    def of(self, references: Sequence[str]) -> M:
        """Return the metric for references, one for each hypothesis."""
        if self._last is None or self._last[0] != list(references):
            self._last = list(references), self._metric(**self._settings, references=[references])
        return self._last[1]


def bleu_score(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str] | None = None) -> MetricScore:
    """Return sacreBLEU's corpus BLEU, with these references or those of the metric.

    Its details are ``brevity_penalty`` (0 to 1), ``length_ratio`` (tokens of the translations for each token of the
    references) and ``precisions`` (of 1-grams to 4-grams, 0 to 100). BLEU is the brevity penalty times the geometric
    mean of the precisions.
    """
    found = metric.corpus_score(hypotheses, references and [references])
    details = {"brevity_penalty": found.bp, "length_ratio": found.ratio, "precisions": list(found.precisions)}
    return MetricScore(found.score, metric.get_signature().format(), details)


def standard_metrics() -> dict[str, Metric]:
    """Return BLEU and chrF with sacreBLEU's own settings."""
    return {
        "bleu": Bleu(tokenize=OTHER_LANGUAGES, lowercase=False),
        "chrf": ChrF(char_order=6, word_order=0, beta=2, lowercase=False),
    }


def deciding_bleu(metrics: Mapping[str, Metric], languages: Sequence[str]) -> Metric:
    """Return the BLEU of choices, and of parts of a test set: the metric ``bleu``, or sacreBLEU's own if there is none.

    Args:
        metrics: by the names of their scores.
        languages: the target language of each line that it will score.

    Raises:
        UserError: its tokenisation follows from the language, and these languages need several.
    """
    given = metrics.get("bleu")
    chosen = given if isinstance(given, Bleu) else Bleu(tokenize=OTHER_LANGUAGES, lowercase=False)
    return chosen.for_languages(languages)


def score_corpus(
    metrics: Mapping[str, Metric], hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]
) -> dict[str, Any]:
    """Return ``<name>``, ``<name>_signature`` and, if the metric has any, ``<name>_details`` for each metric.

    Raises:
        ValueError: the numbers of lines differ, or there are none.
        UserError: a metric does not return a ``MetricScore``, or one that is no finite number.
    """
    require_equal_counts(hypotheses=hypotheses, references=references, sources=sources)
    scores: dict[str, Any] = {}
    for name, metric in metrics.items():
        found = metric.score(hypotheses, references, sources)
        if not isinstance(found, MetricScore):
            raise UserError(
                f"metric.{name}: {type(metric).__name__}.score returned {type(found).__name__}; "
                "let it return a triptych.evaluation.metrics.MetricScore."
            )
        if not math.isfinite(score := float(found.score)):
            raise UserError(
                f"metric.{name}: {type(metric).__name__}.score returned {score}, which is no finite number."
            )
        scores |= {name: score, f"{name}_signature": found.signature}
        scores |= {f"{name}_details": dict(found.details)} if found.details else {}
    return scores
