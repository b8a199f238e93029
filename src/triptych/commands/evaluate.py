"""triptych evaluate: translate and score one split with a trained run."""

from __future__ import annotations

import json

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
    from triptych.evaluation.metrics import standard_metrics  # imported here: --help and mistakes do not wait for it
    from triptych.evaluation.splits import evaluate_split, save_evaluation
    from triptych.kernels.malloc import keep_freed_memory
    from triptych.runs.trained_run import load, load_config, run_folder, scored_checkpoint

    search = instantiate(config.search)
    keep_freed_memory()
    trained, folder = load_config(config.run), run_folder(config.run)
    checkpoint = config.checkpoint or scored_checkpoint(folder)
    translator = load(config.run, checkpoint, config.device)
    corpus = instantiate(trained.data)
    check_text(folder, corpus)
    if config.split not in corpus.splits:
        raise UserError(f"split={config.split} is unknown; the run's data has {', '.join(corpus.splits)}.")
    found = evaluate_split(
        translator,
        corpus,
        config.split,
        metrics=standard_metrics(),
        search=search,
        search_tokens=config.search_tokens,
        length_edges=trained.length_edges,
        checkpoint=checkpoint,
    )
    limit = f"{search.max_length_ratio:g}x+{search.max_length_extra:g}"
    how = f"beam{search.beam_size}.alpha{search.length_penalty:g}.length{limit}"
    name = f"{config.split}.{checkpoint}.{how}"
    save_evaluation(found, folder, name)
    scores = found.scores
    print(f"{config.split}: {scores['sentences']:,} sentences, checkpoint {checkpoint}, beam {search.beam_size}")
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
