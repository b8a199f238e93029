"""The model card of an exported run (Mitchell et al. 2019): what it was trained on, for how long, and how it scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

TRIPTYCH = "triptych"
PRECISIONS = {"full": "float32", "half": "float16", "int8": "int8"}
"""Type of the numbers that weights are stored as, by precision."""
LICENCE = "other"
"""What the head of the card says until the person who shares the model has chosen a licence."""


def model_card(
    result: Mapping[str, Any],
    checkpoint: str,
    precision: str,
    *,
    library: str = TRIPTYCH,
    usage: tuple[str, str] | None = ("sh", "triptych translate run=FOLDER\n"),
) -> str:
    """Return the card as Markdown, with the head that model hubs read.

    Args:
        result: result.json of the run.
        checkpoint: name of the weights.
        precision: of the weights, one of ``PRECISIONS``.
        library: that loads the folder.
        usage: how to translate with it: the language of a piece of code, and the code. None to leave it out.
    """
    languages = [str(language) for language in result.get("data", {}).get("languages", [])]
    what = f"A model that translates {_listed(languages)}" if languages else "A translation model"
    lines = [
        "---",
        *(["language:", *(f'- "{language}"' for language in languages)] if languages else []),
        f"library_name: {library}",
        "pipeline_tag: translation",
        f"license: {LICENCE}",
        "---",
        "",
        f"# {result.get('run', 'A translation model')}",
        "",
        f"{what}, trained with triptych {result.get('version', '')}.",
        "",
        *([f"```{usage[0]}", *usage[1].splitlines(), "```", ""] if usage else []),
        "## What it is",
        "",
        *_rows(_of_model(result, checkpoint, precision)),
        "",
        "## What its training took",
        "",
        *_rows(_of_training(result)),
        "",
        *_scores(result.get("test", {}), precision, library),
        "## Licence",
        "",
        "No licence is chosen yet. Whoever shares this folder names one here and in the head of this page. The terms "
        "of the training text may bind the model too.",
    ]
    return "\n".join(lines) + "\n"


def _of_model(result: Mapping[str, Any], checkpoint: str, precision: str) -> dict[str, object]:
    model, data, tokenizer = (result.get(part, {}) for part in ("model", "data", "tokenizer"))
    return {
        "architecture": model.get("name"),
        "parameters": _count(model.get("parameters")),
        "without embeddings": _count(model.get("parameters_non_embedding")),
        "pieces": f"{tokenizer.get('name')}, {_count(tokenizer.get('vocab_size'))}",
        "weights": f"{checkpoint}, {PRECISIONS[precision]}",
        "training text": f"{data.get('name')}, fingerprint {data.get('fingerprint')}",
    }


def _of_training(result: Mapping[str, Any]) -> dict[str, object]:
    train = result.get("train", {})
    return {
        "optimizer steps": _count(train.get("steps")),
        "source and target tokens": f"{_count(train.get('tokens_src'))} and {_count(train.get('tokens_tgt'))}",
        "FLOPs": f"{train['flops']:.2e}" if train.get("flops") else None,
        "hours": f"{train['seconds'] / 3600:.2f}" if train.get("seconds") else None,
        "device": f"{train.get('devices', 1)} x {train.get('device')}",
        "seed": result.get("seed"),
    }


def _rows(values: Mapping[str, object]) -> list[str]:
    known = {name: value for name, value in values.items() if value is not None}
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in known.items())]


def _count(value: object) -> str | None:
    return f"{value:,.0f}" if isinstance(value, int | float) else None


def _listed(languages: Sequence[str]) -> str:
    return f"from {languages[0]} to {languages[1]}" if len(languages) == 2 else f"between {', '.join(languages)}"


def _scores(test: Mapping[str, Mapping[str, Any]], precision: str, library: str) -> list[str]:
    """Return a table of all test sets, and the signature of each metric."""
    signatures: dict[str, str] = {}
    for scores in test.values():
        signatures |= {key.removesuffix("_signature"): scores[key] for key in scores if key.endswith("_signature")}
    if not signatures:
        return []
    head = ["test set", "sentences", *signatures]
    rows = [
        [name, _count(scores.get("sentences")) or "", *(_score(scores.get(metric)) for metric in signatures)]
        for name, scores in test.items()
    ]
    return [
        "## Scores",
        "",
        "With triptych's own search"
        + (
            "."
            if library == TRIPTYCH
            else f"; {library} normalises by length in another way, so some translations may differ."
        ),
        "",
        *([f"Scores of the weights before they were rounded to {PRECISIONS[precision]}.", ""] * (precision != "full")),
        *(f"| {' | '.join(row)} |" for row in (head, ["---", *["--:"] * (len(head) - 1)], *rows)),
        "",
        *(f"- {metric}: `{signature}`" for metric, signature in signatures.items()),
        "",
    ]


def _score(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, int | float) else ""
