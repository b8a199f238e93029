"""`python -m triptych`, and the console script."""

import sys

from triptych.commands.cli import main


def run() -> None:
    sys.exit(main())


if __name__ == "__main__":
    run()
