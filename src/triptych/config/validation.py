"""Check a configuration before any text is read, and before any arm of a sweep is planned."""

from __future__ import annotations

import math
from typing import Any

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from triptych import kernels
from triptych.accounting.memory import free_memory_bytes
from triptych.accounting.parameters import count_parameters
from triptych.config.claims import check_claim
from triptych.config.equal import check_equal
from triptych.config.global_batch import check_strategy
from triptych.config.key_groups import LISTS
from triptych.config.schema import Train
from triptych.config.types import check_types
from triptych.contract.model import TranslationModel
from triptych.contract.vocabulary import Vocabulary
from triptych.decoding.choices import TUNED
from triptych.errors import UserError, require_one_of

SMALL_VOCABULARY = 8
"""Pieces of the vocabulary that a model is built with when only its other sizes are checked."""
BYTES_A_WEIGHT = 4
AUTO = "auto"
"""Value of ``jobs`` that lets the sweep choose."""
BUILT = ("model", "data", "tokenizer", "loss", "search")
"""Groups whose option names the class that it configures."""
NO_METRIC = "metric=[] leaves nothing to score translations by; choose one, such as metric=[bleu]."
OTHER_KEYS = {
    "max_steps": "budget",
    "max_time": "budget",
    "limit_train_batches": "budget",
    "overfit_batches": "data.train",
    "limit_val_batches": "data.validation",
    "limit_test_batches": "data.test",
    "max_epochs": "budget.epochs",
    "accumulate_grad_batches": "batch.accumulate",
    "val_check_interval": "validation.every",
    "accelerator": "strategy",
    "devices": "strategy",
    "num_nodes": "strategy",
    "strategy": "strategy",
    "precision": "strategy",
    "callbacks": "callbacks",
    "logger": "logger",
    "default_root_dir": "output",
    "log_every_n_steps": "log_every",
}
"""Arguments of Lightning's Trainer, and the key that sets each instead of ``trainer.*``."""
OVERWRITTEN = {"lr": "optimizer.schedule", "weight_decay": "optimizer.weight_decay", "params": "model"}
"""Arguments of the optimizer that other keys give."""
FREE_ARGUMENTS = ("benchmark", "detect_anomaly", "deterministic", "gradient_clip_algorithm", "profiler")
"""Arguments of Lightning's Trainer that change neither what a run trains on nor what it keeps."""


def check(config: DictConfig) -> None:
    """Check what the schema cannot: missing keys, types, values, and whether the parts can be built.

    Raises:
        UserError: the first mistake.
        hydra.errors.InstantiationException: raised from the ``UserError`` of a constructor.
    """
    require_values(config)
    _refuse_empty(config, "output", "cache", "name")
    _check_targets(config)
    check_types(config, schema=Train)
    _check_overwritten(config)
    _check_budget(config)
    _check_numbers(config)
    _check_match(config)
    _check_checkpoints(config)
    _check_trainer(config)
    check_strategy(config)
    for claim in config.study.claims:
        check_claim(
            claim.claim,
            expect=claim.expect,
            reference=claim.reference or config.study.reference,
            measure=claim.measure,
            test_set=claim.test_set,
            baseline_test_set=claim.baseline_test_set,
            published=claim.published,
        )
    check_equal(config.study.equal, map(str, config.study.stand_ins))
    _check_dose(config)
    require_one_best("search", config.search)
    require_one_best("validation.search", config.validation.search)
    if config.validation.search.get("length_penalty") == TUNED:
        raise UserError(
            f"validation.search.length_penalty={TUNED} is for search alone, which can be tuned after training; give a "
            "number."
        )
    for part in (config.loss, config.search, config.validation.search, config.optimizer.schedule):
        instantiate(part)
    vocabulary = Vocabulary(SMALL_VOCABULARY, SMALL_VOCABULARY, config.tokenizer.joint, src_tag=4, tgt_tag=5)
    _check_memory(build_without_values(config.model, vocabulary))


def check_arm(config: DictConfig, checked: set[str]) -> None:
    """Check the configuration of an arm. If an earlier arm differs in its seed alone, only the seed is checked.

    Args:
        config: of the arm.
        checked: the configurations that were checked before, without their seeds; this one is added.

    Raises:
        UserError, hydra.errors.InstantiationException: as ``check``.
    """
    shared = _without_seed(config)
    if shared is None or shared not in checked:
        check(config)
    else:
        check_types(OmegaConf.masked_copy(config, ["seed"]), schema=Train)
    if shared is not None:
        checked.add(shared)


def _without_seed(config: DictConfig) -> str | None:
    """Return all values but the seed as text; None where there is no seed, or a value that cannot be resolved."""
    try:
        plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except (OmegaConfBaseException, UserError):  # which a check puts into words
        return None
    return repr(plain) if plain.pop("seed", None) is not None else None


def _check_memory(model: TranslationModel) -> None:
    """Refuse a model whose weights alone, without those of the whole vocabulary, are more than memory can take."""
    weights, free = count_parameters(model)[0] * BYTES_A_WEIGHT, free_memory_bytes()
    if free is not None and weights > free:
        needed, there = (f"{size / 2**30:,.1f} GiB" for size in (weights, free))
        raise UserError(f"model: its weights alone take {needed} of memory, and {there} are free; make it smaller.")


def _check_dose(config: DictConfig) -> None:
    if config.study.dose.name and not config.study.dose.mean_of:
        raise UserError(f"study.dose ({config.study.dose.name}) needs mean_of, the keys whose mean it is.")
    for key in config.study.dose.mean_of:
        value = OmegaConf.select(config, key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise UserError(
                f"study.dose.mean_of names {key}, which is {value}; name numeric keys of the configuration."
            )


def check_command(config: DictConfig, keys: type) -> None:
    """Check the configuration of a command on a run, whose keys are those of a dataclass.

    Raises:
        UserError: the first mistake.
    """
    require_values(config)
    _refuse_empty(config, "run", "input", "output", "reference", "hypothesis", "host")
    check_types(config, schema=keys)
    if "metric" in config:
        require_one_best("search", config.search)
        if not config.metric:
            raise UserError(NO_METRIC)
        _check_evaluated(config)


def _check_evaluated(config: DictConfig) -> None:
    """Check that ``triptych evaluate`` gets one thing to score: a split, a text, or another system's translations."""
    given = [key for key in ("split", "input", "hypothesis") if config[key] is not None]
    if not given:
        raise UserError(
            "split=… must be given, a split of the run's data (validation, a test set or suites); or files, as "
            "input=FILE reference=FILE or hypothesis=FILE reference=FILE."
        )
    if given[0] == "split" and len(given) > 1:
        raise UserError(f"{' and '.join(f'{key}={config[key]}' for key in given)} are two things to score; give one.")
    if given == ["split"] and (key := next((key for key in ("reference", "output") if config[key]), None)):
        raise UserError(f"{key}={config[key]} goes with input=FILE or hypothesis=FILE, and not with split=.")
    if "split" not in given and config.reference is None:
        raise UserError("reference=… must be given: a file with a translation of each line.")
    if "hypothesis" not in given and config.run is None:
        raise UserError("run=… must be given: the folder of the run that translates.")


def build_without_values(model: Any, vocabulary: Vocabulary) -> TranslationModel:
    """Build the model of a configuration on PyTorch's ``meta`` device: shapes alone, no memory."""
    with torch.device("meta"):
        return instantiate(model, vocabulary=vocabulary)


def require_values(config: DictConfig) -> None:
    """Raise ``UserError`` for keys that must be given and are not."""
    missing = OmegaConf.missing_keys(config)
    if missing:
        raise UserError(f"{', '.join(f'{key}=…' for key in sorted(missing))} must be given.")


def _refuse_empty(config: DictConfig, *keys: str) -> None:
    """Refuse keys that are given without a value: an empty path would be the current folder."""
    for key in keys:
        if config.get(key) == "":
            raise UserError(f"{key}= is empty; give a value, or leave it out.")


def require_one_best(key: str, search: DictConfig) -> None:
    """Raise ``UserError`` where a search returns several translations and only one can be scored."""
    if (count := search.get("n_best", 1)) != 1:
        raise UserError(f"{key}.n_best={count} is for `triptych translate`; here one translation is scored, so set 1.")


def _check_targets(config: DictConfig) -> None:
    """Check that every part that names a class does so."""
    for key in BUILT:
        if "_target_" not in config[key]:
            raise UserError(f"{key} has no _target_, the class that it configures; see the files of conf/{key}.")
    if not config.metric:
        raise UserError(NO_METRIC)
    if "_target_" in config.logger:
        raise UserError("logger has a _target_ of its own; give each logger a name, as conf/logger/wandb.yaml does.")
    lists = [(f"{group}.{name}", node) for group in LISTS for name, node in config[group].items()]
    for key, node in lists:
        if not isinstance(node, DictConfig) or "_target_" not in node:
            raise UserError(f"{key} has no _target_, the class that it configures.")


def _check_overwritten(config: DictConfig) -> None:
    for argument, key in OVERWRITTEN.items():
        if argument in config.optimizer.optimizer:
            raise UserError(f"optimizer.optimizer.{argument} is set by {key}; use that key.")


def _check_budget(config: DictConfig) -> None:
    given = [key for key, value in config.budget.items() if value is not None]
    if len(given) != 1:
        raise UserError(
            f"budget has {' and '.join(given) or 'nothing'}; give exactly one of budget.steps, budget.epochs, "
            "budget.tokens and budget.flops, and set the others to null."
        )
    (unit,) = given
    if unit == "flops" and not math.isfinite(config.budget.flops):
        raise UserError(f"budget.flops={config.budget.flops} is no number of FLOPs; give one.")
    _require_count(f"budget.{unit}", math.floor(config.budget[unit]))  # FLOPs are more than an integer holds


def _check_numbers(config: DictConfig) -> None:
    directions = config.data.get("directions")
    if OmegaConf.is_list(directions) and len(directions) > 1 and not config.tokenizer.joint:
        raise UserError("data.directions mixes the languages of both sides; set tokenizer.joint=true.")
    require_one_of(kernels.CHOICES, "strategy", kernels=config.strategy.kernels)
    _check_jobs(config.jobs)
    if not config.length_edges:
        raise UserError("length_edges=[] has no bounds; give one at least, such as [10].")
    _check_edges("length_edges", list(config.length_edges))
    _check_edges("frequency_edges", list(config.frequency_edges))


def _check_edges(key: str, edges: list[int]) -> None:
    if edges != sorted(set(edges)) or min(edges, default=1) < 1:
        raise UserError(f"{key}={edges} must be positive and ascending.")


def _check_jobs(jobs: Any) -> None:
    if jobs != AUTO and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise UserError(f"jobs={jobs} must be auto, or the number of arms of a sweep that run at a time.")


def _require_count(key: str, value: Any) -> None:
    if not isinstance(value, int) or value < 1:
        raise UserError(f"{key}={value} must be an integer of at least 1.")


def _check_match(config: DictConfig) -> None:
    if config.match is not None:
        require_one_of(("parameters", "flops"), "match", by=config.match.get("by"))
    for key, value in (config.match or {}).items():
        if key in ("times", "budget_times") and not (isinstance(value, int | float) and value > 0):
            raise UserError(f"match.{key}={value} must be a number above 0.")


def _check_checkpoints(config: DictConfig) -> None:
    if config.checkpoint.keep < config.checkpoint.average:
        raise UserError(
            f"checkpoint.average={config.checkpoint.average} needs as many checkpoints, and "
            f"checkpoint.keep={config.checkpoint.keep} keeps fewer; lower checkpoint.average, or raise checkpoint.keep."
        )
    require_one_of(("loss", "bleu"), "checkpoint", monitor=config.checkpoint.monitor)
    if config.checkpoint.monitor == "bleu" and config.validation.bleu_every > 1:
        raise UserError(
            f"checkpoint.monitor=bleu needs a BLEU at every validation; set validation.bleu_every to 1, not "
            f"{config.validation.bleu_every}."
        )


def _check_trainer(config: DictConfig) -> None:
    """Check that ``trainer.*`` names arguments of Lightning's Trainer that no other key sets."""
    clip = config.trainer.get("gradient_clip_val")
    if clip is not None and not (isinstance(clip, int | float) and clip > 0):
        raise UserError(f"trainer.gradient_clip_val={clip} must be a number above 0, or null for no clipping.")
    for key in map(str, config.trainer):
        if key in OTHER_KEYS:
            raise UserError(f"trainer.{key} is set by {OTHER_KEYS[key]}; use that key.")
        if key not in ("gradient_clip_val", *FREE_ARGUMENTS):
            raise UserError(
                f"trainer.{key} cannot be set; of Lightning's Trainer you can set {', '.join(FREE_ARGUMENTS)}."
            )
