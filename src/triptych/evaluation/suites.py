"""Score contrastive suites: the share of items whose right translation a model finds likelier than the wrong one.

As in Sennrich 2017 (https://aclanthology.org/E17-2060): no search enters, and chance is a half.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triptych.data.contrast import ContrastiveItem, items_digest
from triptych.data.corpus import Corpus
from triptych.decoding.translator import Translator
from triptych.errors import UserError
from triptych.runs.folder import RunFolder, write_lines


@dataclass(frozen=True)
class SuiteEvaluation:
    """What a model makes of one suite.

    Attributes:
        items: items of the suite.
        margins: log p(right | source) - log p(wrong | source) of each item, in nats; positive where the model is right.
    """

    items: Sequence[ContrastiveItem]
    margins: Sequence[float]

    @property
    def scores(self) -> dict[str, Any]:
        """Scores as ``suites.<name>`` of ``result.json``: ``items``, ``right``, ``accuracy`` (0 to 1), ``by_kind``, and
        ``text``, a hash of the items."""
        by_kind: dict[str, dict[str, int]] = defaultdict(lambda: {"items": 0, "right": 0})
        for item, margin in zip(self.items, self.margins, strict=True):
            by_kind[item.kind]["items"] += 1
            by_kind[item.kind]["right"] += margin > 0
        right = sum(kind["right"] for kind in by_kind.values())
        return {
            "items": len(self.items),
            "right": right,
            "accuracy": right / len(self.items),
            "by_kind": dict(sorted(by_kind.items())),
            "text": items_digest(self.items),
        }


def evaluate_suites(
    translator: Translator, corpus: Corpus, items: int, search_tokens: int
) -> dict[str, SuiteEvaluation]:
    """Score the suites of a corpus.

    Args:
        translator: the trained model.
        corpus: corpus that it was trained on.
        items: number of items in each suite.
        search_tokens: maximum number of source tokens a batch, including padding.

    Returns:
        What the model makes of each suite, by its name.

    Raises:
        UserError: the corpus has no suites.
    """
    check_suites(corpus, items)
    found = {}
    for name, suite in corpus.suites(items).items():
        sources = [item.source for item in suite]
        right = translator.score(sources, [item.right for item in suite], search_tokens)
        wrong = translator.score(sources, [item.wrong for item in suite], search_tokens)
        found[name] = SuiteEvaluation(suite, [ours - theirs for ours, theirs in zip(right, wrong, strict=True)])
    return found


def check_suites(corpus: Corpus, items: int) -> None:
    """Check that a corpus has suites, and that they are to have items.

    Raises:
        UserError: it has none, or they are not.
    """
    if items < 1:
        raise UserError(f"suite_items={items} must be at least 1, to score the suites.")
    if not corpus.suites(1):
        raise UserError(f"suite_items={items}: the corpus '{corpus.name}' has no suites; data=toy has some.")


def save_suites(found: Mapping[str, SuiteEvaluation], folder: RunFolder, ending: str = "") -> None:
    """Write the items of each suite with their margins to ``suites/<name><ending>.jsonl`` in a run's folder."""
    for name, suite in found.items():
        lines = [
            json.dumps({**vars(item), "margin": round(margin, 4)}, ensure_ascii=False)
            for item, margin in zip(suite.items, suite.margins, strict=True)
        ]
        write_lines(folder.suites / f"{name}{ending}.jsonl", lines)
