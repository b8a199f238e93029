"""The pages and the HTTP API of ``triptych serve``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from http import HTTPStatus
from importlib.resources import files
from typing import Annotated, TypeVar

import pandas as pd
from fastapi import FastAPI, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, Response
from jinja2 import ChoiceLoader, Environment, PackageLoader
from starlette.exceptions import HTTPException

from triptych import __version__
from triptych.errors import UserError
from triptych.serving.guard import CONTENT_POLICY, Guard, policy_of
from triptych.serving.schema import Hypothesis, Problem, Question, Run, Sentence, Sentences, Translations
from triptych.serving.served import ServedRun
from triptych.serving.worker import Closed, QueueFull

T = TypeVar("T")
BYTES_OF_A_CHARACTER = 12
"""What a character of a sentence may take in JSON: two escapes such as \\ud83d."""
BYTES_BESIDE = 2_000
"""What a request may have beside its sentence."""
MOST_BY_SENTENCE = 4
"""Characters that a translation may have, as a multiple of what a sentence may."""
PAGE = 100
"""Maximum number of sentences of a test set in one answer."""
SCRIPT, STYLE = "text/javascript", "text/css"
ASSETS = {
    "colours.css": ("triptych.reports", STYLE),
    "words.js": ("triptych.reports", SCRIPT),
    "serve.css": ("triptych.serving", STYLE),
    "serve.js": ("triptych.serving", SCRIPT),
}
"""Files that the pages load, with the package whose folder ``web`` they lie in."""


class Refusal(Exception):
    """A request that cannot be answered, with the status and the sentence of the answer."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence


def build_app(runs: Sequence[ServedRun], sentences: Mapping[str, pd.DataFrame], *, host: str, max_length: int) -> Guard:
    """Build the application.

    Args:
        runs: what translates, each name once.
        sentences: sentences of test sets, columns ``source`` and ``reference``, by the name of the set.
        host: address or name that the server is bound to; requests to others are refused (``Guard``).
        max_length: characters that a sentence may have.
    """
    app = FastAPI(
        title="triptych serve",
        version=__version__,
        description="Translations of trained runs. Every refused request has one sentence that says why.",
        docs_url=None,  # FastAPI's own pages load their scripts from another site
        redoc_url=None,
        responses={"4XX": {"model": Problem}, "503": {"model": Problem}},
    )
    _answer_errors(app)
    _add_api(app, {run.name: run for run in runs}, sentences, max_length)
    _add_pages(app, runs, sentences, max_length)
    return Guard(app, host=host, max_body=max_length * BYTES_OF_A_CHARACTER + BYTES_BESIDE)


def _add_api(
    app: FastAPI, runs: Mapping[str, ServedRun], sentences: Mapping[str, pd.DataFrame], max_length: int
) -> None:
    @app.get("/api/runs", summary="List the runs")
    def list_runs() -> list[Run]:
        return [describe(run) for run in runs.values()]

    @app.post("/api/translate", summary="Translate a sentence with one run")
    async def translate(question: Question) -> Translations:
        run = _find_run(runs, question.run)
        sentence = _check_line("sentence", question.sentence, max_length)
        if question.n_best > run.n_best:
            raise Refusal(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                f"n_best={question.n_best} is more than the {run.n_best} that {run.name} has; start the server with "
                "a larger n_best= or beam_size=.",
            )
        answer = await _answer(run, "translate this", lambda: run.worker.submit(sentence))
        found = [Hypothesis(text=text, score=score) for text, score in answer.hypotheses[: question.n_best]]
        return Translations(
            run=run.name, translations=found, seconds=answer.seconds, waited=answer.waited, batch=answer.batch
        )

    @app.get("/api/attention", summary="Draw the attention of a translation (HTML)", response_class=HTMLResponse)
    async def draw_attention(
        sentence: Annotated[str, Query(description="one line of text")],
        translation: Annotated[str | None, Query(description="of the sentence; the run's best one if left out")] = None,
        run: Annotated[str | None, Query(description="name of a run; may be left out where one is served")] = None,
    ) -> HTMLResponse:
        """Answer with a page that holds everything it needs: that of ``triptych attend``."""
        served = _find_run(runs, run)
        if (attend := served.attend) is None:
            raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{served.name} has no attention to draw.")
        source = _check_line("sentence", sentence, max_length)
        target = translation and _check_line("translation", translation, MOST_BY_SENTENCE * max_length)
        page = await _answer(served, "show this", lambda: served.worker.call(lambda: attend(source, target)))
        return HTMLResponse(page, headers={CONTENT_POLICY: policy_of(page)})

    @app.get("/api/sentences/{test_set}", summary="List sentences of a test set")
    def list_sentences(
        test_set: Annotated[str, Path(description="name of the set")],
        contains: Annotated[str, Query(description="text in the source or the reference", max_length=200)] = "",
        start: Annotated[int, Query(ge=0, description="sentences to leave out")] = 0,
        count: Annotated[int, Query(ge=1, le=PAGE, description="sentences to return, at most")] = PAGE,
    ) -> Sentences:
        if test_set not in sentences:
            known = ", ".join(sentences) or "no test set"
            raise Refusal(HTTPStatus.NOT_FOUND, f"There is no test set {test_set!r}; there is {known}.")
        table = sentences[test_set]
        found = table[
            table.apply(lambda column: column.str.contains(contains, case=False, regex=False)).any(axis="columns")
        ]
        shown = [
            Sentence(number=row.Index + 1, source=row.source, reference=row.reference)
            for row in found.iloc[start : start + count].itertuples()
        ]
        return Sentences(test_set=test_set, found=len(found), sentences=shown)


def _add_pages(app: FastAPI, runs: Sequence[ServedRun], sentences: Mapping[str, pd.DataFrame], max_length: int) -> None:
    folders = [PackageLoader(package, "web") for package in ("triptych.serving", "triptych.reports")]
    environment = Environment(loader=ChoiceLoader(folders), autoescape=True, trim_blocks=True, lstrip_blocks=True)

    @app.get("/", include_in_schema=False)
    def index() -> HTMLResponse:
        settings = {"runs": [describe(run) for run in runs], "test_sets": list(sentences), "max_length": max_length}
        return HTMLResponse(environment.get_template("index.html.j2").render(**settings))

    @app.get("/docs", include_in_schema=False)
    def docs(request: Request) -> HTMLResponse:
        template = environment.get_template("docs.html.j2")
        return HTMLResponse(template.render(schema=app.openapi(), address=request.base_url))

    @app.get("/static/{name}", include_in_schema=False)
    def static(name: str) -> Response:
        if name not in ASSETS:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        package, kind = ASSETS[name]
        return Response(files(package).joinpath("web", name).read_bytes(), media_type=kind)


def describe(run: ServedRun) -> Run:
    """Return what the API says of a run."""
    return Run(folder=str(run.folder), **{name: getattr(run, name) for name in Run.model_fields if name != "folder"})


async def _answer(run: ServedRun, task: str, submit: Callable[[], Future[T]]) -> T:
    """Wait for what a run's worker is given.

    Args:
        run: whose worker it is.
        task: what the run is asked to do, for messages.
        submit: gives the worker its job.

    Raises:
        Refusal: the queue is full, the server is being stopped, or the run cannot do it.
    """
    try:
        return await asyncio.wrap_future(submit())
    except QueueFull as error:
        raise Refusal(
            HTTPStatus.SERVICE_UNAVAILABLE, f"{run.name} has as many requests waiting as it may; try again later."
        ) from error
    except (Closed, asyncio.CancelledError) as error:
        raise Refusal(HTTPStatus.SERVICE_UNAVAILABLE, "The server is being stopped.") from error
    except UserError as error:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"{run.name} cannot {task}: {error}") from error


def _find_run(runs: Mapping[str, ServedRun], name: str | None) -> ServedRun:
    if name is None and len(runs) == 1:
        return next(iter(runs.values()))
    if name is None or name not in runs:
        given = "No run is named" if name is None else f"There is no run {name!r}"
        raise Refusal(HTTPStatus.NOT_FOUND, f"{given}; choose one of {', '.join(runs)}.")
    return runs[name]


def _check_line(name: str, text: str, max_length: int) -> str:
    """Return a sentence or a translation without spaces around it.

    Raises:
        Refusal: it is empty, too long, has several lines, or characters that are none.
    """
    found = text.strip()
    wrong = None
    if not found:
        wrong = "is empty; send one with text"
    elif len(found) > max_length:
        wrong = f"has {len(found):,} characters, and {max_length:,} are allowed; send a shorter one"
    elif len(found.splitlines()) > 1:
        wrong = "has several lines; send each line by itself"
    elif any("\ud800" <= sign <= "\udfff" for sign in found):
        wrong = "has half a character (a lone surrogate); send valid Unicode"
    if wrong:
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"The {name} {wrong}.")
    return found


def _answer_errors(app: FastAPI) -> None:
    """Answer every request that fails with a status and ``{"error": "one sentence"}``."""

    @app.exception_handler(Refusal)
    async def refuse(request: Request, error: Refusal) -> Response:
        return problem(error.status, error.sentence)

    @app.exception_handler(RequestValidationError)
    async def refuse_malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:])
        said = f"{where}: {first['msg']}"
        if first["type"] == "json_invalid":
            said = "The body of the request is no JSON"
        elif not where:
            said = "The body of the request is no JSON object with the header Content-Type: application/json"
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, f"{said}; /docs shows what to send.")

    @app.exception_handler(HTTPException)
    async def refuse_route(request: Request, error: HTTPException) -> Response:
        return problem(error.status_code, f"{request.method} {request.url.path}: {error.detail}; see /docs.")

    @app.exception_handler(Exception)
    async def fail(request: Request, error: Exception) -> Response:
        return problem(
            HTTPStatus.INTERNAL_SERVER_ERROR, "The request could not be answered; the server's log says why."
        )


def problem(status: int, sentence: str) -> Response:
    """Return the answer to a request that failed. ASCII alone: what a client sent may be no valid text."""
    return Response(json.dumps({"error": sentence}), status, media_type="application/json")
