"""Keys that have no effect where they are given, in one table; a command line with one is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from triptych.data.contrast import SUITES
from triptych.errors import UserError

SEARCH_PATH = "hydra.searchpath"
MODE = "hydra.mode"
ARMS = ("hydra.sweeper", "hydra.launcher")
"""Sections of Hydra that choose the arms of a sweep, and start them."""


@dataclass(frozen=True)
class CommandLine:
    """What a user gives to a command.

    Attributes:
        values: of the keys that are given, such as ``{"search.beam_size": "4"}``. ``hydra/launcher`` is
            ``hydra.launcher``, and keys that are set to null are left out.
        sweep: whether it names several runs.
        launched: whether a launcher or a sweeper other than Hydra's basic ones starts them.
    """

    values: Mapping[str, str]
    sweep: bool
    launched: bool


@dataclass(frozen=True)
class Unused:
    """Keys that have no effect in some command lines.

    Attributes:
        keys: names of keys, or of sections with all that is in them.
        when: whether they have no effect in a command line.
        because: why, and what to do.
        except_for: keys of these sections that have one.
    """

    keys: tuple[str, ...]
    when: Callable[[CommandLine], bool]
    because: str
    except_for: tuple[str, ...] = ()

    def has(self, key: str) -> bool:
        """Whether a key is one of these."""
        return _is_in(key, self.keys) and not _is_in(key, self.except_for)


EVALUATE = (
    Unused(
        ("search", "search_tokens", "checkpoint", "device", "precision", "src", "ensemble", "rerank"),
        lambda line: "hypothesis" in line.values,
        "hypothesis=FILE is scored as it is, and no model runs; leave it out.",
    ),
    Unused(
        ("trust",),
        lambda line: "hypothesis" in line.values and "run" not in line.values,
        "without run=… no configuration is read; leave it out.",
    ),
    Unused(
        ("search", "metric", "rerank"),
        lambda line: line.values.get("split") == SUITES,
        f"split={SUITES} compares the likelihood of given translations; leave it out.",
    ),
    Unused(
        ("src", "tgt"),
        lambda line: "split" in line.values,
        "a split has the languages of the run's data; leave it out.",
    ),
    Unused(
        ("suite_items",),
        lambda line: line.values.get("split") != SUITES,
        f"it is for split={SUITES}; leave it out.",
    ),
)
TRAIN = (
    Unused(
        (MODE,),
        lambda line: line.sweep and line.values.get(MODE, "").upper() == "RUN",
        "-m starts a sweep, and this mode a single run; leave out one of the two.",
    ),
    Unused(
        (*ARMS, "jobs"),
        lambda line: not line.sweep and MODE not in line.values,  # a mode says itself that there is one run
        "it is for sweeps; add -m, or leave it out.",
    ),
    Unused(
        ("hydra.run",),
        lambda line: True,
        "output=… and name=… say where runs are kept; leave it out.",
    ),
    Unused(
        ("hydra.sweep",),
        lambda line: not line.launched,
        "output=… and name=… say where runs are kept; leave it out.",
    ),
    Unused(
        ("hydra",),
        lambda line: not line.launched,
        "it is for programs that Hydra starts, and triptych starts its runs itself; leave it out.",
        except_for=(SEARCH_PATH, MODE, *ARMS),
    ),
)
OTHERS = (
    Unused(
        ("hydra",),
        lambda line: True,
        "it is for programs that Hydra starts, and triptych starts this command itself; leave it out.",
        except_for=(SEARCH_PATH, "hydra.sweeper.params"),
    ),
)


def refuse_unused(command: str, arms: Iterable[Sequence[str]], *, sweep: bool = False, launched: bool = False) -> None:
    """Refuse a key that has no effect in any run of a command line.

    Args:
        command: ``train``, ``evaluate`` …
        arms: overrides of each run; those of the only one, if the command line is no sweep.
        sweep: whether it is one.
        launched: as of ``CommandLine``.

    Raises:
        UserError: there is one. It is named with the reason that holds for the first run.
    """
    found = [_unused(command, arm, sweep, launched) for arm in arms]
    for override, because in (found[0] if found else {}).items():
        key = _key(override)
        if all(key in map(_key, others) for others in found):
            raise UserError(f"{override} has no effect here: {because}")


def _unused(command: str, overrides: Sequence[str], sweep: bool, launched: bool) -> dict[str, str]:
    """Return the overrides without an effect, and why each has none."""
    given = {one: one.partition("=")[2] for one in overrides}
    given = {one: value for one, value in given.items() if value not in ("", "null")}
    line = CommandLine({_key(one): value.strip("'\"") for one, value in given.items()}, sweep, launched)
    rows = TRAIN if command == "train" else (*(EVALUATE if command == "evaluate" else ()), *OTHERS)
    found: dict[str, str] = {}
    for override in given:
        for row in rows:
            if row.has(_key(override)) and row.when(line):
                found.setdefault(override, row.because)
    return found


def _key(override: str) -> str:
    """Return the key of an override, with a point for the ``/`` of a group."""
    return override.lstrip("+~").partition("=")[0].replace("/", ".")


def _is_in(key: str, sections: Iterable[str]) -> bool:
    """Whether a key is one of these, or in a section of that name."""
    return any(key == section or key.startswith(f"{section}.") for section in sections)
