"""Connections of the server: how many there may be, and how long one may stay without a request."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_TO_ASK = 10.0
"""Time from the start of a connection, or from the first byte of a further request, to the end of its headers."""
MOST_CONNECTIONS = 500
"""Connections at a time, where the system allows that many."""
OTHER_FILES = 100
"""Open files that the process may have beside its connections."""
ACCEPTED_AT_ONCE = 32
"""Connections that are taken before the first of them is looked at."""


class Connection(H11Protocol):
    """A connection that is closed if it asks for nothing, or if there are too many.

    Otherwise connections without requests would take all files that a process may open, and nobody else were answered.
    """

    _deadline: asyncio.TimerHandle | None = None
    """When the connection is closed unless the headers of a request are there."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.abort()
        else:
            self._deadline = self.loop.call_later(SECONDS_TO_ASK, self.transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        asks = self.cycle is not None and not self.cycle.response_complete
        if asks and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not asks and self._deadline is None:  # the begin of a further request
            self._deadline = self.loop.call_later(SECONDS_TO_ASK, self.transport.close)

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing: the request is answered as one without an upgrade."""

    def connection_lost(self, exc: Exception | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


def most_connections() -> int:
    """Return how many connections there may be: the system limits the open files of a process."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such limit
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MOST_CONNECTIONS, max(1, files - OTHER_FILES))
