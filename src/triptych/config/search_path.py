"""Where Hydra looks for configuration files: triptych's, the user's (``--config-dir``), and installed packages'."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points
from pathlib import Path

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from triptych.config.conf_folder import ENTRY_POINT, conf_dir, installed_folders
from triptych.errors import UserError

NAMING_CODE = ("_target_", "trust=")
"""Parts of overrides that name classes or packages, which may be the user's own."""
_own: ContextVar[tuple[Path, ...]] = ContextVar("own configuration folders", default=())


def own_folders() -> tuple[Path, ...]:
    """Return the user's configuration folders that are in use."""
    return _own.get()


@contextmanager
def with_own_folders(folders: Sequence[str | Path], overrides: Sequence[str] = ()) -> Iterator[None]:
    """Let Hydra find the YAML files of these folders too.

    With such a folder, or an override that names code, Python finds the modules of the working folder, behind all that
    is installed. Otherwise nothing that happens to lie there is imported.

    Args:
        folders: with YAML files of the user's.
        overrides: that the user gives.

    Raises:
        UserError: a folder is not there.
    """
    paths = tuple(Path(folder).expanduser().absolute() for folder in folders)
    for path in paths:
        if not path.is_dir():
            raise UserError(f"--config-dir={path} is no folder; give the one that holds your groups, such as model/.")
    names_code = any(key in one for one in overrides for key in NAMING_CODE)
    if (paths or names_code) and os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())
    before = _own.set((*_own.get(), *paths))
    try:
        yield
    finally:
        _own.reset(before)


def config_folders() -> list[Path]:
    """Return all folders with YAML files that lie on the disk, triptych's first."""
    return [conf_dir(), *own_folders()]


def yaml_files(group: str) -> Iterator[str]:
    """Give the text of each YAML file of a group of the configuration, of the user and of installed packages too."""
    for folder in [*config_folders(), *installed_folders()]:
        for path in (folder / group).rglob("*.yaml"):
            yield path.read_text(encoding="utf-8")


class OwnFolders(SearchPathPlugin):
    """Add the user's folders and the installed packages to Hydra's search path, behind triptych's own."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in own_folders():
            search_path.append("own", f"file://{folder}")
        for package in entry_points(group=ENTRY_POINT):
            search_path.append(package.name, f"pkg://{package.value}")


def register() -> None:
    """Make the search path known to Hydra; does nothing the second time."""
    if OwnFolders not in Plugins.instance().discover(SearchPathPlugin):
        Plugins.instance().register(OwnFolders)
