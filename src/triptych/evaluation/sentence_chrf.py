"""chrF of single sentences, to compare translations of one source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from triptych.evaluation.checks import require_equal_counts


def sentence_chrf(translations: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """Return the chrF of each translation against its reference, 0 to 100: Popović 2015, as sacreBLEU computes it.

    Sentence-level BLEU is zero or a matter of smoothing where no 4-gram matches; chrF counts characters and orders
    even short sentences.

    Returns:
        (sentences,). Equal pairs are scored once.

    Raises:
        ValueError: the numbers of lines differ, or there are none.
    """
    require_equal_counts(translations=translations, references=references)
    metric, pairs = CHRF(), list(zip(translations, references, strict=True))
    scores = {pair: metric.sentence_score(pair[0], [pair[1]]).score for pair in dict.fromkeys(pairs)}
    return np.array([scores[pair] for pair in pairs])
