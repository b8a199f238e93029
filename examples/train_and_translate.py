"""Train a small model, translate and score a sentence, and print where the model looks.

    python examples/train_and_translate.py              # seconds; too short to learn anything
    python examples/train_and_translate.py scale=toy    # a minute; learns the built-in corpus

Further arguments are passed on, as `triptych train` takes them.
"""

import sys

import pandas as pd

import triptych


def main() -> None:
    # Each argument is an override of the configuration. A run that is finished already is loaded, not trained again.
    run = triptych.train("model=rnn_luong", "scale=smoke", *sys.argv[1:])
    print(f"trained: {run.folder}")
    print(f"BLEU: {run.result['test']['test']['bleu']:.2f}")
    print(run.metrics[["step", "validation/loss"]].dropna())

    source, reference = "The dog sees the cat.", "Le chien voit le chat."
    print(f"translation: {run.translate([source])[0]}")
    (score,) = run.score([source], [reference])
    print(f"log p(reference | source): {score:.2f} nats")

    # Attention from each target position (rows) to each source position (columns), averaged over layers and heads.
    attention = next(map for map in run.attention([source], [reference]) if map.name in ("cross", "sequence"))
    weights = attention.weights[0].mean(dim=(0, 1)).numpy()
    source_pieces, target_pieces = (run.tokenizer.vocabulary_pieces(side) for side in ("src", "tgt"))
    rows = [target_pieces[i] for i in attention.query_ids[0]]
    columns = [source_pieces[i] for i in attention.key_ids[0]]
    print(pd.DataFrame(weights, index=rows, columns=columns).round(2).to_string())


if __name__ == "__main__":
    main()
