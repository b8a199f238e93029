"""Bind an address, and answer requests there until the process is asked to stop."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress

import uvicorn
from starlette.types import ASGIApp

from triptych.errors import UserError
from triptych.serving.connections import ACCEPTED_AT_ONCE, Connection
from triptych.serving.served import ServedRun

SECONDS_TO_END = 5
"""Time that requests have to end when the server is stopped."""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one.

    Raises:
        UserError: the address cannot be used.
    """
    if not 0 <= port < 2**16:
        raise UserError(f"port={port} is no port; give a number from 1 to 65535, or 0 for a free one.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except (OSError, UnicodeError) as error:  # UnicodeError: it is no name of a host
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(f"host={host} port={port} cannot be used ({reason}); port=0 takes a free port.") from error


def address_of(host: str, listening: socket.socket) -> str:
    """Return the address to open in a browser."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}/"


def serve(app: ASGIApp, runs: Sequence[ServedRun], listening: socket.socket) -> bool:
    """Answer requests until Ctrl-C, give those that are running a few seconds to end, and end the workers.

    Returns:
        Whether all workers have ended. One that has not still computes in its thread.
    """
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    with suppress(KeyboardInterrupt):  # uvicorn raises Ctrl-C again when it has ended
        uvicorn.Server(config).run(sockets=[listening])
    ended = [run.worker.close() for run in runs]
    return all(ended)
