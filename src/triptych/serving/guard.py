"""Refuse requests that a page of another site could make, and those that are too large or too slow, before all else.

A browser lets any page send requests to this machine. Two attacks follow. In DNS rebinding, a site lets its own name
point to 127.0.0.1, so that its pages may read the answers; such requests have the site's name as their Host. In
cross-site request forgery, a page sends requests whose answers it cannot read; a browser says in Origin or, where it
sends none, in Sec-Fetch-Site where they come from.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import re
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = "content-security-policy"
NOTHING_ELSE = "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""What the policies of all pages end with."""
HEADERS = {
    CONTENT_POLICY.encode(): b"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    + NOTHING_ELSE.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cache-control": b"no-store",
}
"""Sent with answers that have none of their own: pages load nothing from elsewhere, stand in no frame, are not kept."""
SECONDS_TO_SEND = 10.0
"""Time in which the body of a request must arrive."""


class Guard:
    """Pass requests on whose Host is this server's, with their whole body.

    A request that is not answered when the server stops is refused.

    Any port is accepted with a right name, so that a tunnel from another port works.

    Args:
        app: what answers them.
        host: address or name that the server is bound to. A loopback address goes by the names of all of them. An
            address that stands for every interface (``0.0.0.0``) goes by the machine's name, and by any numeric
            address: only a name can be rebound.
        max_body: bytes that the body of a request may have.
    """

    def __init__(self, app: ASGIApp, *, host: str, max_body: int) -> None:
        self.app = app
        self.host = host
        self.max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = {name for name, _ in message["headers"]}
                further = [(name, value) for name, value in HEADERS.items() if name not in given]
                message = {**message, "headers": [*message["headers"], *further]}
            await send(message)

        try:
            await self._answer(scope, receive, send_with_headers)
        except asyncio.CancelledError:  # the server stops, and has waited long enough
            if not started:
                await JSONResponse({"error": "The server stops."}, 503)(scope, receive, send_with_headers)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal(scope["path"], headers)
        try:
            async with asyncio.timeout(SECONDS_TO_SEND):
                whole = receive if refusal else await _with_body(receive)
        except TimeoutError:
            refusal = 408, f"The body of the request did not arrive within {SECONDS_TO_SEND:g} seconds; send it again."
        if refusal:
            status, sentence = refusal
            await JSONResponse({"error": sentence}, status)(scope, receive, send)
            return
        await self.app(scope, whole, send)

    def _refusal(self, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        """Return the status and the sentence that a request for a path with these headers is refused with, if it is."""
        host = headers.get("host", "")
        if not is_own_host(host, self.host):
            return 421, f"Host {host!r} is not this server; open the address that it printed."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            return 403, f"Requests of pages from {origin!r} are refused."
        if path.startswith("/api/") and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "Requests of other pages are refused; open the page of this server."
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers:
            return 411, "The body of a request needs its length; send Content-Length."
        if not length.isdecimal() or int(length) > self.max_body:
            return 413, f"A request may have {self.max_body:,} bytes; send one sentence at a time."
        return None


async def _with_body(receive: Receive) -> Receive:
    """Wait for the body of a request, and return what gives it again, then whatever comes after it."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the client has left
            break
        body, more = body + message.get("body", b""), message.get("more_body", False)
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": more}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def policy_of(page: str) -> str:
    """Return the policy of a page that has its style and script inside: these two, by their hashes, and no other."""
    allowed = "; ".join(
        f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for kind, text in re.findall(r"<(style|script)>(.*?)</\1>", page, re.DOTALL)
    )
    return f"default-src 'none'; {allowed}; {NOTHING_ELSE}"


def is_own_host(header: str, bound: str) -> bool:
    """Whether a Host header names the address that a server is bound to; see ``Guard``."""
    name, colon, port = header.rpartition(":")
    if not colon or header.endswith("]"):  # an address of IPv6 without a port ends in a bracket
        name = header
    elif not port.isdecimal():
        return False
    name, bound = name.strip("[]").lower(), bound.lower()
    if name == bound:
        return True
    own, given = _address(bound), _address(name)
    if bound == "localhost" or (own and own.is_loopback):
        return name == "localhost" or bool(given and given.is_loopback)
    if own and own.is_unspecified:
        return given is not None or name in _names_of_machine()
    return False


@functools.cache
def _names_of_machine() -> tuple[str, ...]:
    """Return the names by which this machine calls itself. To find them may take seconds, so it is done once."""
    return "localhost", socket.gethostname().lower(), socket.getfqdn().lower()


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None
