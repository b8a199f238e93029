"""Which Host names are the server's own."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip("starlette", reason="the extra 'serve' is not installed")
from triptych.serving.guard import is_own_host

FOREIGN = """evil.example evil.example:8000 127.0.0.1.evil.example localhost.evil.example:8000 10.0.0.1:8000 127.0.0.1:
127.0.0.1:x 127.0.0.1@evil.example evil.example:127.0.0.1 0.0.0.0:8000 :8000 [::2]"""


@pytest.mark.parametrize("host", ["", *FOREIGN.split()])
def test_other_names_are_refused(host: str) -> None:
    assert not any(is_own_host(host, bound) for bound in ("127.0.0.1", "localhost", "::1"))


def test_a_bound_name_or_address_is_the_only_one() -> None:
    assert is_own_host("box.example:8000", "box.example")
    assert is_own_host("10.0.0.1:8000", "10.0.0.1")
    assert not is_own_host("localhost:8000", "10.0.0.1")


def test_every_interface_goes_by_numbers_and_the_own_name() -> None:
    assert is_own_host("10.0.0.1:8000", "0.0.0.0")
    assert is_own_host("[fe80::1]:8000", "::")
    assert is_own_host(socket.gethostname(), "0.0.0.0")
    assert not is_own_host("evil.example", "0.0.0.0")
