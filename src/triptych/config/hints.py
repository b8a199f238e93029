"""Words that people try as keys because other programs call them so, and what they are called here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from triptych.config.catalog import groups_in, options_of

HIDDEN = ("model.hidden_size", "model.d_model", "scale.d_model")
LAYERS = ("model.num_layers", "model.encoder_layers", "scale.num_layers")
PEAK = ("optimizer.schedule.peak", "optimizer.schedule.factor")
KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("lr", "learning_rate", "rate"), PEAK),
    **dict.fromkeys(("steps", "max_steps", "num_steps"), ("budget.steps",)),
    **dict.fromkeys(("batch_size", "bs", "max_tokens"), ("batch.tokens",)),
    **dict.fromkeys(("accumulate", "grad_accum", "accumulate_grad_batches"), ("batch.accumulate",)),
    **dict.fromkeys(("hidden_size", "hidden", "hidden_dim", "dim", "d_model"), HIDDEN),
    **dict.fromkeys(("emb_size", "embedding_dim", "embed_dim"), ("model.embedding_size", "model.d_model")),
    **dict.fromkeys(("layers", "n_layers", "num_layers"), LAYERS),
    **dict.fromkeys(("heads", "n_heads", "num_heads"), ("model.num_heads", "scale.num_heads")),
    **dict.fromkeys(("warmup", "warmup_steps"), ("optimizer.schedule.warmup",)),
    **dict.fromkeys(("beam", "beam_size", "num_beams"), ("search.beam_size",)),
    **dict.fromkeys(("vocab", "vocab_size"), ("tokenizer.vocab_size", "scale.vocab_size")),
    **dict.fromkeys(("clip", "grad_clip", "clip_grad_norm"), ("trainer.gradient_clip_val",)),
    **dict.fromkeys(("eval_every", "eval_interval", "val_check_interval"), ("validation.every",)),
    **dict.fromkeys(("workers", "num_workers"), ("strategy.workers",)),
    **dict.fromkeys(("out", "out_dir", "output_dir", "save_dir"), ("output",)),
}
"""The key that a word stands for: the first of these that the configuration has."""
REMEDIES: dict[str, str] = {
    **dict.fromkeys(
        ("device", "devices", "gpu", "gpus", "cuda", "accelerator"),
        "strategy chooses the devices: strategy=cpu, single_gpu, ddp or fsdp.",
    ),
    **dict.fromkeys(
        ("epochs", "max_epochs", "num_epochs"),
        "did you mean budget.epochs? Set the scale's budget to null: budget.steps=null budget.epochs=10.",
    ),
    **dict.fromkeys(
        ("valid", "dev", "val"),
        "data.validation names the validation set, and validation.every says how often it is scored.",
    ),
    "patience": "it is a key of early stopping: 'callbacks=[early_stopping]' callbacks.early_stopping.patience=3.",
    "wandb": "Weights & Biases is a logger: logger=wandb.",
    "seeds": "several seeds are a sweep: -m seed=1,2,3.",
}
"""What to do instead, for words that are not just another name of one key."""


def hint(key: str, known: Sequence[str]) -> str | None:
    """Return what to do instead of giving a key that does not exist, as the end of a sentence; None if unknown.

    Args:
        key: that was given, whose last part is looked up.
        known: keys of the configuration.
    """
    word = key.rpartition(".")[2]
    if word in REMEDIES and f"strategy.{word}" != key:
        return REMEDIES[word]
    found = next((one for one in KEYS.get(word, ()) if one in known and one != key), None)
    return f"did you mean {found}?" if found else None


def options_with_key(key: str, folders: Sequence[Path], overrides: Iterable[str]) -> str | None:
    """Return the end of a sentence that names the options of a group that have a key which the chosen one lacks.

    Args:
        key: such as ``tokenizer.bpe_dropout``.
        folders: with YAML files.
        overrides: of the command line, which may say what was chosen.
    """
    group, _, inner = key.partition(".")
    if not inner or group not in groups_in(folders):
        return None
    line = re.compile(rf"^ *{re.escape(inner.rpartition('.')[2])}:", re.MULTILINE)
    chosen = next((one for one in overrides if one.startswith(f"{group}=")), None)
    options = [one for one in options_of(group, folders) if line.search(one.path.read_text(encoding="utf-8"))]
    names = [f"{group}={one.name}" for one in options if f"{group}={one.name}" != chosen]
    if not names:
        return None
    listed = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    has = "have" if len(names) > 1 else "has"
    return f"{chosen or f'the chosen {group}'} lacks it, and {listed} {has} it: choose that, or leave the key out."
