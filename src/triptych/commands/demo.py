"""``triptych demo``: translations and attention of three small trained models that come with the package."""

from __future__ import annotations

from triptych.commands.printing import print_fitted, show_next
from triptych.config.next_step import after_translating
from triptych.errors import UserError

USAGE = """usage: triptych demo ["A SENTENCE"]

Translates sentences of the built-in corpus' test set, or your own, from English to French with the small trained models
that come with triptych, and draws where they looked in attention.html. They know only the words of that corpus."""
EMPTY = "(empty)"
"""Shown for a translation without words."""


def main(arguments: list[str]) -> int:
    """Translate sentences, or the examples, and write the attention page; ``UserError`` for an option."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if option := next((one for one in arguments if one.startswith("-")), None):
        raise UserError(f"{option} is no option of demo; it takes sentences.")
    from triptych.runs.demo import PREFIX, demo_examples, demo_names  # imported late: --help does not wait for it
    from triptych.runs.run import load

    examples = [(sentence, None) for sentence in arguments] or demo_examples()
    sources = [source for source, _ in examples]
    runs = {name: load(PREFIX + name) for name in demo_names()}
    attention = {name: run.attention(sources) for name, run in runs.items()}
    width = max(map(len, [*runs, "reference"]))
    for i, (source, reference) in enumerate(examples):
        print_fitted(source)
        if reference is not None:
            print_fitted(f"  {'reference':{width}}  {reference}")
        for name in runs:
            print_fitted(f"  {name:{width}}  {attention[name].translations[i] or EMPTY}")
        print_fitted("")
    first, *others = attention.values()
    if arguments:
        print_fitted("These models know only the words of the built-in corpus, and guess at all others.")
    print_fitted(f"attention: {first.write('attention.html', *others)} (open it in a browser)")
    show_next(after_translating(f"{PREFIX}{next(iter(runs))}", sources[-1]))
    return 0
