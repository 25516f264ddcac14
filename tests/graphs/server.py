"""A web server on this machine that answers as it is told to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]


def content(body: bytes, length: int | None = None) -> Answer:
    """Send a body, perhaps with a wrong length."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(body) if length is None else length))
        request.end_headers()
        request.wfile.write(body)

    return answer


def endless(request: BaseHTTPRequestHandler) -> None:
    """Send a body whose length is not told."""
    request.send_response(200)
    request.end_headers()
    request.wfile.write(b"x" * 100_000)


def status(code: int) -> Answer:
    """Send an error."""
    return lambda request: request.send_error(code)


@contextmanager
def serving(*answers: Answer) -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server and the list of paths asked for; the last answer repeats."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answers[min(len(asked), len(answers)) - 1](self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
