"""Directions of translation: how a config names them, and what a run of several can be asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triptych.errors import UserError

Direction = tuple[str, str]
"""Source and target language."""
Route = tuple[str, ...]
"""The languages from source to target, one or none between them."""


@dataclass(frozen=True)
class Directions:
    """What a run is trained on, and what it is tested on.

    Attributes:
        trained: the directions that are mixed in training, or the one.
        tested: the direction of the test sets; of several, it need not be a trained one.
        pivot: the language that the test sets are also translated through, or ``None``.

    Raises:
        UserError: the test sets ask for a language that no trained direction reads or writes.
    """

    trained: tuple[Direction, ...]
    tested: Direction
    pivot: str | None

    def __post_init__(self) -> None:
        self.require(*self.tested, keys=("data.src", "data.tgt"))
        if self.pivot is not None:
            self.require(self.tested[0], self.pivot, keys=("data.src", "data.pivot"))
            self.require(self.pivot, self.tested[1], keys=("data.pivot", "data.tgt"))

    @classmethod
    def of(cls, names: Sequence[str] | None, src: str, tgt: str, pivot: str | None) -> Directions:
        """From the keys of a config's ``data``.

        Args:
            names: ``data.directions``, such as ``[fr-en, en-de]``; None for ``src`` to ``tgt`` alone.
            src: ``data.src``; ``tgt`` and ``pivot`` likewise.

        Raises:
            UserError: names that are none, or that contradict each other or the rest.
        """
        if names is None and pivot is not None:
            raise UserError(f"data.pivot={pivot} needs a run of several directions; name them in data.directions.")
        return cls(((src, tgt),) if names is None else parse(names), (src, tgt), pivot)

    @property
    def several(self) -> bool:
        return len(self.trained) > 1

    @property
    def languages(self) -> tuple[str, ...]:
        """Each once, in the order in which the trained directions name them."""
        return tuple(dict.fromkeys(language for direction in self.trained for language in direction))

    @property
    def routes(self) -> dict[str, Route]:
        """How each test set is translated, by what its name then ends in."""
        (src, tgt), pivot = self.tested, self.pivot
        return {"": (src, tgt)} if pivot is None else {"": (src, tgt), f".via_{pivot}": (src, pivot, tgt)}

    def require(self, src: str, tgt: str, *, keys: tuple[str, str] = ("src", "tgt")) -> None:
        """Raises ``UserError``, which names the keys, where training has not read ``src`` or not written ``tgt``."""
        if src == tgt:
            raise UserError(f"{keys[0]} and {keys[1]} are both {src}; give two languages.")
        for side, (key, language, does) in enumerate(zip(keys, (src, tgt), ("reads", "writes"), strict=True)):
            known = dict.fromkeys(direction[side] for direction in self.trained)
            if language not in known:
                raise UserError(
                    f"{key}={language}: no direction that is trained {does} it; choose one of {', '.join(known)}."
                )


def parse(names: Sequence[str]) -> tuple[Direction, ...]:
    """``[fr-en, en-de]`` as pairs of languages.

    Raises:
        UserError: no list, fewer than two, or a name that is no direction or that is there twice.
    """
    if isinstance(names, str):
        raise UserError(f"data.directions={names} must be a list, such as data.directions=[fr-en,en-de].")
    if len(names) < 2:
        raise UserError(
            f"data.directions=[{','.join(map(str, names))}] must name several; for one, set it to null, and give its "
            "languages as data.src and data.tgt."
        )
    found: list[Direction] = []
    for name in map(str, names):
        named = re.fullmatch(r"([^\s-]+)-([^\s-]+)", name)
        if named is None:
            raise UserError(f"data.directions has '{name}', which is no direction; write SOURCE-TARGET, such as fr-en.")
        direction = named[1], named[2]
        if direction[0] == direction[1]:
            raise UserError(f"data.directions has {name}, from a language to itself; give two languages.")
        if direction in found:
            raise UserError(f"data.directions has {name} twice; leave one of them out.")
        found.append(direction)
    return tuple(found)
