"""Errors that a user can mend, each in one sentence."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from triptych.config.hydra_errors import explain_config
from triptych.errors import UserError, is_shortage_of_memory, one_line

TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
"""What the system says when a process, or all of them, may open no more files."""


@contextmanager
def explained(command: str, overrides: Sequence[str]) -> Iterator[None]:
    """Raise a ``UserError`` in place of an error that Hydra or the system raises for a user's mistake.

    Args:
        command: whose configuration is composed, such as ``train``.
        overrides: that were given to it, for suggestions.
    """
    try:
        yield
    except (UserError, BrokenPipeError):  # the latter is no mistake: nobody reads the output any more
        raise
    except Exception as error:
        if (sentence := explain(error, command, overrides)) is None:
            raise
        raise UserError(sentence) from error


def explain(error: BaseException, command: str = "train", overrides: Sequence[str] = ()) -> str | None:
    """Return a user's mistake as one sentence, or None for an error that is not the user's."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, UserError):
            return str(cause)
    from_hydra = type(error).__module__.split(".")[0] in ("hydra", "omegaconf")
    for cause in causes if from_hydra else [error]:
        if isinstance(cause, OSError) and cause.strerror and cause.errno not in TOO_MANY_FILES:
            full = cause.errno in (errno.ENOSPC, errno.EDQUOT)
            file = (cause.filename2 if full else None) or cause.filename  # of a copy, the second is written
            place = f"{file}: " if file else ""
            remedy = "make room there, or give another place" if full else "give a place that can be used"
            return f"{place}{cause.strerror[0].lower()}{cause.strerror[1:]}; {remedy}."
    for cause in causes:
        if sentence := _explain_machine(cause):
            return sentence
    if from_hydra or (isinstance(error, ValueError) and "Config group override" in str(error)):
        return explain_config(error, command, overrides)
    return None


def _explain_machine(error: BaseException) -> str | None:
    """Return what this machine lacks, a package or memory, as one sentence; None for any other error."""
    if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("triptych"):
        return f"{one_line(error)}: install that package, or leave out what needs it."
    if isinstance(error, OSError) and error.errno in TOO_MANY_FILES:
        return "too many files are open; allow more (ulimit -n 4096), or lower strategy.workers and jobs."
    if is_shortage_of_memory(error):
        return (
            f"memory was short ({one_line(error) or 'no more can be had'}); lower batch.tokens, search_tokens, "
            "search.beam_size or the sizes of the model."
        )
    return None
