"""How an optimizer step is shared between the processes of a training."""

from __future__ import annotations

from omegaconf import DictConfig

from triptych.errors import UserError, require_one_of

FSDP = "fsdp"
"""Value of ``strategy.strategy`` that shards."""
STRATEGIES = ("auto", "ddp", FSDP)
PRECISIONS = ("32-true", "bf16-mixed", "16-mixed", "64-true")
"""Lightning's full names. Its short ones, such as ``32`` or ``bf16``, would give one training two identities."""
SHARDED_PRECISIONS = ("32-true", "bf16-mixed")


def check_strategy(config: DictConfig) -> None:
    """Check how devices work together.

    Raises:
        UserError: a strategy or a precision that is not supported, alone or together; or batches that cannot be shared.
    """
    require_one_of(STRATEGIES, "strategy", strategy=config.strategy.strategy)
    require_one_of(PRECISIONS, "strategy", precision=str(config.strategy.precision))
    if is_sharded(config) and config.strategy.precision not in SHARDED_PRECISIONS:
        raise UserError(
            f"strategy.precision={config.strategy.precision} does not go with strategy={FSDP}; take "
            f"{' or '.join(SHARDED_PRECISIONS)}."
        )
    batches_per_process(config)


def num_processes(config: DictConfig) -> int:
    """Return the number of processes that train together, one for each device."""
    return config.strategy.devices * config.strategy.num_nodes


def is_sharded(config: DictConfig) -> bool:
    """Return whether the processes share the weights of one model, instead of having a copy each."""
    return bool(config.strategy.strategy == FSDP)


def batches_per_process(config: DictConfig) -> int:
    """Return how many batches each process accumulates for an optimizer step.

    Raises:
        UserError: ``batch.per_step`` cannot be shared equally, or ``batch.accumulate`` is given too.
    """
    wanted, processes, accumulate = config.batch.get("per_step"), num_processes(config), config.batch.accumulate
    if wanted is None:
        return accumulate
    if accumulate != 1:
        raise UserError(
            f"batch.per_step={wanted} and batch.accumulate={accumulate} both say how many batches make an optimizer "
            "step; give one of them."
        )
    if wanted % processes:
        raise UserError(
            f"batch.per_step={wanted} cannot be shared equally by {processes} devices; give a multiple of {processes}, "
            "or another number of devices."
        )
    return wanted // processes


def batches_per_step(config: DictConfig) -> int:
    """Return how many batches of all processes together make an optimizer step."""
    return batches_per_process(config) * num_processes(config)
