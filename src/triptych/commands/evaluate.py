"""triptych evaluate: translate and score one split with a trained run."""

from __future__ import annotations

from pathlib import Path

from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych import evaluation, runs
from triptych.commands import schema
from triptych.commands.hydra_app import require_values, run
from triptych.errors import UserError


def main(arguments: list[str]) -> int:
    schema.register()
    return run("evaluate", evaluate, arguments)


def evaluate(config: DictConfig) -> None:
    """Prints the scores, and keeps them and the translations in the run's folder, one set of files a way to search.

    Raises:
        UserError: a split that the run's data does not have.
    """
    require_values(config)
    search = instantiate(config.search)
    translator = runs.load(config.run, config.checkpoint, config.device)
    corpus = instantiate(translator.config.data)
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
    evaluation.save(found, runs.RunFolder(Path(config.run)), name)
    scores = found.scores
    print(f"BLEU {scores['bleu']:.2f}  {scores['bleu_signature']}")
    print(f"chrF {scores['chrf']:.2f}  {scores['chrf_signature']}")
    print(f"mean smoothed sentence BLEU over pieces {scores['sentence_bleu_pieces']:.2f}  (not comparable with BLEU)")
    for row in scores["by_length"]:
        if row["sentences"]:
            print(f"  {row['label']:>6} words  {row['sentences']:5} sentences  BLEU {row['bleu']:.2f}")
