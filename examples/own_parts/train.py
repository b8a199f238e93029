"""Train a model of one's own with a callback and a metric of one's own, and compare it with an RNN.

    python examples/own_parts/train.py

The same on the command line, which finds own_parts.py in the working folder:

    cd examples/own_parts
    triptych train --config-dir conf model=bag_of_words 'callbacks=[gradient_norm]' scale=smoke
"""

import sys
from pathlib import Path

import triptych

CONF = Path(__file__).parent / "conf"  # YAML files in the same groups as triptych's own


def main() -> None:
    given = ["scale=smoke", "output=runs/own_parts", *sys.argv[1:]]

    # One run: the model, the callback and the metric are named like any other option.
    own = ["model=bag_of_words", "callbacks=[gradient_norm]", "metric=[bleu,length_ratio]"]
    run = triptych.train(*own, "name=bag", *given, config_dir=CONF)
    print(f"{run.folder}: length ratio {run.result['test']['test']['length_ratio']:.2f}")

    # A sweep over one's own model and a built-in one on the same batches, and the table that compares them.
    triptych.sweep("model=bag_of_words,rnn_none", *given, "output=runs/own_sweep", config_dir=CONF)
    print(triptych.report("runs/own_sweep")[["label", "parameters", "test/bleu"]].to_string(index=False))


if __name__ == "__main__":
    main()
