"""Train a model of one's own with a callback of one's own, and compare it with an RNN.

    python examples/own_parts/train.py

It runs the command line in this folder, where Python finds own_parts.py and `--config-dir conf` adds the YAML files.
By hand:

    cd examples/own_parts
    triptych train --config-dir conf model=bag_of_words 'callbacks=[default,gradient_norm]' scale=smoke
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def triptych(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "triptych", *arguments], cwd=HERE, check=True)


def main() -> None:
    output = Path("runs/own_parts").absolute()
    given = ["scale=smoke", f"output={output}", *sys.argv[1:]]

    # One run: the model and the callback are named like any other option.
    triptych("train", "--config-dir", "conf", "model=bag_of_words", "callbacks=[default,gradient_norm]", *given)

    # A sweep over one's own model and a built-in one, on the same batches, and the table that compares them.
    triptych("train", "-m", "--config-dir", "conf", "model=bag_of_words,rnn_none", *given)
    triptych("report", str(output))


if __name__ == "__main__":
    main()
