"""What some kinds of studies add to a report: sweeps over a grid, doses, series of sizes, several meanings of equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import plotly.graph_objects as go

from triptych.reports.table import Table


@dataclass(frozen=True)
class Section:
    """Tables and figures of one kind of study; empty for a study of another kind.

    A file of this package has a function ``section``, which makes them of an ``Analysis``; ``Report`` calls those that
    it lists.

    Attributes:
        main: tables that a terminal shows, by the names of their marks on a page (``study_page``).
        further: tables that ``--all`` shows and every file has, likewise.
        figures: figures with their titles; None for one that there are no numbers for.
    """

    main: Mapping[str, Table | None] = field(default_factory=dict)
    further: Mapping[str, Table | None] = field(default_factory=dict)
    figures: Sequence[tuple[str, go.Figure | None]] = ()
