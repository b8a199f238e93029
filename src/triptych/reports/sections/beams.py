"""Arms that differ in their beam size: what it costs and gains."""

from __future__ import annotations

from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import runs_of
from triptych.reports.beam_sizes import draw_beams, tabulate_beams
from triptych.reports.sections.section import Section
from triptych.reports.stored_run import test_sets


def section(analysis: Analysis) -> Section:
    """Return BLEU and seconds by beam size, for each test set."""
    rows = analysis.rows
    names = test_sets(runs_of(rows))
    return Section(
        further={f"beams {name}": tabulate_beams(rows, name) for name in names},
        figures=[(f"BLEU and time by beam size, {name}", draw_beams(rows, name)) for name in names],
    )
