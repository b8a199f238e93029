"""Check that there is one reference for each translation."""

from __future__ import annotations

from collections.abc import Sequence


def require_equal_counts(**columns: Sequence[object]) -> None:
    """Raise ``ValueError`` if the columns, such as hypotheses and references, differ in length or are empty."""
    counts = {name: len(column) for name, column in columns.items()}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        listed = ", ".join(f"{count} {name}" for name, count in counts.items())
        raise ValueError(f"scores need the same number of lines, at least one, but there are {listed}")
