"""The workbench as a web application: pages, and what they ask the server for."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, StreamingResponse
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from kgnn.errors import KgnnError, UnknownNameError
from kgnn.graphs.drawing import size_in_words
from kgnn.web import pages
from kgnn.web.project import ConflictError, Given
from kgnn.web.workbench import Workbench

_PAGES = {"": "queue", "learn": "learn", "explore": "explore", "check": "check"}
_HEARTBEAT_SECONDS = 15.0
_AT_MOST_EVERY = 0.1  # seconds, news of the state
_FOR_EVER = "public, max-age=31536000, immutable"

Name = Annotated[str, Field(min_length=1, max_length=200)]
Key = Annotated[str, Field(min_length=1, max_length=80)]


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Next(_Asked):
    """Which graphs a window wants."""

    window: Key
    n: Annotated[int, Field(ge=1, le=20)] = 4
    without: Annotated[list[Key], Field(max_length=100_000)] = []


class OneAnswer(_Asked):
    """An answer about one graph."""

    graph: Key
    kind: Annotated[str, Field(pattern="^(label|unsure|invalid)$")] = "label"
    label: Name | None = None
    seen: Annotated[int, Field(ge=0)] = 0


class Answers(_Asked):
    """Answers that are given, and undone, together."""

    action: Key
    who: Name = "me"
    answers: Annotated[list[OneAnswer], Field(min_length=1, max_length=100_000)]
    shown: Annotated[dict[str, bool | float | str], Field(max_length=20)] = {}


class Undo(_Asked):
    """Which action is undone."""

    action: Key
    undone: Key
    who: Name = "me"


class NewClass(_Asked):
    """A class to make."""

    name: Name
    who: Name = "me"


class Nothing(_Asked):
    """A request that says it all by its address."""


class Signal:
    """Wakes up all who wait, from whatever thread."""

    def __init__(self) -> None:
        self._waiting = set[asyncio.Event]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_over = False

    def attach(self) -> None:
        """Remember the loop in which is waited."""
        self._loop = asyncio.get_running_loop()

    def ring(self) -> None:
        """Wake up all."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        for each in self._waiting:
            each.set()

    def end(self) -> None:
        """Tell all that the server stops."""
        self.is_over = True
        self.ring()

    async def rings(self) -> AsyncIterator[bool]:
        """Yield True at each ring, and False after a while without any."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            while not self.is_over:
                try:
                    await asyncio.wait_for(event.wait(), _HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield False
                except asyncio.TimeoutError:  # noqa: UP041 - another class before Python 3.11
                    yield False
                else:
                    event.clear()
                    yield True
                    await asyncio.sleep(_AT_MOST_EVERY)
        finally:
            self._waiting.discard(event)


def make_app(workbench: Workbench, title: str, who: str = "me") -> FastAPI:
    """Return the application; it starts and stops the workbench."""
    signal = Signal()
    workbench.on_change = signal.ring

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        signal.attach()
        workbench.start()
        yield
        workbench.stop()

    app = FastAPI(title=title, lifespan=running, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.signal = signal
    explain_problems(app)
    serve_static(app)
    _add_pages(app, workbench, {"title": title, "who": who})
    _add_reading(app, workbench, signal)
    _add_writing(app, workbench)
    return app


def _add_pages(app: FastAPI, workbench: Workbench, told: dict[str, str]) -> None:
    for path, name in _PAGES.items():
        app.add_api_route(f"/{path}", _page(name, told), response_class=HTMLResponse)

    @app.get("/explain/{key}", response_class=HTMLResponse)
    def explain(key: str) -> str:
        workbench.row(key)
        return pages.render("explain.html", page="explain", key=key, **told)


def _page(name: str, told: dict[str, str]) -> Callable[[], str]:
    def page() -> str:
        return pages.render(f"{name}.html", page=name, key="", **told)

    return page


def _add_reading(app: FastAPI, workbench: Workbench, signal: Signal) -> None:
    """Add what only tells; nothing is changed by it."""

    @app.get("/api/state")
    def state() -> dict[str, Any]:
        return workbench.state()

    @app.get("/api/events")
    async def events() -> StreamingResponse:
        async def news() -> AsyncIterator[str]:
            yield _event(await asyncio.to_thread(workbench.state))
            async for is_news in signal.rings():
                told = _event(await asyncio.to_thread(workbench.state)) if is_news else ":\n\n"
                yield told

        return StreamingResponse(news(), media_type="text/event-stream")

    @app.get("/api/table")
    def table() -> JSONResponse:
        return JSONResponse(workbench.table())

    @app.get("/api/graphs/{key}")
    def graph(key: str) -> dict[str, Any]:
        return workbench.graph(key)

    @app.get("/api/graphs/{key}/drawing.svg")
    def drawing(key: str) -> Response:
        return Response(str(workbench.pool.drawing(workbench.row(key))), media_type="image/svg+xml")

    @app.get("/api/graphs/{key}/opinion")
    def opinion(key: str) -> dict[str, Any] | None:
        return workbench.opinion(key)

    @app.get("/api/graphs/{key}/evidence", response_class=HTMLResponse)
    def evidence(key: str) -> str:
        return evidence_of(workbench, key)

    @app.get("/api/doubts")
    def doubts() -> list[dict[str, Any]]:
        return workbench.doubts()

    @app.get("/labels.csv")
    def labels(for_spreadsheets: bool = False) -> Response:
        headers = {"content-disposition": 'attachment; filename="labels.csv"'}
        return Response(
            workbench.labels_csv(for_spreadsheets), media_type="text/csv", headers=headers
        )


def _add_writing(app: FastAPI, workbench: Workbench) -> None:
    """Add what changes something."""

    @app.post("/api/next")
    def following(asked: Next) -> list[dict[str, Any]]:
        return workbench.next(asked.window, asked.n, asked.without)

    @app.post("/api/answers")
    def answer(asked: Answers) -> list[dict[str, Any]]:
        given = [Given(each.graph, each.kind, each.label, each.seen) for each in asked.answers]
        return workbench.answer(given, who=asked.who, action=asked.action, shown=asked.shown)

    @app.post("/api/undo")
    def undo(asked: Undo) -> list[str]:
        return workbench.undo(asked.undone, who=asked.who, by=asked.action)

    @app.post("/api/classes")
    def add_class(asked: NewClass) -> dict[str, Any]:
        workbench.add_class(asked.name, who=asked.who)
        return workbench.state()

    @app.post("/api/learn")
    def learn(_: Nothing) -> dict[str, Any]:
        workbench.learn()
        return workbench.state()

    @app.post("/api/learn/stop")
    def stop(_: Nothing) -> dict[str, Any]:
        workbench.stop_learning()
        return workbench.state()

    @app.post("/labels.csv")
    async def take_labels(request: Request, who: Name = "me") -> dict[str, Any]:
        text = await request.body()
        return await asyncio.to_thread(_import, workbench, text, who)


def _import(workbench: Workbench, text: bytes, who: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        path.write_bytes(text)
        try:
            return workbench.import_labels(path, who=who, ignore_unknown=True)
        except KgnnError as error:  # the place on this machine says nothing to who sent the file
            raise KgnnError(str(error).replace(str(path), "labels.csv")) from error


def evidence_of(workbench: Workbench, key: str) -> Markup:
    """Return what speaks for and against the model's class of a graph, to be put into a page."""
    from kgnn.reports.explanation_page import explanation_parts

    explanation = workbench.explanation(key)
    if explanation is not None:
        told = f"{explanation.method}, {size_in_words(explanation.graph)}"
        return Markup('<p class="note">{}</p>').format(told) + explanation_parts(explanation)
    near = workbench.neighbors(key)
    return Markup(pages.render("alike.html", neighbors=near))


def _event(state: dict[str, Any]) -> str:
    return f"data: {json.dumps(state, ensure_ascii=True)}\n\n"


# -- shared with the server of models ------------------------------------------------------------


def explain_problems(app: FastAPI) -> None:
    """Let errors be answers that say what is wrong."""

    def told(status: int, detail: str, **more: Any) -> JSONResponse:
        content = {"status": status, "detail": detail, **more}
        return JSONResponse(content, status, media_type="application/problem+json")

    @app.exception_handler(ConflictError)
    def conflict(_: Request, error: ConflictError) -> JSONResponse:
        return told(409, str(error), graphs=error.graphs)

    @app.exception_handler(UnknownNameError)
    def unknown(_: Request, error: UnknownNameError) -> JSONResponse:
        return told(404, str(error))

    @app.exception_handler(KgnnError)
    def misuse(_: Request, error: KgnnError) -> JSONResponse:
        return told(422, str(error))

    @app.exception_handler(RequestValidationError)
    def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
        each = error.errors()[0]
        place = ".".join(map(str, each["loc"]))
        return told(422, f"{place}: {each['msg']}")

    @app.exception_handler(HTTPException)
    def refused(_: Request, error: HTTPException) -> JSONResponse:
        return told(error.status_code, str(error.detail))


def serve_static(app: FastAPI) -> None:
    """Serve style sheets and scripts, at addresses that change whenever one of them does."""

    @app.get("/static/{version}/{name}", include_in_schema=False)
    def static(version: str, name: str) -> Response:
        found = pages.static(name) if version == pages.version() else None
        if found is None:
            raise UnknownNameError("There is no such file.")
        content, kind = found
        return Response(content, media_type=kind, headers={"cache-control": _FOR_EVER})
