"""Export a trained run, and keep the export only if it computes the same."""

from __future__ import annotations

from pathlib import Path

from hydra.utils import instantiate

from triptych.data.corpus import VALIDATION
from triptych.errors import UserError, require_one_of
from triptych.export.comparison import Comparison
from triptych.export.ctranslate2 import TOLERANCE, compare_ctranslate2, to_ctranslate2
from triptych.export.safetensors import compare_safetensors, to_safetensors
from triptych.files import replacing
from triptych.runs.checkpoints import scored_checkpoint
from triptych.runs.demo import PREFIX
from triptych.runs.run import Run

CHECKED_SENTENCES = 100
"""Sentences of the validation text that both the run and its export translate."""
FORMATS = ("ctranslate2", "safetensors")


def export_run(run: Run, format: str, precision: str, output: str | Path) -> tuple[Comparison, Path]:
    """Write a trained run in another form, and compare the results of the two.

    Args:
        run: trained; the weights of its ``checkpoint`` are exported.
        format: one of ``FORMATS``.
        precision: of the weights, ``full`` or ``half``.
        output: the new folder.

    Raises:
        UserError: an unknown format or precision, a checkpoint that the format does not take, a run without
            result.json, an architecture that the format has no form for, a folder that is there already, or an export
            in full precision that computes something else. Nothing is written then.
    """
    require_one_of(FORMATS, "", format=format)
    require_one_of(("full", "half"), "", precision=precision)
    if format == "ctranslate2" and precision == "half":
        raise UserError(
            "format=ctranslate2 has precision=full alone; CTranslate2 rounds weights when it loads them (compute_type)."
        )
    folder = Path(output).expanduser()
    if str(output).startswith(PREFIX):
        raise UserError("output=… must be given: the folder of a demo run is a part of the package.")
    if folder.exists():
        raise UserError(f"output={folder} is there already; remove it, or give another folder.")
    if format == "safetensors" and run.checkpoint != (scored := scored_checkpoint(run.files)):
        raise UserError(
            f"checkpoint={run.checkpoint} is not what result.json scores, {scored}, and a safetensors folder has both; "
            "leave it out."
        )
    lines = list(instantiate(run.config.data).splits[VALIDATION][0][:CHECKED_SENTENCES])
    with replacing(folder) as beside:
        if format == "ctranslate2":
            to_ctranslate2(run.translator, beside)
            found = compare_ctranslate2(run.translator, beside, lines, run.translator.search)
        else:
            to_safetensors(run, beside, precision)
            found = compare_safetensors(run, beside, lines)
        if precision == "full" and found.difference > TOLERANCE:
            raise UserError(
                f"the export gives our translations other log-probabilities than we do, by up to "
                f"{found.difference:.4f} nats; nothing was written."
            )
    return found, folder
