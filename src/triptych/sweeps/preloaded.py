"""What the process imports from which those of arms are forked, and how it meets signals.

It must start no threads and use no GPU: neither survives a fork.
"""

import signal

import triptych.sweeps.sweep
import triptych.training.run  # noqa: F401

# Where all processes of a job get SIGTERM, the arms shall save. Each meets it once it can, in ``arm_process``.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
