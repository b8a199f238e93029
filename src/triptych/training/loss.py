"""L = lambda(p) * L_AE + L_MT (Wang et al. 2021), one loss for every architecture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from triptych.contract.batch import Prediction
from triptych.errors import require_one_of, require_probability
from triptych.kernels.linear_cross_entropy import LinearCrossEntropy, accumulation_dtype
from triptych.ranges import Probability


@dataclass
class LossParts:
    """The loss of one batch, and its parts.

    Attributes:
        loss: () differentiable. The shares of the batches of one optimizer step add up to L.
        lambda_: lambda at this step.
        target_nll: () sum of the negative log-likelihoods of target tokens, in nats, without label smoothing.
        source_nll: () sum of those of source tokens.
        target_tokens: number of target tokens.
        source_tokens: number of predicted source tokens.
    """

    loss: Tensor
    lambda_: float
    target_nll: Tensor
    source_nll: Tensor
    target_tokens: int
    source_tokens: int


class TranslationLoss(nn.Module):
    """L = lambda(p) * L_AE + L_MT (Wang et al. 2021), where p is training progress: steps done / all steps.

    L_AE is the mean negative log-likelihood of the predicted source tokens, L_MT that of the target tokens. Each is a
    mean over its own tokens in the whole optimizer step (``Batch.step_tokens``). A model that predicts no source has
    L_MT alone.

    Args:
        label_smoothing: epsilon on L_MT (section 5.4 of Vaswani et al. 2017; rows D of table 3 vary it). L_AE has none.
        mean: ``terms``, as above; ``sequence``, both terms are divided by the number of all tokens. At lambda = 1 this
            is a language model's loss.
        autoencode: lambda, a function of training progress in [0, 1].

    Raises:
        UserError: a smoothing outside [0, 1), or an unknown mean.
    """

    def __init__(self, *, label_smoothing: Probability, mean: str, autoencode: Callable[[float], float]) -> None:
        super().__init__()
        require_probability("loss", label_smoothing=label_smoothing)
        require_one_of(("terms", "sequence"), "loss", mean=mean)
        self.label_smoothing = label_smoothing
        self.one_mean = mean == "sequence"
        self.autoencode = autoencode
        self.cross_entropy = LinearCrossEntropy()

    def forward(self, prediction: Prediction, step_tokens: Tensor, progress: float) -> LossParts:
        """Return the loss of a batch's prediction, normalised by step_tokens (2,), at training progress p."""
        lambda_ = self.autoencode(progress)
        hidden, targets, num_source = prediction.hidden, prediction.targets, prediction.num_source
        src_tokens, tgt_tokens = step_tokens.to(accumulation_dtype(hidden.dtype)).clamp(min=1).unbind()
        if self.one_mean and num_source:
            src_tokens = tgt_tokens = src_tokens + tgt_tokens
        if lambda_ == 0:
            hidden, targets, num_source = hidden[num_source:], targets[num_source:], 0
        num_target = len(targets) - num_source
        # The sum of all tokens' losses with these weights is lambda * L_AE + L_MT.
        token_weights = torch.cat([(lambda_ / src_tokens).expand(num_source), (1 / tgt_tokens).expand(num_target)])
        smoothing = torch.full_like(token_weights, self.label_smoothing)
        smoothing[:num_source] = 0
        loss, nll = self.cross_entropy(hidden, prediction.weight, targets, token_weights, smoothing)
        return LossParts(
            loss=loss,
            lambda_=lambda_,
            target_nll=nll[num_source:].sum(),
            source_nll=nll[:num_source].sum(),
            target_tokens=num_target,
            source_tokens=num_source,
        )

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile what lies between the matrix products, by ``torch.compile`` with these arguments."""
        self.cross_entropy.compile(*args, **kwargs)
