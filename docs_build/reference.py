"""What every configuration key means: from the comments of its file, the class that takes it, and the schema."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

from docs_build import allowed, constructors
from docs_build.conf_files import CONF, ConfFile, Key, conf_file, options
from triptych.config import schema
from triptych.config.types import WORDS

CHOICES = re.compile(r"(?:^|: )([\w.:-]+(?: \| [\w.:-]+)+)")
HYDRA = {
    "hydra.mode": "`MULTIRUN`: the study is a sweep, with or without `-m`",
    "hydra.output_subdir": "folder for Hydra's own files; `null`: none, because a run's folder has its configuration",
    "hydra.run.dir": "Hydra's working folder; `.`: where the command was started",
    "hydra.sweep.dir": "Hydra's working folder of a sweep",
    "hydra.sweep.subdir": "Hydra's folder for an arm; `.`: none of its own",
    "hydra.job.chdir": "whether Hydra changes the working folder; `false`: paths stay relative to that of the command",
}
SWEEP = "hydra.sweeper.params."


@dataclass(frozen=True)
class Row:
    """A key as the reference shows it.

    Attributes:
        key: dotted, as on a command line.
        type: in words; empty where anything is allowed.
        value: default, or what an option sets, as a YAML file writes it.
        allowed: values that are not refused, in words; empty where the type says all.
        meaning: explanation, with code between backticks.
    """

    key: str
    type: str
    value: str
    allowed: str
    meaning: str


@cache
def schemas() -> dict[str, Any]:
    """Return the schema of each command that has a file in conf/, that of ``train`` first."""
    schema.register()
    names = sorted((path.stem for path in CONF.glob("*.yaml")), key=lambda name: (name != "train", name))
    nodes = {name: ConfigStore.instance().load(f"{name}_schema.yaml").node for name in names}
    return {name: OmegaConf.get_type(node) for name, node in nodes.items()}


@cache
def _schema_fields(command: str) -> list[tuple[str, str, str, str]]:
    return list(constructors.schema_fields(schemas()[command]))


def rows(file: ConfFile) -> list[Row]:
    """Return the keys that a file sets; of a command's file, also those that only its schema has."""
    found = [_row(file, key) for key in file.keys]
    if file.path in schemas():
        chosen = {choice.group for choice in file.choices}
        given = {row.key for row in found}
        enclosing = {key.rpartition(".")[0] for key in given}
        for key, kind, value, meaning in _schema_fields(file.path):
            if key not in given | chosen and key not in enclosing:
                found.append(Row(key, kind, value, allowed.of_keys().get(key, ""), _plain(meaning)))
    return sorted(found, key=lambda row: row.key.startswith("hydra."))


def _row(file: ConfFile, key: Key) -> Row:
    target, argument = _argument(file, key.name)
    types = constructors.argument_types(target) if target else {}
    kind = types.get(argument) or _schema(file, key.name)[0] or _inferred(key.value)
    limits = allowed.of_arguments(target).get(argument, "") if target else allowed.of_keys().get(key.name, "")
    if not limits and (choices := CHOICES.search(key.comment)):
        limits = choices[1].replace(" | ", ", ")
    if argument.startswith("_"):
        kind = limits = ""
    return Row(key.name, kind, key.value, limits, meaning(file, key))


def meaning(file: ConfFile, key: Key) -> str:
    """Return the explanation of a key of a file; empty for none.

    The first of: its comment there; what the options that the file starts from say; the docstring of the class that
    takes it; what is said elsewhere, as ``_elsewhere`` finds it; the schema; the comment of the mapping it is in.
    """
    if key.name.endswith("._target_"):
        return f"The class that is built. {_plain(constructors.summary(key.value))}"
    if key.comment:
        return _plain(key.comment)
    for parent in file.parents:
        if (inherited := _of_file(conf_file(parent), key.name)) is not None:
            return inherited
    target, argument = _argument(file, key.name)
    if target and (text := constructors.argument_meanings(target).get(argument)):
        return _plain(text)
    return _elsewhere(key.name) or _schema(file, key.name)[1] or _plain(key.enclosing)


def _of_file(file: ConfFile, name: str) -> str | None:
    return next((meaning(file, key) for key in file.keys if key.name == name), None)


@cache
def _elsewhere(name: str) -> str:
    """Return what is said of a key outside the file that sets it.

    The first of: conf/train.yaml and the options of the key's group, the default one first; the schema; a sentence at
    the top of one of these files that names the key; what is said of the mapping that the key is in.
    """
    if name.startswith(SWEEP):
        return f"values of `{name.removeprefix(SWEEP)}` that the arms have"
    if name in HYDRA:
        return HYDRA[name]
    if name.endswith("._partial_"):
        return "`true`: triptych calls the class later, with the arguments that only it knows"
    group = name.split(".")[0]
    files = [conf_file("train"), *options(group)]
    for file in files:
        for key in file.keys:
            if key.name == name and (text := _own(file, key)):
                return text
    parent, _, last = name.rpartition(".")
    mentioned = (sentence for file in files for sentence in re.split(r"(?<=\.)\s(?=[A-Z])", file.summary))
    found = next((one for one in mentioned if re.search(rf"\b{re.escape(last)}\b", one)), "") if parent == group else ""
    return _schema(conf_file("train"), name)[1] or found or (_elsewhere(parent) if parent else "")


def _own(file: ConfFile, key: Key) -> str:
    """Return what a file itself, or the class that it names, says of a key."""
    if key.comment:
        return _plain(key.comment)
    target, argument = _argument(file, key.name)
    return _plain(constructors.argument_meanings(target).get(argument, "") if target else "") or _plain(key.enclosing)


def _argument(file: ConfFile, name: str) -> tuple[str, str]:
    """Return the class that takes a key as an argument, and the argument's name; empty where none does."""
    mapping, _, argument = name.rpartition(".")
    return file.targets.get(mapping, ""), argument


def _schema(file: ConfFile, name: str) -> tuple[str, str]:
    """Return type and meaning of a key in the schema of a command; empty where it is not there."""
    for key, kind, _, text in _schema_fields(file.path if file.path in schemas() else "train"):
        if key == name:
            return kind, _plain(text)
    return "", ""


def _inferred(value: str) -> str:
    if "${" in value:
        return ""
    loaded = yaml.safe_load(value) if value else None
    return "a list" if isinstance(loaded, list) else "" if loaded is None else WORDS.get(type(loaded), "")


def _plain(text: str) -> str:
    """Write a docstring's or a comment's text for a reader of YAML: single backticks, and null for None."""
    text = re.sub(r"\bNone\b", "`null`", text.replace("``", "`")).strip()
    return text.removesuffix(".") if text.count(". ") == 0 else text
