"""Is the best arm of a test set ahead by more than chance? Paired approximate randomization, by sacreBLEU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.significance import PairedTest, Result

from triptych.report.results import Run
from triptych.report.tables import MISSING

TRIALS = 1000
FEWEST = 10
"""Sentences in which two systems must differ: sacreBLEU leaves ties out of p, so that with hardly any differences,
where nearly every exchange ties, it would call the smallest of them significant."""
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
    systems: list[tuple[str, Sequence[str]]] = [(label, found[label][0]) for label in ranked]
    _, scores = PairedTest(systems, {"BLEU": BLEU()}, [found[ranked[0]][1]], test_type="ar", n_samples=TRIALS)()
    results = [result for result in scores["BLEU"] if isinstance(result, Result)]
    kept = {
        label: result
        for label, result in zip(ranked, results, strict=True)
        if abs(result.score - arms[label].tests[test_set]["bleu"]) <= TOLERANCE
    }
    if len(kept) < 2 or ranked[0] not in kept:
        return None
    best = kept[ranked[0]].score
    rows = [(ranked[0], f"{best:.2f}", "", "")]
    for label in list(kept)[1:]:
        differ = sum(ours != theirs for ours, theirs in zip(found[label][0], found[ranked[0]][0], strict=True))
        p = f"{kept[label].p_value:.3f}" if differ >= FEWEST else MISSING
        rows.append((label, f"{kept[label].score:.2f}", f"{kept[label].score - best:+.2f}".replace("-", "−"), p))
    header = [("", name) for name in ("model", "BLEU", "Δ BLEU", "p")]
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_tuples(header))


def note(arms: Mapping[str, Run]) -> str:
    """What the table of ``compare`` shows, in a sentence."""
    seeds = sorted({str(run.seed) for run in arms.values() if run.result})
    return (
        f"Against the best arm: difference of BLEU and p of paired approximate randomization ({TRIALS} trials, "
        f"two-sided, not corrected for the number of arms), translations of seed {' or '.join(seeds)}."
    )


def _read(run: Run, test_set: str) -> tuple[list[str], list[str]] | None:
    """Hypotheses and references, or None unless there are equally many of both."""
    folder = run.folder / "translations"
    paths = (folder / f"{test_set}.txt", folder / f"{test_set}.ref.txt")
    if not all(path.is_file() for path in paths):
        return None
    hypotheses, references = (path.read_text(encoding="utf-8").removesuffix("\n").split("\n") for path in paths)
    return (hypotheses, references) if len(hypotheses) == len(references) else None
