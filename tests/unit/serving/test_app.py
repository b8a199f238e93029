"""The HTTP API: what it answers, and the sentence with which it refuses."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")
pytest.importorskip("httpx", reason="the extra 'test' is not installed")
from fastapi.testclient import TestClient
from made_runs import Resources

from triptych.errors import UserError
from triptych.serving.app import PAGE, build_app
from triptych.serving.served import ServedRun
from triptych.serving.worker import Hypotheses, Worker

TEST_SET = pd.DataFrame({"source": ["A (red) cat", "A dog"] * 100, "reference": ["Un chat", "Un chien"] * 100})
JSON = {"Content-Type": "application/json"}


def served(name: str, translate: Any, queue: int = 8, attend: Any = None) -> ServedRun:
    return ServedRun(
        name=name,
        folder=Path("runs") / name,
        worker=Worker(translate, queue),
        src="en",
        tgt="fr",
        beam_size=4,
        n_best=3,
        length_penalty=0.6,
        parameters=1000,
        checkpoint="best",
        attend=attend,
    )


def capitals(sentences: Sequence[str]) -> list[Hypotheses]:
    """Translate by capitals; 'long' is what a model refuses, and 'broken' what nobody expects."""
    if "long" in sentences:
        raise UserError("model.max_length=5 holds too few positions.")
    if "broken" in sentences:
        raise ZeroDivisionError
    return [[(sentence.upper() * times, -float(times)) for times in (1, 2, 3)] for sentence in sentences]


def draw(sentence: str, translation: str | None) -> str:
    """A page of a sentence and its translation; 'long' is what cannot be drawn."""
    if sentence == "long":
        raise UserError("the sentence has 200 pieces, and attention is drawn over at most 128.")
    return f"<style>b{{}}</style><b>{sentence} {translation}</b><script>1 < 2</script>"


@pytest.fixture
def client() -> Iterator[TestClient]:
    runs = [served("one", capitals, attend=draw), served("other", capitals)]
    app = build_app(runs, {"test": TEST_SET}, host="127.0.0.1", max_length=50)
    yield TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)
    for run in runs:
        run.worker.close()


def error_of(answer: Any, status: int) -> str:
    assert answer.status_code == status
    (sentence,) = answer.json().values()
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_a_sentence_is_translated(client: TestClient) -> None:
    answer = client.post("/api/translate", json={"sentence": "  a cat\n", "run": "other", "n_best": 2})
    assert answer.status_code == 200
    found = answer.json()
    assert found["translations"] == [{"text": "A CAT", "score": -1.0}, {"text": "A CATA CAT", "score": -2.0}]
    assert (found["run"], found["batch"]) == ("other", 1)
    assert found["seconds"] >= 0
    names = [run["name"] for run in client.get("/api/runs").json()]
    assert names == ["one", "other"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"sentence": "a", "run": "none"}, 404, "There is no run 'none'; choose one of one, other."),
        ({"sentence": "a"}, 404, "No run is named"),
        ({"sentence": " ", "run": "one"}, 422, "empty"),
        ({"sentence": "a\nb", "run": "one"}, 422, "several lines"),
        ({"sentence": "a\u2028b", "run": "one"}, 422, "several lines"),
        ({"sentence": "x" * 51, "run": "one"}, 422, "51 characters, and 50 are allowed"),
        ({"sentence": "x" * 5000, "run": "one"}, 413, "2,600 bytes"),
        ({"sentence": 5, "run": "one"}, 422, "sentence: Input should be a valid string"),
        ({"run": "one"}, 422, "sentence: Field required"),
        ({"sentence": "a", "run": "one", "n_best": 0}, 422, "n_best"),
        ({"sentence": "a", "run": "one", "n_best": 4}, 422, "n_best=4 is more than the 3 that one has"),
        ({"sentence": "a", "run": "one", "n_best": "2"}, 422, "n_best"),
        ({"sentence": "a", "run": "one", "beam": 4}, 422, "beam: Extra inputs are not permitted"),
        ([], 422, "no JSON object"),
        (None, 422, "no JSON object"),
        ({"sentence": "long", "run": "one"}, 422, "one cannot translate this: model.max_length=5"),
        ({"sentence": "broken", "run": "one"}, 500, "could not be answered"),
    ],
)
def test_what_is_wrong_is_said(client: TestClient, body: Any, status: int, words: str) -> None:
    assert words in error_of(client.post("/api/translate", json=body), status)


def test_what_is_no_json_is_called_so(client: TestClient) -> None:
    answer = client.post("/api/translate", content=b"{x", headers=JSON)
    assert error_of(answer, 422) == "The body of the request is no JSON; /docs shows what to send."
    answer = client.post("/api/translate", content='{"sentence": "A cat."}')
    assert "no JSON object with the header Content-Type: application/json" in error_of(answer, 422)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b'{"sentence": "\xff"}', b"null", b'"a"', b"[" * 500, b'{"sentence": NaN}', b"sentence=a"],
)
@pytest.mark.parametrize("kind", [JSON, {"Content-Type": "text/plain"}, {}])
def test_bodies_that_are_no_json(client: TestClient, content: bytes, kind: dict[str, str]) -> None:
    answer = client.post("/api/translate", content=content, headers=kind)
    assert 400 <= answer.status_code < 500
    error_of(answer, answer.status_code)


def test_attention_is_a_page_with_its_own_policy(client: TestClient) -> None:
    answer = client.get("/api/attention", params={"sentence": " a cat ", "translation": "UN CHAT", "run": "one"})
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<b>a cat UN CHAT</b>" in answer.text
    hashes = {  # printf 'b{}' | openssl dgst -sha256 -binary | base64
        "style": "7yqHVAesot11p6HczDsgKRipvI5UPgs97z80zNXlans=",
        "script": "T8Xibs7zV8KTQdRXjpKJTlizX17SudRlddrZKaeFg9E=",
    }
    (policy,) = answer.headers.get_list("content-security-policy")
    for kind, digest in hashes.items():
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "<b>a None</b>" in client.get("/api/attention", params={"sentence": "a", "run": "one"}).text
    assert [run["has_attention"] for run in client.get("/api/runs").json()] == [True, False]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({}, 422, "sentence: Field required"),
        ({"sentence": "a"}, 404, "No run is named"),
        ({"sentence": "a", "run": "none"}, 404, "There is no run 'none'"),
        ({"sentence": "a", "run": "other"}, 422, "other has no attention to draw."),
        ({"sentence": " ", "run": "one"}, 422, "The sentence is empty"),
        ({"sentence": "x" * 51, "run": "one"}, 422, "The sentence has 51 characters, and 50 are allowed"),
        ({"sentence": "a", "run": "one", "translation": "a\nb"}, 422, "The translation has several lines"),
        ({"sentence": "a", "run": "one", "translation": "x" * 201}, 422, "201 characters, and 200 are allowed"),
        ({"sentence": "long", "run": "one"}, 422, "one cannot show this: the sentence has 200 pieces"),
    ],
)
def test_what_is_wrong_with_a_request_for_attention(
    client: TestClient, query: dict[str, str], status: int, words: str
) -> None:
    assert words in error_of(client.get("/api/attention", params=query), status)


def test_half_a_character(client: TestClient) -> None:
    body = b'{"sentence": "a \\ud800", "run": "one"}'
    error_of(client.post("/api/translate", content=body, headers=JSON), 422)
    assert client.post("/api/translate", json={"sentence": "\U0001f600", "run": "one"}).status_code == 200


def test_a_longest_sentence_is_not_too_large(client: TestClient) -> None:
    body = '{"sentence": "' + "\\ud83d\\ude00" * 50 + '", "run": "one"}'
    assert client.post("/api/translate", content=body, headers=JSON).status_code == 200


def test_routes_and_methods(client: TestClient) -> None:
    assert "/nowhere" in error_of(client.get("/nowhere"), 404)
    assert "Method Not Allowed" in error_of(client.get("/api/translate"), 405)
    error_of(client.get("/static/../app.py"), 404)
    error_of(client.get("/static/index.html.j2"), 404)


@pytest.mark.parametrize("path", ["/", "/docs", "/openapi.json", "/api/runs", "/static/serve.js"])
def test_other_hosts_and_origins_are_refused(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 200
    assert client.get(path, headers={"Origin": "http://127.0.0.1:8000"}).status_code == 200
    assert "evil.example" in error_of(client.get(path, headers={"Host": "evil.example:8000"}), 421)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9", "https://127.0.0.1:8000"):
        error_of(client.get(path, headers={"Origin": origin}), 403)


def test_another_page_can_link_here_and_ask_for_nothing(client: TestClient) -> None:
    """Images and links of other pages have no Origin; browsers say Sec-Fetch-Site instead."""
    for site in ("cross-site", "same-site"):
        error_of(client.get("/api/attention?sentence=a&run=one", headers={"Sec-Fetch-Site": site}), 403)
        assert client.get("/", headers={"Sec-Fetch-Site": site}).status_code == 200
    for site in ("same-origin", "none"):
        assert client.get("/api/attention?sentence=a&run=one", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_a_body_of_unknown_length_is_refused(client: TestClient) -> None:
    error_of(client.post("/api/translate", content=iter([b"{}"]), headers=JSON), 411)


def test_a_full_queue_is_said() -> None:
    began, gate = threading.Event(), threading.Event()

    def wait(sentences: Sequence[str]) -> list[Hypotheses]:
        began.set()
        gate.wait(30)
        return capitals(sentences)

    run = served("one", wait, queue=1, attend=draw)
    client = TestClient(build_app([run], {}, host="127.0.0.1", max_length=50), base_url="http://127.0.0.1")
    run.worker.submit("first")
    assert began.wait(30)
    run.worker.submit("second")
    full = [client.post("/api/translate", json={"sentence": "a"}), client.get("/api/attention?sentence=a")]
    assert all("as many requests waiting as it may" in error_of(one, 503) for one in full)
    gate.set()
    run.worker.close()
    ended = [client.post("/api/translate", json={"sentence": "a"}), client.get("/api/attention?sentence=a")]
    assert all("being stopped" in error_of(one, 503) for one in ended)


def test_sentences_of_a_test_set(client: TestClient) -> None:
    found = client.get("/api/sentences/test", params={"contains": "(RED)", "start": 1, "count": 2}).json()
    assert found["found"] == 100
    assert found["sentences"] == [
        {"number": number, "source": "A (red) cat", "reference": "Un chat"} for number in (3, 5)
    ]
    assert len(client.get("/api/sentences/test").json()["sentences"]) == PAGE
    assert client.get("/api/sentences/test", params={"contains": "chien"}).json()["found"] == 100, "references too"
    assert "There is no test set 'other'; there is test." in error_of(client.get("/api/sentences/other"), 404)
    error_of(client.get("/api/sentences/test", params={"count": PAGE + 1}), 422)
    error_of(client.get("/api/sentences/test", params={"start": "x"}), 422)


def test_the_schema_and_its_page_name_every_route(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    assert {*schema["paths"]} == {"/api/runs", "/api/translate", "/api/attention", "/api/sentences/{test_set}"}
    page = client.get("/docs").text
    assert all(path in page for path in schema["paths"])
    assert all(name in page for name in ("sentence", "n_best", "contains", "translations to return", "string or null"))


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_load_nothing_from_elsewhere(client: TestClient, path: str) -> None:
    answer = client.get(path)
    page = Resources(answer.text)
    assert page.loaded
    assert all(re.match(r"/static/|data:,$", address) for address in page.loaded)
    assert all(address.startswith("/") for address in page.links)
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_names_are_text_in_the_page() -> None:
    run = served("<script>alert(1)</script>", capitals)
    client = TestClient(build_app([run], {}, host="localhost", max_length=50), base_url="http://localhost")
    assert "<script>alert" not in client.get("/").text
    run.worker.close()
