"""``triptych demo``: translations by three small trained models that come with the package."""

from __future__ import annotations

import shlex
import sys

EXAMPLES = [
    ("The grey horse returns to a strange castle.", "Le cheval gris revient à un château étrange."),
    ("The sister helped him.", "La sœur l'a aidé."),
    ("The schools that I showed him are not new.", "Les écoles que je lui ai montrées ne sont pas nouvelles."),
    ("Many sons smiled at me.", "Beaucoup de fils m'ont souri."),
]
"""Sentences of the built-in corpus' test set, with their references."""

USAGE = """usage: triptych demo ["A SENTENCE"]

Translates sentences of the built-in corpus' test set, or your own, from English to French with the small trained models
that come with triptych. They know only the words of the built-in corpus."""


def main(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    from triptych.runs.demo import PREFIX, demo_names  # imported late: --help does not wait for it
    from triptych.runs.run import load

    examples = [(sentence, None) for sentence in arguments] or EXAMPLES
    sources = [source for source, _ in examples]
    names = demo_names()
    translations = {name: load(PREFIX + name).translate(sources) for name in names}
    width = max(map(len, [*names, "reference"]))
    for i, (source, reference) in enumerate(examples):
        print(source)
        if reference is not None:
            print(f"  {'reference':{width}}  {reference}")
        for name in names:
            print(f"  {name:{width}}  {translations[name][i]}")
        print()
    runs = ",".join(PREFIX + name for name in names)
    print(f"next: {shlex.join(['triptych', 'attend', f'run=[{runs}]', sources[0]])}", file=sys.stderr)
    return 0
