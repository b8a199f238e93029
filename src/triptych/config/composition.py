"""Commands whose options Hydra composes from conf/."""

from __future__ import annotations

import difflib
import functools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import hydra
from hydra import compose, initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

import triptych
from triptych.errors import UserError
from triptych.runs.folder import RunFolder


def conf_dir() -> Path:
    """The folder of YAML files: inside an installed wheel, or at the top of a checkout."""
    package = Path(triptych.__file__).parent
    return package / "conf" if (package / "conf").is_dir() else package.parents[1] / "conf"


def run(command: str, function: Callable[[DictConfig], None], arguments: list[str]) -> int:
    """Composes conf/<command>.yaml with the arguments and calls the function, once, or once a job of a multirun.

    A job that fails is named, and the jobs after it go on.
    """
    failures: list[Exception] = []
    argv = sys.argv

    @functools.wraps(function)
    def job(config: DictConfig) -> None:
        hydra_config = HydraConfig.get()
        # The command line of this job alone, from which Lightning starts the other ranks.
        sys.argv = [argv[0], command, *map(quoted, hydra_config.overrides.task), "hydra.mode=RUN"]
        try:
            function(config)
        except Exception as error:  # Hydra would print its own account of it, and end a multirun
            failures.append(error)
            if hydra_config.mode == RunMode.MULTIRUN:
                print(f"failed: {' '.join(hydra_config.overrides.task)}", file=sys.stderr)

    sys.argv = [f"triptych {command}", *map(quoted, arguments)]
    try:
        hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name=command)(job)()
    finally:
        sys.argv = argv
    if failures:
        raise failures[0] if len(failures) == 1 else ExceptionGroup(f"{len(failures)} jobs failed", failures)
    return 0


@contextmanager
def hydra_of_its_own() -> Iterator[ConfigLoader]:
    """Composes configs beside, or inside, a run of Hydra, which knows of one application at a time."""
    state = Singleton.get_state()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            yield GlobalHydra.instance().config_loader()
    finally:
        Singleton.set_state(state)


def compose_run(overrides: Sequence[str]) -> DictConfig:
    """The config of ``triptych train`` with overrides."""
    with hydra_of_its_own():
        return compose("train", overrides=list(overrides))


def register_search(arguments: Sequence[str]) -> None:
    """``search=run``, in conf/translate.yaml and conf/evaluate.yaml: how the run that is named was scored itself."""
    named = [argument.removeprefix("run=").strip("'\"") for argument in arguments if argument.startswith("run=")]
    config = RunFolder(Path(named[-1]).expanduser()).config if named else None
    if config is not None and config.exists():
        search = OmegaConf.select(OmegaConf.load(config), "search")
    else:  # whoever reads the keys, or has named no run, is told so later
        search = OmegaConf.load(conf_dir() / "search" / "beam.yaml")
    ConfigStore.instance().store(group="search", name="run", node=search)


def quoted(argument: str) -> str:
    """A run's folder is named by its overrides, and Hydra would read them in ``run=…`` as its own."""
    key, equals, value = argument.partition("=")
    return f"run='{value}'" if equals and key == "run" and not value.startswith(("'", '"')) else argument


def require_values(config: DictConfig) -> None:
    """Raises ``UserError`` where a value that must be given is not."""
    missing = OmegaConf.missing_keys(config)
    if missing:
        raise UserError(f"{', '.join(f'{key}=…' for key in sorted(missing))} must be given.")


def require_one_best(key: str, search: DictConfig) -> None:
    """Raises ``UserError`` where several translations of a line are asked for and one is scored."""
    if (asked := search.get("n_best", 1)) != 1:
        raise UserError(f"{key}.n_best={asked} is for `triptych translate`; here one translation is scored, so set 1.")


def explain_config(error: BaseException) -> str:
    """Hydra's complaint about a configuration, in one sentence."""
    text = str(error)
    if found := re.search(r"Could not override '([^']+)'", text):
        return f"{found[1]} is no configuration key{suggestion(found[1]) or '.'}"
    if found := re.search(
        r"Could not find '([^']+)'.*?Available options in '([^']+)':\s*(.*?)\n(?:Config|$|\n)", text, re.S
    ):
        group, _, option = found[1].rpartition("/")
        return f"{group}={option} is unknown; choose one of {', '.join(found[3].split())}."
    if found := re.search(r"Could not find '([^']+)'", text):  # options in folders of their own
        group, _, option = found[1].partition("/")
        there = sorted(p.relative_to(conf_dir() / group).with_suffix("") for p in (conf_dir() / group).rglob("*.yaml"))
        alike = [one.as_posix() for one in there if option in (one.name, one.parent.name)]
        told = alike or sorted({f"{one.parent.as_posix()}/…" for one in there})
        return f"{group}={option} is unknown; choose one of {', '.join(told)}."
    if found := re.search(r"Error merging override (.*)", text):
        return f"{found[1]}: {str(error.__cause__).splitlines()[0].rstrip('.')}."
    if found := re.search(r"Ambiguous value for argument '([^']+)'", text):
        return f"{found[1]} names several values; add -m to run each of them."
    if "Config group override" in text:  # which must name a file, and was read as a number
        return f"{', '.join(_of_no_file(sys.argv[2:])) or text}: there is no such file in conf/."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[:2]).replace(":;", ":").rstrip(".") + "."


def _of_no_file(overrides: Sequence[str]) -> list[str]:
    """Those that choose an option of a group, and none that it has."""
    wrong = []
    for override in overrides:
        key, _, values = override.partition("=")
        group = conf_dir() / key.lstrip("+~").partition("@")[0]
        if group.is_dir() and not all((group / f"{value}.yaml").exists() for value in values.split(",")):
            wrong.append(override)
    return wrong


def suggestion(key: str) -> str:
    """`; did you mean …?` for a key that resembles one of the command at hand."""
    command, *overrides = sys.argv[1:] or ["train"]
    others = [o for o in overrides if "=" in o and not o.lstrip("+~").startswith((key, "hydra"))]
    try:
        GlobalHydra.instance().clear()
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            config = compose(command, overrides=others)
    except Exception:
        return ""
    close = difflib.get_close_matches(key, list(_keys(config)), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _keys(config: DictConfig, prefix: str = "") -> list[str]:
    keys = []
    for name in map(str, config):
        keys.append(f"{prefix}{name}")
        inner = config._get_node(name)
        if isinstance(inner, DictConfig) and not OmegaConf.is_missing(config, name):
            keys += _keys(inner, f"{prefix}{name}.")
    return keys
