"""What people type as keys because other programs call them so, or twice, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from triptych.config.catalog import groups_in, options_of

HIDDEN = ("model.hidden_size", "model.d_model", "scale.d_model")
PEAK = ("optimizer.schedule.peak", "optimizer.schedule.factor")
KEYS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("lr", "learning_rate", "rate", "max_lr", "peak_lr"), PEAK),
    **dict.fromkeys(
        ("steps", "max_steps", "num_steps", "train_steps", "iters", "iterations", "max_iters", "updates"),
        ("budget.steps",),
    ),
    **dict.fromkeys(("max_tokens", "tokens_per_batch"), ("batch.tokens",)),
    **dict.fromkeys(
        ("accumulate", "grad_accum", "accumulate_grad_batches", "gradient_accumulation", "update_freq"),
        ("batch.accumulate",),
    ),
    **dict.fromkeys(("global_batch_size", "global_batch", "effective_batch_size"), ("batch.per_step",)),
    **dict.fromkeys(("hidden_size", "hidden", "hidden_dim", "dim", "d_model"), HIDDEN),
    **dict.fromkeys(
        ("emb", "emb_size", "emb_dim", "embedding_dim", "embed_dim"), ("model.embedding_size", "model.d_model")
    ),
    **dict.fromkeys(("enc_layers", "n_encoder_layers"), ("model.encoder_layers",)),
    **dict.fromkeys(("dec_layers", "n_decoder_layers"), ("model.decoder_layers",)),
    **dict.fromkeys(("heads", "n_heads", "num_heads", "nhead", "n_head"), ("model.num_heads", "scale.num_heads")),
    **dict.fromkeys(("ffn", "ffn_dim", "ff_size", "d_ff", "dim_feedforward"), ("model.d_ff", "scale.d_ff")),
    **dict.fromkeys(("warmup", "warmup_steps", "warmup_updates"), ("optimizer.schedule.warmup",)),
    **dict.fromkeys(("wd", "weight_decay"), ("optimizer.weight_decay",)),
    **dict.fromkeys(("betas", "beta1", "beta2", "adam_betas"), ("optimizer.optimizer.betas",)),
    **dict.fromkeys(("smoothing", "label_smoothing"), ("loss.label_smoothing",)),
    **dict.fromkeys(("beam", "beam_size", "num_beams", "beam_width"), ("search.beam_size",)),
    **dict.fromkeys(("lenpen", "length_penalty", "len_penalty"), ("search.length_penalty",)),
    **dict.fromkeys(("nbest", "n_best"), ("search.n_best",)),
    **dict.fromkeys(("vocab", "vocab_size", "bpe_size", "bpe_codes"), ("tokenizer.vocab_size", "scale.vocab_size")),
    **dict.fromkeys(
        ("clip", "grad_clip", "clip_grad_norm", "clip_norm", "max_grad_norm"), ("trainer.gradient_clip_val",)
    ),
    **dict.fromkeys(
        (
            "eval_every",
            "eval_interval",
            "eval_steps",
            "val_check_interval",
            "save_every",
            "save_interval",
            "save_steps",
        ),
        ("validation.every",),
    ),
    **dict.fromkeys(("log_interval", "log_every_n_steps", "logging_steps"), ("log_every",)),
    **dict.fromkeys(("average", "avg", "average_checkpoints"), ("checkpoint.average",)),
    **dict.fromkeys(("workers", "num_workers"), ("strategy.workers",)),
    **dict.fromkeys(("random_seed", "random_state", "manual_seed"), ("seed",)),
    **dict.fromkeys(("src_lang", "source_lang", "source_language", "source", "src"), ("src", "data.src")),
    **dict.fromkeys(("tgt_lang", "target_lang", "target_language", "target", "tgt"), ("tgt", "data.tgt")),
    **dict.fromkeys(("data_dir", "dir", "data_path", "path"), ("data.dir",)),
    **dict.fromkeys(("run_name", "experiment_name", "exp_name"), ("name",)),
    **dict.fromkeys(("pretrained", "init_from", "finetune", "load", "load_from"), ("init",)),
    **dict.fromkeys(("out", "out_dir", "output_dir", "save_dir", "run_dir", "checkpoint_dir"), ("output",)),
    **dict.fromkeys(("file", "text", "src_file", "source_file", "input_file", "sources"), ("input", "sentence")),
    **dict.fromkeys(("ref", "refs", "references", "tgt_file", "target_file"), ("reference",)),
    **dict.fromkeys(("hyp", "hyps", "hypotheses", "sys", "system", "predictions"), ("hypothesis",)),
    **dict.fromkeys(("test_set", "testset", "set", "subset"), ("split",)),
    **dict.fromkeys(("metrics",), ("metric",)),
    **dict.fromkeys(("run_folder", "model_path", "model_dir", "model"), ("run",)),
    **dict.fromkeys(("ckpt", "weights"), ("checkpoint",)),
}
"""The key that a word stands for: the first of these that the configuration has."""
SEVERAL: dict[str, str] = {
    **dict.fromkeys(
        ("layers", "n_layers", "num_layers", "depth"), r"model\.(num|encoder|decoder)_layers|scale\.num_layers"
    ),
    **dict.fromkeys(("dropout", "drop", "dropout_rate"), r"(model|tokenizer)\.(\w+\.)?\w*dropout"),
    "tokens": r"(budget|batch)\.tokens",
    **dict.fromkeys(("max_len", "max_length", "max_seq_len"), r"(data|model)\.max_length|search\.max_length_\w+"),
}
"""Words that may mean any of several keys, all those of the configuration that match."""
PARTS = ("model", "data", "tokenizer", "loss", "optimizer", "search")
"""Groups in whose options a key without its group is looked up."""
DEVICES = ("device", "devices", "gpu", "gpus", "n_gpu", "n_gpus", "num_gpus", "cuda", "cpu", "accelerator")
ON_RUNS: dict[str, str] = {
    **dict.fromkeys(("gpu", "gpus", "cuda", "cpu", "devices"), "did you mean device? It is auto, cpu, cuda, cuda:1 …"),
    **dict.fromkeys(
        ("batch_size", "bs", "batch"), "did you mean search_tokens? It counts padded tokens, not sentences."
    ),
    **dict.fromkeys(("fp16", "bf16", "amp", "half", "dtype"), "did you mean precision? It is full or bf16."),
}
"""What to do instead in commands on a trained run."""
IN_TRAINING: dict[str, str] = {
    **dict.fromkeys(DEVICES, "strategy chooses the devices: strategy=cpu, single_gpu, ddp or fsdp."),
    **dict.fromkeys(("fp16", "bf16", "amp", "half"), "did you mean strategy.precision? It is 32-true, bf16-mixed …"),
    **dict.fromkeys(
        ("epochs", "max_epochs", "num_epochs", "n_epochs"),
        "did you mean budget.epochs? Set the scale's budget to null: budget.steps=null budget.epochs=10.",
    ),
    **dict.fromkeys(
        ("hours", "max_time", "time_limit"), "a budget is steps, epochs, tokens or FLOPs: budget.steps=1000, say."
    ),
    **dict.fromkeys(("batch_size", "bs"), "did you mean batch.tokens? It counts padded tokens, not sentences."),
    **dict.fromkeys(
        ("valid", "dev", "val", "validation_file", "valid_file", "dev_file"),
        "data.validation names the validation set, and validation.every says how often it is scored.",
    ),
    **dict.fromkeys(
        ("split", "valid_split", "val_split", "dev_split", "validation_split"),
        "data=text data.validation=0.02 holds 2% of the training pairs out as the validation set.",
    ),
    **dict.fromkeys(
        ("train", "train_file", "train_src", "train_tgt", "training"),
        "text of your own is data=text data.src=en data.tgt=de 'data.train=[FILE,FILE]'.",
    ),
    **dict.fromkeys(("test_file", "test_src"), "data.test lists the test sets of data=text: 'data.test=[test]'."),
    "test_split": "data=text data.test=0.02 holds 2% of the training pairs out as the test set.",
    **dict.fromkeys(
        ("lang", "language", "languages"), "data.src and data.tgt name the languages of data=text and data=multi30k."
    ),
    **dict.fromkeys(("corpus", "dataset"), "did you mean data? triptych list data shows what there is."),
    **dict.fromkeys(("arch", "architecture"), "did you mean model? triptych list models shows what there is."),
    **dict.fromkeys(
        ("scheduler", "lr_scheduler", "sched", "optim", "adam"),
        "did you mean optimizer? triptych list optimizers shows what there is.",
    ),
    **dict.fromkeys(("exp", "study_name"), "did you mean experiment? triptych list studies shows what there is."),
    **dict.fromkeys(
        ("threads", "num_threads"), "the environment variable OMP_NUM_THREADS says how many threads there are."
    ),
    "resume": "the same command goes on where it stopped; to begin with the weights of another run, give init=FOLDER.",
    **dict.fromkeys(
        ("patience", "early_stopping", "early_stop"),
        "it is a callback: 'callbacks=[early_stopping]' callbacks.early_stopping.patience=3.",
    ),
    **dict.fromkeys(("wandb", "wandb_project"), "Weights & Biases is a logger: logger=wandb."),
    "tensorboard": "TensorBoard is a logger: logger=tensorboard.",
    **dict.fromkeys(("seeds", "seed_values", "num_seeds", "n_seeds"), "several seeds are a sweep: -m seed=1,2,3."),
}
"""What to do instead in training, for words that are not just another name of one key."""


OPTIONS: dict[str, str] = {
    **dict.fromkeys(
        ("--config-name", "-cn", "--config-path", "-cp"),
        "--config-dir=FOLDER adds a folder of your own files, and experiment=NAME takes one of its studies.",
    ),
}
"""What to give in the place of options of Hydra that triptych does not have."""


def given_twice(overrides: Sequence[str]) -> list[str]:
    """Return a sentence for each key that overrides set more than once, since only the last one counts."""
    values = dict(one.split("=", 1) for one in overrides if "=" in one)
    keys = [one.partition("=")[0] for one in overrides if "=" in one]
    return [
        f"{key} is given more than once, and the last counts: {key}={values[key]}."
        for key in values
        if keys.count(key) > 1
    ]


def instead_of_option(given: str, options: Sequence[str]) -> str:
    """Return what to give instead of an option that there is not, as the end of a sentence.

    Args:
        given: the option.
        options: those of the command alone.
    """
    option = given.partition("=")[0]
    if option in OPTIONS:
        return OPTIONS[option]
    key = option.lstrip("-").replace("-", "_")
    said = f"did you mean {key}=…?" if len(key) > 1 else "it takes key=value."
    if key not in ("seed", "seeds") and (alike := get_close_matches(option, options, n=1, cutoff=0.9)):
        said = f"did you mean {alike[0]}?"
    return f"{said} ({', '.join([*options, '-m'])} and --config-dir=FOLDER are its options)"


def not_left_out(given: str, key: str) -> str:
    """Return the sentence that refuses an override which leaves out a key that is needed."""
    return f"{given}: {key} cannot be left out; take {given} away, or give it other values."


def hint(key: str, known: Sequence[str], command: str = "train") -> str | None:
    """Return what to do instead of giving a key that does not exist, as the end of a sentence; None if unknown.

    Args:
        key: that was given, whose last part is looked up.
        known: keys of the configuration.
        command: that was given the key.
    """
    word = key.rpartition(".")[2]
    remedies = IN_TRAINING if command == "train" else ON_RUNS
    if word in remedies and f"strategy.{word}" != key and word not in known:
        return remedies[word]
    if pattern := SEVERAL.get(word):
        found = [one for one in known if re.fullmatch(pattern, one) and one != key]
        return f"did you mean {' or '.join(filter(None, [', '.join(found[:-1]), found[-1]]))}?" if found else None
    one = next((one for one in KEYS.get(word, ()) if one in known and one != key), None)
    return f"did you mean {one}?" if one else None


def options_with_key(key: str, folders: Sequence[Path], overrides: Iterable[str]) -> str | None:
    """Return the end of a sentence that names the options of a group that have a key which the chosen one lacks.

    Args:
        key: such as ``tokenizer.bpe_dropout``; or its last part alone, which is looked up in the groups of ``PARTS``.
        folders: with YAML files.
        overrides: of the command line, which may say what was chosen.
    """
    group, dot, inner = key.partition(".")
    overrides = list(overrides)
    if dot:
        return _options_with(group, inner, folders, overrides) if group in groups_in(folders) else None
    found = ((part, _options_with(part, key, folders, overrides)) for part in PARTS)
    return next((f"it belongs to {part}: {said}" for part, said in found if said), None)


def _options_with(group: str, key: str, folders: Sequence[Path], overrides: Iterable[str]) -> str | None:
    line = re.compile(rf"^ *{re.escape(key.rpartition('.')[2])}:", re.MULTILINE)
    chosen = next((one for one in overrides if one.startswith(f"{group}=")), None)
    options = [one for one in options_of(group, folders) if line.search(one.path.read_text(encoding="utf-8"))]
    names = [f"{group}={one.name}" for one in options if f"{group}={one.name}" != chosen]
    if not names:
        return None
    listed = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    has = "have" if len(names) > 1 else "has"
    return f"{chosen or f'the chosen {group}'} lacks it, and {listed} {has} it: choose that, or leave the key out."


def word_alone(word: str, command: str, folders: Sequence[Path]) -> str:
    """Return what a word without ``=`` may have been meant as, as the end of a sentence.

    Args:
        word: such as ``lm4mt`` or ``runs/x``.
        command: that was given it.
        folders: with YAML files.
    """
    if command != "train":
        key = "input" if command != "export" and Path(word).expanduser().is_file() else "run"
        return f"did you mean {key}={word}?"
    groups = [group for group in groups_in(folders) if any(one.name == word for one in options_of(group, folders))]
    if meant := [f"{group}={word}" for group in groups if "/" not in group]:
        return f"did you mean {' or '.join(meant)}?"
    return "give a key and its value, such as scale=toy."
