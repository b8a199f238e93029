"""``triptych export``: write a trained run in the form of another program, checked against ours."""

from __future__ import annotations

from triptych.commands.arguments import asks_to_show, configurations, overrides_of, show
from triptych.config.types import check_types
from triptych.config.validation import require_values


def main(arguments: list[str]) -> int:
    if asks_to_show(arguments):
        return show("export", arguments)
    with overrides_of("export", arguments) as overrides:
        for config in configurations("export", overrides):
            require_values(config)
            check_types(config)
            from triptych.export.run import export_run  # imported late: --help and mistakes do not wait for it

            found, folder = export_run(config.run, config.format, config.output, config.checkpoint)
            print(
                f"{found.same} of {found.sentences} validation sentences: the same translation without a length penalty"
            )
            print(f"log-probabilities of our translations: the same within {found.difference:.1e} nats")
            print(f"{config.format}: {folder}")
    return 0
