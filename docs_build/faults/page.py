"""docs/errors.md: what triptych says of mistakes and of damaged files. ``python -m docs_build.faults.page`` writes it.

It takes half an hour, since every key is given every value of ``settings.BAD_VALUES`` and every file every damage of
``files.DAMAGES``.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from docs_build.faults import files, settings

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
MOST_NAMED = 4
"""Largest number of keys or files that a line names."""
HEAD = """\
# Errors

A mistake gets one sentence that says what is wrong, where, and what to do. Nothing is lost by it: the same command,
corrected, goes on from what is there. This page has the sentences that were read when every key of five configurations
was given values that it cannot have, and when every file of a run and of the cache was damaged in {damages} ways and
read by {commands} commands. `python -m docs_build.faults.page` makes it; `make test-faults` gives the faults again.

| exit status | meaning |
| --- | --- |
| 0 | done |
| 1 | an error that should not happen; the message names a file with its details, to be reported |
| 2 | a mistake that you can mend |
| 130, 143 | stopped by Ctrl-C, or by SIGTERM; the same command goes on |
| 141 | nobody reads the output any more, as in `triptych list models \\| head -1` |

"""


def build() -> str:
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder:
        return "".join(
            [
                HEAD.format(damages=len(files.DAMAGES), commands=len(files.COMMANDS)),
                _of_settings(),
                _of_files(Path(folder)),
            ]
        )


def _of_settings() -> str:
    given = {(fault.key, fault.kind): fault for one in settings.CONFIGURATIONS for fault in settings.faults(*one)}
    found: dict[tuple[str, str], list[str]] = {}
    accepted = 0
    for (key, kind), fault in given.items():
        sentence = settings.outcome(fault).sentence
        accepted += sentence is None
        if sentence is not None:
            pattern = _pattern(sentence, {key: "KEY"})
            found.setdefault((re.sub(r"^([\w.]+)=.*? (must|is|belongs)", r"\1=VALUE \2", pattern), kind), []).append(
                key
            )
    lines = _lines(((pattern, kind), keys) for (pattern, kind), keys in found.items())
    return (
        f"## Settings\n\n{len(given):,} values of {len({key for key, _ in given})} keys: "
        f"{len(given) - accepted:,} were refused, and {accepted:,} mean something and were accepted as they are, as "
        "`null` where a key may be empty.\n\n| sentence | value | keys |\n| --- | --- | --- |\n"
        f"{lines}\n"
    )


def _of_files(folder: Path) -> str:
    made = folder / "made"
    made.mkdir()
    files.make(made)
    found: dict[tuple[str, str], list[str]] = {}
    given = list(files.faults(made))
    worked = 0
    for number, fault in enumerate(given):
        sentence = files.outcome(made, folder / str(number), fault).sentence
        worked += sentence is None
        if sentence is not None:
            name = _without_hash(fault.file)
            pattern = _without_hash(_pattern(sentence, {fault.file: "FILE", str(folder / str(number)) + "/": ""}))
            pattern = re.sub(r"cannot be read \(.*\)(?=[;.])", "cannot be read (REASON)", pattern)
            found.setdefault((pattern, fault.damage), []).append(name)
    lines = _lines(((pattern, damage), names) for (pattern, damage), names in found.items())
    return (
        f"## Damaged files\n\n{len(given):,} cases: in {len(given) - worked:,} the command ended with a sentence, in "
        f"{worked:,} it did its work, because it does not read that file or could make it again.\n\n"
        f"| sentence | damage | files |\n| --- | --- | --- |\n{lines}\n"
    )


def _pattern(sentence: str, names: Mapping[str, str]) -> str:
    for name, short in names.items():
        sentence = sentence.replace(name, short)
    return sentence


def _without_hash(text: str) -> str:
    return re.sub(r"-?[0-9a-f]{16}(?=[/ .,;:)]|$)", "", text)


def _lines(found: Iterable[tuple[tuple[str, str], list[str]]]) -> str:
    """Return the lines of a table: a sentence, all that it was said of, and the names, some if there are many."""
    gathered: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for (pattern, kind), names in found:
        kinds, of_pattern = gathered.setdefault(pattern, ({}, {}))
        kinds[kind] = None
        of_pattern |= dict.fromkeys(names)
    rows = sorted(gathered.items(), key=lambda one: (-len(one[1][1]), one[0]))
    return "".join(
        f"| {_cell(pattern)} | {', '.join(kinds)} | {_some([*names])} |\n" for pattern, (kinds, names) in rows
    )


def _some(names: list[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    PAGE.write_text(build(), encoding="utf-8")
