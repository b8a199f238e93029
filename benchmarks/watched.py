"""Train in a process of its own with a callback that measures, and read what it wrote."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lightning.pytorch.callbacks import Callback


def train_watched(callback: type[Callback], module: str, *overrides: str) -> Any:
    """Train in a folder that is removed, and return the JSON that the callback wrote.

    Args:
        callback: its only argument is ``path``, the file that it writes.
        module: full name of the module of the callback, which may run as ``__main__`` here.
        *overrides: of ``triptych train``.

    Raises:
        RuntimeError: the training has failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "watched.json"
        watching = [f"+callbacks.watched._target_={module}.{callback.__name__}", f"+callbacks.watched.path={path}"]
        command = [sys.executable, "-m", "triptych", "train", *overrides, *watching, "test=false", f"output={folder}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
        return json.loads(path.read_text())
