"""An error in one sentence, where it is the user's to mend."""

from __future__ import annotations

from triptych.errors import UserError


def explain(error: BaseException) -> str | None:
    """A user's mistake in one sentence; None for an error of ours."""
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    for cause in causes:
        if isinstance(cause, UserError):
            return str(cause)
    of_hydra = type(error).__module__.split(".")[0] in ("hydra", "omegaconf")
    for cause in causes if of_hydra else [error]:
        if isinstance(cause, OSError) and cause.strerror:
            place = f"{cause.filename}: " if cause.filename else ""
            return f"{place}{cause.strerror[0].lower()}{cause.strerror[1:]}; give a place that can be used."
    if of_hydra or (isinstance(error, ValueError) and "Config group override" in str(error)):
        from triptych.config.composition import explain_config

        return explain_config(error)
    return None
