"""Score a stored run's translations again, to compare the scores with those of its result."""

from __future__ import annotations

import re

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from triptych.errors import UserError
from triptych.evaluation.bleu_statistics import bleu_from_signature
from triptych.evaluation.metrics import Bleu, ChrF, MetricScore, Ter
from triptych.reports.stored_run import StoredRun, TranslatedText

METRICS = {f"{metric.__module__}.{metric.__name__}": metric for metric in (Bleu, ChrF, Ter)}
"""The metrics that can score again, by the ``_target_`` of their configuration."""


def rescore(run: StoredRun, name: str, signature: str, text: TranslatedText) -> MetricScore | None:
    """Return a metric's score of a run's translations, with the settings that the run was scored with.

    Args:
        run: the run, whose config has the settings. Runs of triptych 0.1 have none: their BLEU follows the signature,
            and their chrF has sacreBLEU's defaults.
        name: the name of the metric in the run's result.
        signature: the signature that the result has.
        text: what to score.

    Returns:
        The score, with the signature for the version of sacreBLEU that the run was scored with. None for a metric from
        outside triptych.

    Raises:
        ValueError: sacreBLEU has no metric of these settings.
    """
    settings = (run.config.get("metric") or {}).get(name)
    if settings is None:
        found = _rescore_by_signature(name, signature, text)
    elif settings.get("_target_") in METRICS:
        given = {key: value for key, value in settings.items() if key != "_target_"}
        try:
            metric = METRICS[settings["_target_"]](**given)
        except (TypeError, UserError) as error:
            raise ValueError(f"{name} cannot be built from the run's config: {error}") from error
        found = metric.score(text.translations, text.references, text.sources or text.references)
    else:
        return None
    version = (run.result or {}).get("versions", {}).get("sacrebleu")
    if found is None or version is None:
        return found
    return MetricScore(found.score, re.sub(r"\bversion:[^|]*", f"version:{version}", found.signature))


def _rescore_by_signature(name: str, signature: str, text: TranslatedText) -> MetricScore | None:
    metric: BLEU | CHRF
    if name == "bleu":
        metric = bleu_from_signature(signature)
    elif name == "chrf":
        metric = CHRF()
    else:
        return None
    score = metric.corpus_score(text.translations, [text.references]).score
    return MetricScore(score, metric.get_signature().format())
