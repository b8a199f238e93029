"""Sentences of the test sets that served runs have translated, to try at a click."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from triptych.reports.run_folders import find_run_folders


def sentences_of(folders: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Return the sentences of the test sets of runs, by the name of the set.

    Of two runs with different text under one name, the first run's is taken.

    Returns:
        For each set a line for each sentence: ``source`` and ``reference``.

    Raises:
        UserError: a run's text cannot be read.
    """
    found: dict[str, pd.DataFrame] = {}
    for folder in folders:
        for run in find_run_folders(folder):
            for name in run.tests:
                text = run.text(name)
                if name not in found and text and text.sources is not None:
                    found[name] = pd.DataFrame({"source": text.sources, "reference": text.references})
    return found
