"""``triptych export``: write a trained run in another form, checked against the run."""

from __future__ import annotations

from omegaconf import DictConfig

from triptych.commands.arguments import run_command
from triptych.commands.printing import print_fitted, show_next
from triptych.config.next_step import after_export


def main(arguments: list[str]) -> int:
    return run_command("export", arguments, _export)


def _export(config: DictConfig) -> None:
    from triptych.export.run import export_run  # imported late: --help and mistakes do not wait for it
    from triptych.runs.run import run_of

    found, folder = export_run(run_of(config), config.format, config.precision, config.output)
    print_fitted(f"{found.same} of {found.sentences} validation sentences have the same translation {found.search}")
    rounded = "" if config.precision == "full" else f", since {config.precision} rounds the weights"
    print_fitted(f"log-probabilities of whole translations differ by at most {found.difference:.1e} nats{rounded}")
    print_fitted(f"{config.format}: {folder}")
    show_next(after_export(folder, found.command))
