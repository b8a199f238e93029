"""triptych: three architectures of neural machine translation in one frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from triptych.runs.trained_run import load

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name == "load":  # imported when used: the command line starts without torch
        from triptych.runs.trained_run import load

        return load
    raise AttributeError(f"module 'triptych' has no attribute '{name}'")
