"""Export a trained run, and keep the export only if the other program computes the same."""

from __future__ import annotations

from pathlib import Path

from hydra.utils import instantiate

from triptych.data.corpus import VALIDATION
from triptych.errors import UserError
from triptych.export.ctranslate2 import TOLERANCE, Comparison, compare_ctranslate2, to_ctranslate2
from triptych.files import replacing
from triptych.runs.run import load

CHECKED_SENTENCES = 100
"""Sentences of the validation text that both programs translate."""


def export_run(run: str | Path, format: str, output: str | Path, checkpoint: str | None) -> tuple[Comparison, Path]:
    """Write a folder in the form of another program.

    Args:
        run: folder of the run.
        format: ``ctranslate2``.
        output: the new folder.
        checkpoint: whose weights to export; None for those that result.json scores.

    Raises:
        UserError: an unknown format, an architecture that it has no form for, a folder that is there already, or a
            result that computes something else. Nothing is written then.
    """
    if format != "ctranslate2":
        raise UserError(f"format={format} is unknown; give ctranslate2.")
    folder = Path(output).expanduser()
    if folder.exists():
        raise UserError(f"output={folder} is there already; remove it, or give another folder.")
    loaded = load(run, checkpoint)
    translator = loaded.translator
    lines = list(instantiate(loaded.config.data).splits[VALIDATION][0][:CHECKED_SENTENCES])
    with replacing(folder) as beside:
        to_ctranslate2(translator, beside)
        found = compare_ctranslate2(translator, beside, lines, translator.search)
        if found.difference > TOLERANCE:
            raise UserError(
                f"CTranslate2 gives our translations other log-probabilities than we do, by up to "
                f"{found.difference:.4f} nats; nothing was written."
            )
    return found, folder
