"""The report of a folder: its tables and figures, and the files that they are written to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from triptych.files import replacing
from triptych.reports import details, figures, findings, formats, latex, methods, setup, suites
from triptych.reports.analysis import Analysis
from triptych.reports.arm_rows import ArmRow, runs_of
from triptych.reports.page import build_page
from triptych.reports.published import Published
from triptych.reports.run_warnings import run_warnings
from triptych.reports.sections import beams, divergence, dose, equal, grid, scaling
from triptych.reports.sections.section import Section
from triptych.reports.stored_run import StoredRun, test_sets
from triptych.reports.study import Study
from triptych.reports.study_page import write_tables
from triptych.reports.summary import summarize
from triptych.reports.table import Table
from triptych.reports.translations import TranslatedSet, translated_sets
from triptych.reports.translations_data import page_data
from triptych.runs.measured_speeds import MeasuredSpeeds

SECTIONS = (grid, equal, dose, scaling, divergence, beams)
"""The kinds of studies that add to a report, in its order."""


@dataclass(frozen=True)
class Report:
    """The report of a folder.

    Attributes:
        folder: the folder that the runs were read from, and whose page is made.
        rows: its arms.
        study: the study that they belong to.
        published: the figures that the literature reports for the study.
        missing: the arms that have no row, a sentence each.
        speeds: how fast the arms train alone on a machine, if that was measured.
    """

    folder: Path
    rows: list[ArmRow]
    study: Study
    published: Published
    missing: list[str]
    speeds: MeasuredSpeeds | None = None

    @property
    def runs(self) -> list[StoredRun]:
        """The runs of all arms."""
        return runs_of(self.rows)

    @property
    def table(self) -> pd.DataFrame:
        """The figures of each arm in plain units: a line for each arm, the columns of ``formats.to_frame``."""
        return formats.to_frame(self.rows, self.published).head(len(self.rows))

    @cached_property
    def analysis(self) -> Analysis:
        """What the runs say of the arms."""
        return Analysis(self.rows, self.study, self.speeds)

    @cached_property
    def sections(self) -> list[Section]:
        """What the report has because of the kind of its study."""
        return [kind.section(self.analysis) for kind in SECTIONS]

    @cached_property
    def main_tables(self) -> list[Table]:
        """The tables that a terminal shows: summary, verdicts on claims, and those of the kind of study."""
        of_kind = [table for section in self.sections for table in section.main.values()]
        return [self._summary, *(table for table in (self._verdicts, *of_kind) if table)]

    @cached_property
    def tables(self) -> list[Table]:
        """Every table, those of a terminal first."""
        names = test_sets(self.runs)
        further = [
            *(table for section in self.sections for table in section.further.values()),
            details.costs(self.rows),
            *self._measures.values(),
            self._suites,
            details.validation_measures(self.rows),
            *self.analysis.differences,
            *self.analysis.of_seeds,
            *self.analysis.of_models,
            *(details.bleu_by_length(self.rows, name) for name in names),
            *(details.recall_by_frequency(self.rows, name) for name in names),
            *(details.validation(self.rows, metric, *how) for metric, how in figures.METRICS.items()),
            self.published.table,
            setup.set_up(self.rows, self.study),
            details.list_runs(self.rows),
        ]
        return [*self.main_tables, *(table for table in further if table and len(table.cells))]

    @cached_property
    def _summary(self) -> Table:
        sentences = [
            *setup.failures(self.rows),
            *self.missing,
            *findings.how_to_read(self.rows, self.analysis, self.study),
            *setup.in_short(self.rows, self.study),
            *setup.unequal_seeds(self.rows),
            *([] if self.study.series else setup.not_converged(self.rows)),  # short budgets are its purpose
            *run_warnings(self.rows),
        ]
        return summarize(self.title, self.rows, self.analysis, self.published, self.study.reference, sentences)

    @cached_property
    def _verdicts(self) -> Table | None:
        if (table := self.analysis.verdicts) is None:
            return None
        converged = [] if self.study.series else setup.not_converged(self.rows)
        return replace(table, lead=[*table.lead, *findings.later_claims(self.study), *converged])

    @cached_property
    def _suites(self) -> Table | None:
        return suites.suites(self.rows)

    @cached_property
    def _measures(self) -> dict[str, Table]:
        """The table of measures of each test set."""
        return {name: details.measures(self.rows, name) for name in test_sets(self.runs)}

    @property
    def methods(self) -> str:
        """The paragraph on methods that a reviewer asks for."""
        return methods.methods(self.rows, self.analysis, self.study)

    @property
    def title(self) -> str:
        """The heading of the report."""
        name = self.folder.resolve().name
        return name if self.study.name in (None, name) else f"{self.study.name}, {name}"

    @property
    def figures(self) -> list[tuple[str, go.Figure]]:
        """The figures that the runs have numbers for, with their titles."""
        drawn = [one for section in self.sections for one in section.figures]
        drawn += [(title, figures.validation(self.rows, metric)) for metric, (title, _) in figures.METRICS.items()]
        for name in test_sets(self.runs):
            drawn.append((f"BLEU by parameters, {name}", figures.bleu_by_parameters(self.rows, name)))
            drawn.append((f"BLEU by source length, {name}", figures.bleu_by_length(self.rows, name)))
        return [(title, figure) for title, figure in drawn if figure]

    @cached_property
    def translations(self) -> list[TranslatedSet]:
        """The test sets with the translations of all arms, as DataFrames."""
        return translated_sets(self.rows)

    @property
    def page(self) -> str:
        """The report as one HTML page, whose links start from ``folder``."""
        return self._page(self.folder)

    def write(self, folder: str | Path | None = None) -> Path:
        """Write ``report.md``, ``report.tex``, ``report.csv`` and ``report.html``, and return the path of the last.

        The report of a study's committed results also writes its tables on the study's page and the README
        (``study_page``).

        Args:
            folder: where to write them; by default the folder of the runs.
        """
        home = Path(folder) if folder is not None else self.folder
        files = {
            "report.md": formats.to_markdown(self.tables, home),
            "report.tex": latex.to_latex(self._summary),
            "report.csv": formats.to_frame(self.rows, self.published).to_csv(index=False),
            "report.html": self._page(home),
        }
        for name, text in files.items():
            with replacing(home / name) as beside:
                beside.write_text(text, encoding="utf-8")
        write_tables(home, self._page_tables())
        return home / "report.html"

    def _page(self, home: Path) -> str:
        colours, sets = figures.colours(self.rows), self.translations
        data = page_data(sets, self.rows, colours, self.study.reference) if sets else None
        return build_page(self.tables, self.figures, colours, home, data)

    def _page_tables(self) -> dict[str, Table | None]:
        """Return the tables that pages may show, by the names of their marks."""
        tables: dict[str, Table | None] = {
            "summary": self._summary,
            "verdicts": self._verdicts,
            "suites": self._suites,
            **{f"measures {name}": table for name, table in self._measures.items()},
        }
        for section in self.sections:
            tables |= {**section.main, **section.further}
        return tables
