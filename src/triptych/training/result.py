"""What result.json says of a training."""

from __future__ import annotations

from typing import Any

import torch

from triptych import __version__
from triptych.accounting.cost import training_cost
from triptych.accounting.parameters import count_parameters
from triptych.accounting.threads import cores_of_system
from triptych.data.corpus import TRAIN, VALIDATION
from triptych.data.unigram import unigram_loss
from triptych.runs.folder import started_by_other_code
from triptych.runs.trunks import BRANCH_REMEDY, Branch
from triptych.runs.versions import versions
from triptych.stored import read_json
from triptych.training.build import TrainingParts
from triptych.training.data_seen import DataSeen
from triptych.training.initial_weights import describe_source
from triptych.training.plan import RunPlan


def training_result(
    plan: RunPlan,
    parts: TrainingParts,
    seen: DataSeen,
    *,
    device: torch.device,
    processes: int,
    compiled: bool,
    peak_memory: int,
    other_cores: float | None,
) -> dict[str, Any]:
    """Return ``result.json`` without its scores.

    Args:
        plan: of the run.
        parts: that trained.
        seen: data that all ranks have trained on.
        device: where this process trained; ``processes`` did so together.
        compiled: whether ``torch.compile`` was used.
        peak_memory: bytes, the most that this process held while it trained.
        other_cores: how many cores other programs kept busy meanwhile; None where that is not known, or on a GPU.
    """
    cost = training_cost(
        parts.model,
        seen.pairs,
        tokens=seen.tokens_src + seen.tokens_tgt,
        seconds=parts.module.seconds,
        device=device,
        devices=processes,
        precision=str(plan.run_config.config.strategy.precision),
        peak_memory=peak_memory,
    )
    if parts.module.changed_devices:
        cost |= {"mfu": None, "changed_devices": True}
    tokens = {"tokens_src": seen.tokens_src, "tokens_tgt": seen.tokens_tgt}
    branch = {"trunk": read_json(path, Branch, BRANCH_REMEDY)} if (path := plan.folder.branch).exists() else {}
    other_code = started_by_other_code(plan.folder)
    vocabulary = parts.tokenizer.vocabulary
    steps, planned = parts.module.global_step, parts.data.total_steps
    stopped_early = steps < planned and not parts.module.diverged
    baseline = unigram_loss(parts.stores[TRAIN], parts.stores[VALIDATION], vocabulary.tgt_size)
    return {
        **_what_was_trained(plan, parts, seen),
        "text": parts.text,
        "train": {
            "steps": steps,
            **({"planned_steps": planned} if stopped_early else {}),
            **tokens,
            "compiled": compiled,
            **cost,
            **({} if other_cores is None else {"other_cores": other_cores, "cores": cores_of_system()}),
            **branch,
            "unigram_loss": baseline,
        },
        **({"init": describe_source(init)} if (init := plan.run_config.config.init) else {}),
        **({"diverged": True} if parts.module.diverged else {}),
        **({"stopped_early": True} if stopped_early else {}),
        "versions": {**versions(), **({"started_by": other_code} if other_code else {})},
    }


def _what_was_trained(plan: RunPlan, parts: TrainingParts, seen: DataSeen) -> dict[str, Any]:
    """Return what identifies a run: its hashes, model, text and tokenizer."""
    corpus, tokenizer, config = plan.corpus, parts.tokenizer, plan.run_config.config
    total, non_embedding = count_parameters(parts.model)
    return {
        "run": plan.folder.path.name,
        "config_hash": plan.config_hash,
        "training_hash": plan.training_hash,
        "version": __version__,
        "seed": config.seed,
        "model": {
            "name": plan.run_config.choices["model"],
            "parameters": total,
            "parameters_non_embedding": non_embedding,
        },
        "data": {
            "name": corpus.name,
            "languages": list(corpus.languages),
            "fingerprint": corpus.fingerprint,
            "token_stream": seen.stream.digest,
            "token_stream_after": {step: stream.digest for step, stream in seen.stream_after.items()},
        },
        "tokenizer": {
            "name": tokenizer.name,
            "fingerprint": tokenizer.fingerprint,
            "vocab_size": tokenizer.vocabulary.tgt_size,
        },
    }
