"""Middleware that accepts only requests from the server's own pages or from holders of the token.

Any website that you visit can send requests to servers on your machine and, by DNS rebinding, read
the responses. So the Host must be the server's own, requests that change something must come from
its own pages (Origin), and a server that other machines can reach requires a token.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest
from typing import Any
from urllib.parse import parse_qsl, urlencode

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_COOKIE = "kgnn_token"
_SAFE = ("GET", "HEAD")
_SENT_BY_CODE = ("application/json", "application/x-ndjson", "text/csv")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


class Refused(Exception):
    """A rejected request: the status and the reason."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Guard:
    """Middleware around an ASGI application.

    Parameters
    ----------
    app : ASGI application
    hosts : texts
        Accepted values of the Host header; one with a port allows that port only.
    token : str, optional
        Required in each request, as ``Authorization: Bearer …`` or in a cookie, which a page opened
        with ``?token=…`` receives. Not required for paths in ``open_paths``.
    max_bytes : int
        Largest request body.
    """

    def __init__(
        self,
        app: App,
        *,
        hosts: Iterable[str],
        token: str | None = None,
        max_bytes: int = 16 << 20,
        open_paths: Iterable[str] = (),
    ) -> None:
        self.app, self.token, self.max_bytes = app, token, max_bytes
        self.hosts, self.open_paths = frozenset(hosts), frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or lifespan event; reject everything else, such as WebSockets."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        try:
            self._require_own_host(headers)
            self._require_own_page(scope["method"], headers)
            cookie = self._require_token(scope, headers)
            self._require_length(headers)
        except Refused as error:
            await problem(send, error.status, error.detail)
            return
        if cookie is not None:
            await _redirect(scope, send, cookie)
            return
        bounded = _Bounded(receive, send, self.max_bytes)
        try:
            await self.app(scope, bounded.receive, bounded.send)
        except _TooLongError:
            if not bounded.has_begun:
                await problem(send, 413, self._too_long())

    def _require_own_host(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if host not in self.hosts and host.rpartition(":")[0] not in self.hosts:
            raise Refused(421, f"This server is not the host '{host[:100]}'.")

    def _require_own_page(self, method: str, headers: dict[str, str]) -> None:
        """Refuse requests by other websites that change something."""
        if method in _SAFE:
            return
        origin, host = headers.get("origin"), headers.get("host", "")
        if origin is not None and origin.partition("://")[2] != host:
            raise Refused(403, f"Pages of {origin[:100]} may not change anything here.")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "Pages of other sites may not change anything here.")
        # A form on another site cannot send these types without a CORS preflight.
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in _SENT_BY_CODE:
            raise Refused(
                415, f"The Content-Type must be {' or '.join(_SENT_BY_CODE)}, got '{kind[:100]}'."
            )

    def _require_token(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """Refuse a request without the token; return a token from the URL, to set as a cookie."""
        if self.token is None or scope["path"] in self.open_paths:
            return None
        bearer = headers.get("authorization", "").partition("Bearer ")[2].strip()
        if self._is_token(bearer) or self._is_token(_cookie(headers)):
            return None
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        if scope["method"] == "GET" and self._is_token(given):
            return given
        raise Refused(
            401,
            "A token is required: open the address that was printed at the start, or send the "
            "header 'Authorization: Bearer TOKEN'.",
        )

    def _is_token(self, given: str) -> bool:
        return self.token is not None and compare_digest(given.encode(), self.token.encode())

    def _require_length(self, headers: dict[str, str]) -> None:
        told = headers.get("content-length", "0")
        if not (told.isascii() and told.isdecimal()):
            raise Refused(400, "The Content-Length is not a number.")
        if len(told) > 15 or int(told) > self.max_bytes:
            raise Refused(413, self._too_long())

    def _too_long(self) -> str:
        return f"The request body is larger than the limit of {self.max_bytes:,} bytes."


class _TooLongError(Exception):
    """The body is longer than the limit."""


class _Bounded:
    """Counts the bytes of a request and adds headers to its response."""

    def __init__(self, receive: Receive, send: Send, most: int) -> None:
        self._receive, self._send, self._left = receive, send, most
        self.has_begun = False

    async def receive(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise _TooLongError
        return message

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            own = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *((k.encode(), v.encode()) for k, v in _HEADERS.items() if k.encode() not in own),
            ]
        await self._send(message)


def _cookie(headers: dict[str, str]) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(_COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


async def _redirect(scope: Scope, send: Send, token: str) -> None:
    """Move the token from the URL, where others could see it, to a cookie."""
    rest = [(k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1")) if k != "token"]
    place = scope["path"] + (f"?{urlencode(rest)}" if rest else "")
    cookie = f"{_COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"
    # A path such as //other.example would lead to another site.
    headers = {"location": "/" + place.lstrip("/"), "set-cookie": cookie, "content-length": "0"}
    await _respond(send, 303, headers, b"")


async def problem(send: Send, status: int, detail: str) -> None:
    """Respond with problem details (RFC 9457)."""
    body = json.dumps({"status": status, "detail": detail}, ensure_ascii=True).encode()
    headers = {"content-type": "application/problem+json", "content-length": str(len(body))}
    await _respond(send, status, headers, body)


async def _respond(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    told = [(k.encode(), v.encode("latin-1")) for k, v in {**_HEADERS, **headers}.items()]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
