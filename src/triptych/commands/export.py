"""triptych export: a trained run in the form of another program, checked against ours."""

from __future__ import annotations

from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.config import schema
from triptych.config.composition import require_values, run
from triptych.config.types import check_types
from triptych.errors import UserError

CHECKED = 100
"""Sentences of the validation text that both programs translate."""


def main(arguments: list[str]) -> int:
    schema.register()
    return run("export", export, arguments)


def export(config: DictConfig) -> None:
    """Writes the folder, and says how far its translations of validation text are ours.

    Raises:
        UserError: an unknown format, an architecture that it has no form for, or a result that computes another thing.
    """
    require_values(config)
    check_types(config)
    if config.format != "ctranslate2":
        raise UserError(f"format={config.format} is unknown; give ctranslate2.")
    folder = Path(config.output).expanduser()
    if folder.exists():
        raise UserError(f"output={folder} is there already; remove it, or give another folder.")
    from triptych.export.ctranslate2 import TOLERANCE, compare_ctranslate2, to_ctranslate2
    from triptych.files import replacing
    from triptych.runs.trained_run import load, load_config

    translator = load(config.run, config.checkpoint)
    lines = list(instantiate(load_config(config.run).data).splits["validation"][0][:CHECKED])
    with replacing(folder) as beside:
        to_ctranslate2(translator, beside)
        found = compare_ctranslate2(translator, beside, lines, translator.search)
        if found.difference > TOLERANCE:
            raise UserError(
                f"CTranslate2 gives our translations other log-probabilities than we do, by up to "
                f"{found.difference:.4f} nats; nothing was written."
            )
    print(f"{found.same} of {found.sentences} validation sentences: the same translation without a length penalty")
    print(f"log-probabilities of our translations: the same within {found.difference:.1e} nats")
    print(f"ctranslate2: {folder}")
