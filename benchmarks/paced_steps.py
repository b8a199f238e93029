"""Training steps without a trainer, in turns.

    python -m benchmarks.paced_steps ARM [key=value …]

ARM is a name in ``benchmarks.ours.ARMS``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.ours import Steps
from benchmarks.paced import Pace
from triptych.contract.batch import Batch
from triptych.kernels.cpu_memory import prepare_cpu_memory

WARMUP = 5


def main() -> None:
    prepare_cpu_memory()
    steps = Steps(sys.argv[1], *sys.argv[2:])
    batches, tokens = steps.batches, 0

    def counted() -> Iterator[Batch]:
        nonlocal tokens
        for batch in batches:
            tokens = int((batch.host_lengths - 1).sum())
            yield batch

    steps.batches = counted()
    pace, more = Pace(WARMUP), True
    while more:
        steps.step()
        more = pace.step(tokens=tokens)


if __name__ == "__main__":
    main()
