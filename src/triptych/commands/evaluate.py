"""triptych evaluate: translate and score one split with a trained run."""

from __future__ import annotations

import json
from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.config import schema
from triptych.config.composition import register_search, require_one_best, require_values, run
from triptych.config.types import check_types
from triptych.data.corpus import Corpus
from triptych.errors import UserError
from triptych.runs import folder as runs


def main(arguments: list[str]) -> int:
    schema.register()
    register_search(arguments)
    return run("evaluate", evaluate, arguments)


def evaluate(config: DictConfig) -> None:
    """Prints the scores, and keeps them and the translations in the run's folder, one set of files a way to search.

    Raises:
        UserError: a split that the run's data does not have, or text that is not what the run was trained with.
    """
    require_values(config)
    check_types(config)
    require_one_best("search", config.search)
    from triptych.evaluation import (
        splits as evaluation,  # not before it is needed: --help and mistakes do not wait for it
    )
    from triptych.kernels.malloc import keep_freed_memory
    from triptych.runs.trained_run import load

    search = instantiate(config.search)
    keep_freed_memory()
    translator = load(config.run, config.checkpoint, config.device)
    corpus = instantiate(translator.config.data)
    folder = runs.RunFolder(Path(config.run).expanduser())
    check_text(folder, corpus)
    if config.split not in corpus.splits:
        raise UserError(f"split={config.split} is unknown; the run's data has {', '.join(corpus.splits)}.")
    found = evaluation.evaluate(
        translator,
        corpus,
        config.split,
        search=search,
        search_tokens=config.search_tokens,
        length_edges=translator.config.length_edges,
    )
    limit = f"{search.max_length_ratio:g}x+{search.max_length_extra:g}"
    how = f"beam{search.beam_size}.alpha{search.length_penalty:g}.length{limit}"
    name = f"{config.split}.{translator.checkpoint}.{how}"
    evaluation.save(found, folder, name)
    scores = found.scores
    checkpoint, count = translator.checkpoint, scores["sentences"]
    print(f"{config.split}: {count:,} sentences, checkpoint {checkpoint}, beam {search.beam_size}")
    print(f"BLEU {scores['bleu']:.2f}  {scores['bleu_signature']}")
    print(f"chrF {scores['chrf']:.2f}  {scores['chrf_signature']}")
    print(f"mean smoothed sentence BLEU over pieces {scores['sentence_bleu_pieces']:.2f}  (not comparable with BLEU)")
    for row in scores["by_length"]:
        if row["sentences"]:
            print(f"  {row['label']:>6} words  {row['sentences']:5} sentences  BLEU {row['bleu']:.2f}")
    print(f"translations: {folder.translations / name}.txt")


def check_text(folder: runs.RunFolder, corpus: Corpus) -> None:
    """Raises ``UserError`` where a finished run's text is no longer what it was."""
    if folder.result.exists():
        then = json.loads(folder.result.read_text(encoding="utf-8"))["data"]["fingerprint"]
        if then != corpus.fingerprint:
            raise UserError(
                f"run={folder.path} was trained with other text (fingerprint {then}) than its data configuration finds "
                f"now ({corpus.fingerprint}); put its files back, and start from the folder that it was trained from."
            )
