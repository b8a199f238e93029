"""``triptych``, but its first process sends itself SIGTERM after as many optimizer steps as its first argument says."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import lightning

from triptych.commands import cli
from triptych.training.callbacks.save_on_signal import SaveOnSignal


def terminate_after(steps: int) -> None:
    def on_before_optimizer_step(self: SaveOnSignal, trainer: lightning.Trainer, *_: Any) -> None:
        if trainer.global_step == steps and trainer.is_global_zero:
            os.kill(os.getpid(), signal.SIGTERM)

    SaveOnSignal.on_before_optimizer_step = on_before_optimizer_step


if __name__ == "__main__":
    terminate_after(int(sys.argv.pop(1)))
    sys.exit(cli.main())
