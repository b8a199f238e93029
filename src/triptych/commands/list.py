"""``triptych list models``: what a group offers, from the comments of its YAML files."""

from __future__ import annotations

import difflib
from pathlib import Path

from triptych.commands.arguments import split_config_dirs
from triptych.commands.printing import show_next
from triptych.config.catalog import KINDS, groups_in, options_of
from triptych.config.conf_folder import installed_folders
from triptych.config.next_step import after_list
from triptych.config.search_path import config_folders, with_own_folders
from triptych.config.text_columns import in_two_columns
from triptych.errors import UserError

USAGE = "triptych list KIND shows what there is, with your own files: --config-dir=FOLDER."


def main(arguments: list[str]) -> int:
    """Print the options of a group, or the groups.

    Raises:
        UserError: there is no such group, or several are named.
    """
    own, names = split_config_dirs(arguments)
    with with_own_folders(own):
        folders = [*config_folders(), *installed_folders()]
    if not names or {"-h", "--help"} & {*names}:
        counts = {kind: len(options_of(group, folders)) for kind, group in KINDS.items()}
        rows = [(kind, f"{counts[kind]:3}  {group}=…") for kind, group in KINDS.items()]
        print("\n".join([*in_two_columns(rows), "", USAGE]))
        show_next(after_list(None, folders))
        return 0
    if len(names) > 1:
        raise UserError(f"{' '.join(names)} names several kinds; list one at a time.")
    print("\n".join(_options(names[0], folders)))
    show_next(after_list(KINDS.get(names[0], names[0]), folders))
    return 0


def _options(name: str, folders: list[Path]) -> list[str]:
    """Return the lines that show a group, which may be called by its kind or its key."""
    groups = groups_in(folders)
    group = KINDS.get(name, name)
    if group not in groups:
        close = difflib.get_close_matches(name, [*KINDS, *groups], n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(KINDS)}."
        raise UserError(f"{name} is nothing that can be listed; {hint}")
    options = options_of(group, folders)
    return [f"{group}=OPTION", *in_two_columns((option.name, option.description) for option in options)]
