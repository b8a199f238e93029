"""Cleaning: which training pairs are dropped before anything else sees them, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from triptych.data.directions import Direction
from triptych.data.seen_hashes import SeenHashes
from triptych.errors import UserError, require_at_least
from triptych.ranges import Count, Factor

Pair = tuple[str, str]


class Cleaning:
    """Steps that drop training pairs, and pairs of a validation or test set that is a share of the training files.

    A pair is dropped by the first step that drops it, in the order of the arguments. White space separates words.

    Args:
        duplicates: whether to drop a pair that has occurred before.
        identical: whether to drop a pair of equal sides.
        max_words: maximum number of words on either side; None for any.
        max_word_ratio: maximum number of words of the longer side per word of the shorter; None for any.
        languages: whether to drop a pair with a side that is not in its language, as py3langid identifies it.

    Raises:
        UserError: a ratio below 1.
    """

    def __init__(
        self,
        *,
        duplicates: bool,
        identical: bool,
        max_words: Count | None,
        max_word_ratio: Factor | None,
        languages: bool,
    ) -> None:
        require_at_least(1, "data.clean", max_word_ratio=max_word_ratio)
        self._duplicates, self._identical, self._languages = duplicates, identical, languages
        self._max_words, self._max_word_ratio = max_words, max_word_ratio

    def identity(self, direction: Direction) -> list[Any]:
        """Return what changes when other pairs are dropped, as values that JSON can hold; nothing if none are."""
        identified = [_version_of_identifier(), *direction] if self._languages else None
        known = [self._duplicates, self._identical, self._max_words, self._max_word_ratio, identified]
        return known if any(known) else []

    def start(self, direction: Direction) -> Cleaner:
        """Return what cleans the pairs of one direction.

        Raises:
            UserError: languages are to be identified, and py3langid is not installed or does not know them.
        """
        steps: dict[str, Callable[[Pair], bool]] = {}
        if self._identical:
            steps["pairs of equal sides"] = _are_equal
        if (most := self._max_words) is not None:
            steps[f"pairs with a side of more than {most} words"] = lambda pair: max(_lengths(pair)) > most
        if (ratio := self._max_word_ratio) is not None:
            name = f"pairs whose longer side has more than {ratio:g} times the words of the shorter"
            steps[name] = lambda pair: max(_lengths(pair)) > ratio * max(min(_lengths(pair)), 1)
        if self._languages:
            steps["pairs with a side in another language"] = _language_check(direction)
        return Cleaner(steps, SeenHashes() if self._duplicates else None)


NO_CLEANING = Cleaning(duplicates=False, identical=False, max_words=None, max_word_ratio=None, languages=False)
"""Drops nothing."""


class Cleaner:
    """Cleans the pairs of a split, block by block, in order.

    Args:
        steps: what drops a pair, by how a report names it.
        seen: hashes of the pairs before, if duplicates are dropped.

    Attributes:
        dropped: number of pairs that each step has dropped.
    """

    def __init__(self, steps: dict[str, Callable[[Pair], bool]], seen: SeenHashes | None) -> None:
        self._steps, self._seen = steps, seen
        self.dropped = dict.fromkeys([*([DUPLICATES] if seen else []), *steps], 0)

    def skip(self, pairs: Sequence[Pair]) -> None:
        """Remember pairs that were cleaned before an interruption."""
        self._are_new(pairs)

    def clean(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs that no step drops."""
        kept = []
        for pair, is_new in zip(pairs, self._are_new(pairs), strict=True):
            reason = next((name for name, drops in self._steps.items() if drops(pair)), None) if is_new else DUPLICATES
            if reason is None:
                kept.append(pair)
            else:
                self.dropped[reason] += 1
        return kept

    def _are_new(self, pairs: Sequence[Pair]) -> Sequence[bool]:
        if self._seen is None:
            return [True] * len(pairs)
        return self._seen.add(np.array([_hash(pair) for pair in pairs], np.uint64)).tolist()


DUPLICATES = "duplicate pairs"
"""How a report names duplicates."""


def _hash(pair: Pair) -> int:
    return int.from_bytes(hashlib.blake2b("\n".join(pair).encode(), digest_size=8).digest(), "big")


def _are_equal(pair: Pair) -> bool:
    return pair[0] == pair[1]


def _lengths(pair: Pair) -> tuple[int, int]:
    return len(pair[0].split()), len(pair[1].split())


def _version_of_identifier() -> str:
    try:
        return version("py3langid")
    except PackageNotFoundError as error:
        raise _without_identifier() from error


def _without_identifier() -> UserError:
    return UserError("data.clean.languages=true needs py3langid, which is not installed; pip install -e '.[langid]'.")


def _language_check(direction: Direction) -> Callable[[Pair], bool]:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise _without_identifier() from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    for language in direction:
        if language not in identifier.labels:
            raise UserError(
                f"data.clean.languages=true: py3langid does not know '{language}'; leave it false for this language."
            )
    return lambda pair: any(
        identifier.classify(side)[0] != language for side, language in zip(pair, direction, strict=True)
    )
