"""What the process imports from which those of arms are forked, and how it meets signals.

It must start no threads and use no GPU: neither survives a fork.
"""

import signal

import triptych.sweeps.sweep
import triptych.training.run  # noqa: F401

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # where all processes of a job get it, the arms shall save
