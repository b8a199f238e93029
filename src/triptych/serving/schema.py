"""What the HTTP API takes and gives."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Run(BaseModel):
    """A run that is served."""

    name: str
    folder: str
    src: str = Field(description="source language")
    tgt: str = Field(description="target language")
    parameters: int
    checkpoint: str
    beam_size: int
    length_penalty: float
    n_best: int = Field(description="translations that it has of each sentence, at most")
    has_attention: bool = Field(description="whether /api/attention can draw its attention")


class Question(BaseModel):
    """A sentence to translate."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sentence: str = Field(description="one line of text")
    run: str | None = Field(None, description="name of a run; may be left out where one is served")
    n_best: int = Field(1, ge=1, description="translations to return, at most those of the run")


class Hypothesis(BaseModel):
    """A translation."""

    text: str
    score: float = Field(description="log-probability in nats, divided by the length penalty")


class Translations(BaseModel):
    """The translations of a sentence by one run, best first."""

    run: str
    translations: list[Hypothesis]
    seconds: float = Field(description="time that the batch of this sentence took to translate")
    waited: float = Field(description="seconds until that began")
    batch: int = Field(description="number of sentences in the batch")


class Sentence(BaseModel):
    number: int = Field(description="place in the test set, from 1")
    source: str
    reference: str


class Sentences(BaseModel):
    test_set: str
    found: int = Field(description="sentences that contain the text")
    sentences: list[Sentence]


class Problem(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="one sentence")
