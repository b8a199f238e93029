"""Lab 4: beam search. Write the two functions."""


def score(log_prob, length, alpha):
    """Return the score of a hypothesis: its log-probability divided by ((5 + length) / 6) ** alpha.

    This is the length penalty of Wu et al. 2016, equation 14.

    Args:
        log_prob: sum of the log-probabilities of its tokens.
        length: number of its tokens; the end token counts.
        alpha: 0 for no penalty.
    """
    raise NotImplementedError("Lab 4: score is still to be written")


def beam_search(next_log_probs, beam_size, alpha, max_length, end):
    """Search the sequence of tokens with the highest score.

    At each step, every live hypothesis is extended by every token. These are the candidates, and they are sorted by
    log-probability, the highest first.

    - A candidate that ends in ``end`` and is among the first ``beam_size`` is finished.
    - The first ``beam_size`` candidates that do not end in ``end`` are the live hypotheses of the next step.
    - Hypotheses of ``max_length`` tokens are finished too, without an end token.

    The finished hypothesis with the highest score wins, whenever it was finished.

    Args:
        next_log_probs: function from a list of tokens to a list: the log-probability of each next token.
        beam_size: number of hypotheses that are extended at each step, at most.
        alpha: of ``score``.
        max_length: most tokens of a hypothesis; the end token counts.
        end: the end token.

    Returns:
        The tokens of the winner (with ``end``, if it has one), and its score.
    """
    raise NotImplementedError("Lab 4: beam_search is still to be written")
