"""``triptych serve`` as a process: many requests at once, malformed ones, Ctrl-C; and its page in a browser."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from browser import open_page
from conftest import triptych

import triptych as api

httpx = pytest.importorskip("httpx", reason="the extra 'test' is not installed")
pytest.importorskip("fastapi", reason="the extra 'serve' is not installed")

MODELS = ("rnn_bahdanau", "transformer")
RUNS = f"run=[{','.join(f'demo:{model}' for model in MODELS)}]"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Start the command on a free port; give its address and the process, and end it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "triptych", "serve", *arguments, "port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.communicate()[1]
        yield found[0], process
    finally:
        process.kill()
        process.communicate()


def malformed(draw: Random) -> bytes:
    """A request that is wrong in one of many ways, as bytes."""
    body = draw.choice(
        [b"", b"{", b"null", b"[]", b'{"sentence": 1}', b"\xff" * 50, b'{"run": "x"}', draw.randbytes(80)]
    )
    start = draw.choice(
        [
            b"POST /api/translate HTTP/1.1",
            b"GET /api/translate HTTP/1.1",
            b"POST /api/translate",
            b"BREW /api/sentences/%ff%00 HTTP/1.1",
            b"GET /" + b"a" * draw.randint(0, 100_000) + b" HTTP/1.1",
            b"GET /api/sentences/test?count=%F0&start=-1 HTTP/1.1",
            b"GET /api/attention?sentence=%ff%00&translation=%0a%ed%a0%80&run=transformer HTTP/1.1",
            b"GET /api/attention?sentence=a&translation=" + b"a" * draw.randint(0, 100_000) + b" HTTP/1.1",
            draw.randbytes(40),
        ]
    )
    length = draw.choice([len(body), len(body), 10**12, -1])
    lines = [
        draw.choice([b"Host: 127.0.0.1", b"Host: \xff", b"Host: evil.example", b"X: y", b"Host: a\r\nHost: b"]),
        draw.choice([b"Content-Type: application/json", b"Content-Type: \xff", b": :", b"Origin: null"]),
        draw.choice([b"Content-Length: %d" % length, b"Transfer-Encoding: chunked", b"Content-Length: x"]),
    ]
    return b"\r\n".join([start, *lines, b"", body])


@pytest.mark.slow
def test_many_requests_at_once_and_malformed_ones() -> None:
    """20 at once are all answered, each with its own sentence; 100 malformed ones change nothing; Ctrl-C ends."""
    own = {model: api.load(f"demo:{model}") for model in MODELS}
    sentences = [f"The dog sees {number} cats." for number in range(20)]
    with serving(RUNS) as (address, process):

        def ask(number: int) -> Any:
            body = {"sentence": sentences[number], "run": MODELS[number % 2], "n_best": 4}
            return httpx.post(f"{address}api/translate", json=body, timeout=60)

        def look(number: int) -> Any:
            query = {"sentence": sentences[number], "run": MODELS[number % 2]}
            return httpx.get(f"{address}api/attention", params=query, timeout=60)

        def all_answered() -> None:
            with ThreadPoolExecutor(20) as pool:
                pages = pool.map(look, range(2))
                answers = list(pool.map(ask, range(20)))
            assert {answer.status_code for answer in answers} == {200}
            assert all("<title>Attention: The dog sees" in page.text for page in pages)
            for number, answer in enumerate(answers):
                found = answer.json()["translations"]
                assert found[0]["text"] == own[MODELS[number % 2]].translate([sentences[number]])[0]
                scores = [one["score"] for one in found]
                assert len(scores) == 4
                assert scores == sorted(scores, reverse=True)

        all_answered()
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        draw = Random(1)
        for _ in range(100):
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                connection.sendall(malformed(draw))
                connection.shutdown(socket.SHUT_WR)
                answer = b""
                with suppress(ConnectionResetError):  # it had enough, and does not read the rest
                    while block := connection.recv(65536):
                        answer += block
                assert answer == b"" or re.match(rb"HTTP/1.1 4\d\d ", answer), answer[:200]
        all_answered()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0
        assert out == "stopped\n"
        assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_while_a_sentence_is_translated() -> None:
    """Whoever waits is answered, and the process ends, though the sentence would take longer than it may."""
    with serving("run=demo:transformer", "max_length=9000") as (address, process), ThreadPoolExecutor(3) as pool:

        def ask(times: int) -> int:
            body = {"sentence": "The dog sees the cat and " * times}
            return httpx.post(f"{address}api/translate", json=body, timeout=60).status_code

        answers = [pool.submit(ask, times) for times in (340, 340, 340)]
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert {answer.result() for answer in answers} <= {200, 503}
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, "stopped\n")
        assert "Traceback" not in err


@pytest.mark.slow
def test_a_name_that_leads_here_is_refused() -> None:
    with serving("run=demo:transformer") as (address, _):
        assert httpx.get(f"{address}api/runs").status_code == 200
        assert httpx.get(f"{address}api/runs", headers={"Host": "rebound.example"}).status_code == 421
        with pytest.raises(httpx.ConnectError):  # 127.0.0.2 is this machine too, and nothing listens there
            httpx.get(address.replace("127.0.0.1", "127.0.0.2"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run=[]"], "names no run"),
        (["run=[demo:transformer,demo:transformer]"], "names a run twice"),
        (["run=nowhere"], "nowhere"),
        (["run=demo:transformer", "queue=0"], "queue=0 is not allowed"),
        (["run=demo:transformer", "port=70000"], "port=70000 is no port"),
        (["run=demo:transformer", "host=no.such.host.invalid"], "host=no.such.host.invalid"),
        (["run=demo:transformer", "host=a..b"], "host=a..b port=8000 cannot be used"),
        (["run=demo:transformer", "host="], "host= is empty"),
        (["run=demo:transformer", "src=fi"], "fi"),
        (["run=demo:transformer", "checkpoint=worst"], "worst"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = triptych("serve", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = triptych("serve", "run=demo:transformer", f"port={taken.getsockname()[1]}", cwd=tmp_path)
    assert done.returncode == 2
    assert "address already in use" in done.stderr


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("triptych.serving")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    done = triptych("serve", "run=demo:transformer", cwd=tmp_path)
    assert done.returncode == 2
    assert "serve needs fastapi" in done.stderr
    assert "pip install -e '.[serve]'" in done.stderr


def look_at_attention(page: Any, translation: str, run: api.Run) -> None:
    """The page is that of this translation: its lines, its numbers and its sliders work."""
    assert page.locator(".translation").inner_text() == translation
    source = page.locator("h1").inner_text()
    (view, *_) = run.attention(source, translation).views()
    page.locator("#controls label").filter(has_text="Words").click()
    panel = page.locator(".panel").first
    assert panel.locator(".token.query .text").all_inner_texts() == view.queries.words
    panel.locator(".token.query").first.hover()
    layer = int(page.locator(".head input[type=range]").input_value()) - 1
    shown = panel.locator(".facts").inner_text().split(" · ")[0]
    assert float(shown.split()[-1]) == pytest.approx(view.words()[layer, 0, 0].max(), abs=0.0051)
    assert page.evaluate("document.querySelector('canvas').width > 1")
    page.close()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_page(width: int, scheme: str) -> None:
    expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect
    own = {model: api.load(f"demo:{model}") for model in MODELS}
    with (
        serving(RUNS) as (address, _),
        open_page(address, width, scheme) as page,
    ):
        sentence = page.locator("#sentence")
        sentence.fill("The dog sees <b>the</b> cat.")
        sentence.press("Enter")
        for model, run in own.items():
            line = page.locator(f"[data-run={model}] li span:nth-child(2)")
            line.wait_for()
            assert line.all_text_contents() == run.translate(["The dog sees <b>the</b> cat."])
        page.locator("#count").select_option("4")
        expect(page.locator(".run li")).to_have_count(8)
        source = "The grey horse returns to a strange castle."
        page.locator("#examples [name=text]").fill(source[5:].upper())
        expect(page.locator("#examples li")).to_have_count(1)
        found = page.locator("#examples li button")
        found.focus()
        page.keyboard.press("Enter")
        page.locator("#reference").wait_for()
        assert sentence.input_value() == source
        expect(page.locator(".run.waiting")).to_have_count(0)
        best = page.locator(".run li:first-child span:nth-child(2)")
        assert best.all_text_contents() == ["Le cheval gris revient à un château étrange."] * 2, "the reference"
        assert best.locator("mark").count() == page.locator("#reference > span > .missed").count() == 0
        assert page.locator(".run li:nth-child(2) mark").count() > 0, "the second best differ from it"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for model, run in own.items():  # the second best, so that it is not the one drawn by default
            line = page.locator(f"[data-run={model}] li").nth(1)
            with page.expect_popup() as opened:
                line.get_by_role("link", name="attention").press("Enter")
            look_at_attention(opened.value, line.locator("span").nth(1).inner_text(), run)
        page.get_by_role("link", name="HTTP API").click()
        assert "/api/translate" in page.locator("h2 code").all_inner_texts()[1]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
