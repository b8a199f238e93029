"""Lab 1: attention by hand. Write ``attend``; everything else is given in given.py."""

import torch  # noqa: F401
from given import AttentionRNN


class ByHand(AttentionRNN):
    """The given RNN with the attention of Bahdanau et al. 2015."""

    def attend(self, state, memory, is_token):
        """Look at the source from the decoder's state.

        Args:
            state: (B, H) the decoder's state s before this step.
            memory: (B, S, H) the encoder's outputs h_1 … h_S, of all sentences.
            is_token: (B, S) True where the source has a token, False where it is padding.

        Returns:
            The context (B, H) and the weights (B, S).
        """
        # TASK. Three steps:
        # 1. scores (B, S): score_j = v^T tanh(W s + U h_j). self.W, self.U and self.v are nn.Linear.
        # 2. weights (B, S): the softmax of a sentence's scores over its source positions; 0 on padding.
        # 3. context (B, H): the sum of the h_j, each multiplied by its weight.
        raise NotImplementedError("Lab 1: attend is still to be written")
