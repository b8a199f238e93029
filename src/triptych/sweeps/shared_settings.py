"""What all arms of a sweep have in common, and messages that follow from it, which are shown once."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from triptych.config.composition import RunConfig


class RepeatFilter(logging.Filter):
    """Let a message be shown once if it follows from sections of the configuration that all arms share.

    Such a message names these sections: ``logger.info(…, extra={"sections": ("data",)})``.

    Args:
        run_configs: of the arms.
    """

    def __init__(self, run_configs: Sequence[RunConfig]) -> None:
        super().__init__()
        self._shared = shared_sections(run_configs)
        self._said: set[str] = set()

    def is_shared(self, sections: Sequence[str] | None) -> bool:
        """Whether a message that follows from these sections is the same for all arms."""
        return bool(sections) and self._shared.issuperset(sections or ())

    def is_new(self, text: str) -> bool:
        """Whether a message of all arms has not been shown yet. From now on it has."""
        new = text not in self._said
        self._said.add(text)
        return new

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to show a message."""
        return not self.is_shared(getattr(record, "sections", None)) or self.is_new(record.getMessage())

    @contextmanager
    def of_arms_in_this_process(self) -> Iterator[None]:
        """Filter what the library's handlers show."""
        handlers = logging.getLogger("triptych").handlers[:]
        for handler in handlers:
            handler.addFilter(self)
        try:
            yield
        finally:
            for handler in handlers:
                handler.removeFilter(self)


def shared_sections(run_configs: Sequence[RunConfig]) -> frozenset[str]:
    """Return the sections of the configuration that are the same for all arms; none for a single arm."""
    if len(run_configs) < 2:
        return frozenset()
    first, *others = (one.config for one in run_configs)
    return frozenset(str(key) for key in first if all(one[key] == first[key] for one in others))


def describe(run_configs: Sequence[RunConfig]) -> str:
    """Return how many arms a sweep has, and the length and precision of their training where they share them."""
    shared, config = shared_sections(run_configs), run_configs[0].config
    said = [f"{len(run_configs)} arm{'s' * (len(run_configs) > 1)}"]
    if "budget" in shared:
        unit, amount = next((unit, amount) for unit, amount in config.budget.items() if amount is not None)
        said.append(f"each of {f'{amount:,}' if isinstance(amount, int) else f'{amount:.3g}'} {unit}")
    if "strategy" in shared:
        said.append(f"precision {config.strategy.precision}")
    return ", ".join(said)


def titles(arms: Sequence[Sequence[str]]) -> list[str]:
    """Return what an arm is called when it starts: its place among all, and the overrides that not all share."""
    return [f"arm {place} of {len(arms)}: {own}".rstrip(": ") for place, own in enumerate(own_overrides(arms), 1)]


def own_overrides(arms: Sequence[Sequence[str]]) -> list[str]:
    """Return the overrides of each arm that not all share, in a line; all overrides of an arm that is alone."""
    common = set.intersection(*map(set, arms)) if len(arms) > 1 else set()
    return [" ".join(one for one in overrides if one not in common) for overrides in arms]
