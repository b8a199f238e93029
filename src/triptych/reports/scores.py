"""What is known of the scores of a run: how tables call and print them, and how a difference in them is read."""

from __future__ import annotations

from dataclasses import dataclass

VALIDATION_LOSS, TEST_NATS, WORD_NATS = "loss", "nats_per_sentence", "nats_per_word"
"""Keys of ``result.json``: of ``validation``, and of a test set's scores."""
DIVERGED = "diverged"
"""What a claim about the share of diverged runs names as its measure."""


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes:
        header: of its column in a table.
        decimals: of a value and of a difference.
        name: what sentences call it; by default the header.
        unit: of a difference; by default the header.
        higher_is_better: whether a higher value is better.
        margin: the difference within which arms count as equivalent, in its unit; None if there is no custom.
        format: how Python prints a value; by default with ``decimals``.
    """

    header: str
    decimals: int = 2
    name: str = ""
    unit: str = ""
    higher_is_better: bool = True
    margin: float | None = None
    format: str = ""

    @property
    def python_format(self) -> str:
        """How Python prints a value."""
        return self.format or f".{self.decimals}f"


NATS = "negative log-likelihood"
KNOWN = {
    VALIDATION_LOSS: Score("validation loss", 3, unit="nats a token", higher_is_better=False, margin=0.02),
    TEST_NATS: Score("nats/sentence", 2, NATS, "nats a sentence", higher_is_better=False, margin=0.3),
    WORD_NATS: Score("nats/word", 3, NATS, "nats a word", higher_is_better=False, margin=0.025),
    DIVERGED: Score("diverged", 0, "share of diverged runs", "% of runs", higher_is_better=False),
    "bleu": Score("BLEU", margin=1.0),
    "bleu_brevity_penalty": Score("brevity penalty", 3),
    "bleu_length_ratio": Score("length ratio", 3),
    "bleu_precision": Score("n-gram precision"),
    "bleu_lc_norm_tok": Score("BLEU lc.norm.tok", margin=1.0),
    "chrf": Score("chrF", margin=1.0),
    "chrfpp": Score("chrF++", margin=1.0),
    "ter": Score("TER", higher_is_better=False, margin=1.0),
    "comet": Score("COMET", 4),
    "exact_match": Score("exact match (%)", 1, "exact match", "points"),
    "sentence_bleu_pieces": Score("sentence BLEU over pieces"),
    "repetition_rate": Score("repetition rate", 4, higher_is_better=False),
    "cut_share": Score("share cut", 4, higher_is_better=False),
    "length_penalty": Score("length penalty", format=".2g"),
    "bleu_at_common_penalty": Score("BLEU at length penalty 0.6", margin=1.0),
}
"""The scores that triptych knows, in the order of a table. 0.02 nats a token are 2% of perplexity; sentences of about
15 tokens and 12 words make them 0.3 nats a sentence and 0.025 nats a word."""


def describe(key: str) -> Score:
    """Return what is known of a score; of one that is not in ``KNOWN``, higher is better, and its key is its name."""
    return KNOWN.get(key) or Score(key, format=".4g")
