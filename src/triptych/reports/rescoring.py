"""Score a stored run's translations again, to compare the scores with those of its result."""

from __future__ import annotations

import re

from sacrebleu.metrics.chrf import CHRF

from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_from_signature
from triptych.evaluation.metrics import Bleu, ChrF, ExactMatch, MetricScore, bleu_score, for_languages
from triptych.evaluation.moses_bleu import MosesBleu
from triptych.reports.stored_run import StoredRun, TranslatedText

METRICS = {f"{metric.__module__}.{metric.__name__}": metric for metric in (Bleu, ChrF, ExactMatch, MosesBleu)}
"""The metrics that can score again, by the ``_target_`` of their configuration. TER would take minutes."""

DEFAULTS = {"chrf": CHRF}
"""sacreBLEU's metrics that a run whose config names no metric was scored with, apart from BLEU."""

MARKS_OF_VERSIONS = {"sacrebleu": "version", "sacremoses": "sacremoses"}
"""What stands before a library's version in a signature, by the library."""


def rescore(run: StoredRun, name: str, signature: str, text: TranslatedText) -> MetricScore | None:
    """Return a metric's score of a run's translations, with the settings that the run was scored with.

    Args:
        run: the run, whose config has the settings. Runs of triptych 0.1 have none: their BLEU follows the signature,
            and their chrF has sacreBLEU's defaults.
        name: the name of the metric in the run's result.
        signature: the signature that the result has.
        text: what to score.

    Returns:
        The score, with the signature for the version of sacreBLEU that the run was scored with. None for TER, and for
        a metric from outside triptych.

    Raises:
        ValueError: sacreBLEU has no metric of these settings.
    """
    settings = (run.config.get("metric") or {}).get(name)
    if settings is None:
        found = _rescore_by_signature(name, signature, text)
    elif settings.get("_target_") in METRICS:
        given = {key: value for key, value in settings.items() if key != "_target_"}
        try:
            built = METRICS[settings["_target_"]](**given)
        except (TypeError, UserError) as error:
            raise ValueError(f"{name} cannot be built from the run's config: {error}") from error
        (metric,) = for_languages({name: built}, [_target_language(run)] * len(text.references)).values()
        found = metric.score(text.translations, text.references, text.sources or text.references)
    else:
        return None
    if found is None:
        return None
    signature, versions = found.signature, (run.result or {}).get("versions", {})
    for library, mark in MARKS_OF_VERSIONS.items():
        if library in versions:
            signature = re.sub(rf"\b{mark}:[^|]*", f"{mark}:{versions[library]}", signature)
    return MetricScore(found.score, signature, found.details)


def _target_language(run: StoredRun) -> str:
    """Return the target language of a run's test sets."""
    languages = ((run.result or {}).get("data") or {}).get("languages") or [""]
    return (run.config.get("data") or {}).get("tgt") or languages[-1]


def _rescore_by_signature(name: str, signature: str, text: TranslatedText) -> MetricScore | None:
    if name == "bleu":
        return bleu_score(bleu_from_signature(signature), text.translations, text.references)
    if name not in DEFAULTS:
        return None
    metric = DEFAULTS[name]()
    score = metric.corpus_score(text.translations, [text.references]).score
    return MetricScore(score, metric.get_signature().format())
