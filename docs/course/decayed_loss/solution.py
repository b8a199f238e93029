"""Lab 3, a solution."""

from torch.nn.functional import cross_entropy

PAD = 0


def source_weight(step, steps_per_epoch, epochs, alpha, beta):
    """Return lambda at an optimizer step."""
    progress = step / (steps_per_epoch * epochs)
    if progress < beta:
        return 1 - (1 - alpha) * progress / beta
    return alpha * (1 - progress) / (1 - beta)


def decayed_loss(src_logits, src, tgt_logits, tgt, weight):
    """Return L = lambda * L_AE + L_MT, in nats."""
    src_loss = cross_entropy(src_logits.flatten(0, 1), src.flatten(), ignore_index=PAD)
    tgt_loss = cross_entropy(tgt_logits.flatten(0, 1), tgt.flatten(), ignore_index=PAD)
    return weight * src_loss + tgt_loss
