"""Imports of the process that those of arms are forked from. It also blocks SIGTERM.

It must start no threads and use no GPU: neither survives a fork.
"""

import signal

import triptych.sweeps.sweep
import triptych.training.run  # noqa: F401

# A job's SIGTERM may reach an arm before it can save. It stays blocked until ``arm_process`` has a handler for it.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
