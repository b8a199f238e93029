"""Translation directions: how a config names them, and which languages a run can translate from and into."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from triptych.errors import UserError

Direction = tuple[str, str]
"""Source and target language."""
Route = tuple[str, ...]
"""Languages from source to target: two for a direct translation, three for one through a pivot."""
RESERVED = ("pad", "unk", "s")
"""Names whose tags, such as ``<unk>``, are special pieces of every vocabulary."""


@dataclass(frozen=True)
class Directions:
    """The directions that a run is trained on, and the one that it is tested on.

    Attributes:
        trained: directions that training mixes, or the only one.
        tested: direction of the test sets. With several directions it need not be a trained one (zero-shot).
        pivot: language through which the test sets are translated a second time, or None.

    Raises:
        UserError: the test sets need a source or target language that no trained direction has on that side.
    """

    trained: tuple[Direction, ...]
    tested: Direction
    pivot: str | None

    def __post_init__(self) -> None:
        for language in (*self.languages, *self.tested):
            if language in RESERVED or not re.fullmatch(r"\w[\w-]*", language):
                raise UserError(
                    f"data: '{language}' cannot name a language; take letters, digits, _ and -, and none of "
                    f"{', '.join(RESERVED)}, which are special pieces."
                )
        self.require(*self.tested, keys=("data.src", "data.tgt"))
        if self.pivot is not None:
            self.require(self.tested[0], self.pivot, keys=("data.src", "data.pivot"))
            self.require(self.pivot, self.tested[1], keys=("data.pivot", "data.tgt"))

    @classmethod
    def of(cls, names: Sequence[str] | None, src: str, tgt: str, pivot: str | None) -> Directions:
        """Build the directions from the keys of a config's ``data`` section.

        Args:
            names: ``data.directions``, such as ``[fr-en, en-de]``; None for the single direction ``src`` to ``tgt``.
            src: ``data.src``; ``tgt`` and ``pivot`` likewise.

        Raises:
            UserError: a name is malformed, or the keys contradict each other.
        """
        if names is None and pivot is not None:
            raise UserError(f"data.pivot={pivot} needs a run of several directions; name them in data.directions.")
        return cls(((src, tgt),) if names is None else parse_directions(names), (src, tgt), pivot)

    @property
    def several(self) -> bool:
        """Whether training mixes more than one direction."""
        return len(self.trained) > 1

    @property
    def languages(self) -> tuple[str, ...]:
        """Every language of the trained directions once, in order of first appearance."""
        return tuple(dict.fromkeys(language for direction in self.trained for language in direction))

    @property
    def routes(self) -> dict[str, Route]:
        """How the test sets are translated: the route for each suffix that is added to a test set's name."""
        (src, tgt), pivot = self.tested, self.pivot
        return {"": (src, tgt)} if pivot is None else {"": (src, tgt), f".via_{pivot}": (src, pivot, tgt)}

    def choose(self, src: str | None, tgt: str | None) -> Direction:
        """Return the direction of a text: that of the test sets, but for the languages that are given.

        Raises:
            UserError: as ``require``.
        """
        chosen = src or self.tested[0], tgt or self.tested[1]
        self.require(*chosen)
        return chosen

    def require(self, src: str, tgt: str, *, keys: tuple[str, str] = ("src", "tgt")) -> None:
        """Check that the run was trained on ``src`` as a source language and on ``tgt`` as a target language.

        Args:
            keys: names of the two values in the error message.

        Raises:
            UserError: it was not, or both are the same language.
        """
        if src == tgt:
            raise UserError(f"{keys[0]} and {keys[1]} are both {src}; give two languages.")
        for side, (key, language, role) in enumerate(zip(keys, (src, tgt), ("source", "target"), strict=True)):
            known = dict.fromkeys(direction[side] for direction in self.trained)
            if language not in known:
                raise UserError(
                    f"{key}={language} is not a {role} language of any trained direction;"
                    f" choose one of {', '.join(known)}."
                )


def parse_directions(names: Sequence[str]) -> tuple[Direction, ...]:
    """Parse names such as ``[fr-en, en-de]`` into pairs of languages.

    Raises:
        UserError: no list, fewer than two names, a malformed name, or a name given twice.
    """
    if isinstance(names, str):
        raise UserError(f"data.directions={names} must be a list, such as data.directions=[fr-en,en-de].")
    if len(names) < 2:
        raise UserError(
            f"data.directions=[{','.join(map(str, names))}] must name several; for one, set it to null, and give its "
            "languages as data.src and data.tgt."
        )
    directions: list[Direction] = []
    for name in map(str, names):
        match = re.fullmatch(r"([^\s-]+)-([^\s-]+)", name)
        if match is None:
            raise UserError(
                f"data.directions has '{name}', which is not a direction; write SOURCE-TARGET, such as fr-en."
            )
        direction = match[1], match[2]
        if direction[0] == direction[1]:
            raise UserError(f"data.directions has {name}, from a language to itself; give two languages.")
        if direction in directions:
            raise UserError(f"data.directions has {name} twice; leave one of them out.")
        directions.append(direction)
    return tuple(directions)
