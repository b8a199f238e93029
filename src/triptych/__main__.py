"""`python -m triptych`, and the console script."""

import os
import sys


def run() -> None:
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # processes that this one starts import nothing from where they are
    try:
        from triptych.commands import threads  # noqa: F401  watches the cores while the rest is imported
        from triptych.commands.cli import main
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(main())


if __name__ == "__main__":
    run()
