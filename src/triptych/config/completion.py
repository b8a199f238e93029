"""What the shell offers while a command line is typed. It reads YAML files as text: nothing slow is imported."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from triptych.config.catalog import KINDS, options_of
from triptych.config.conf_folder import conf_dir, installed_folders
from triptych.config.key_groups import PATHS
from triptych.config.keys import Group, Key, allowed_values, config_file, groups_of, keys_of, keys_of_group
from triptych.runs.demo import PREFIX, demo_names

SHELLS = ("bash", "zsh")
FLAGS = {
    "forecast": ("--device", "--measure", "--speeds", "--pairs", "--price"),
    "report": ("--add", "--all", "--keep", "--methods", "--unequal"),
}
"""Options of the commands that have some of their own."""
FOLDERS = ("--config-dir", "-cd", "--keep")
"""Options that a folder follows."""
OWN_KEYS = {"dashboard": ("x=step", "x=tokens", "x=flops", "x=hours", "publish=true")}
"""Overrides of a command that are in no YAML file."""
CONFIGURED = ("-m", "--config-dir")
"""Options of the commands that Hydra configures."""

FILES = (*PATHS, "data.train", "data.validation")
"""Keys whose values are, or may be, files or folders."""


def completions(words: Sequence[str], commands: Iterable[str]) -> list[str]:
    """Return the words that can stand in the place of the last one.

    Args:
        words: of the command line behind ``triptych``; the last one is being typed and may be empty.
        commands: of triptych.

    Returns:
        Whole words. One that ends in ``=``, ``.``, ``/``, ``[`` or ``,`` goes on.
    """
    *before, word = words or [""]
    if not before:
        return _beginning(word, [*commands, "--help", "--version"])
    command = before[0]
    if before[-1] in FOLDERS:
        return _paths(word, lambda path: path.is_dir())
    option, equals, value = word.partition("=")
    if equals and option in FOLDERS:
        return [f"{option}={one}" for one in _paths(value, lambda path: path.is_dir())]
    if word.startswith("-"):
        configured = CONFIGURED if config_file(command).exists() else ()
        return _beginning(word, [*FLAGS.get(command, ()), *configured, "--help"])
    if command == "list":
        return _beginning(word, KINDS)
    if command == "completion":
        return _beginning(word, SHELLS)
    if not config_file(command).exists():
        return _paths(word, lambda path: path.is_dir())
    return _override(command, before[1:], word)


def _override(command: str, before: Sequence[str], word: str) -> list[str]:
    folders = [conf_dir(), *installed_folders(), *_own_folders(before)]
    groups, key, equals, value = groups_of(command), *word.partition("=")
    if not equals:
        return [
            *_own_keys(command, word),
            *_keys(word, groups, [*keys_of(command), *_keys_of_groups(groups, before, folders)]),
        ]
    if own := _own_keys(command, word):
        return own
    start, listed = value, ""
    for sign in ("[", ","):
        start, listed = start.rpartition(sign)[2], listed + "".join(start.rpartition(sign)[:2])
    if options := _options(key, groups, folders):
        return [f"{key}={listed}{one}" for one in _beginning(start, options)]
    if key in FILES:
        if key == "run" and start.startswith(PREFIX):
            return [f"run={one}" for one in _beginning(start, [f"{PREFIX}{name}" for name in demo_names()])]
        of_run = key in ("run", "init")
        found = _paths(start, Path.is_dir if of_run else Path.exists, _is_run if of_run else None)
        return [f"{key}={listed}{one}" for one in found]
    known = [*keys_of(command), *_keys_of_groups(groups, before, folders)]
    values = next((allowed_values(one) for one in known if one.name == key), [])
    return [f"{key}={listed}{one}" for one in _beginning(start, values)]


def _own_keys(command: str, word: str) -> list[str]:
    return _beginning(word, OWN_KEYS.get(command, ())) if word else []


def _options(key: str, groups: Sequence[Group], folders: Sequence[Path]) -> list[str]:
    """Return the options of a group; none for a key that is no group."""
    group = next((one for one in groups if one.key == key), Group(key, (), ""))
    names = [option.name for option in options_of(group.folder, folders)]
    if not names:  # in folders, such as arm=table3/base
        there = {path.relative_to(base / key) for base in folders for path in (base / key).rglob("*.yaml")}
        names = sorted(path.with_suffix("").as_posix() for path in there)
    return [*(one for one in group.options if one not in names), *names]  # "run" has no file


def _keys(word: str, groups: Sequence[Group], keys: Iterable[Key]) -> list[str]:
    """Return the groups and keys that a word begins, section by section."""
    names = [f"{group.key}=" for group in groups]
    for key in keys:
        if key.value:
            names.append(f"{key.name}=")
    at = len(word.rpartition(".")[0])
    shown = []
    for name in _beginning(word, names):
        inner = name[at + 1 :] if at else name
        section, dot, _ = inner.partition(".")
        cut = bool(dot) and "@" not in name
        shown.append(f"{name[: at + 1] if at else ''}{section}." if cut else name)
    return [*dict.fromkeys(shown)]


def _keys_of_groups(groups: Sequence[Group], before: Sequence[str], folders: Sequence[Path]) -> list[Key]:
    """Return the keys of the options that the words before choose, or that are chosen by default."""
    keys = []
    for group in groups:
        given = [one.partition("=")[2] for one in before if one.startswith(f"{group.key}=")]
        options = tuple(given[-1].strip("[]").split(",")) if given else group.options
        if options == ("run",):  # of the run: an option of the group stands for it
            options = tuple(one.name for one in options_of(group.folder, folders))
        keys += keys_of_group(Group(group.key, options, ""), folders)
    return keys


def _own_folders(before: Sequence[str]) -> list[Path]:
    """Return the folders that ``--config-dir`` names."""
    words = [part for word in before for part in word.split("=", 1)]
    return [Path(words[i + 1]).expanduser() for i, word in enumerate(words[:-1]) if word in ("--config-dir", "-cd")]


def _paths(word: str, fits: Callable[[Path], bool], whole: Callable[[Path], bool] | None = None) -> list[str]:
    """Return the paths that a word begins; folders that are not ``whole`` end in a slash.

    Names with letters that a shell would take for its own, such as a space or ``$``, are left out.
    """
    folder, slash, name = word.rpartition("/")
    root = Path(folder + slash).expanduser() if slash else Path()
    try:
        found = sorted(path for path in root.iterdir() if path.name.startswith(name) and fits(path))
    except OSError:
        return []
    plain = [path for path in found if re.fullmatch(r"[\w.@%+=,:~-]+", path.name)]
    shown = [path for path in plain if name.startswith(".") or not path.name.startswith(".")]
    ends = ["/" if path.is_dir() and not (whole and whole(path)) else "" for path in shown]
    return [f"{folder}{slash}{path.name}{end}" for path, end in zip(shown, ends, strict=True)]


def _is_run(path: Path) -> bool:
    return (path / "run.json").exists()


def _beginning(word: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(word)]
