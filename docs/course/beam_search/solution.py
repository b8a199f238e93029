"""Lab 4, a solution."""


def score(log_prob, length, alpha):
    """Return the log-probability divided by the length penalty."""
    return log_prob / ((5 + length) / 6) ** alpha


def beam_search(next_log_probs, beam_size, alpha, max_length, end):
    """Return the tokens of the best hypothesis, and its score."""
    live, finished = [([], 0.0)], []
    for _ in range(max_length):
        candidates = [
            ([*tokens, token], log_prob + extra)
            for tokens, log_prob in live
            for token, extra in enumerate(next_log_probs(tokens))
        ]
        candidates.sort(key=lambda candidate: candidate[1], reverse=True)
        finished += [candidate for candidate in candidates[:beam_size] if candidate[0][-1] == end]
        live = [candidate for candidate in candidates if candidate[0][-1] != end][:beam_size]
    best = max(finished + live, key=lambda one: score(one[1], len(one[0]), alpha))
    return best[0], score(best[1], len(best[0]), alpha)
