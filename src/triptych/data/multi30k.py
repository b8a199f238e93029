"""Multi30k, task 1: image captions in English, German, French and Czech.

29,000 training and 1,014 validation pairs (Elliott et al. 2016, 2017; Barrault et al. 2018). The files come from a
folder that the user names, or are downloaded once from the public repository multi30k/dataset and kept in the cache.

Downloads are verified by SHA-256. The hashes of the English, German and French training, validation and 2016 test files
are listed below. For the other files (Czech, and the later test sets) the first download stores its hash beside the
file, and later downloads must match it.
"""

from __future__ import annotations

import gzip
import hashlib
import urllib.request
import zlib
from collections.abc import Sequence
from functools import partial
from http.client import HTTPException
from pathlib import Path

from triptych.data.corpus import Corpus
from triptych.data.directions import Directions
from triptych.data.pairs import TRAIN, VALIDATION
from triptych.data.text_reader import find_source, read_splits, test_sets
from triptych.errors import UserError
from triptych.files import replacing
from triptych.ranges import Count, Factor

LANGUAGES = ("en", "de", "fr", "cs")

TEST_SETS = {
    "test_2016_flickr": ("en", "de", "fr", "cs"),
    "test_2017_flickr": ("en", "de", "fr"),
    "test_2017_mscoco": ("en", "de", "fr"),
    "test_2018_flickr": ("en", "de", "fr", "cs"),
    "val": ("en", "de", "fr", "cs"),
}
"""Languages of each test set. ``val`` is the validation set: some publications report no other score."""

SHA256 = {
    "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
    "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
    "test_2016_flickr.fr.gz": "6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90",
    "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
    "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
    "train.fr.gz": "622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c",
    "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
    "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
    "val.fr.gz": "ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9",
}

_TIMEOUT_SECONDS = 60
"""A download fails when no byte has arrived for this long."""


class Multi30k(Corpus):
    """Multi30k between any two of its languages, or with several directions mixed.

    Args:
        src: source language of the test sets; ``tgt`` likewise.
        dir: folder with the files (``train.en.gz`` or ``train.en``, …), or None to download them.
        url: address of the folder to download from.
        cache: root of the cache; downloads are kept in its folder ``multi30k``, checked text in its folder ``text``.
        test: names of test sets.
        max_length: see ``Corpus``; ``max_length_ratio`` and ``join`` likewise.
        directions: directions of training and validation, see ``Directions.of``; ``pivot`` likewise.

    Raises:
        UserError: Multi30k lacks a language or a test set, a download fails, or as ``TextCorpus``.
    """

    def __init__(
        self,
        *,
        src: str,
        tgt: str,
        dir: str | None,
        url: str,
        cache: str,
        test: Sequence[str],
        max_length: Count | None,
        max_length_ratio: Factor | None,
        directions: Sequence[str] | None,
        pivot: str | None,
        join: Sequence[int] | None = None,  # runs of version 0.2.0 lack the key
    ) -> None:
        prefixes = {TRAIN: "train", VALIDATION: "val", **test_sets(test)}
        chosen = Directions.of(directions, src, tgt, pivot)
        check_languages(chosen, test)
        folder = Path(cache).expanduser() / "multi30k" if dir is None else Path(dir).expanduser()
        if dir is None:
            for name, prefix in prefixes.items():
                for language in chosen.languages if name in (TRAIN, VALIDATION) else chosen.tested:
                    fetch(f"{url.rstrip('/')}/{prefix}.{language}.gz", folder / f"{prefix}.{language}.gz")
        finds = {name: partial(find_source, folder, prefix) for name, prefix in prefixes.items()}
        splits, sections, report = read_splits(finds, chosen, Path(cache).expanduser())
        super().__init__("multi30k", chosen.languages, splits, report, max_length, max_length_ratio, sections, join)


def check_languages(directions: Directions, test: Sequence[str]) -> None:
    """Check that Multi30k has the languages and the test sets.

    Raises:
        UserError: it lacks one of them.
    """
    keys = dict(zip(directions.tested, ("data.src=", "data.tgt="), strict=True))
    for language in directions.languages:
        if language not in LANGUAGES:
            key = keys.get(language, "data.directions: ")
            raise UserError(f"{key}{language} is not in Multi30k; allowed are {', '.join(LANGUAGES)}.")
    for language in directions.tested:
        for name in test:
            if name not in TEST_SETS:
                raise UserError(f"data.test: Multi30k has no set '{name}'; allowed are {', '.join(TEST_SETS)}.")
            if language not in TEST_SETS[name]:
                raise UserError(f"data.test: {name} exists in {', '.join(TEST_SETS[name])}, not in {language}.")


def fetch(url: str, path: Path) -> None:
    """Download ``url`` to ``path``, unless ``path`` exists and has the expected SHA-256.

    The expected hash is the one in ``SHA256``, or else the one that the first download stored beside the file.

    Raises:
        UserError: the download fails, is incomplete or has another hash; no file is left behind.
    """
    record = path.with_name(f"{path.name}.sha256")
    expected = SHA256.get(path.name) or (record.read_text().strip() if record.exists() else None)
    if path.exists() and _sha256(path.read_bytes()) == expected:
        return
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response:
            data = response.read()
    except (OSError, HTTPException, ValueError) as error:  # ValueError: it is no URL
        raise UserError(
            f"data: the download of {url} failed ({error}); try again, or name a folder that has the files with"
            " data.dir."
        ) from error
    if expected is None:
        _require_gzip(data, url)
        with replacing(record) as temporary:
            temporary.write_text(f"{_sha256(data)}\n")
    elif _sha256(data) != expected:
        raise UserError(
            f"data: {url} has the SHA-256 {_sha256(data)} where {expected} is expected; try again, or name a folder"
            " that has the files with data.dir."
        )
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def _require_gzip(data: bytes, url: str) -> None:
    """Check a first download, whose hash is not known yet, before its hash is stored.

    Raises:
        UserError: the data is not a complete gzip file.
    """
    try:
        gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(
            f"data: the download of {url} is not a complete gzip file ({error}); try again, or name a folder that has"
            " the files with data.dir."
        ) from error


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
