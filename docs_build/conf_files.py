"""The files of conf/ as the configuration reference shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from docs_build.repository import ROOT
from triptych.config.commented_yaml import DefaultsEntry, read_commented

CONF = ROOT / "conf"


@dataclass(frozen=True)
class Key:
    """A key whose value is no mapping.

    Attributes:
        name: dotted, from the top of the whole configuration, such as ``model.d_model``.
        value: as it is written in the file.
        comment: on its line or above it; empty for none.
        enclosing: comment of the innermost enclosing mapping that has one.
    """

    name: str
    value: str
    comment: str
    enclosing: str


@dataclass(frozen=True)
class Choice:
    """An option that a file chooses in its defaults list.

    Attributes:
        group: such as ``model``, or ``validation.search`` for ``search@validation.search``.
        source: group whose options it has, such as ``search``.
        option: name of the option; a list of them as text; empty for none.
        comment: on its line.
        overrides: whether it replaces the option that another file has chosen.
    """

    group: str
    source: str
    option: str
    comment: str
    overrides: bool


@dataclass(frozen=True)
class ConfFile:
    """A file of conf/.

    Attributes:
        path: without the ending, relative to conf/: ``train``, ``model/rnn``, ``arm/table3/base``.
        summary: comment at its top.
        keys: in the order of the file.
        choices: of its defaults list.
        parents: options of its own group that it starts from.
    """

    path: str
    summary: str
    keys: tuple[Key, ...]
    choices: tuple[Choice, ...]
    parents: tuple[str, ...]

    @property
    def group(self) -> str:
        """Folder of the file; empty for the file of a command. An arm's group is ``arm``."""
        folder = self.path.rpartition("/")[0]
        return "arm" if folder.startswith("arm/") else folder

    @property
    def option(self) -> str:
        """Name by which a command line chooses the file."""
        return self.path.removeprefix(f"{self.group}/")

    @property
    def targets(self) -> dict[str, str]:
        """Class that each mapping with a ``_target_`` builds, by the mapping's dotted key."""
        found = {name: target for parent in self.parents for name, target in conf_file(parent).targets.items()}
        own = {key.name.removesuffix("._target_"): key.value for key in self.keys if key.name.endswith("._target_")}
        return found | own


@cache
def conf_file(path: str) -> ConfFile:
    """Read a file of conf/ by its path without the ending."""
    file = read_commented(CONF / f"{path}.yaml")
    group = path.rpartition("/")[0]
    prefix = "" if file.package == "_global_" or not group else f"{group.replace('/', '.')}."
    keys = [
        Key(f"{prefix}{key.name}", key.value, key.comment, key.enclosing) for key in file.keys if not key.is_section
    ]
    parents = [entry.name for entry in file.defaults if entry.names_file and not _is_made_by_code(entry.name)]
    return ConfFile(
        path=path,
        summary=file.summary,
        keys=keys,
        choices=tuple(_choices(file.defaults, group)),
        parents=tuple(name.lstrip("/") if name.startswith("/") else f"{group}/{name}" for name in parents),
    )


def conf_files() -> list[ConfFile]:
    """Return all files of conf/, by path."""
    return [conf_file(path.relative_to(CONF).with_suffix("").as_posix()) for path in sorted(CONF.rglob("*.yaml"))]


def options(group: str) -> list[ConfFile]:
    """Return the options of a group, the default one first."""
    default = next((choice.option for choice in conf_file("train").choices if choice.source == group), "")
    found = [one for one in conf_files() if one.group == group]
    return sorted(found, key=lambda one: one.option != default)


def _is_made_by_code(name: str) -> bool:
    return name == "_self_" or name.endswith("_schema") or name.startswith("submitit_")  # the last of Hydra's plugin


def _choices(defaults: Iterable[DefaultsEntry], group: str) -> Iterator[Choice]:
    """Yield what a defaults list chooses of other groups."""
    for entry in defaults:
        source, _, package = entry.name.lstrip("/").partition("@")
        if entry.names_file or source.startswith("hydra/"):
            continue
        full = source if entry.name.startswith("/") or not group else f"{group}/{source}"
        yield Choice(package or full, full, ", ".join(entry.options), entry.comment, entry.overrides)
