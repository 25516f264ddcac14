"""Run a web application, for this machine only or for others with a token."""

from __future__ import annotations

import ipaddress
import os
import secrets
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from kgnn.errors import KgnnError, MissingExtraError, ParameterError
from kgnn.web.guard import LOOPBACK

TOKEN = "KGNN_TOKEN"  # noqa: S105 - the environment variable with the token
_GRACE_SECONDS = 10
_SHORTEST_TOKEN = 16
_OPTIONS: dict[str, Any] = {
    "log_level": "warning",
    "access_log": False,
    "server_header": False,
    "proxy_headers": False,
    "ws": "none",
    "lifespan": "on",
    "timeout_graceful_shutdown": _GRACE_SECONDS,
}


class Place(NamedTuple):
    """The address of a server and its token."""

    host: str
    port: int
    token: str | None  # None if only this machine can connect and KGNN_TOKEN is not set

    @property
    def address(self) -> str:
        """The URL to open in a browser."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        shown = socket.gethostname() if self.host in ("0.0.0.0", "::") else host
        ending = f"?token={self.token}" if self.token else ""
        return f"http://{shown}:{self.port}/{ending}"

    def hosts(self, more: Iterable[str] = ()) -> list[str]:
        """Return the accepted values of the Host header."""
        own = {f"{name}:{self.port}" for name in LOOPBACK}
        if self.token is not None:  # with the token, any name of this machine will do
            names = {self.host, socket.gethostname(), socket.getfqdn(), *_own_addresses(), *more}
            own |= {f"[{name}]" if ":" in name else name for name in names}
        return sorted(own | set(more))


def is_loopback(host: str) -> bool:
    """Tell whether only programs on this machine can reach a host.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def token_for(host: str) -> str | None:
    """Return the token from the environment, or a new one if other machines can connect."""
    token = os.environ.get(TOKEN) or None
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii()):
        raise ParameterError(f"{TOKEN} must have at least {_SHORTEST_TOKEN} ASCII characters.")
    return secrets.token_urlsafe(32) if token is None and not is_loopback(host) else token


def listen(host: str, port: int) -> tuple[Place, socket.socket]:
    """Open the port before any other work; 0 takes a free one.

    See `token_for`.
    """
    token = token_for(host)
    opened = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        opened = socket.socket(family, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
    except OSError as error:
        if opened is not None:
            opened.close()
        raise KgnnError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Choose another port "
            "with --port; 0 takes a free one."
        ) from error
    return Place(host, opened.getsockname()[1], token), opened


def run(
    app: Any,
    opened: socket.socket,
    *,
    on_start: Callable[[], None] = lambda: None,
    on_stop: Callable[[], None] = lambda: None,
) -> None:
    """Serve until SIGINT or SIGTERM; open requests are answered first."""
    uvicorn = require_uvicorn()

    class Server(uvicorn.Server):  # type: ignore[name-defined]
        """A server that calls ``on_start`` and ``on_stop``."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                on_start()

        def handle_exit(self, sig: int, frame: Any) -> None:
            on_stop()
            super().handle_exit(sig, frame)

    with suppress(KeyboardInterrupt):  # uvicorn raises it again after it has stopped
        Server(uvicorn.Config(app, **_OPTIONS)).run([opened])


def run_workers(factory: str, place: Place, opened: socket.socket, n: int) -> None:
    """Serve with several processes, each running the application that ``factory`` makes.

    A process that dies is replaced. On exit, each answers its open requests first.
    """
    uvicorn = require_uvicorn()
    opened.close()  # uvicorn opens a shared socket on the same port instead
    with suppress(KeyboardInterrupt):
        uvicorn.run(factory, factory=True, workers=n, host=place.host, port=place.port, **_OPTIONS)


def require_uvicorn() -> Any:
    """Import uvicorn, or say how to install it."""
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtraError.of("A server", error.name or "fastapi", "serve") from error
    return uvicorn


def _own_addresses() -> set[str]:
    try:
        return {str(each[4][0]) for each in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return set()
