"""triptych: compare three architectures of neural machine translation on equal terms."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triptych.api import Run, evaluate, forecast, load, report, score, sweep, train

__version__ = "0.3.0"
__all__ = ["Run", "__version__", "evaluate", "forecast", "load", "report", "score", "sweep", "train"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name in __all__:  # imported when used: the command line starts without torch
        return getattr(importlib.import_module("triptych.api"), name)
    raise AttributeError(f"module 'triptych' has no attribute '{name}'")
