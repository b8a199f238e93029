"""Several models that translate together: the mean of their log-probabilities decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from triptych.contract.decoder_state import DecoderState
from triptych.contract.model import AttentionMap
from triptych.contract.searchable import SearchableModel
from triptych.data.directions import Direction
from triptych.decoding.translator import Translator
from triptych.errors import UserError

NO_ATTENTION = "an ensemble has several attentions; look at its runs beside each other: triptych attend 'run=[A,B]'."


class Ensemble(SearchableModel):
    """Models with one vocabulary, of any architectures.

    A hypothesis has the mean of the log-probabilities that the models give it. Over all next tokens, the exponentials
    of these means add up to at most 1; they are not normalised.

    Args:
        models: in evaluation mode, on one device.
    """

    def __init__(self, models: Sequence[SearchableModel]) -> None:
        super().__init__()
        self.models = nn.ModuleList(models)

    @property
    def members(self) -> list[SearchableModel]:
        return [model for model in self.models if isinstance(model, SearchableModel)]

    def start(self, src: Tensor, src_lengths: Tensor) -> DecoderState:
        return _together([model.start(src, src_lengths) for model in self.members])

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        log_probs, states = [], []
        for i, model in enumerate(self.members):
            logits, new = model.step(tokens, DecoderState(_of(state.sentence, i), _of(state.hypothesis, i)))
            log_probs.append(model.log_probs(logits))
            states.append(new)
        return torch.stack(log_probs).mean(0), _together(states)

    def log_probs(self, logits: Tensor) -> Tensor:
        return logits  # ``step`` has normalised those of each model


def _together(states: Sequence[DecoderState]) -> DecoderState:
    """Return one state with the tensors of all, whose names begin with the number of their model."""
    sentence, hypothesis = (
        {f"{i}:{name}": tensor for i, tensors in enumerate(kind) for name, tensor in tensors.items()}
        for kind in ([state.sentence for state in states], [state.hypothesis for state in states])
    )
    return DecoderState(sentence, hypothesis)


def _of(tensors: Mapping[str, Tensor], number: int) -> dict[str, Tensor]:
    start = f"{number}:"
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


class EnsembleTranslator(Translator):
    """Runs that translate and score together.

    Args:
        translators: each with its model; the first one's search is the ensemble's.

    Raises:
        UserError: they have different tokenizers or directions.
    """

    def __init__(self, translators: Sequence[Translator]) -> None:
        first = translators[0]
        for other in translators[1:]:
            if other.tokenizer.fingerprint != first.tokenizer.fingerprint:
                raise UserError(
                    f"ensemble: the tokenizers {first.tokenizer.fingerprint} and {other.tokenizer.fingerprint} differ; "
                    "take runs that were trained with one tokenizer, as the arms of a sweep are."
                )
            if other.directions != first.directions:
                raise UserError(
                    f"ensemble: the directions {first.directions} and {other.directions} differ; take runs that "
                    "translate alike."
                )
        super().__init__(model=first.model, tokenizer=first.tokenizer, directions=first.directions, search=first.search)
        self.translators = list(translators)
        self.search_model = Ensemble([one.model for one in translators])

    def token_scores(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], direction: Direction | None = None
    ) -> list[Tensor]:
        """Return what ``Translator.token_scores`` returns, the mean of the models' values."""
        found = [one.token_scores(sources, targets, direction) for one in self.translators]
        return [torch.stack(of_pair).mean(0) for of_pair in zip(*found, strict=True)]

    def attention_of_ids(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], direction: Direction | None = None
    ) -> list[AttentionMap]:
        raise UserError(NO_ATTENTION)
