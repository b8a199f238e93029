"""Write the ids of a split to files, block by block, and resume after an interruption.

A journal beside the files records how far they are complete. It is written after every block, once the block is on
disk. A call that was interrupted is resumed from the journal: what was written after it is cut off and encoded again.
"""

from __future__ import annotations

import json
import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

import numpy as np

from triptych.contract.vocabulary import SIDES
from triptych.data.encoding import encode_blocks
from triptych.data.pairs import Pairs
from triptych.data.ragged_array import RaggedArray
from triptych.data.tokenizer import Tokenizer
from triptych.errors import UserError
from triptych.files import replacing
from triptych.stored import read_json

FILE_PARTS = ("index", *(f"{side}.{part}" for side in SIDES for part in ("ids", "offsets")))
"""Extensions of the files of a split."""
_COUNTS = ("done", "length", "ratio")
"""Keys of the journal that count pairs."""


def encode_split(
    folder: Path,
    name: str,
    pairs: Pairs,
    tokenizer: Tokenizer,
    dtypes: dict[str, str],
    max_length: int | None,
    max_length_ratio: float | None,
) -> dict[str, int]:
    """Encode a split, write the files that ``Store`` opens, and count the pairs that were dropped.

    Args:
        folder: where to write; an earlier, interrupted call of the same arguments is resumed.
        name: name of the split.
        dtypes: NumPy type of the ids of each side.
        max_length: maximum number of pieces on either side; None for no limit.
        max_length_ratio: maximum number of pieces of the longer side per piece of the shorter side; None for no limit.

    Returns:
        Number of dropped pairs by reason, ``length`` or ``ratio``.

    Raises:
        UserError: the limits leave no pair.
    """
    with ExitStack() as files:
        writer = _SplitWriter(folder, name, dtypes, files)
        for src, tgt in encode_blocks(tokenizer, pairs, writer.progress["done"]):
            longest, shortest = np.maximum(src.lengths, tgt.lengths), np.minimum(src.lengths, tgt.lengths)
            too_long = longest > (np.inf if max_length is None else max_length)
            uneven = longest > (np.inf if max_length_ratio is None else max_length_ratio * shortest)
            writer.append(src, tgt, too_long, uneven & ~too_long)
        progress = writer.progress
    if progress["done"] == progress["length"] + progress["ratio"]:
        raise UserError(
            f"data.max_length={max_length} and data.max_length_ratio={max_length_ratio} leave no training pair;"
            " raise them."
        )
    return {reason: progress[reason] for reason in ("length", "ratio")}


class _Progress(TypedDict):
    done: int
    sizes: dict[str, int]
    pieces: list[int]
    length: int
    ratio: int


class _SplitWriter:
    """Open the files of a split at the point that the journal records, and append blocks to them.

    Attributes:
        progress: content of the journal: pairs encoded (``done``), pairs dropped (``length``, ``ratio``), pieces kept
            on each side (``pieces``) and bytes of each file (``sizes``).
    """

    def __init__(self, folder: Path, name: str, dtypes: dict[str, str], files: ExitStack) -> None:
        self._journal = folder / f"{name}.journal"
        self._dtypes = dtypes
        paths = {part: folder / f"{name}.{part}" for part in FILE_PARTS}
        self.progress = self._load_or_start(paths)
        self._files: dict[str, BinaryIO] = {part: files.enter_context(path.open("r+b")) for part, path in paths.items()}
        for part, file in self._files.items():
            file.truncate(self.progress["sizes"][part])
            file.seek(0, os.SEEK_END)

    def _load_or_start(self, paths: dict[str, Path]) -> dict[str, Any]:
        """Load the journal, or start empty files if there is none or if the files are shorter than it says."""
        if self._journal.exists():
            with suppress(OSError, UserError, KeyError):  # damaged: everything is encoded again
                progress: dict[str, Any] = read_json(self._journal, _Progress, "delete it")
                counts = [*progress["sizes"].values(), *progress["pieces"], *map(progress.get, _COUNTS)]
                is_possible = len(progress["pieces"]) == len(SIDES) and min(counts) >= 0
                if is_possible and all(path.stat().st_size >= progress["sizes"][part] for part, path in paths.items()):
                    return progress
        for part, path in paths.items():
            path.write_bytes(np.zeros(1, "<i8").tobytes() if part.endswith("offsets") else b"")
        sizes = {part: path.stat().st_size for part, path in paths.items()}
        return {"done": 0, "sizes": sizes, "pieces": [0, 0], "length": 0, "ratio": 0}

    def append(self, src: RaggedArray, tgt: RaggedArray, too_long: np.ndarray, uneven: np.ndarray) -> None:
        """Write a block without its dropped pairs, and record it in the journal.

        Args:
            src: source ids of the block's B pairs; ``tgt`` likewise.
            too_long: (B,) whether a pair is dropped because of its length.
            uneven: (B,) whether a pair is dropped because of the ratio of its lengths.
        """
        progress, keep = self.progress, ~(too_long | uneven)
        self._files["index"].write((progress["done"] + np.flatnonzero(keep)).astype("<i8").tobytes())
        for i, (side, ids) in enumerate(zip(SIDES, (src, tgt), strict=True)):
            kept = ids.flat[np.repeat(keep, ids.lengths)]
            self._files[f"{side}.ids"].write(kept.astype(self._dtypes[side]).tobytes())
            ends = progress["pieces"][i] + np.cumsum(ids.lengths[keep])
            self._files[f"{side}.offsets"].write(ends.astype("<i8").tobytes())
            progress["pieces"][i] += len(kept)
        progress["done"] += len(keep)
        progress["length"] += int(too_long.sum())
        progress["ratio"] += int(uneven.sum())
        for part, file in self._files.items():
            file.flush()
            os.fsync(file.fileno())  # the journal must never be ahead of the files
            progress["sizes"][part] = file.tell()
        with replacing(self._journal) as temporary:
            temporary.write_text(json.dumps(progress))
