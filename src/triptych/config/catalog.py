"""What the YAML files offer: groups, their options, and what the first comment says of each. Read without Hydra."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from triptych.config.commented_yaml import summary_of

KINDS = {
    "models": "model",
    "encoders": "model/encoder",
    "decoders": "model/decoder",
    "data": "data",
    "tokenizers": "tokenizer",
    "losses": "loss",
    "optimizers": "optimizer",
    "strategies": "strategy",
    "searches": "search",
    "metrics": "metric",
    "callbacks": "callbacks",
    "loggers": "logger",
    "matches": "match",
    "scales": "scale",
    "launchers": "hydra/launcher",
    "studies": "experiment",
}
"""What ``triptych list`` calls the groups that a user chooses from. Arms are left out: their studies list them."""


@dataclass(frozen=True)
class Option:
    """An option of a group.

    Attributes:
        name: of its file below the group's folder, without the ending.
        description: first sentence of the comment that the file begins with; empty if there is none.
        path: of the file.
    """

    name: str
    description: str
    path: Path


def groups_in(folders: Iterable[Path]) -> list[str]:
    """Return the groups that have a file in one of the folders, sorted."""
    found = {path.parent.relative_to(folder).as_posix() for folder in folders for path in folder.rglob("*.yaml")}
    return sorted(found - {"."})


def options_of(group: str, folders: Iterable[Path]) -> list[Option]:
    """Return the options of a group, sorted by name; of two files of one name the first, as Hydra does."""
    paths: dict[str, Path] = {}
    for folder in folders:
        for path in sorted((folder / group).glob("*.yaml")):
            paths.setdefault(path.stem, path)
    return [Option(name, first_sentence(path), path) for name, path in sorted(paths.items())]


def first_sentence(path: Path) -> str:
    """Return the first sentence of the comment that a YAML file begins with."""
    text = summary_of(path)
    found = re.match(r".+?\.(?=\s+[A-Z*]|$)", text)
    return found[0] if found else text
