"""Versions of everything that a result depends on."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path

import triptych

LIBRARIES = ("torch", "lightning", "sentencepiece", "sacrebleu", "sacremoses", "numpy")


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries, and the hash of this package's source."""
    return {"python": platform.python_version(), **_library_versions(), "source": source_hash()}


@functools.cache
def _library_versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


@functools.cache
def source_hash() -> str:
    """Return 16 hexadecimal digits that identify the package's code."""
    package = Path(triptych.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
