"""A trained run: its files, and its model ready to translate and to score."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych.attention.explorer import Attention
from triptych.config.arguments import checked
from triptych.config.types import check_types
from triptych.contract.model import TranslationModel
from triptych.data.corpus import Corpus
from triptych.data.directions import Direction
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.ensemble import NO_ATTENTION, EnsembleTranslator
from triptych.decoding.reranking import RerankingTranslator
from triptych.decoding.search import Search
from triptych.decoding.search_tree import SearchTree
from triptych.decoding.translator import Translator
from triptych.errors import UserError, require_one_of
from triptych.runs import checkpoints
from triptych.runs.demo import locate_run
from triptych.runs.digests import require_same_training
from triptych.runs.folder import METRICS_REMEDY, RunFolder, read_metrics, read_record
from triptych.runs.result_file import read_result
from triptych.runs.scored_search import scored_search
from triptych.runs.stored_config import data_to_read, read_config, vouched_for
from triptych.runs.translators import FULL, PRECISIONS, build_translator, directions_of
from triptych.stored import read_table

AUTO = "auto"
"""Device that lets the machine decide: a GPU if PyTorch finds one, else the CPU."""


class Run:
    """A run's folder. Its model is loaded when it is first used.

    Args:
        folder: of the run; or ``demo:NAME``, for one of the small trained runs of the package.
        checkpoint: ``best``, ``last`` or ``averaged``; None for the one that result.json scores.
        device: where the model goes: ``cpu``, ``cuda``, ``cuda:1`` …; ``auto`` for a GPU if there is one, else the CPU.
        trust: package of your own, or several, that the run's configuration may build from; see ``read_config``.
        ensemble: folders of further runs, with whose models this one's translates and scores together. Each has the
            checkpoint that its result.json scores.
        rerank: folders of further runs, with any tokenizers, that help to choose among the hypotheses of the search;
            likewise.
        precision: of the weights: ``full`` (float32) or ``bf16`` (bfloat16).

    Raises:
        UserError: the folder holds no run, or one that this version cannot load; a run is named twice; or an
            unknown precision.
    """

    @checked
    def __init__(
        self,
        folder: str | PathLike[str],
        checkpoint: str | None = None,
        device: str | torch.device = "cpu",
        trust: str | Sequence[str] | None = (),
        ensemble: Any = (),
        rerank: Any = (),
        precision: str = FULL,
    ) -> None:
        require_one_of(PRECISIONS, "", precision=precision)
        self.trust, self.precision = trust, precision
        given = RunFolder(locate_run(folder))
        read_record(given)
        self.files = RunFolder(given.path.absolute())  # the working folder may change
        self.checkpoint = checkpoint or checkpoints.scored_checkpoint(self.files)
        self.others = self._members("ensemble", ensemble, device)
        self.rerankers = self._members("rerank", rerank, device)
        self.device = ("cuda" if torch.cuda.is_available() else "cpu") if device == AUTO else str(device)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r})"

    def _members(self, key: str, given: Any, device: str | torch.device) -> list[Run]:
        """Return the further runs that a key names.

        Raises:
            UserError: one is no run, or named twice.
        """
        found = [_member(key, other, device, self.trust, self.precision) for other in _listed(key, given)]
        paths = [one.folder.resolve() for one in (self, *found)]
        if len(set(paths)) < len(paths):
            raise UserError(f"{key}: a run is named twice; name each once, and the one of run=… not again.")
        return found

    @property
    def weights(self) -> str:
        """Which weights translate: the checkpoint, the precision unless it is full, and further runs with a hash."""
        precision = "" if self.precision == FULL else f".{self.precision}"
        return self.checkpoint + precision + _named("+", self.others) + _named("~", self.rerankers)

    @property
    def folder(self) -> Path:
        """Path of the run's folder."""
        return self.files.path

    @cached_property
    def config(self) -> DictConfig:
        """Configuration of the run, resolved and read-only, with the sizes that ``match`` has found.

        Raises:
            UserError: a damaged file, or one that would run code that is not triptych's; see ``trust``.
        """
        return read_config(self.files, self.trust)

    def load_corpus(self) -> Corpus:
        """Read the text of the run.

        Raises:
            UserError: text that is not there, or would be fetched from where nobody vouches for; see ``trust``.
        """
        corpus: Corpus = instantiate(data_to_read(self.files, self.config.data, self.trust))
        return corpus

    @property
    def trusted(self) -> list[str]:
        """What the configuration may build from besides what triptych has, as ``trust`` of a command names it."""
        trust = vouched_for(self.config) if self.trust is None else self.trust
        return [value for value in ([trust] if isinstance(trust, str) else trust) if not value.startswith("triptych.")]

    def is_that_of(self, config: DictConfig) -> bool:
        """Whether the configuration of a command names this run, with equal weights, device, trust and further runs."""
        further = [[str(one.folder) for one in runs] for runs in (self.others, self.rerankers)]
        named = [config.get(key, own) for key, own in zip(("ensemble", "rerank"), further, strict=True)]
        wanted = (config.run, config.checkpoint, config.device, config.precision, config.trust, *named)
        return wanted == (str(self.folder), self.checkpoint, self.device, self.precision, self.trusted, *further)

    @property
    def result(self) -> dict[str, Any]:
        """Contents of result.json.

        Raises:
            UserError: the run is not finished.
        """
        if not self.files.result.exists():
            raise UserError(f"{self.folder} has no result.json yet; finish it by the command that started it.")
        return read_result(self.files)

    @property
    def metrics(self) -> pd.DataFrame:
        """What the run has logged: a row for each logged step, with columns ``step``, ``train/loss`` and so on."""
        path = self.folder / "metrics.csv"
        return read_table(path, METRICS_REMEDY) if path.exists() else read_metrics(self.files)

    @cached_property
    def translator(self) -> Translator:
        """Model and tokenizer, ready to translate; with the models of an ensemble, and those that rerank.

        Raises:
            UserError: no such checkpoint or device, files that have changed since they were written, a model of the
                user's own that cannot be imported here, or runs that do not go together.
        """
        found = self._own_translator()
        if self.others:
            found = EnsembleTranslator([found, *(other.translator for other in self.others)])
        return RerankingTranslator(found, [one.translator for one in self.rerankers]) if self.rerankers else found

    def _own_translator(self) -> Translator:
        path = checkpoints.find(self.files, self.checkpoint)
        tokenizer = Tokenizer.load(self.files.tokenizer)
        if (stored := checkpoints.tokenizer_of(path)) != tokenizer.fingerprint:
            raise UserError(
                f"run={self.folder}: its tokenizer {tokenizer.fingerprint} is not the one that its checkpoint was "
                f"trained with, {stored}; put the right tokenizer folder back."
            )
        config = self.config
        require_same_training(self.files, path)
        check_types(config.model, "model.")  # a class of the user's that is not importable here is named
        search = scored_search(self.files, config.search)
        return build_translator(config, tokenizer, path, search, self.device, self.precision)

    @property
    def tested(self) -> Direction:
        """Source and target language of the run's test sets; no model is loaded."""
        return directions_of(self.config, Tokenizer.load(self.files.tokenizer)).tested

    @property
    def model(self) -> TranslationModel:
        """The architecture with its trained weights, in evaluation mode; of an ensemble, that of this run."""
        return self.translator.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self.translator.tokenizer

    @checked
    def translate(
        self,
        lines: Iterable[str],
        search: Search | None = None,
        search_tokens: int = 4096,
        direction: Direction | None = None,
    ) -> list[str]:
        """Return one translation for each line, as ``Translator.translate``."""
        return self.translator.translate(lines, search, search_tokens, direction)

    @checked
    def score(
        self, src: Iterable[str], tgt: Iterable[str], search_tokens: int = 4096, direction: Direction | None = None
    ) -> list[float]:
        """Return log p(target | source) of each pair in nats, as ``Translator.score``."""
        return self.translator.score(src, tgt, search_tokens, direction)

    @checked
    def search_tree(
        self,
        line: str,
        beam_size: int | None = None,
        length_penalty: float | None = None,
        direction: Direction | None = None,
    ) -> SearchTree:
        """Return the tree of hypotheses that the search considers for a sentence, as ``Translator.search_tree``."""
        return self.translator.search_tree(line, beam_size, length_penalty, direction)

    @checked
    def attention(
        self,
        src: str | Iterable[str],
        tgt: str | Iterable[str] | None = None,
        direction: Direction | None = None,
        ablate: str | Sequence[str] = (),
    ) -> Attention:
        """Return the attention over sentence pairs: a list of maps, and a page that a notebook shows.

        Args:
            src: a source, or several.
            tgt: a target for each source; None for the model's own translations.
            direction: source and target language; None for the direction of the test sets.
            ablate: heads to switch off, such as ``cross.1.3`` (the third of the first layer) or ``cross.1`` (all of
                it). The targets stay those of the model with all heads.

        Raises:
            UserError: the numbers of sources and targets differ, a head that the model does not have, or an ensemble.
        """
        if self.others:
            raise UserError(NO_ATTENTION)
        sources, targets = self.translator.pair_ids(
            [src] if isinstance(src, str) else src, [tgt] if isinstance(tgt, str) else tgt, direction=direction
        )
        whole = Attention(self.translator, self.folder.name, sources, targets, direction)
        heads = [ablate] if isinstance(ablate, str) else ablate
        return whole.without(*heads) if heads else whole


def _named(mark: str, runs: Sequence[Run]) -> str:
    """Return the names of further runs, each behind a mark, and a hash of their folders and checkpoints."""
    if not runs:
        return ""
    members = sorted(f"{one.folder.resolve()} {one.checkpoint}" for one in runs)
    digest = hashlib.sha256("\n".join(members).encode()).hexdigest()[:6]
    return mark + "+".join([*sorted(one.folder.name for one in runs), digest])


def _listed(key: str, named: Any) -> list[str | PathLike[str]]:
    """Return the folders of the further runs that a key names as a list.

    Raises:
        UserError: neither a folder nor a list of folders.
    """
    given = [named] if isinstance(named, str | PathLike) else named
    if given is None or isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise UserError(f"{key}={named} must be the folder of a run, or a list of them.")
    listed = list(given)
    if wrong := [one for one in listed if not isinstance(one, str | PathLike)]:
        raise UserError(f"{key}: {wrong[0]} is no folder of a run.")
    return listed


def _member(
    key: str, folder: str | PathLike[str], device: str | torch.device, trust: str | Sequence[str] | None, precision: str
) -> Run:
    try:
        return Run(folder, None, device, trust, precision=precision)
    except UserError as error:
        raise UserError(f"{key}: {error}") from error


def run_of(config: DictConfig, folder: str | None = None) -> Run:
    """Return the run that the configuration of a command names; its model is not loaded yet.

    Args:
        config: with the keys of ``config.schema.RunOptions``.
        folder: which run, if ``config.run`` names several.

    Raises:
        UserError: as ``Run``.
    """
    computing = {key: config[key] for key in ("device", "precision") if "device" in config}  # export only writes files
    further = {key: config[key] for key in ("ensemble", "rerank") if key in config}
    return Run(folder or config.run, config.checkpoint, trust=config.trust, **computing, **further)


@checked
def load(
    run: str | PathLike[str],
    checkpoint: str | None = None,
    device: str | torch.device = "cpu",
    trust: str | Sequence[str] | None = (),
    ensemble: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    rerank: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    precision: str = FULL,
) -> Run:
    """Load a run and its model.

    Args:
        run: its folder, or ``demo:NAME``, as for ``Run``.
        checkpoint: ``best``, ``last`` or ``averaged``; None for the one that result.json scores.
        device: where the model goes, as of ``Run``; the other arguments likewise.

    Raises:
        UserError: no such run, checkpoint, device or precision, a run of another version, a tokenizer that the
            checkpoint was not trained with, or a configuration that would run code that is not triptych's.
    """
    loaded = Run(run, checkpoint, device, trust, ensemble, rerank, precision)
    _ = loaded.translator
    return loaded
