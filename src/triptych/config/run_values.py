"""Values that a configuration file may name and that are known only once the run is planned: ``${run:folder}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from omegaconf import OmegaConf

from triptych.errors import UserError

NAMES = ("folder", "name", "sweep", "study", "arm")
_known: ContextVar[Mapping[str, str | None] | None] = ContextVar("run values", default=None)


@contextmanager
def run_values(*, folder: str, name: str, sweep: str | None, study: str | None, arm: str) -> Iterator[None]:
    """Give ``${run:…}`` its values while loggers and callbacks are built.

    Args:
        folder: path of the run's folder.
        name: last part of that path.
        sweep: name that the runs of a sweep share; None for a single run.
        study: name of the study, or else that of the sweep.
        arm: overrides of the arm, without the seed; empty for a single run.
    """
    before = _known.set({"folder": folder, "name": name, "sweep": sweep, "study": study, "arm": arm})
    try:
        yield
    finally:
        _known.reset(before)


def register() -> None:
    """Make ``${run:…}`` known to OmegaConf. Outside ``run_values`` it resolves to its own text."""
    OmegaConf.register_new_resolver("run", _look_up, use_cache=False, replace=True)


def _look_up(name: str) -> str | None:
    if name not in NAMES:
        raise UserError(f"${{run:{name}}} is unknown; choose one of {', '.join(f'${{run:{one}}}' for one in NAMES)}.")
    values = _known.get()
    return f"${{run:{name}}}" if values is None else values[name]
