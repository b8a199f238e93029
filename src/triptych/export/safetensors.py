"""Export a run to a small folder that holds no pickle, to be shared and loaded like any run.

The folder has the run's own files without its training state: run.json, config.yaml, result.json, the tokenizer, and
the weights that result.json scores as a safetensors file, in full or half precision. A model card tells what it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import torch
from safetensors.torch import save_model

from triptych.export.comparison import Comparison, largest_difference
from triptych.export.model_card import model_card
from triptych.runs.digests import KEY, with_digests
from triptych.runs.folder import RunFolder, write_json
from triptych.runs.run import Run, load


def to_safetensors(run: Run, folder: Path, precision: str) -> None:
    """Write the folder of a run that can be shared.

    Args:
        run: trained and scored.
        folder: the new folder.
        precision: of the weights, ``full`` (float32) or ``half`` (float16).

    Raises:
        UserError: the run is not finished.
    """
    new = RunFolder(folder)
    new.checkpoints.mkdir(parents=True)
    shutil.copyfile(run.files.record, new.record)
    shutil.copyfile(run.files.config, new.config)
    run.tokenizer.save(new.tokenizer)
    model = deepcopy(run.model).to(torch.float16 if precision == "half" else torch.float32)
    metadata = {"tokenizer": run.tokenizer.fingerprint}
    save_model(model, str(new.checkpoints / f"{run.checkpoint}.safetensors"), metadata)
    figures = {name: value for name, value in run.result.items() if name != KEY}  # of other files
    write_json(new.result, with_digests(figures, new))
    (folder / "README.md").write_text(model_card(figures, run.checkpoint, precision), encoding="utf-8")


def compare_safetensors(run: Run, folder: Path, lines: Sequence[str]) -> Comparison:
    """Translate lines with the run and with its export, and score the run's translations with both."""
    exported = load(folder, trust=run.trust)
    lines = [line for line in lines if line.strip()]
    ours, theirs = run.translate(lines), exported.translate(lines)
    return Comparison(
        sentences=len(lines),
        same=sum(a == b for a, b in zip(ours, theirs, strict=True)),
        search="with the run's search",
        difference=largest_difference(run.score(lines, ours), exported.score(lines, ours)),
    )
