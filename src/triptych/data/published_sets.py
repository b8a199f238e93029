"""Test sets under the names that sacreBLEU gives them, such as ``sacrebleu:wmt14/full``.

sacreBLEU downloads them into its own folder (``~/.sacrebleu``, or what ``$SACREBLEU`` names), where it writes without a
lock. So one process at a time asks it for a set and a direction, and the sentences are kept in the cache.
"""

from __future__ import annotations

import difflib
import shutil
import tarfile
import zipfile
from pathlib import Path

from portalocker.exceptions import LockException

from triptych.contract.vocabulary import SIDES
from triptych.data.directions import Direction
from triptych.data.pair_source import FilePair
from triptych.errors import UserError, one_line
from triptych.files import build_folder_once

PREFIX = "sacrebleu:"
"""What the name of such a set begins with."""


def is_published(source: str) -> bool:
    """Whether a source is the name of a published test set."""
    return source.startswith(PREFIX)


def find_published(source: str, direction: Direction, cache: Path) -> FilePair:
    """Return the files of a published test set: its source and its first reference.

    Args:
        source: name of the set.
        direction: languages of both sides.
        cache: root of the cache; the sentences are kept in its folder ``sacrebleu``.

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
    folder = cache / "sacrebleu" / f"{name.replace('/', '_')}.{pair}"
    with build_folder_once(folder) as unfinished:
        if unfinished:
            _fetch(name, pair, unfinished)
    src, tgt = (folder / f"{folder.name}.{side}" for side in SIDES)
    return FilePair(src, tgt)


def _fetch(name: str, pair: str, folder: Path) -> None:
    """Have sacreBLEU download a set, and copy its source and its first reference.

    Raises:
        UserError: it fails.
    """
    from sacrebleu.dataset import DATASETS
    from sacrebleu.utils import SACREBLEU_DIR

    data_set = DATASETS[name]
    try:
        data_set.process_to_text(pair)  # again, since what a killed process left looks complete
        files = data_set.get_source_file(pair), data_set.get_reference_files(pair)[0]
    except (OSError, EOFError, SystemExit, tarfile.TarError, zipfile.BadZipFile, LockException) as error:
        raise UserError(
            f"data: sacreBLEU could not get {name} ({one_line(error)}). If there is a network, delete "
            f"{Path(SACREBLEU_DIR, name)} and try again. Without one, run `sacrebleu -t {name} -l {pair} --echo src` "
            f"on a machine that has one, and copy its folder ~/.sacrebleu/{name}, with raw in it, to {SACREBLEU_DIR}."
        ) from error
    for file, side in zip(files, SIDES, strict=True):
        shutil.copyfile(file, folder / f"{name.replace('/', '_')}.{pair}.{side}")
