"""Consecutive lines of a corpus joined into longer ones, so that models can be trained and tested on several lengths.

Variš and Bojar 2021 (*Sequence Length is a Domain*, https://arxiv.org/abs/2109.07276) made long sentences of short ones
in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from triptych.data.pairs import TRAIN, VALIDATION, Pairs, Section
from triptych.data.text_file import JoinedLines
from triptych.errors import UserError

_SEED = 0
"""Seed of the numbers of lines that training and validation join."""


def join_splits(
    splits: Mapping[str, Pairs], sections: Mapping[str, Sequence[Section]], numbers: Sequence[int]
) -> tuple[dict[str, Pairs], dict[str, list[Section]], list[str]]:
    """Join lines of every split, on both sides alike. No joined line reaches from one section into the next.

    Training and validation join as many lines as is drawn from ``numbers``, each of which is equally likely; every line
    is used once. A test set becomes one test set for each number, ``NAME.x1``, ``NAME.x2`` and so on, and each of them
    has all lines. The last joined line of a section has what is left, which may be fewer lines.

    Args:
        splits: pairs of each split, by name.
        sections: sections of each split, by name.
        numbers: how many lines are joined, ascending.

    Returns:
        The joined pairs and their sections by the names of the new splits, and a report with one line per new split.

    Raises:
        UserError: ``numbers`` is no ascending list of integers of at least 1, or a section has fewer lines than the
            largest of them.
    """
    numbers = _checked(splits, sections, numbers)
    joined: dict[str, Pairs] = {}
    new_sections: dict[str, list[Section]] = {}
    report: list[str] = []
    for name, pairs in splits.items():
        drawn = name in (TRAIN, VALIDATION)
        plans = {name: _drawn_ends(numbers)} if drawn else {f"{name}.x{n}": _equal_ends(n) for n in numbers}
        for new_name, find_ends in plans.items():
            ends = [find_ends(size) for _, size in sections[name]]
            starts = accumulate((size for _, size in sections[name]), initial=0)
            all_ends = np.concatenate([start + part for start, part in zip(starts, ends, strict=False)])
            joined[new_name] = Pairs(*(JoinedLines(side, all_ends) for side in pairs))
            new_sections[new_name] = [
                Section(route, len(part)) for (route, _), part in zip(sections[name], ends, strict=True)
            ]
            report.append(f"{new_name}: {len(pairs.src):,} pairs joined into {len(all_ends):,}")
    return joined, new_sections, report


def _drawn_ends(numbers: Sequence[int]) -> Callable[[int], NDArray[np.int64]]:
    """Return a function from a number of lines to the ends of joined lines whose numbers of lines are drawn."""

    def find_ends(lines: int) -> NDArray[np.int64]:
        # Unlike a Generator's draws, those of a bit generator are the same in every version of NumPy.
        draws = np.random.PCG64(_SEED).random_raw(-(-lines // numbers[0])) % len(numbers)
        ends = np.cumsum(np.array(numbers, np.int64)[draws])
        return np.minimum(ends[: np.searchsorted(ends, lines) + 1], lines)

    return find_ends


def _equal_ends(number: int) -> Callable[[int], NDArray[np.int64]]:
    """Return a function from a number of lines to the ends of joined lines that all have ``number`` lines."""
    return lambda lines: np.append(np.arange(number, lines, number), lines)


def _checked(
    splits: Mapping[str, Pairs], sections: Mapping[str, Sequence[Section]], numbers: Sequence[int]
) -> list[int]:
    """Return ``numbers`` as a list. Raise ``UserError`` as ``join_splits``."""
    listed = not isinstance(numbers, str) and isinstance(numbers, Sequence) and len(numbers) > 0
    whole = listed and all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    if not whole or numbers[0] < 1 or any(low >= high for low, high in pairwise(numbers)):
        shown = f"[{','.join(map(str, numbers))}]" if listed else numbers
        raise UserError(
            f"data.join={shown} must be a list of ascending numbers of lines, each at least 1, such as [1,2,3,4]; null "
            "joins nothing."
        )
    for name in splits:
        for route, size in sections[name]:
            if size < numbers[-1]:
                raise UserError(
                    f"data.join joins up to {numbers[-1]} lines, and the {name} split has only {size}, {route[0]} to "
                    f"{route[-1]}; leave the larger numbers out."
                )
    return list(numbers)
