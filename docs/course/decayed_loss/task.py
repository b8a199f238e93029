"""Lab 3: the decayed loss of LM4MT (Wang et al. 2021). Write the two functions."""

import torch  # noqa: F401

PAD = 0
"""Id of padding."""


def source_weight(step, steps_per_epoch, epochs, alpha, beta):
    """Return lambda, the weight of the source loss, at an optimizer step.

    It falls on a line from 1 at the first step of the training to alpha after the share beta of all steps, and from
    there on another line to 0 after the last step.

    Args:
        step: optimizer steps that are done, from 0 to ``steps_per_epoch * epochs``.
        steps_per_epoch: number of steps in a pass over the data.
        epochs: number of passes.
        alpha: lambda at the bend, between 0 and 1.
        beta: where the bend is, as a share of all steps, between 0 and 1.
    """
    raise NotImplementedError("Lab 3: source_weight is still to be written")


def decayed_loss(src_logits, src, tgt_logits, tgt, weight):
    """Return L = lambda * L_AE + L_MT, in nats, as a tensor with one number.

    L_AE is the mean negative log-likelihood of the source tokens, L_MT that of the target tokens. Each is a mean over
    the tokens of its own side in the whole batch. Padding counts on neither side.

    Args:
        src_logits: (B, S, V) scores of the next token, before the softmax.
        src: (B, S) the source tokens that were to be predicted; 0 is padding.
        tgt_logits: (B, T, V), and ``tgt`` (B, T), likewise for the target.
        weight: lambda.
    """
    raise NotImplementedError("Lab 3: decayed_loss is still to be written")
