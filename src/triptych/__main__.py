"""`python -m triptych`, and the console script."""

import os
import sys

from triptych.accounting.threads import limit_spinning
from triptych.commands.cli import main


def run() -> None:
    limit_spinning(os.environ)
    sys.exit(main())


if __name__ == "__main__":
    run()
