"""``triptych serve``: a local page and an HTTP API that translate with trained runs."""

from __future__ import annotations

import os

from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.threads import choose_threads
from triptych.errors import UserError


def main(arguments: list[str]) -> int:
    return run_command("serve", arguments, _serve)


def _serve(config: DictConfig) -> None:
    """Load the runs, print the address, and answer requests until Ctrl-C.

    Raises:
        UserError: packages, runs or values that cannot be used, or an address that is taken.
    """
    try:
        from triptych.serving.app import build_app  # imported late: --help and mistakes do not wait for it
        from triptych.serving.server import address_of, bind, serve
    except ModuleNotFoundError as error:
        raise UserError(f"serve needs {error.name}, which is not installed; pip install -e '.[serve]'.") from error
    from triptych.kernels.cpu_memory import prepare_cpu_memory
    from triptych.serving.sentences import sentences_of
    from triptych.serving.served import ServeOptions, load_runs

    for key in ("beam_size", "n_best", "search_tokens", "queue", "max_length"):
        if config[key] is not None and config[key] < 1:
            raise UserError(f"{key}={config[key]} is not allowed; give an integer of at least 1.")
    with bind(config.host, config.port) as listening:
        prepare_cpu_memory()
        choose_threads()
        folders = [config.run] if isinstance(config.run, str) else [str(one) for one in config.run]
        options = {key: config[key] for key in ServeOptions.__dataclass_fields__}
        runs = load_runs(folders, ServeOptions(**options))
        sentences = sentences_of([run.folder for run in runs])
        app = build_app(runs, sentences, host=config.host, max_length=config.max_length)
        names = ", ".join(run.name for run in runs)
        print(f"{names}: {address_of(config.host, listening)} (Ctrl-C ends)", flush=True)
        ended = serve(app, runs, listening)
        print("stopped", flush=True)
        if not ended:
            os._exit(0)  # a thread that still computes would make the interpreter abort at its end
