"""Lab 2: masks and positions of a Transformer (Vaswani et al. 2017). Write the four functions."""

import torch  # noqa: F401


def padding_mask(lengths, width):
    """Say where sentences have tokens.

    Args:
        lengths: (B,) number of tokens of each sentence.
        width: S, number of positions; those after a sentence's tokens are padding.

    Returns:
        (B, 1, S) booleans: True where there is a token. The 1 stands for the queries: all see the same keys.
    """
    raise NotImplementedError("Lab 2: padding_mask is still to be written")


def causal_mask(length):
    """Say what each position of a decoder may look at: itself and all positions before it.

    Returns:
        (T, T) booleans: True in row i and column j if position i may look at position j.
    """
    raise NotImplementedError("Lab 2: causal_mask is still to be written")


def attention(query, key, value, mask):
    """Scaled dot-product attention (equation 1), with a mask.

    Args:
        query: (B, T, D).
        key: (B, S, D).
        value: (B, S, D).
        mask: booleans that broadcast to (B, T, S): True where a query may look at a key.

    Returns:
        (B, T, D): softmax(query key^T / sqrt(D)) value, where masked keys have weight 0.
    """
    raise NotImplementedError("Lab 2: attention is still to be written")


def positions(length, size):
    """Sinusoidal positions (section 3.5).

    Returns:
        (length, size): sin(pos / 10000^(2i / size)) in the even column 2i, and the cosine of the same in column 2i + 1.
    """
    raise NotImplementedError("Lab 2: positions is still to be written")
