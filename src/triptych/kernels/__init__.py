"""Code that exists for a processor's sake.

Each kernel stands beside a plain PyTorch reference of the same signature, and a test compares the two.
``strategy.kernels`` chooses which of them a run uses: ``fast``, or ``reference`` to check the kernels, or to train on a
device that lacks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from triptych.errors import require_one_of

CHOICES = ("fast", "reference")
_chosen = "fast"


@contextmanager
def use(choice: str) -> Iterator[None]:
    """Use the ``fast`` kernels or their ``reference`` in this process; afterwards the earlier choice is restored.

    Raises:
        UserError: another choice.
    """
    global _chosen
    require_one_of(CHOICES, "strategy", kernels=choice)
    before, _chosen = _chosen, choice
    try:
        yield
    finally:
        _chosen = before


def fast() -> bool:
    """Whether this process uses the fast kernels."""
    return _chosen == "fast"
