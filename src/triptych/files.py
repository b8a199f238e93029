"""Writing where it is possible, and without half-written files."""

from __future__ import annotations

import glob
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triptych.errors import UserError


def require_folder(path: Path) -> None:
    """Raises ``UserError`` where a folder neither is nor can be made; makes none."""
    nearest = next(place for place in (path, *path.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise UserError(f"{path} cannot be written, because of {nearest}; give a folder that can.")


def remove_leftovers(path: Path) -> None:
    """What killed processes have left half-written beside ``path`` and in it, where nobody else may write now."""
    for left in [*path.parent.glob(f".{glob.escape(path.name)}.*"), *path.rglob(".*")]:
        if re.fullmatch(r"\..+\.[0-9a-f]{8}", left.name):
            _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Gives a free path beside ``path`` for a new file or folder, renamed onto it once the block has ended well.

    A block that raises leaves ``path`` as it was. A folder that is already there stays, and the new one is thrown
    away: folders are named by what they hold, so another process has built the same one first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield beside
        try:
            os.replace(beside, path)
        except OSError:
            if not (beside.is_dir() and path.is_dir()):
                raise
    finally:
        _remove(beside)
