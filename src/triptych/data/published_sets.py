"""Test sets under the names that sacreBLEU gives them, such as ``sacrebleu:wmt14/full``.

sacreBLEU downloads them, checks them and keeps them in its own folder (``~/.sacrebleu``, or what ``$SACREBLEU`` names).
"""

from __future__ import annotations

import difflib
from pathlib import Path

from triptych.data.directions import Direction
from triptych.data.pair_source import FilePair
from triptych.errors import UserError

PREFIX = "sacrebleu:"
"""What the name of such a set begins with."""


def is_published(source: str) -> bool:
    """Whether a source is the name of a published test set."""
    return source.startswith(PREFIX)


def find_published(source: str, direction: Direction) -> FilePair:
    """Return the files of a published test set, downloaded if need be: its source and its first reference.

    Raises:
        UserError: sacreBLEU has no such set, the set lacks the direction, or the download fails.
    """
    from sacrebleu.dataset import DATASETS

    name, pair = source.removeprefix(PREFIX), "-".join(direction)
    if name not in DATASETS:
        close = difflib.get_close_matches(name, DATASETS, n=3)
        raise UserError(
            f"data: sacreBLEU has no test set '{name}'{': ' + ' or '.join(close) + '?' if close else ';'} "
            "see `sacrebleu --list`."
        )
    if pair not in DATASETS[name].langpairs:
        raise UserError(f"data: {source} has no {pair}, but {', '.join(sorted(DATASETS[name].langpairs))}.")
    try:
        src, tgt = DATASETS[name].get_source_file(pair), DATASETS[name].get_reference_files(pair)[0]
    except (OSError, SystemExit) as error:  # it exits where a download is damaged
        raise UserError(
            f"data: sacreBLEU could not download {name} ({error}); run `sacrebleu -t {name} -l {pair} --echo src` "
            "where there is a network, and try again."
        ) from error
    return FilePair(Path(src), Path(tgt))
