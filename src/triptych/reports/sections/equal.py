"""A study that names several meanings of equal."""

from __future__ import annotations

from triptych.reports import amount_figure
from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import runs_of
from triptych.reports.equal import EqualComparisons
from triptych.reports.equal_table import tabulate_claims, tabulate_pairs
from triptych.reports.measures import share_tokenizer
from triptych.reports.sections.section import Section


def section(analysis: Analysis) -> Section:
    """Return the verdicts by meaning of equal, and the losses at equal amounts.

    Nothing if the study names no meanings, if no arm was run, or if the tokenizers differ, since losses a token of
    different tokens cannot be compared.

    Raises:
        UserError: as ``EqualComparisons``.
    """
    study, runs = analysis.study, runs_of(analysis.rows)
    if not (study.equal or study.stand_ins) or not any(run.result for run in runs) or not share_tokenizer(runs):
        return Section()
    compared = EqualComparisons(study, analysis.rows, analysis.speeds)
    tables = {"equal_claims": tabulate_claims(compared), "equal": tabulate_pairs(compared)}
    drawn = amount_figure.loss_by_amount(analysis.rows, analysis.speeds)
    return Section(tables, figures=[(amount_figure.TITLE, drawn)])
