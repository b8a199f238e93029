"""Write docs/small-and-large.md: what small experiments say about large ones, from committed results alone.

python -m benchmarks.small_and_large
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from textwrap import wrap

from benchmarks.page import table
from triptych.files import replacing
from triptych.reports.arm_rows import ArmRow, build_rows, runs_of
from triptych.reports.measures import Measure, find_measure
from triptych.reports.published import Published, read_published
from triptych.reports.reader import find_arms, find_runs
from triptych.reports.scores import VALIDATION_LOSS
from triptych.reports.statistics.agreement import Agreement, decision_accuracy, order_pairs, signal_to_noise
from triptych.reports.statistics.difference import Interval
from triptych.reports.statistics.seeds import SeedVariance, pool_seeds, seed_variances
from triptych.reports.stored_run import test_sets
from triptych.reports.study import find_study, subfolders

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "small-and-large.md"
KEYS = (VALIDATION_LOSS, "bleu", "chrf")
NAMES = {VALIDATION_LOSS: "validation nats", "bleu": "BLEU", "chrf": "chrF"}
ONE_TRAINING = ("decoding",)
"""Studies whose arms are searches of one trained model: they differ in no seed, and their pairs are many and alike."""
Orders = Mapping[tuple[str, str], bool]


@dataclass(frozen=True)
class Measured:
    """The results of a study at one scale."""

    study: str
    scale: str
    rows: Sequence[ArmRow]
    published: Published

    def values(self, key: str) -> dict[str, list[float]]:
        """Return the values of a measure, for each arm one for each seed; none if arms cannot be compared in it."""
        measure = self.measure(key)
        tokenizers = {json.dumps((run.result or {}).get("tokenizer")) for run in runs_of(self.rows) if run.result}
        if key == VALIDATION_LOSS and len(tokenizers) > 1:
            return {}
        return {row.arm: found for row in self.rows if (found := values_of(row, measure))}

    def orders(self, key: str) -> Orders:
        """Return how the means over seeds order the pairs of arms."""
        means = {arm: sum(found) / len(found) for arm, found in self.values(key).items()}
        return order_pairs(means, higher_is_better=self.measure(key).higher_is_better)

    def measure(self, key: str) -> Measure:
        """Return a measure of the study's first test set."""
        return find_measure(key, test_sets(runs_of(self.rows))[0])


def values_of(row: ArmRow, measure: Measure) -> list[float]:
    return [value for run in row.finished if (value := measure.value(run)) is not None]


def read_studies() -> list[Measured]:
    """Return the committed results of all studies that have test sets and several trainings, at each scale."""
    results = [
        home for home in sorted((ROOT / "experiments").glob("*/results")) if home.parent.name not in ONE_TRAINING
    ]
    found = [read_study(home.parent.name, home / scale) for home in results for scale in subfolders(home)]
    return [one for one in found if test_sets(runs_of(one.rows)) and len(one.rows) > 1]


def read_study(name: str, home: Path) -> Measured:
    """Return the results of a study in one folder."""
    arms, runs = find_arms(home), find_runs(home)
    study = find_study(home, arms, runs)
    return Measured(name, home.name, build_rows(home, arms, runs, study.reference), read_published(home, study))


def published_orders(found: Measured) -> Orders:
    """Return how published figures order the pairs of arms: by BLEU, or where no BLEU does, by perplexity."""
    published = found.published
    orders: dict[tuple[str, str], bool] = {}
    for word, higher in (("perplexity", False), ("BLEU", True)):
        for place, header in enumerate(published.header):
            if word in header:
                cells = {arm: re.search(r"\d+(\.\d+)?", figures[place]) for arm, figures in published.cells.items()}
                values = {arm: float(number[0]) for arm, number in cells.items() if number}
                orders |= order_pairs(values, higher_is_better=higher)
    return orders


def percent(agreement: Agreement) -> list[str]:
    """Return the cells of a decision accuracy: the pairs alike, and their share with its interval."""
    if not agreement.pairs:
        return ["–", "–"]
    bounds = agreement.interval
    return [
        f"{agreement.alike} of {agreement.pairs}",
        f"{agreement.share:.0%} [{bounds.low:.0%}, {bounds.high:.0%}]",
    ]


def counted(agreements: Mapping[str, Sequence[Agreement]]) -> str:
    """Return how many pairs of arms two experiments order alike, and how many studies they come from.

    Args:
        agreements: of each study, one for each two experiments that were compared.
    """
    total = sum((one for found in agreements.values() for one in found), Agreement(0, 0))
    studies = sum(any(one.pairs for one in found) for found in agreements.values())
    return (
        f"{total.alike} of {total.pairs} comparisons of two arms ({studies} {'study' if studies == 1 else 'studies'})"
    )


def answer(studies: Sequence[Measured]) -> str:
    """Return the answer in short: how far orders here agree with published ones, and with those of another scale."""
    published: dict[str, list[Agreement]] = {}
    scales: dict[str, list[Agreement]] = {}
    for found in studies:
        agreement = decision_accuracy(found.orders(VALIDATION_LOSS), published_orders(found))
        published.setdefault(found.study, []).append(agreement)
    for one, other in combinations(studies, 2):
        if one.study == other.study:
            agreement = decision_accuracy(one.orders(VALIDATION_LOSS), other.orders(VALIDATION_LOSS))
            scales.setdefault(one.study, []).append(agreement)
    parts = []
    if any(one.pairs for found in scales.values() for one in found):
        parts.append(f"The smaller scale here orders arms as the larger one does in {counted(scales)}.")
    if any(one.pairs for found in published.values() for one in found):
        parts.append(f"Results here order arms as publications do in {counted(published)}.")
    if parts:
        parts.append(
            "The same two arms count once at each scale, and many arms have one seed. So the pairs are not "
            "independent, and the intervals below are too narrow to say whether this is better than guessing."
        )
    return " ".join(["**In short**, by validation loss.", *parts])


def accuracy_lines(studies: Sequence[Measured]) -> list[list[str]]:
    """Return a line for each study that orders a pair that a publication orders too, and their sum."""
    lines, sums = [], {key: Agreement(0, 0) for key in KEYS[:2]}
    for found in studies:
        agreements = {key: decision_accuracy(found.orders(key), published_orders(found)) for key in sums}
        sums = {key: sums[key] + agreement for key, agreement in agreements.items()}
        if any(agreement.pairs for agreement in agreements.values()):
            cells = [cell for agreement in agreements.values() for cell in percent(agreement)]
            lines.append([found.study, found.scale, *cells])
    return [*lines, ["all", "", *(cell for agreement in sums.values() for cell in percent(agreement))]]


def scale_lines(studies: Sequence[Measured]) -> list[list[str]]:
    """Return a line for each study that was measured at two scales."""
    return [
        [
            one.study,
            f"{one.scale}, {other.scale}",
            *(cell for key in KEYS[:2] for cell in percent(decision_accuracy(one.orders(key), other.orders(key)))),
        ]
        for one, other in combinations(studies, 2)
        if one.study == other.study
    ]


def noise_of(studies: Sequence[Measured], scale: str, key: str) -> SeedVariance | None:
    """Return the variance between seeds at a scale, pooled over all its studies; None if their arms differ in it."""
    arms = [values for found in studies if found.scale == scale for values in found.values(key).values()]
    found = seed_variances({str(number): values for number, values in enumerate(arms)})
    return None if found is None or found.unequal else found.pooled


def signal_lines(studies: Sequence[Measured]) -> list[list[str]]:
    """Return a line for each study: the signal to noise of each measure, and whose seeds the noise is of."""
    lines = []
    for found in studies:
        own = any(len(values) > 1 for values in found.values("bleu").values())
        cells = []
        for key in KEYS:
            arms = list(found.values(key).values())
            seeds = pool_seeds(arms) if own else noise_of(studies, found.scale, key)
            ratio = signal_to_noise(arms, seeds)
            cells.append("–" if ratio is None else f"{ratio.ratio:.1f} {bounds_text(ratio.interval)}")
        borrowed = noise_of(studies, found.scale, "bleu") is not None
        lines.append([found.study, found.scale, *cells, "its own" if own else "other studies'" if borrowed else "none"])
    return lines


def bounds_text(bounds: Interval) -> str:
    return f"[{bounds.low:.1f}, {bounds.high:.1f}]"


def noise_lines(studies: Sequence[Measured]) -> list[list[str]]:
    """Return the standard deviation between seeds of each measure at each scale that has several."""
    lines = []
    for scale in sorted({found.scale for found in studies}):
        noise = {key: noise_of(studies, scale, key) for key in KEYS}
        if all(noise.values()):
            degrees = {each.degrees for each in noise.values() if each}
            spreads = [
                f"{each.variance**0.5:.{3 if key == VALIDATION_LOSS else 2}f}" for key, each in noise.items() if each
            ]
            lines.append([scale, *spreads, ", ".join(map(str, sorted(degrees)))])
    return lines


def page(studies: Sequence[Measured]) -> str:
    """Return the page as Markdown."""
    scales = scale_lines(studies)
    heads = [f"{NAMES[key]}: {what}" for key in KEYS[:2] for what in ("pairs alike", "share")]
    lines = [
        "# Does small predict large?",
        "",
        *paragraph(
            "Studies at small scale are worth their cost only if they order arms as larger ones do. This page is "
            "written by `python -m benchmarks.small_and_large` from committed results alone. "
            "Left out are [decoding](../experiments/decoding), whose arms share one training, and results that have no "
            "test set or a single arm."
        ),
        *paragraph(answer(studies)),
        "## Decision accuracy",
        "",
        *paragraph(
            "The share of pairs of arms that two experiments order alike (Magnusson et al. 2025, *DataDecide*, arXiv "
            "2504.11393). Guessing gives 50%. Ties are left out. Intervals are Wilson's, at 95%; they take pairs for "
            "independent, although pairs share arms, and so are too narrow."
        ),
        "### Measured here, and published",
        "",
        *paragraph(
            "Pairs of arms that a publication orders in one column of `published.csv`, by BLEU or else by perplexity. "
            "Many arms have one seed, so part of the disagreement is chance."
        ),
        *table(["study", "scale", *heads], accuracy_lines(studies)),
        "### Two scales",
        "",
        *(
            table(["study", "scales", *heads], scales)
            if scales
            else paragraph("No study has committed results at two scales yet, so nothing is known.")
        ),
        "## Signal to noise",
        "",
        *paragraph(
            "The standard deviation of the arms' means, divided by that of one seed around its arm's mean. If it is "
            "small, one training of each arm cannot rank the arms of a study. Intervals are at 95%, from the F "
            "distribution. A study with one seed takes the noise of the other studies at its scale, and has none where "
            "Bartlett's test finds that the arms there differ in their variance over seeds. Whether its own seeds vary "
            "as much is not known."
        ),
        *table(["study", "scale", *(NAMES[key] for key in KEYS), "seeds of the noise"], signal_lines(studies)),
        *paragraph(
            "A large ratio says that arms differ much, not that the measure is good: in `rnn_attention` and "
            "`architectures` the spread is mostly that of the RNN without attention. Compare the measures within a "
            "line."
        ),
        "The noise itself, the standard deviation between seeds:",
        "",
        *table(["scale", *(NAMES[key] for key in KEYS), "degrees of freedom"], noise_lines(studies)),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def paragraph(text: str) -> list[str]:
    """Return the lines of a paragraph, and an empty line."""
    return [*wrap(text, 120, break_long_words=False, break_on_hyphens=False), ""]


def main() -> None:
    with replacing(PAGE) as beside:
        beside.write_text(page(read_studies()), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
