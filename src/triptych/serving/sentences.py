"""Sentences of the test sets of served runs, to try at a click."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from triptych.data.pairs import TRAIN, VALIDATION
from triptych.reports.run_folders import find_run_folders
from triptych.runs.demo import FOLDER as DEMO
from triptych.runs.run import Run


def sentences_of(folders: Sequence[Path]) -> dict[str, pd.DataFrame]:
    """Return the sentences of the test sets that runs have translated, by the name of the set.

    Of two runs with different text under one name, the first run's is taken. The runs of ``triptych demo`` keep no
    translations; their text is built in.

    Returns:
        For each set a line for each sentence: ``source`` and ``reference``.

    Raises:
        UserError: a run's text cannot be read.
    """
    found: dict[str, pd.DataFrame] = {}
    for folder in folders:
        for name, table in (_built_in(folder) if DEMO in folder.parents else _stored(folder)).items():
            found.setdefault(name, table)
    return found


def _stored(folder: Path) -> dict[str, pd.DataFrame]:
    (run,) = find_run_folders(folder)
    texts = {name: run.text(name) for name in run.tests}
    return {
        name: pd.DataFrame({"source": text.sources, "reference": text.references})
        for name, text in texts.items()
        if text and text.sources is not None
    }


def _built_in(folder: Path) -> dict[str, pd.DataFrame]:
    splits = Run(folder).load_corpus().splits
    return {
        name: pd.DataFrame({"source": list(sources), "reference": list(references)})
        for name, (sources, references) in splits.items()
        if name not in (TRAIN, VALIDATION)
    }
