"""Is the best arm of a test set ahead by more than chance? Paired approximate randomization, by sacreBLEU."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from triptych.report.results import Run

TRIALS = 1000
TOLERANCE = 0.01
"""BLEU points by which translations may miss the score recorded for them before they count as others."""


def compare(arms: Mapping[str, Run], test_set: str) -> pd.DataFrame | None:
    """Tests every arm against the one of the highest BLEU.

    The null hypothesis is that two systems' translations are exchangeable sentence by sentence (Riezler and
    Maxwell 2005); p is two-sided, from ``TRIALS`` random exchanges.

    Args:
        arms: one run an arm, by label.
        test_set: which translations to compare.

    Returns:
        Columns (test set, header) of text: model, BLEU, Δ and p, the best arm first. None where fewer than two arms
        have translations of the same references that give the BLEU recorded for them.
    """
    read = {label: _read(run, test_set) for label, run in arms.items() if test_set in run.tests}
    found = {label: pair for label, pair in read.items() if pair}
    ranked = sorted(found, key=lambda label: -arms[label].tests[test_set]["bleu"])
    ranked = [label for label in ranked if found[label][1] == found[ranked[0]][1]]
    if len(ranked) < 2:
        return None
    systems = [(label, found[label][0]) for label in ranked]
    _, scores = PairedTest(systems, {"BLEU": BLEU()}, [found[ranked[0]][1]], test_type="ar", n_samples=TRIALS)()
    results = dict(zip(ranked, scores["BLEU"], strict=True))
    kept = {
        label: result
        for label, result in results.items()
        if abs(result.score - arms[label].tests[test_set]["bleu"]) <= TOLERANCE
    }
    if len(kept) < 2 or ranked[0] not in kept:
        return None
    best = kept[ranked[0]].score
    rows = [(ranked[0], f"{best:.2f}", "", "")]
    rows += [
        (label, f"{result.score:.2f}", f"{result.score - best:+.2f}", f"{result.p_value:.3f}")
        for label, result in kept.items()
        if label != ranked[0]
    ]
    header = [("", "model"), *((test_set, name) for name in ("BLEU", "Δ BLEU", "p"))]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))


def note(arms: Mapping[str, Run]) -> str:
    """What the table of ``compare`` shows, in a sentence."""
    seeds = sorted({str(run.seed) for run in arms.values()})
    return (
        f"Against the best arm: difference of BLEU and p of paired approximate randomization ({TRIALS} trials, "
        f"two-sided), translations of seed {' or '.join(seeds)}."
    )


def _read(run: Run, test_set: str) -> tuple[list[str], list[str]] | None:
    """Hypotheses and references, or None unless there are equally many of both."""
    folder = run.folder / "translations"
    paths = (folder / f"{test_set}.txt", folder / f"{test_set}.ref.txt")
    if not all(path.is_file() for path in paths):
        return None
    hypotheses, references = (path.read_text(encoding="utf-8").removesuffix("\n").split("\n") for path in paths)
    return (hypotheses, references) if len(hypotheses) == len(references) else None
