"""What is odd about the runs of a report (``runs.warnings``), gathered over its arms."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.reports.arm_rows import ArmRow
from triptych.reports.labels import enumerate_labels
from triptych.runs.warnings import warnings_of


def run_warnings(rows: Sequence[ArmRow]) -> list[str]:
    """Return what is odd about any run of each arm, as one sentence; empty if nothing is."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for about in dict.fromkeys(one.about for run in row.finished for one in warnings_of(run.result or {})):
            found.setdefault(about, []).append(row.label)
    if not found:
        return []
    trained = sum(bool(row.finished) for row in rows)
    listed = (about if trained == 1 else f"{about} ({_name(labels, trained)})" for about, labels in found.items())
    return [f"Warnings: {'; '.join(listed)}."]


def _name(labels: Sequence[str], trained: int) -> str:
    return "all arms" if len(labels) == trained else enumerate_labels(labels)
