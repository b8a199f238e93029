"""How many arms of a sweep run at a time, and which of them start first."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import torch
from hydra.utils import instantiate
from omegaconf import DictConfig

from triptych import kernels
from triptych.accounting.memory import free_memory_bytes
from triptych.accounting.parameters import count_parameters
from triptych.accounting.peaks import MeasuredPeaks, measured_peaks, peak_flops
from triptych.accounting.threads import available_cores
from triptych.config.composition import RunConfig
from triptych.config.validation import AUTO
from triptych.errors import UserError
from triptych.kernels.cpu_memory import give_back_freed_memory
from triptych.runs.identity import SCORING, config_hash
from triptych.training.budget import pair_flops
from triptych.training.devices import device_of

logger = logging.getLogger(__name__)

PROCESS_BYTES = 1_200_000_000
"""Memory of a process beside its training: libraries, text, ids, and translating the validation set."""
KEPT_ACTIVATIONS = 5
"""Times the activations of one batch that a process holds, since it keeps the memory that batches of other sizes freed.

With both, the estimate is 1.0 to 1.3 times the peaks of the study ``architectures`` at scale multi30k."""
BASIC = "BasicLauncher"
"""Class of Hydra's default launcher, whose arms triptych runs itself."""
SHORT_FLOPS = 2e11
"""FLOPs of a training that takes about as long as it takes to start a process and import the libraries: seconds."""


def chosen_jobs(config: DictConfig, arms: Sequence[Sequence[str]]) -> int | None:
    """Return how many arms the user lets run at a time; None for ``jobs=auto``, and 1 where Hydra decides.

    Args:
        config: that the arms share, with Hydra's part.
        arms: overrides of each; none for a sweeper that chooses its arms as it goes along.

    Raises:
        UserError: a launcher or a sweeper of the user's decides, and ``jobs`` would contradict it.
    """
    launcher = _launcher(config)
    if launcher != BASIC:
        if config.jobs != AUTO:
            raise UserError(f"jobs={config.jobs}: {launcher} decides how many arms run at a time; leave out jobs=….")
        return 1
    if not arms:
        if config.jobs not in (AUTO, 1):
            raise UserError(f"jobs={config.jobs}: this sweeper chooses each arm by those before it; leave out jobs=….")
        return 1
    return None if config.jobs == AUTO else config.jobs


def hydra_runs(config: DictConfig, arms: Sequence[Sequence[str]]) -> bool:
    """Whether Hydra's launcher or sweeper runs the arms; arguments as of ``chosen_jobs``."""
    return _launcher(config) != BASIC or not arms


def _launcher(config: DictConfig) -> str:
    """Return the class of the launcher."""
    return str(config.hydra.launcher._target_).rpartition(".")[2]


@dataclass(frozen=True)
class Needs:
    """Estimate of what the training of an arm needs.

    Attributes:
        memory: bytes of its process.
        flops: of training.
    """

    memory: int
    flops: float


def expected_jobs(config: DictConfig, run_configs: Sequence[RunConfig]) -> int:
    """Return how many arms of a sweep would run at a time if none of them had run before.

    Args:
        config: that the arms share, with Hydra's part.
        run_configs: of the arms.

    Raises:
        UserError: as ``chosen_jobs``.
    """
    jobs = chosen_jobs(config, [one.overrides for one in run_configs])
    if jobs is None:
        jobs = jobs_that_fit(needs_of(run_configs)) if side_by_side_pays(run_configs) else 1
    return min(jobs, len({training_of(one) for one in run_configs}))  # arms of one training wait for its weights


def side_by_side_pays(run_configs: Sequence[RunConfig]) -> bool:
    """Whether the cores of this machine could train several of these arms at a time: all by one process, on a CPU."""
    try:
        on_cpu = all(one.processes == 1 and device_of(one.config) == "cpu" for one in run_configs)
    except UserError:  # a GPU that is not there
        return False
    return on_cpu and len(run_configs) > 1 and available_cores() > 1


def needs_of(run_configs: Sequence[RunConfig]) -> list[Needs | None]:
    """Estimate what each arm needs; None where it cannot be built. Text, tokenizers and ids are prepared on the way."""
    known: dict[str, Needs | None] = {}
    found = []
    for run_config in run_configs:
        kind = training_of(run_config, leaving_out=(*SCORING, "seed"))
        if kind not in known:
            known[kind] = _needs(run_config)
        found.append(known[kind])
    give_back_freed_memory()
    return found


def training_of(
    run_config: RunConfig, leaving_out: Sequence[str] = SCORING, *, text: str = "", with_devices: bool = False
) -> str:
    """Return a hash of an arm's training, for comparisons within a sweep.

    Args:
        run_config: of the arm.
        leaving_out: as of ``config_hash``; ``with_devices`` likewise.
        text: its fingerprint; without one, the text is taken as it is configured.
    """
    config, reference = run_config.config, run_config.reference_model
    return config_hash(config, text, reference=reference, leaving_out=leaving_out, with_devices=with_devices)


def _needs(run_config: RunConfig) -> Needs | None:
    from triptych.sweeps.measure import activation_bytes, training_memory  # imports Lightning
    from triptych.training.build import build_parts

    config = run_config.config
    try:
        parts = build_parts(config, instantiate(config.data), run_config.reference_model, workers=0)
        stream = parts.data.stream
        epochs = parts.data.total_steps / stream.epoch_steps
        flops = epochs * float(pair_flops(stream, parts.model)[0].sum())
        with kernels.use(config.strategy.kernels):
            activations = KEPT_ACTIVATIONS * activation_bytes(parts, config.batch.tokens)
        return Needs(PROCESS_BYTES + training_memory(count_parameters(parts.model).total, activations), flops)
    except Exception:  # the arm's own process says what is wrong
        return None


def measure_peaks(run_configs: Sequence[RunConfig], threads: int) -> MeasuredPeaks:
    """Measure the rates that arms on a CPU are compared to: once for all, and before they compute beside each other.

    Args:
        run_configs: of the arms.
        threads: that each arm computes with.
    """
    if not run_configs:
        return measured_peaks()
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for config in (one.config for one in run_configs):
            with suppress(UserError), kernels.use(config.strategy.kernels):  # a GPU that is not there
                if device_of(config) == "cpu":
                    peak_flops("cpu", str(config.strategy.precision))
    finally:
        torch.set_num_threads(before)
    return measured_peaks()


def jobs_that_fit(needs: Sequence[Needs | None]) -> int:
    """Return how many of these arms run at a time: as many as there are cores, and as the memory allows.

    One where all trainings are so short that starting a process for each would take longer.
    """
    if len(needs) < 2 or max((one.flops for one in needs if one), default=0.0) < SHORT_FLOPS:
        return 1
    cores, free = available_cores(), free_memory_bytes()
    largest = max((one.memory for one in needs if one), default=PROCESS_BYTES)
    jobs = min(len(needs), cores, max(1, free // largest) if free is not None else cores)
    memory = f", {largest / 1e9:.1f} GB each at most" + (f" of {free / 1e9:.1f} GB that are free" if free else "")
    logger.info("arms side by side: %d at a time, %d cores%s", jobs, cores, memory)
    return jobs


def longest_first(needs: Sequence[Needs | None]) -> list[int]:
    """Return the places of the arms, those with the most FLOPs first, so that no long one runs alone at the end."""
    flops = [one.flops if one else 0.0 for one in needs]
    return sorted(range(len(needs)), key=lambda place: -flops[place])
