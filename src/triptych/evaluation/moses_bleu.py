"""BLEU over lower-cased text normalised and tokenised as Moses does, the measure of the Multi30k literature."""

from __future__ import annotations

import copy
import importlib.metadata
from collections.abc import Callable, Sequence

from sacrebleu.metrics.bleu import BLEU

from triptych.errors import UserError
from triptych.evaluation.metrics import Metric, MetricScore, bleu_score

VERSION = importlib.metadata.version("sacremoses")


class MosesBleu:
    """Corpus BLEU, 0 to 100, over text that is lower-cased, then normalised, then tokenised (``lc.norm.tok``).

    These are the steps of ``scripts/task1-tokenize.sh`` in the repository multi30k/dataset, with sacremoses in place of
    Moses' Perl scripts. Both sides are prepared from detokenised text, so no tokenisation of a model's own enters.

    Args:
        language: whose rules apply; None for the target language of each line. sacremoses takes English's rules for a
            language that it does not know.
    """

    name = "BLEU lc.norm.tok"

    def __init__(self, *, language: str | None) -> None:
        self._language = language
        self._languages: list[str] | None = None

    def for_languages(self, languages: Sequence[str]) -> Metric:
        """Return the metric for lines whose target languages are these, one for each line."""
        other = copy.copy(self)
        other._languages = list(languages)
        return other

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        """Score detokenised translations.

        Raises:
            UserError: the language is neither given nor known from the text.
        """
        if self._language is not None:
            languages = [self._language] * len(references)
        elif self._languages is not None:
            languages = self._languages
        else:
            raise UserError(
                f"metric.bleu_lc_norm_tok.language=null is the target language of a test set, and here is none; give "
                f"language=en, say, to {type(self).__name__}."
            )
        steps = {language: moses_preprocessing(language) for language in dict.fromkeys(languages)}
        ours, theirs = (
            [steps[language](line) for language, line in zip(languages, lines, strict=True)]
            for lines in (hypotheses, references)
        )
        found = bleu_score(BLEU(tokenize="none", force=True), ours, theirs)
        marks = f"pre:lc.norm.tok|lang:{'+'.join(sorted(steps))}|sacremoses:{VERSION}"
        return MetricScore(found.score, f"{found.signature}|{marks}", found.details)


def moses_preprocessing(language: str) -> Callable[[str], str]:
    """Return the function that lower-cases, normalises and tokenises a line; tokens are separated by spaces."""
    from sacremoses import MosesPunctNormalizer, MosesTokenizer  # imported late: a report mostly does without

    normalizer, tokenizer = MosesPunctNormalizer(lang=language), MosesTokenizer(lang=language)

    def prepare(line: str) -> str:
        # Without escapes: "&apos;" for an apostrophe would change no count of BLEU, and nobody reads it.
        return tokenizer.tokenize(normalizer.normalize(line.lower()), return_str=True, escape=False)

    return prepare
