"""Multi30k from a folder and from a server: one that works, one that breaks off, one that sends something else."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from triptych.data import multi30k
from triptych.data.multi30k import Multi30k, fetch
from triptych.errors import UserError


class Handler(SimpleHTTPRequestHandler):
    """Serves files; where the server's ``broken`` is set, half of each."""

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        data = Path(self.translate_path(self.path)).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if self.server.broken else data)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for prefix, lines in (("train", 3), ("val", 2), ("test_2016_flickr", 2), ("test_2018_flickr", 1)):
        for language in multi30k.LANGUAGES:
            text = "".join(f"{language} {i}\n" for i in range(lines))
            (folder / f"{prefix}.{language}.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.fixture
def server(files: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    monkeypatch.setattr(multi30k, "SHA256", {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(files)))
    server.broken, server.requests = False, []
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def load(tmp_path: Path, server: ThreadingHTTPServer | None = None, **changes: object) -> Multi30k:
    settings = {
        "src": "en",
        "tgt": "cs",
        "dir": None if server else str(tmp_path / "files"),
        "url": f"http://127.0.0.1:{server.server_port}/" if server else "http://127.0.0.1:1",
        "cache": str(tmp_path / "cache"),
        "test": ["test_2016_flickr"],
        "max_length": None,
        "max_length_ratio": None,
        "directions": None,
        "pivot": None,
    }
    return Multi30k(**{**settings, **changes})


def cached(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "cache" / "multi30k").rglob("*") if path.is_file())


def test_from_a_folder(files: Path, tmp_path: Path) -> None:
    corpus = load(tmp_path, src="fr", tgt="cs", test=["test_2016_flickr", "test_2018_flickr", "val"])
    assert corpus.languages == ("fr", "cs")
    assert list(corpus.splits["train"].tgt) == ["cs 0", "cs 1", "cs 2"]
    assert corpus.test_names == ["test_2016_flickr", "test_2018_flickr", "val"]
    assert list(corpus.splits["val"].tgt) == list(corpus.splits["validation"].tgt)
    assert not cached(tmp_path)


def test_downloaded_once(server: ThreadingHTTPServer, tmp_path: Path) -> None:
    corpus = load(tmp_path, server)
    assert corpus.fingerprint == load(tmp_path).fingerprint
    assert len(server.requests) == 6
    load(tmp_path, server)
    assert len(server.requests) == 6


def test_what_is_no_url_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the download of example\.org/train\.gz failed"):
        fetch("example.org/train.gz", tmp_path / "train.gz")


def test_a_download_that_breaks_off_leaves_nothing_and_a_retry_works(
    server: ThreadingHTTPServer, tmp_path: Path
) -> None:
    server.broken = True
    with pytest.raises(UserError, match=r"the download of http.*train\.en\.gz failed .*try again"):
        load(tmp_path, server)
    assert not cached(tmp_path)
    server.broken = False
    assert list(load(tmp_path, server).splits["train"].src) == ["en 0", "en 1", "en 2"]


def test_a_download_with_another_hash_than_the_known_one(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi30k, "SHA256", {"train.en.gz": "0" * 64})
    with pytest.raises(UserError, match=r"train\.en\.gz has the SHA-256 .* where 0{64} is expected"):
        load(tmp_path, server)
    assert not cached(tmp_path)


def test_later_downloads_must_match_the_first(server: ThreadingHTTPServer, files: Path, tmp_path: Path) -> None:
    load(tmp_path, server)
    kept = tmp_path / "cache" / "multi30k" / "val.cs.gz"
    assert kept.with_name("val.cs.gz.sha256").read_text().strip() == sha256(kept.read_bytes()).hexdigest()
    kept.write_bytes(b"spoilt")
    assert list(load(tmp_path, server).splits["validation"].tgt) == ["cs 0", "cs 1"]
    kept.write_bytes(b"spoilt")
    (files / "val.cs.gz").write_bytes(gzip.compress(b"another\nversion\n"))
    with pytest.raises(UserError, match=r"val\.cs\.gz has the SHA-256"):
        load(tmp_path, server)


def test_a_first_download_that_is_no_gzip_file_is_not_kept(
    server: ThreadingHTTPServer, files: Path, tmp_path: Path
) -> None:
    whole = (files / "val.cs.gz").read_bytes()
    for torn in (b"<html>log in first</html>", whole[:-9]):
        (files / "val.cs.gz").write_bytes(torn)
        with pytest.raises(UserError, match=r"val\.cs\.gz is not a complete gzip file .*try again"):
            load(tmp_path, server)
    (files / "val.cs.gz").write_bytes(whole)
    assert list(load(tmp_path, server).splits["validation"].tgt) == ["cs 0", "cs 1"]


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"failed .*name a folder that has the files with data\.dir"):
        load(tmp_path, dir=None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tgt": "it"}, r"data\.tgt=it is not in Multi30k; allowed are en, de, fr, cs"),
        ({"src": "english"}, r"data\.src=english is not in Multi30k"),
        ({"test": ["test_2015"]}, "Multi30k has no set 'test_2015'; allowed are test_2016_flickr"),
        ({"test": ["test_2017_mscoco"]}, "test_2017_mscoco exists in en, de, fr, not in cs"),
        ({"test": "test_2016_flickr"}, r"such as data\.test=\[test_2016_flickr\]"),
    ],
)
def test_mistakes(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        load(tmp_path, **changes)
