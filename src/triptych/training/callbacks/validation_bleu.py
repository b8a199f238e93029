"""BLEU of the validation set while training."""

from __future__ import annotations

from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from lightning.pytorch.loggers import WandbLogger

from triptych.contract.vocabulary import LanguageTags
from triptych.data.store import Store
from triptych.data.tokenizer import Tokenizer
from triptych.decoding.batches import decode
from triptych.decoding.lines import without_line_breaks
from triptych.decoding.search import Search
from triptych.evaluation.metrics import Metric, score_corpus, standard_metrics
from triptych.training.distributed import all_gather
from triptych.training.module import TranslationModule


class ValidationBleu(Callback):
    """Translate the validation set at every n-th validation, log BLEU and chrF, and show some translations.

    The ranks share the sentences between them.

    Args:
        store: ids of the validation set.
        lines: its source and reference lines.
        tokenizer: turns ids into text.
        search: how to translate.
        search_tokens: padded source tokens translated at a time.
        bleu: the metric.
        every: validations from one BLEU to the next.
        samples: number of translations to show.
    """

    def __init__(
        self,
        *,
        store: Store,
        lines: tuple[list[str], list[str]],
        tokenizer: Tokenizer,
        search: Search,
        search_tokens: int,
        bleu: Metric,
        every: int,
        samples: int,
    ) -> None:
        self.sources = [store.pair(i)[0].tolist() for i in range(len(store))]
        self.tags = [LanguageTags(*tags) for tags in store.tags(range(len(store))).tolist()]
        self.lines = lines
        self.tokenizer = tokenizer
        self.search = search
        self.search_tokens = search_tokens
        self.metrics = {**standard_metrics(), "bleu": bleu}
        self.every = every
        self.samples = samples
        self.validations = 0

    def on_validation_epoch_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        if not isinstance(pl_module, TranslationModule):
            return
        self.validations += 1
        if self.validations % self.every:
            return
        if not pl_module.is_finite():  # nothing can be translated, and the checkpoint wants a figure
            pl_module.log("validation/bleu", 0.0, logger=False)
            return
        hypotheses = self._translate(trainer, pl_module)
        scores = score_corpus(self.metrics, hypotheses, self.lines[1], self.lines[0])
        pl_module.log("validation/bleu", scores["bleu"], logger=False)  # read by the checkpoint that keeps the best
        pl_module.write({"validation/bleu": scores["bleu"], "validation/chrf": scores["chrf"]})
        samples = [list(row) for row in zip(*self.lines, hypotheses, strict=True)][: self.samples]
        for logger in trainer.loggers:
            if isinstance(logger, WandbLogger):
                columns = ["source", "reference", "translation"]
                logger.log_text("validation/samples", columns, samples, step=trainer.global_step)

    def _translate(self, trainer: lightning.Trainer, module: TranslationModule) -> list[str]:
        """Translate this rank's sentences and gather those of the others. Empty lines stay empty."""
        of_rank = range(trainer.global_rank, len(self.sources), trainer.world_size)
        mine = [i for i in of_rank if self.lines[0][i].strip()]
        with torch.compiler.set_stance("force_eager"):  # shapes of search are too many to compile
            found = decode(
                module.whole_model(),
                [self.sources[i] for i in mine],
                search=self.search,
                search_tokens=self.search_tokens,
                device=module.device,
                tags=[self.tags[i] for i in mine],
            )
        decoded = self.tokenizer.decode([h[0].tokens for h in found], "tgt")
        texts = {i: without_line_breaks(text) for i, text in zip(mine, decoded, strict=True)}
        texts = {i: text for part in all_gather(texts) for i, text in part.items()}
        return [texts.get(i, "") for i in range(len(self.sources))]

    def state_dict(self) -> dict[str, Any]:
        return {"validations": self.validations}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.validations = state_dict["validations"]
