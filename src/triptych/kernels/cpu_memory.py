"""Memory of a process on a CPU: freed memory is kept between steps and given back between runs."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Iterator

from triptych import kernels

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_CACHE_CAPACITY = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
_CACHED_PRIMITIVES = 256
"""Primitives that oneDNN caches. Its default, 1,024, lets a long training of an RNN grow by a third."""


def prepare_cpu_memory() -> None:
    """Bound oneDNN's cache, unless the user has, and keep freed memory. Call it before the first model runs."""
    os.environ.setdefault(_CACHE_CAPACITY, str(_CACHED_PRIMITIVES))
    keep_freed_memory()


def keep_freed_memory_reference() -> None:
    """Leave the C library's allocator as it is."""


def keep_freed_memory() -> None:
    """Keep glibc from handing large freed blocks back to the kernel, which costs half of a CPU's training step, and a
    part of decoding.

    This lasts until the process ends, also for later runs with ``strategy.kernels=reference``. Does nothing where the C
    library has no ``mallopt`` (musl, macOS, Windows).
    """
    if not kernels.fast():
        return keep_freed_memory_reference()
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_MAX, 0)
    mallopt(_TRIM_THRESHOLD, -1)  # never


def give_back_freed_memory() -> None:
    """Give back what an earlier run of this process has freed, so that the next run's peak memory is its own."""
    gc.collect()
    trim_freed_memory()


def trim_freed_memory() -> None:
    """Give back what is freed already, without looking for garbage."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def loaded_objects_skipped() -> Iterator[None]:
    """Let Python's garbage collector skip what is loaded now, so that collecting between runs takes little time.

    Does nothing if the caller has frozen objects already: unfreezing would free those too.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
