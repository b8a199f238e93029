"""Keep freed memory for the next step, and give it back before the next run."""

from __future__ import annotations

import contextlib
import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Tells glibc not to hand large freed blocks back to the kernel, which costs half of a CPU training step, and a
    part of decoding.

    Does nothing where the C library has no ``mallopt`` (musl, macOS, Windows).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, -1)  # never


def give_back_freed_memory() -> None:
    """What an earlier run of the same process has left, so that the next one's peak of memory is its own."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
