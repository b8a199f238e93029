"""Models for lab 4: functions from the tokens so far to the log-probability of each next token."""

import random
from math import inf, log

import torch

from triptych.contract.vocabulary import BOS, EOS, PAD


def random_model(seed, vocabulary):
    """Return a model with ``vocabulary`` tokens that gives every sequence of tokens other, random log-probabilities."""

    def next_log_probs(tokens):
        draw = random.Random(f"{seed} {list(tokens)}")
        weights = [draw.random() ** 3 + 0.01 for _ in range(vocabulary)]
        return [log(weight / sum(weights)) for weight in weights]

    return next_log_probs


def table_model(table):
    """Return a model that looks the probabilities up: the keys of the table are tuples of tokens."""
    return lambda tokens: [log(p) if p else -inf for p in table[tuple(tokens)]]


def translation_model(run, sentence):
    """Return a trained run of triptych as a model of the translations of a sentence; its end token is ``</s>``."""
    (ids,) = run.tokenizer.encode([sentence], "src")
    src = torch.tensor([[*ids, EOS]])

    @torch.inference_mode()
    def next_log_probs(tokens):
        state = run.model.start(src, torch.tensor([src.shape[1]]))
        for token in [BOS, *tokens]:
            logits, state = run.model.step(torch.tensor([token]), state)
        log_probs = logits[0].log_softmax(dim=-1)
        log_probs[[PAD, BOS]] = -inf  # these are never generated
        return log_probs.tolist()

    return next_log_probs
