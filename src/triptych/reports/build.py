"""Build the report of a folder: read its runs, refuse what is not comparable, make tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from triptych.errors import UserError
from triptych.files import replacing
from triptych.reports import (
    amount_figure,
    details,
    figures,
    findings,
    formats,
    latex,
    methods,
    scaling_tables,
    setup,
    suites,
)
from triptych.reports.analysis import Analysis
from triptych.reports.archive_writer import write_archive
from triptych.reports.arm_rows import ArmRow, build_rows, runs_of
from triptych.reports.comparability import refuse_mixtures, refuse_tampered, refuse_unequal_tokens
from triptych.reports.divergence import tabulate_diverged
from triptych.reports.dose import Response, respond, tabulate_dose
from triptych.reports.dose_figure import draw_response
from triptych.reports.equal_table import tabulate_equal
from triptych.reports.grid import Grid, MeasuredGrid, find_grid, tabulate_best, tabulate_grid, tabulate_orders
from triptych.reports.page import build_page
from triptych.reports.published import Published, read_published
from triptych.reports.reader import find_arms, find_runs, find_sweeps_below
from triptych.reports.scaling import Scaling
from triptych.reports.scaling_figure import loss_by_flops
from triptych.reports.statistics.randomization import random_seed
from triptych.reports.stored_run import StoredRun, test_sets
from triptych.reports.study import Study, find_study, subfolders
from triptych.reports.study_page import write_tables
from triptych.reports.summary import summarize
from triptych.reports.table import Table
from triptych.reports.translations import TranslatedSet, translated_sets
from triptych.reports.translations_data import page_data
from triptych.runs.measured_speeds import MeasuredSpeeds, read_speeds
from triptych.sweeps.arms import LEFT_OUT, Arm


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
        return Analysis(self.rows, self.study)

    @cached_property
    def scaling(self) -> Scaling | None:
        """The series of a study of scaling; None for another study, or where its primary measure is no loss."""
        measure = self.analysis.primary
        if self.study.series is None or measure is None or measure.higher_is_better:
            return None
        return Scaling(self.rows, self.study.series, measure)

    @cached_property
    def main_tables(self) -> list[Table]:
        """The tables that a terminal shows: summary, verdicts on claims and by meaning of equal, dose, scaling."""
        verdicts = [table for table in (self._verdicts, self._equal, self._dose) if table]
        return [self._summary, *verdicts, *self._scaling_tables.values()]

    @cached_property
    def tables(self) -> list[Table]:
        """Every table, those of a terminal first."""
        names = test_sets(self.runs)
        further = [
            *self._grid_tables.values(),
            self._diverged,
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
            setup.set_up(self.runs, self.study),
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
        ]
        return summarize(self.title, self.rows, self.analysis, self.published, self.study.reference, sentences)

    @cached_property
    def _verdicts(self) -> Table | None:
        if (table := self.analysis.verdicts) is None:
            return None
        converged = [] if self.study.series else setup.not_converged(self.rows)
        return replace(table, lead=[*table.lead, *findings.later_claims(self.study), *converged])

    @cached_property
    def _scaling_tables(self) -> dict[str, Table]:
        """The tables of a study of scaling, by the names of their marks on a page."""
        if self.scaling is None or not self.scaling.series:
            return {}
        compared = scaling_tables.pairs(self.scaling)
        return {"scaling": scaling_tables.budgets(self.scaling), **({"series": compared} if compared else {})}

    @cached_property
    def _arms_as_grid(self) -> Grid | None:
        return None if self.scaling else find_grid(self.rows)  # its arms are sizes and budgets, which have a figure

    @cached_property
    def _grid(self) -> MeasuredGrid | None:
        """The arms as a grid, in the primary measure; None if they make none, or nothing was measured."""
        grid, measure = self._arms_as_grid, self.analysis.primary
        return MeasuredGrid(grid, measure, self.analysis.compared(measure).mean) if grid and measure else None

    @cached_property
    def _diverged(self) -> Table | None:
        return tabulate_diverged(self.rows, self._arms_as_grid)

    @cached_property
    def _grid_tables(self) -> dict[str, Table]:
        """The tables of a grid, by the names of their marks."""
        if self._grid is None:
            return {}
        return {
            "grid": tabulate_grid(self._grid),
            "best trials": tabulate_best(self._grid),
            "orders": tabulate_orders(self._grid),
        }

    @cached_property
    def _equal(self) -> Table | None:
        return tabulate_equal(self.study, self.rows, self.speeds)

    @cached_property
    def _responses(self) -> list[Response]:
        """Each measure over the doses of a study that has them."""
        dose = self.study.dose
        return [respond(dose, self.rows, self.analysis.compared(one)) for one in self.analysis.measures] if dose else []

    @cached_property
    def _dose(self) -> Table | None:
        return tabulate_dose(self._responses)

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
        drawn = [(f"{one.measure.title} by {one.dose.name}", draw_response(one)) for one in self._responses]
        if self.scaling:
            drawn.append(("Loss by training FLOPs", loss_by_flops(self.scaling)))
        drawn += [(title, figures.validation(self.rows, metric)) for metric, (title, _) in figures.METRICS.items()]
        if self._equal:
            drawn.append((amount_figure.TITLE, amount_figure.loss_by_amount(self.rows, self.speeds)))
        for name in test_sets(self.runs):
            drawn.append((f"BLEU by parameters, {name}", figures.bleu_by_parameters(self.rows, name)))
            drawn.append((f"BLEU by source length, {name}", figures.bleu_by_length(self.rows, name)))
        if self._grid:
            drawn.insert(0, (f"{self._grid.measure.title} by {self._grid.grid.column}", figures.over_grid(self._grid)))
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
        measures = {f"measures {name}": table for name, table in self._measures.items()}
        return {
            "summary": self._summary,
            "verdicts": self._verdicts,
            "equal": self._equal,
            "dose": self._dose,
            "suites": self._suites,
            **measures,
            **self._scaling_tables,
            **self._grid_tables,
            "diverged": self._diverged,
        }


def report(folder: str | Path, *, keep: str | Path | None = None, unequal: bool = False) -> Report:
    """Build the report of the runs at or below a folder, without writing it.

    Args:
        folder: a folder of runs, a sweep's output, an archive, or ``experiments/STUDY`` with results of one scale.
        keep: the folder of an archive to write of the runs; the report is then the archive's.
        unequal: whether to allow arms that were trained on different tokens.

    Raises:
        UserError: there are no runs, one cannot be read, their scores were made in different ways, or ``keep`` holds
            something else.
    """
    found = find_folders(Path(folder), None if keep is None else Path(keep))
    if len(found) > 1:
        names = ", ".join(str(path) for path, _ in found)
        raise UserError(f"{folder} has results of several scales; report one of {names}.")
    ((source, home),) = found
    return build(source, home, unequal=unequal)


def find_folders(folder: Path, keep: Path | None = None) -> list[tuple[Path, Path | None]]:
    """Return the folders to report, each with the folder of its archive, if any.

    Of a study, ``experiments/STUDY``, these are the folders of its ``results``; else it is ``folder`` alone.

    Raises:
        UserError: there is no such study.
    """
    experiments = folder.absolute().parent
    if experiments.name == "experiments" and experiments.is_dir() and not folder.exists():
        raise UserError(f"there is no study {folder}; there are {', '.join(subfolders(experiments)) or 'none'}.")
    results = folder / "results"
    if experiments.name == "experiments" and results.is_dir() and (names := subfolders(results)):
        return [(results / name, keep and keep / name) for name in names]
    return [(folder, keep)]


def build(folder: Path, keep: Path | None = None, *, unequal: bool = False) -> Report:
    """Build the report of one folder, or, with ``keep``, write its archive and build the report of that.

    Raises:
        UserError: as ``report``.
    """
    random_seed()  # refuses a bad seed before anything is written
    arms, runs = find_arms(folder), find_runs(folder)
    built = _build(folder, arms, runs, unequal)
    if keep is None:
        return built
    write_archive(folder, arms, runs, keep)
    return _build(keep, find_arms(keep), find_runs(keep), unequal)


def _build(folder: Path, arms: Sequence[Arm], runs: Sequence[StoredRun], unequal: bool) -> Report:
    study = find_study(folder, arms, runs)
    shown = [arm for arm in arms if arm.status != LEFT_OUT]
    rows = build_rows(folder, shown, runs, study.reference)
    published = read_published(folder, study)
    refuse_mixtures(runs, study.varies)
    if not unequal and "tokens" not in study.varies:
        refuse_unequal_tokens(rows)
    refuse_tampered(runs)
    missing = [
        f"{' '.join(arm.overrides)} failed before it began, and a later sweep left it out: {arm.reason}"
        for arm in arms
        if arm.status == LEFT_OUT
    ]
    if below := find_sweeps_below(folder):
        missing.append(f"Sweeps lie below this folder ({', '.join(below)}); their arms without a run are not shown.")
    return Report(folder, rows, study, published, missing, read_speeds(folder))
