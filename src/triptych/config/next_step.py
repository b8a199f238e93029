"""What may come next: the last line of a command names a command that can be copied as it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from triptych.config.catalog import options_of
from triptych.config.composition import MULTIRUN
from triptych.config.key_groups import LISTS

LONGEST = 500
"""Most characters of a sentence that is shown: no page of attention shows more at a glance."""
SIDE_BY_SIDE = 3
"""Models whose attention stands beside each other on a wide screen."""


def after_training(folder: Path) -> list[str]:
    """Translate with the run that was trained."""
    return _command("translate", f"run={folder}")


def after_sweep(output: Path) -> list[str]:
    """Compare the arms of a sweep."""
    return _command("report", str(output))


def after_forecast(arguments: Sequence[str], *, several: bool = False) -> list[str]:
    """Train what was forecast or prepared: one run, or several with ``-m``, those of a study in a folder of its own."""
    with_m = several and not set(arguments) & set(MULTIRUN)
    given = dict(one.partition("=")[::2] for one in arguments)
    own = [f"output=runs/{given['experiment']}"] if "experiment" in given and "output" not in given else []
    return _command("train", *(["-m"] if with_m else []), *arguments, *own)


def after_translating(run: str, sentence: str | None, *given: str) -> list[str]:
    """Look at the attention over a sentence; without attention, or over a long one, translate in a browser.

    Args:
        run: folder of a run, several as ``[A,B]``, or ``demo:NAME``.
        sentence: source; None if there is none.
        given: overrides of ``triptych attend``, such as the direction.
    """
    if not sentence or len(sentence) > LONGEST or not has_attention(run):
        return _command("serve", f"run={run}")
    return _command("attend", f"run={run}", *given, sentence)


def after_hypothesis() -> list[str]:
    """See what other metrics there are."""
    return _command("list", "metrics")


def after_export(folder: Path, command: Callable[[Path], list[str]] | None) -> list[str]:
    """Use what was exported: by a command of its own, or as a run."""
    return command(folder) if command else _command("translate", f"run={folder}")


def after_report(folder: Path, runs: Sequence[Path], sentence: str | None, *, methods: bool) -> list[str]:
    """Look at the attention of the first three arms over a test sentence; without weights, describe the methods.

    Args:
        folder: that was reported.
        runs: folders of runs with weights, one for each arm.
        sentence: source of a test set.
        methods: whether the report has described the methods.
    """
    shown = [str(run) for run in runs if has_attention(str(run))][:SIDE_BY_SIDE]
    if not shown:
        return _command("report", str(folder), "--all" if methods else "--methods")
    return after_translating(shown[0] if len(shown) == 1 else f"[{','.join(shown)}]", sentence)


def after_list(group: str | None, folders: Sequence[Path]) -> list[str]:
    """List one of the groups; or see what an option of the listed group has, or what a sweep costs."""
    if group is None:
        return _command("list", "models")
    if group == "hydra/launcher":  # its options need packages that may not be installed
        group = "experiment"
    option = options_of(group, folders)[0].name
    if group == "experiment":
        return _command("forecast", f"experiment={option}")
    above = ["model=hybrid"] if group.startswith("model/") else []
    return _command("train", *above, f"{group}={f'[{option}]' if group in LISTS else option}", "--help")


def has_attention(run: str) -> bool:
    """Whether the configuration of a run, or of the first of several, leaves its model attention."""
    path = Path(run.strip("[]").split(",")[0]).expanduser() / "config.yaml"
    if not path.is_file():
        return True
    model = yaml.safe_load(path.read_text(encoding="utf-8")).get("model", {})
    decoder = model.get("decoder")
    return (decoder if isinstance(decoder, dict) else model).get("attention") != "none"  # some models name their halves


def first_line(path: str) -> str | None:
    """Return the first line of a file of sentences that is not empty."""
    from triptych.data.text_file import read_lines  # imports NumPy

    return next((line for line in read_lines(Path(path).expanduser()) if line), None)


def _command(*words: str) -> list[str]:
    return ["triptych", *words]
