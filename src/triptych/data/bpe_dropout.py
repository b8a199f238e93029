"""BPE dropout (Provilkov et al. 2020, algorithm 1): merges are left out at random while a word is built of characters.

SentencePiece has a variant of its own, which draws once for each possible merge and, if it drops it, never offers it
again. That makes more pieces of the same text at the same probability.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import sentencepiece

SPACE = "▁"
"""SentencePiece's symbol for a space. Pieces have it at their beginning alone, so no merge crosses it."""


class BpeDropout:
    """Segment text by the merges of a SentencePiece model of type ``bpe``.

    Args:
        processor: the model.
        byte_fallback: whether the model spells unknown characters as bytes.
    """

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, byte_fallback: bool) -> None:
        self._normalize = processor.normalize
        self._unknown = processor.unk_id()
        self._byte_fallback = byte_fallback
        special = (processor.is_control, processor.is_unknown, processor.is_byte, processor.is_unused)
        ids = [i for i in range(processor.get_piece_size()) if not any(is_special(i) for is_special in special)]
        self._ids = {processor.id_to_piece(i): i for i in ids}
        self._bytes = [processor.piece_to_id(f"<0x{byte:02X}>") for byte in range(256)] if byte_fallback else []
        # A merge has the priority of the piece that it makes.
        self._priorities = {piece: -processor.get_score(i) for piece, i in self._ids.items() if len(piece) > 1}

    def encode(self, lines: Sequence[str], probability: float, seed: int) -> list[list[int]]:
        """Return the ids of lines, determined by ``seed`` and all the lines together.

        Args:
            lines: text.
            probability: of leaving out a possible merge, drawn again at every step; 0 for SentencePiece's own ids.
            seed: of the draws.
        """
        draw = random.Random(seed).random
        return [self._encode_line(line, probability, draw) for line in lines]

    def _encode_line(self, line: str, probability: float, draw: Callable[[], float]) -> list[int]:
        ids: list[int] = []
        for word in re.findall(f"{SPACE}?[^{SPACE}]+|{SPACE}", self._normalize(line)):
            for piece in self._merge(list(word), probability, draw):
                found = self._piece_ids(piece)
                # SentencePiece writes a run of unknown characters as one <unk>.
                if found != [self._unknown] or ids[-1:] != found:
                    ids += found
        return ids

    def _merge(self, symbols: list[str], probability: float, draw: Callable[[], float]) -> list[str]:
        """Merge neighbours until no merge is left: at each step the best of those that were not dropped."""
        while True:
            pairs = (left + right for left, right in pairwise(symbols))
            possible = sorted((self._priorities[pair], i) for i, pair in enumerate(pairs) if pair in self._priorities)
            # A merge behind the chosen one need not be drawn: its draw would change nothing.
            chosen = next((i for _, i in possible if not probability or draw() >= probability), None)
            if chosen is None:
                return symbols
            symbols[chosen : chosen + 2] = [symbols[chosen] + symbols[chosen + 1]]

    def _piece_ids(self, piece: str) -> list[int]:
        if piece in self._ids:
            return [self._ids[piece]]
        return [self._bytes[byte] for byte in piece.encode()] if self._byte_fallback else [self._unknown]
