"""Run Python modules in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence


def module(name: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this Python."""
    return [sys.executable, "-m", name, *arguments]


def run(command: Sequence[str], **environment: str) -> str:
    """Return what a command printed.

    Args:
        command: program and arguments.
        **environment: variables that it has beside those of this process.

    Raises:
        RuntimeError: it has failed.
    """
    variables = os.environ | environment
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout
