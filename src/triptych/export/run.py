"""Export a trained run, and keep the export only if it computes the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from triptych.data.corpus import VALIDATION
from triptych.errors import UserError, require_one_of
from triptych.export.comparison import Comparison
from triptych.export.ctranslate2 import QUANTIZATIONS, compare_ctranslate2, to_ctranslate2
from triptych.export.ctranslate2_usage import write_usage
from triptych.export.huggingface import compare_huggingface, to_huggingface
from triptych.export.safetensors import compare_safetensors, to_safetensors
from triptych.files import remove_abandoned_folders, replacing
from triptych.runs.checkpoints import scored_checkpoint
from triptych.runs.demo import PREFIX
from triptych.runs.run import Run

CHECKED_SENTENCES = 100
"""Sentences of the validation text that both the run and its export translate."""
TOLERANCE = 1e-3
"""Largest accepted difference, in nats, between the log-probabilities of a sentence in full precision."""


@dataclass(frozen=True)
class Format:
    """A form in which a run can be exported.

    Attributes:
        precisions: of the weights.
        write: writes the new folder of a run in a precision.
        compare: compares a run with the folder in a precision, over lines.
        has_scores: whether the folder tells the scores of result.json, and so can have no other weights than those.
    """

    precisions: Sequence[str]
    write: Callable[[Run, Path, str], None]
    compare: Callable[[Run, Path, str, Sequence[str]], Comparison]
    has_scores: bool


def _write_ctranslate2(run: Run, folder: Path, precision: str) -> None:
    to_ctranslate2(run.translator, folder, precision)
    write_usage(run, folder, precision)


FORMATS = {
    "ctranslate2": Format(
        tuple(QUANTIZATIONS),
        _write_ctranslate2,
        lambda run, folder, precision, lines: compare_ctranslate2(run.translator, folder, precision, lines),
        has_scores=False,
    ),
    "huggingface": Format(
        ("full", "half"),
        to_huggingface,
        lambda run, folder, precision, lines: compare_huggingface(run, folder, lines),
        has_scores=True,
    ),
    "safetensors": Format(
        ("full", "half"),
        to_safetensors,
        lambda run, folder, precision, lines: compare_safetensors(run, folder, lines),
        has_scores=True,
    ),
}


def export_run(run: Run, format: str, precision: str, output: str | Path) -> tuple[Comparison, Path]:
    """Write a trained run in another form, and compare the results of the two.

    Args:
        run: trained; the weights of its ``checkpoint`` are exported.
        format: one of ``FORMATS``.
        precision: of the weights, one of the format's.
        output: the new folder.

    Raises:
        UserError: an unknown format or precision, a checkpoint that the format does not take, a run without
            result.json, an architecture that the format has no form for, a folder that is there already, or an export
            in full precision that computes something else. Nothing is written then.
    """
    require_one_of(FORMATS, "", format=format)
    chosen = FORMATS[format]
    if precision not in chosen.precisions:
        raise UserError(f"precision={precision} is none of format={format}'s: {', '.join(chosen.precisions)}.")
    folder = Path(output).expanduser()
    if str(output).startswith(PREFIX):
        raise UserError("output=… must be given: the folder of a demo run is a part of the package.")
    if folder.exists():
        raise UserError(f"output={folder} is there already; remove it, or give another folder.")
    if chosen.has_scores and run.checkpoint != (scored := scored_checkpoint(run.files)):
        raise UserError(
            f"checkpoint={run.checkpoint} is not what result.json scores, {scored}, and the folder has the scores too; "
            "leave it out."
        )
    lines = list(run.load_corpus().splits[VALIDATION].src[:CHECKED_SENTENCES])
    remove_abandoned_folders(folder)
    with replacing(folder) as beside:
        chosen.write(run, beside, precision)
        found = chosen.compare(run, beside, precision, lines)
        if precision == "full" and found.difference > TOLERANCE:
            raise UserError(
                f"the export gives our translations other log-probabilities than we do, by up to "
                f"{found.difference:.4f} nats; nothing was written."
            )
    return found, folder
