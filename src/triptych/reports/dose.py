"""A study whose arms are doses of one quantity: the line of a measure over the dose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from omegaconf import OmegaConf

from triptych.reports.arm_rows import ArmRow
from triptych.reports.comparisons import Comparisons
from triptych.reports.measures import Measure
from triptych.reports.statistics.difference import Interval
from triptych.reports.statistics.trend import Trend, fit_trend
from triptych.reports.stored_run import StoredRun
from triptych.reports.table import MISSING, Table, make_cells

TITLE = "Dose"
FIT = "The line is fitted by least squares to the means over seeds, a point an arm (interval by the t distribution)."


@dataclass(frozen=True)
class Dose:
    """A quantity that the arms of a study have more or less of.

    Attributes:
        name: what tables call it.
        mean_of: numeric keys of the configuration. Their mean is the dose.
    """

    name: str
    mean_of: tuple[str, ...]

    def of(self, run: StoredRun) -> float:
        """Return the dose of a run."""
        config = OmegaConf.create(run.config)
        return fmean(float(OmegaConf.select(config, key)) for key in self.mean_of)


@dataclass(frozen=True)
class Response:
    """A measure of the arms over their doses.

    Attributes:
        dose: the quantity.
        measure: the measure.
        points: dose and mean over seeds of each arm that has a value, the lowest dose first.
    """

    dose: Dose
    measure: Measure
    points: tuple[tuple[float, float], ...]

    @property
    def line(self) -> Trend | None:
        """The line of the measure over the dose; None with fewer than three arms, or with one dose."""
        return fit_trend(*zip(*self.points, strict=True)) if self.points else None

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest dose."""
        return self.points[0][0], self.points[-1][0]

    @property
    def change(self) -> tuple[float, Interval] | None:
        """How much higher the line is at the highest dose than at the lowest, with its 95% interval."""
        if (line := self.line) is None:
            return None
        span = self.range[1] - self.range[0]
        return line.slope * span, Interval(line.low * span, line.high * span)


def respond(dose: Dose, rows: Sequence[ArmRow], compared: Comparisons) -> Response:
    """Return a measure of the finished arms over their doses.

    Args:
        dose: the quantity.
        rows: the arms.
        compared: the arms in the measure.
    """
    found = [(dose.of(row.finished[0]), mean) for row in rows if (mean := compared.mean(row)) is not None]
    return Response(dose, compared.measure, tuple(sorted(found)))


def tabulate_dose(responses: Sequence[Response]) -> Table | None:
    """Return a table of the line of each measure; None if no measure has one.

    Args:
        responses: a measure each, of one dose.
    """
    lines = [line for line in map(_cells, responses) if line]
    if not lines:
        return None
    dose = next(response for response in responses if response.line)
    low, high = (f"{end:g}" for end in dose.range)
    header = ["measure", "arms", f"line at {low}", f"line at {high}", "change [95% interval]"]
    lead = f"The dose is the {dose.dose.name}, from {low} to {high}."
    return Table(TITLE, make_cells(header, lines), [FIT], lead=[lead], prose=frozenset({0}))


def show_change(response: Response) -> str:
    """Return the change along a line with its interval, as text; ``MISSING`` if there is no line."""
    if (found := response.change) is None:
        return MISSING
    estimate, interval = found
    shown = (response.measure.text(value) for value in (estimate, interval.low, interval.high))
    return "{} [{}, {}]".format(*shown)


def _cells(response: Response) -> list[str] | None:
    if (line := response.line) is None:
        return None
    measure = response.measure
    ends = (f"{value:.{measure.decimals}f}" for value in (line.start, line.end))
    return [measure.with_unit, str(len(response.points)), *ends, show_change(response)]
