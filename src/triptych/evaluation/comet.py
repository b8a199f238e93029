"""COMET, a learned metric that reads source, translation and reference (Rei et al. 2020, 2022)."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from triptych.errors import UserError, require_at_least
from triptych.evaluation.metrics import MetricScore


class Comet:
    """Mean COMET score of the sentences; for most models 0 to 1, higher is better.

    The package is imported and the weights are fetched when the metric is built, which is before training starts.

    Args:
        model: name of the model, such as ``Unbabel/wmt22-comet-da`` (https://aclanthology.org/2022.wmt-1.52).
        batch_size: sentences scored at a time.
        gpus: number of GPUs to score with; 0 for the CPU.

    Raises:
        UserError: the package is not installed, or the weights cannot be fetched.
    """

    name = "COMET"
    reads_sources = True

    def __init__(self, *, model: str, batch_size: int, gpus: int) -> None:
        require_at_least(1, "metric.comet", batch_size=batch_size)
        require_at_least(0, "metric.comet", gpus=gpus)
        self._model, self._batch_size, self._gpus = model, batch_size, gpus
        try:
            self._package: Any = importlib.import_module("comet")
        except ImportError as error:
            raise UserError(
                f"metric=comet needs a package that is not installed ({error}); run pip install -e '.[comet]' and "
                "pip install --no-deps unbabel-comet, or leave comet out of metric."
            ) from error
        try:
            self._checkpoint = self._package.download_model(model)
        except Exception as error:  # whatever the network, the model hub or the disk raises
            reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise UserError(
                f"metric.comet.model={model} cannot be fetched ({reason}); fetch it once where there is a network, or "
                "leave comet out of metric."
            ) from error

    def score(self, hypotheses: Sequence[str], references: Sequence[str], sources: Sequence[str]) -> MetricScore:
        rows = [
            {"src": source, "mt": ours, "ref": theirs}
            for source, ours, theirs in zip(sources, hypotheses, references, strict=True)
        ]
        found = self._network.predict(rows, batch_size=self._batch_size, gpus=self._gpus, progress_bar=False)
        return MetricScore(float(found.system_score), f"model:{self._model}|version:comet-{_version()}")

    @cached_property
    def _network(self) -> Any:
        return self._package.load_from_checkpoint(self._checkpoint)


def _version() -> str:
    try:
        return importlib.metadata.version("unbabel-comet")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
