"""Where the YAML files lie. Apart from ``search_path``, so that the shell's completion need not import Hydra."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import triptych

ENTRY_POINT = "triptych.conf"
"""Group of entry points. In it an installed package names the Python package that holds its YAML files."""


def conf_dir() -> Path:
    """Return the folder of triptych's YAML files: inside an installed wheel, or at the top of a checkout."""
    package = Path(triptych.__file__).parent
    return package / "conf" if (package / "conf").is_dir() else package.parents[1] / "conf"


def installed_folders() -> Iterator[Path]:
    """Give the folders with YAML files that installed packages bring along."""
    for package in entry_points(group=ENTRY_POINT):
        spec = find_spec(package.value)
        yield from map(Path, (spec.submodule_search_locations or []) if spec else [])
