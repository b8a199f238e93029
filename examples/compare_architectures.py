"""Train three architectures on the same batches and print the table that compares them.

    python examples/compare_architectures.py              # seconds; too short to learn anything
    python examples/compare_architectures.py scale=toy    # some minutes; shows real differences

Run it again and finished arms are not trained a second time.
"""

import sys

import triptych


def main() -> None:
    # An experiment names the arms; here its list is shortened to three models.
    sweep = ["experiment=architectures", "model=rnn_luong,transformer,lm4mt", "scale=smoke", "output=runs/three"]
    sweep += sys.argv[1:]

    # What it will cost: one row for each arm. Nothing is trained.
    costs = triptych.forecast(*sweep)
    print(costs[["arm", "parameters", "flops", "seconds", "memory_bytes"]].to_string(index=False))

    # One run for each arm. All are trained on the same tokens in the same order.
    runs = triptych.sweep(*sweep)
    streams = {run.result["data"]["token_stream"] for run in runs}
    print(f"{len(runs)} runs, {len(streams)} token stream")

    # The report as a pandas DataFrame; `triptych report runs/three` prints more of it and writes a page.
    table = triptych.report("runs/three")
    print(table[["label", "parameters", "flops", "validation_perplexity", "test/bleu"]].to_string(index=False))


if __name__ == "__main__":
    main()
