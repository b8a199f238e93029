"""IWSLT 2017: transcripts of TED talks and their translations, from a folder with the files of the release.

The text is that of WIT3 (Cettolo et al. 2012, https://aclanthology.org/2012.eamt-1.60). Its files are

- ``train.tags.de-en.de``: a sentence per line. Lines that begin with ``<`` describe a talk, and are left out;
- ``IWSLT17.TED.dev2010.de-en.de.xml`` (or ``.sgm``): a sentence in each ``<seg id="1"> … </seg>``.

Sentences are read as sacreBLEU reads those of its test sets ``iwslt17/…``: white space becomes single spaces, and
nothing else is changed. So scores are those of the published test sets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from triptych.data.corpus import Corpus
from triptych.data.directions import Direction, Directions
from triptych.data.pair_source import TextFormat
from triptych.data.pairs import TRAIN, VALIDATION
from triptych.data.text_file import read_lines
from triptych.data.text_reader import find_source, read_splits, test_sets
from triptych.errors import UserError
from triptych.ranges import Count, Factor

SOURCE = "https://sites.google.com/site/iwsltevaluation2017/TED-tasks"
_TRAIN_PREFIX = "train.tags"
_RELEASE = "IWSLT17.TED."
_ENDINGS = ("", ".xml", ".sgm", ".gz", ".xml.gz", ".sgm.gz")


class Iwslt17(Corpus):
    """IWSLT 2017 from one language to another. Nothing is downloaded.

    Args:
        src: source language; ``tgt`` is the target language. Files of the opposite direction serve as well.
        dir: folder with the files.
        validation: name of the validation set, such as ``dev2010``.
        test: names of test sets, such as ``tst2015``.
        cache: root of the cache; the checked text is kept in its folder ``text``.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.

    Raises:
        UserError: the folder or a file is missing, or as ``TextCorpus``.
    """

    def __init__(
        self,
        *,
        src: str,
        tgt: str,
        dir: str,
        validation: str,
        test: Sequence[str],
        cache: str,
        max_length: Count | None,
        max_length_ratio: Factor | None,
        join: Sequence[int] | None,
    ) -> None:
        directions = Directions.of(None, src, tgt, None)
        folder = Path(dir).expanduser()
        names = {TRAIN: _TRAIN_PREFIX, VALIDATION: validation, **test_sets(test)}
        sources = {
            split: [find_file(folder, str(name), directions.tested, language) for language in directions.tested]
            for split, name in names.items()
        }
        finds = {split: partial(find_source, folder, source, text_format=_FORMAT) for split, source in sources.items()}
        splits, sections, report = read_splits(finds, directions, Path(cache).expanduser())
        super().__init__("iwslt17", directions.languages, splits, report, max_length, max_length_ratio, sections, join)


def find_file(folder: Path, prefix: str, direction: Direction, language: str) -> str:
    """Return the name of the file of one language of a split, of this direction or else of the opposite one.

    Raises:
        UserError: the folder or the file is missing.
    """
    if not folder.is_dir():
        raise UserError(
            f"data.dir: the folder '{folder}' does not exist; get IWSLT 2017 from {SOURCE} and name the folder of"
            f" {'-'.join(direction)}."
        )
    stem = prefix if prefix == _TRAIN_PREFIX else _RELEASE + prefix
    wanted = [f"{stem}.{'-'.join(pair)}.{language}" for pair in (direction, direction[::-1])]
    for name in wanted:
        for ending in _ENDINGS:
            if (folder / (name + ending)).is_file():
                return name + ending
    found = sorted(path.name for path in folder.iterdir() if path.is_file())
    raise UserError(
        f"data.dir={folder} has neither '{wanted[0]}' nor '{wanted[1]}', plain or with .xml, .sgm or .gz after it;"
        f" it has {', '.join(found[:8]) or 'no files'}{' …' if len(found) > 8 else ''}."
    )


def read_sentences(path: Path) -> Iterator[str]:
    """Yield the sentences of a file of the release, or of a plain file.

    Raises:
        UserError: as ``read_lines``, or a segment does not end on its line.
    """
    name = path.name.removesuffix(".gz")
    tagged, marked_up = name.startswith(_TRAIN_PREFIX), name.endswith((".xml", ".sgm"))
    for number, line in enumerate(read_lines(path), start=1):
        if not marked_up:
            if not (tagged and line.startswith("<")):
                yield line
        elif line.startswith("<seg"):
            segment = re.fullmatch(r"<seg[^>]*>(.*)</seg>", line)
            if segment is None:
                raise UserError(f"{path}:{number} begins a segment that does not end there; get the file again.")
            yield re.sub(r"\s+", " ", segment[1].strip())


_FORMAT = TextFormat("iwslt17", read_sentences)
