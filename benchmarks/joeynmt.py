"""Run JoeyNMT 2.3.0 (Kreutzer et al. 2019, https://aclanthology.org/D19-3019) in an environment of its own.

It trains on the same text with the same SentencePiece model, and translates with our weights.
"""

from __future__ import annotations

import os
import re
import subprocess
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor

from benchmarks.paced import Turn, Worker
from triptych.data.tokenizer import Tokenizer
from triptych.layers.positions import sinusoid

ROOT = Path(__file__).parents[1]
# JoeyNMT 2.3.0 does not work with newer versions of sentencepiece and setuptools.
PACKAGES = ["joeynmt==2.3.0", "importlib_metadata", "sentencepiece==0.2.0", "setuptools<81"]
SPECIALS = ["<unk>", "<pad>", "<s>", "</s>"]
"""JoeyNMT's special tokens, in the order of their ids from 0."""

TESTING: dict[str, Any] = {
    "n_best": 1,
    "beam_size": 4,
    "beam_alpha": 0.6,
    "batch_size": 64,
    "batch_type": "sentence",
    "eval_metrics": ["bleu"],
    "max_output_length": -1,
}
TRAINING: dict[str, Any] = {
    "optimizer": "adamw",
    "adam_betas": [0.9, 0.98],
    "learning_rate": 0.001,
    "weight_decay": 0.0,  # JoeyNMT would also decay biases and layer norm gains
    "clip_grad_norm": 1.0,
    "loss": "crossentropy",
    "label_smoothing": 0.1,
    "batch_size": 4096,
    "batch_type": "token",
    "normalization": "tokens",
    "scheduling": "warmupinversesquareroot",
    "learning_rate_warmup": 400,
    "epochs": 1000,
    "logging_freq": 10,
    "early_stopping_metric": "loss",
    "shuffle": True,
    "overwrite": True,
    "print_valid_sents": [0],
    "keep_best_ckpts": 1,
    "num_workers": 0,
}
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
"""Environment variables with which the C library keeps freed memory, as triptych has it by itself. Without them,
JoeyNMT gives memory back at every step and takes it again, which takes longer still while other processes wait."""


class JoeyNMT:
    """JoeyNMT's commands, run in a folder.

    Args:
        work: folder of its environment, text, vocabulary and models. An environment found there is reused.
        text: lines of each split, ``train``, ``validation`` and ``test``, source and target.
        tokenizer: tokenizer with a joint vocabulary.
    """

    def __init__(self, work: Path, text: dict[str, tuple[Sequence[str], Sequence[str]]], tokenizer: Tokenizer) -> None:
        self.work = work.resolve()
        self.python = self.work / "venv" / "bin" / "python"
        packages, installed = [f"torch=={_release(torch)}", *PACKAGES], self.work / "installed"
        if not installed.exists() or installed.read_text().split() != packages:
            venv.create(self.work / "venv", with_pip=True, clear=True)
            subprocess.run([self.python, "-m", "pip", "install", "-q", packages[0]], check=True)
            subprocess.run([self.python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
            installed.write_text("\n".join(packages))
        self.languages = tokenizer.languages
        for split, sides in text.items():
            for language, lines in zip(self.languages, sides, strict=True):
                (self.work / f"{split}.{language}").write_text("".join(f"{line}\n" for line in lines))
        tokenizer.save(self.work / "tokenizer")
        pieces = tokenizer.vocabulary_pieces("src")
        self.vocabulary = SPECIALS + [piece for piece in pieces if piece not in SPECIALS]
        (self.work / "vocabulary.txt").write_text("".join(f"{piece}\n" for piece in self.vocabulary))
        self.order = [pieces.index(piece) for piece in self.vocabulary]

    def train(self, name: str, model: dict[str, Any], turn: Turn, settings: Mapping[str, str]) -> Worker:
        """Return a process that trains a model in turns, until its context ends.

        Args:
            settings: further environment variables, such as ``KEEP_MEMORY``.
        """
        config = self._config(model, self.work / name)
        config["training"] |= {"updates": 10**6, "validation_freq": 1, "logging_freq": 1}
        return self._in_turns("train", name, config, turn, settings, "-t")

    def train_until(
        self, name: str, model: dict[str, Any], goal: float, every: float
    ) -> tuple[list[str | Path], dict[str, str]]:
        """Return the command, and its environment, that trains a model until its greedy BLEU reaches a goal.

        Args:
            every: seconds of training between validations.
        """
        config = self._config(model, self.work / name)
        config["training"] |= {"updates": 10**6, "validation_freq": 1, "logging_freq": 1}
        path = self._write(name, config)
        environment = {"PYTHONPATH": str(ROOT), "GOAL": str(goal), "EVERY": str(every)}
        return [self.python, "-m", "benchmarks.joeynmt_until", path, "-t"], environment

    def translate(self, model: dict[str, Any], weights: dict[str, Tensor], turn: Turn, turns: int) -> Worker:
        """Return a process that translates ``test`` in turns, a batch each, with weights of our encoder-decoder.

        Args:
            turns: at most. ``test`` is translated once, or again and again until there are so many batches.
        """
        folder = self.work / "ours"
        folder.mkdir(exist_ok=True)
        theirs = renamed(weights, self.order)
        size = theirs["src_embed.lut.weight"].shape[1]
        for stack in ("encoder", "decoder"):
            theirs[f"{stack}.pe.pe"] = sinusoid(torch.arange(5000), size, True).unsqueeze(0)
        torch.save({"model_state": theirs}, folder / "best.ckpt")
        config = self._config(model, folder)
        config["testing"]["load_model"] = str(folder / "best.ckpt")
        for language in self.languages:  # JoeyNMT translates dev and test; dev is its warm-up
            lines = (self.work / f"test.{language}").read_text().splitlines(keepends=True)
            (self.work / f"few.{language}").write_text("".join(lines[: TESTING["batch_size"]]))
            times = -(-turns * TESTING["batch_size"] // len(lines))
            (self.work / f"repeated.{language}").write_text("".join(times * lines))
        config["data"] |= {"dev": str(self.work / "few"), "test": str(self.work / "repeated")}
        return self._in_turns("test", "ours", config, turn, KEEP_MEMORY, "-o", str(folder / "out"))

    def translations(self) -> list[str]:
        """Return the translation of each line of ``test``, when the process of ``translate`` has finished."""
        sentences = len((self.work / f"test.{self.languages[0]}").read_text().splitlines())
        return (self.work / "ours" / "out.test").read_text().splitlines()[:sentences]

    def _in_turns(
        self, mode: str, name: str, config: dict[str, Any], turn: Turn, settings: Mapping[str, str], *options: str
    ) -> Worker:
        command: list[str | Path] = [
            self.python,
            "-m",
            "benchmarks.joeynmt_paced",
            mode,
            self._write(name, config),
            *options,
        ]
        return Worker(command, turn, env=os.environ | settings | {"PYTHONPATH": str(ROOT)})

    def _write(self, name: str, config: dict[str, Any]) -> Path:
        path = self.work / f"{name}.yaml"
        path.write_text(yaml.safe_dump(config))
        return path

    def _config(self, model: dict[str, Any], folder: Path) -> dict[str, Any]:
        def side(language: str) -> dict[str, Any]:
            return {
                "lang": language,
                "level": "bpe",
                "max_length": 256,
                "voc_file": str(self.work / "vocabulary.txt"),
                "tokenizer_type": "sentencepiece",
                "tokenizer_cfg": {"model_file": str(self.work / "tokenizer" / "joint.model")},
            }

        return {
            "name": "peer",
            "joeynmt_version": "2.3.0",
            "model_dir": str(folder),
            "use_cuda": False,
            "fp16": False,
            "random_seed": 1,
            "data": {
                "train": str(self.work / "train"),
                "dev": str(self.work / "validation"),
                "test": str(self.work / "test"),
                "dataset_type": "plain",
                "src": side(self.languages[0]),
                "trg": side(self.languages[1]),
                "special_symbols": {
                    **{f"{name}_token": SPECIALS[i] for i, name in enumerate(("unk", "pad", "bos", "eos"))},
                    **{f"{name}_id": i for i, name in enumerate(("unk", "pad", "bos", "eos"))},
                },
            },
            "testing": dict(TESTING),
            "training": dict(TRAINING),
            "model": {
                "initializer": "xavier_uniform",
                "bias_initializer": "zeros",
                "embed_initializer": "normal",
                "embed_init_weight": 256**-0.5,
                "tied_embeddings": True,
                "tied_softmax": True,
                **model,
            },
        }


def renamed(ours: dict[str, Tensor], order: list[int]) -> dict[str, Tensor]:
    """Return the weights of our pre-norm encoder-decoder under JoeyNMT's names.

    Args:
        order: our id of each entry of JoeyNMT's vocabulary.
    """
    embedding = ours["embeddings.tgt.weight"][order]
    theirs = {"src_embed.lut.weight": embedding, "trg_embed.lut.weight": embedding}
    theirs["decoder.output_layer.weight"] = embedding
    names = {
        "encoder": {"self": ("src_src_att", "layer_norm")},
        "decoder": {"self": ("trg_trg_att", "x_layer_norm"), "cross": ("src_trg_att", "dec_layer_norm")},
    }
    for stack, attentions in names.items():
        for part in ("weight", "bias"):
            theirs[f"{stack}.layer_norm.{part}"] = ours[f"{stack}.norm.{part}"]
        for name, tensor in ours.items():
            if not (found := re.match(rf"{stack}\.blocks\.(\d+)\.(\w+?)_(attention|norm|forward)", name)):
                continue
            layer, kind, what = f"{stack}.layers.{found[1]}", found[2], name.split(".", 4)[4]
            part = what.rsplit(".", 1)[-1]
            if kind in attentions and found[3] == "norm":
                theirs[f"{layer}.{attentions[kind][1]}.{part}"] = tensor
            elif kind in attentions:
                block = f"{layer}.{attentions[kind][0]}"
                if what.startswith("key_value"):
                    theirs[f"{block}.k_layer.{part}"], theirs[f"{block}.v_layer.{part}"] = tensor.chunk(2)
                else:
                    theirs[f"{block}.{'q' if what.startswith('query') else 'output'}_layer.{part}"] = tensor
            elif name.endswith(f"feed_forward_norm.{part}"):
                theirs[f"{layer}.feed_forward.layer_norm.{part}"] = tensor
            else:
                theirs[f"{layer}.feed_forward.pwff_layer.{0 if 'up' in what else 3}.{part}"] = tensor
    return theirs


def _release(module: Any) -> str:
    return module.__version__.partition("+")[0]


def transformer() -> dict[str, Any]:
    """Return the config of a Transformer of 3 + 3 layers of width 256."""
    side = {
        "type": "transformer",
        "num_layers": 3,
        "num_heads": 4,
        "hidden_size": 256,
        "ff_size": 1024,
        "dropout": 0.1,
        "layer_norm": "pre",
        "embeddings": {"embedding_dim": 256, "scale": True, "dropout": 0.0},
    }
    return {"encoder": side, "decoder": side}


def rnn(attention: str, input_feeding: bool) -> dict[str, Any]:
    """Return the config of an RNN of 2 + 2 LSTM layers of 256 units, with a bidirectional encoder.

    Embeddings and recurrent weights begin as ours do. By JoeyNMT's defaults, embeddings of such a small variance would
    hardly move the gates.
    """
    side = {
        "type": "recurrent",
        "rnn_type": "lstm",
        "num_layers": 2,
        "hidden_size": 256,
        "dropout": 0.1,
        "embeddings": {"embedding_dim": 256, "scale": True, "dropout": 0.0},
    }
    decoder = {"attention": attention, "init_hidden": "bridge", "input_feeding": input_feeding, "hidden_dropout": 0.1}
    return {
        "encoder": {**side, "bidirectional": True},
        "decoder": {**side, **decoder},
        "init_rnn_orthogonal": True,
        "lstm_forget_gate": 0.5,  # of two biases that are added up
    }


def parameters(log: Sequence[str]) -> int:
    """Return the number of a model's parameters from the log of its training."""
    (count,) = re.findall(r"Total params: (\d+)", "".join(log))
    return int(count)
