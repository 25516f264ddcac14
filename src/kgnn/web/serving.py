"""A model as a web service: predictions, explanations and similar graphs, as JSON.

``/openapi.json`` describes the API. The page at ``/`` predicts and draws graphs.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Annotated, Any, NamedTuple

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from kgnn.errors import GraphDataError, KgnnError, Skipped
from kgnn.estimator.classifier import GraphClassifier
from kgnn.estimator.saving import describe_model, open_model
from kgnn.evaluation.answers import answers
from kgnn.graphs.collector import GraphCollector, is_directed, named
from kgnn.graphs.drawing import Sketch, size_in_words
from kgnn.graphs.graph import GraphDataset
from kgnn.graphs.molecules import Meaning, graph_of_smiles, is_molecule, written_out
from kgnn.graphs.packing import concatenate
from kgnn.graphs.readers.jsonl import graph_of_line
from kgnn.graphs.summary import draw_whole
from kgnn.threads import limit_threads
from kgnn.web import pages
from kgnn.web.guard import Guard
from kgnn.web.labeling import explain_problems, serve_static
from kgnn.web.lanes import BusyError, Lane, TooSlowError
from kgnn.workers import end_with

ENVIRONMENT = "KGNN_SERVE"  # environment variable that passes the settings to workers
_JSON_LINES, _JSON = "application/x-ndjson", "application/json"
_TOGETHER = 256  # largest weight of a batch; see `_add_routes`
_GATHERING_SECONDS = 0.005  # a tenth of the time of a prediction under load
_DRAWN = 20  # graphs of a request
_WIDTH, _HEIGHT = 480.0, 360.0


@dataclass(frozen=True)
class Settings:
    """The model to serve, access and limits."""

    model: str
    hosts: tuple[str, ...]
    token: str | None = None
    max_bytes: int = 4 << 20  # of a request
    max_graphs: int = 1000
    max_nodes: int = 100_000  # over all graphs of a request
    seconds: float = 30.0  # for an answer
    waiting: int = 256  # requests that may wait
    threads: int = 1

    def write(self) -> str:
        """Return the settings as text, for `read`."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Settings:
        """Read what `write` has written."""
        told = json.loads(text)
        return cls(**{**told, "hosts": tuple(told["hosts"])})


# -- responses -----------------------------------------------------------------------------------


class Prediction(BaseModel):
    """The prediction for a graph."""

    id: str
    label: str
    confidence: float
    probabilities: dict[str, float]
    label_set: list[str] | None = Field(
        description="Conformal label set; null if the model was fitted without held-out labels."
    )
    novelty: float = Field(description="Share of nodes whose neighborhood no training graph has.")
    novelty_reason: str = Field(description="How the graph differs from training graphs, or empty.")
    networks: dict[str, str] = Field(description="Label predicted by each network of the model.")
    size: str
    drawing: str | None = Field(None, description="SVG, if requested.")


class Predictions(BaseModel):
    """Predictions in the order of the graphs."""

    model: str
    predictions: list[Prediction]


class Alike(BaseModel):
    """A labeled graph and its similarity."""

    id: str
    label: str
    similarity: float


class Similar(BaseModel):
    """The labeled graphs most similar to a graph, the most similar first."""

    id: str
    similar: list[Alike]


class Similars(BaseModel):
    """Similar graphs, in the order of the graphs."""

    model: str
    graphs: list[Similar]


class Problem(BaseModel):
    """The reason why a request failed."""

    status: int
    detail: str


class Limits(BaseModel):
    """Limits of the server."""

    max_bytes: int
    max_graphs: int
    max_nodes: int
    seconds: float
    waiting: int


class Model(BaseModel):
    """The model that is served."""

    method: str
    classes: list[str]
    labeled: int
    unlabeled: int
    expected_accuracy: float | None
    interval: list[float] | None
    can_promise_sets: bool
    saved: str
    versions: dict[str, str]
    limits: Limits


class Asked(NamedTuple):
    """A request for predictions."""

    body: bytes
    kind: str
    error: float
    draws: bool


class Server:
    """A model with one lane for fast requests and one for slow ones."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.model: GraphClassifier = open_model(settings.model)
        self.told = describe_model(settings.model)
        self.can_promise = self.model.held_out_ is not None or len(self.model.classes_) == 1
        read = self.model.fitted_on_.get("read") or {}
        options = dict(each.split("=", 1) for each in read.get("read", []) if "=" in each)
        self._is_directed = is_directed(options.get("directed", False))
        self._meaning = Meaning.of(salts=options.get("salts"), stereo=options.get("stereo"))
        seconds = settings.seconds
        # Entered in each lane's thread and never left; some libraries limit threads per thread.
        begin = limit_threads(settings.threads).__enter__
        self.fast: Lane[Asked] = Lane(
            self._predict, capacity=settings.waiting, seconds=seconds, together=_TOGETHER,
            gathering=_GATHERING_SECONDS, begin=begin,
        )  # fmt: skip
        # Explanations take a hundred times as long as predictions, so they have their own lane.
        slow = max(1, settings.waiting // 16)
        begin = limit_threads(settings.threads).__enter__
        self.slow: Lane[Callable[[], Any]] = Lane(
            _each, capacity=slow, seconds=seconds, begin=begin
        )

    def close(self) -> None:
        """Answer the waiting requests, then stop."""
        self.fast.close()
        self.slow.close()

    # -- graphs

    def read(self, body: bytes, kind: str, most: int | None = None) -> GraphDataset:
        """Parse the graphs of a request and check the limits."""
        limits, graphs, skipped = self.settings, GraphCollector(self._is_directed), Skipped()
        n_nodes = 0
        for n, (place, record) in enumerate(_records(body, kind), start=1):
            if n > (allowed := most or limits.max_graphs):
                raise GraphDataError(f"A request may have at most {allowed:,} graphs.")
            try:
                graph = self._graph(place, record)
                n_nodes += graph["n_nodes"]
                if n_nodes > limits.max_nodes:
                    raise HTTPException(
                        413, f"The graphs of a request may have {limits.max_nodes:,} nodes in all, "
                        f"got {n_nodes:,} up to {place}."
                    )  # fmt: skip
                graphs.add(place, **graph)
            except GraphDataError as error:
                skipped(error)
        if skipped.n:
            raise skipped.error("the request")
        if not len(graphs):
            raise GraphDataError("There are no graphs in the request.")
        return graphs.dataset("request")

    def _graph(self, place: str, record: str | dict[str, Any]) -> dict[str, Any]:
        """Parse a graph: SMILES if it has that key, otherwise a record of JSON Lines."""
        if isinstance(record, str):
            if '"smiles"' not in record:
                return graph_of_line(place, record)
            try:
                told = json.loads(record)
            except (ValueError, RecursionError):
                return graph_of_line(place, record)  # raises a helpful error
        else:
            told = record
        if not isinstance(told, dict) or "smiles" not in told:
            return graph_of_line(place, json.dumps(told))
        if not isinstance(told["smiles"], str) or set(told) - {"smiles", "id"}:
            raise GraphDataError(f'{place}: a molecule is {{"smiles": text, "id": text}}')
        name = told.get("id")
        if name is not None and not isinstance(name, str):
            raise GraphDataError(f"{place}: id must be text")
        return {**graph_of_smiles(place, told["smiles"], self._meaning), "name": name}

    # -- predictions

    def _predict(self, asked: Sequence[Asked]) -> list[Any]:
        """Answer requests, batching those whose graphs are of the same kind."""
        found: list[Any] = [None] * len(asked)
        groups: dict[Any, list[tuple[int, GraphDataset]]] = {}
        for at, each in enumerate(asked):
            try:
                graphs = named(self.read(each.body, each.kind))
                groups.setdefault((_kind_of(graphs), each.error), []).append((at, graphs))
            except (KgnnError, HTTPException) as wrong:
                found[at] = wrong
        for (_, error), parts in groups.items():
            for at, answer in self._predicted(parts, error):
                found[at] = answer
        return [
            each if isinstance(each, Exception) else self._told(each, of.draws)
            for each, of in zip(found, asked, strict=True)
        ]

    def _predicted(
        self, parts: list[tuple[int, GraphDataset]], error: float
    ) -> Iterator[tuple[int, Any]]:
        """Yield the answers for each part, or the error that it causes."""
        if len(parts) > 1:
            try:
                whole = concatenate([graphs for _, graphs in parts])
                said = self._answers(whole, error)
            except KgnnError:  # one request must not fail because of another
                for part in parts:
                    yield from self._predicted([part], error)
                return
            start = 0
            for at, graphs in parts:
                yield at, (graphs, said[start : start + len(graphs)])
                start += len(graphs)
            return
        at, graphs = parts[0]
        try:
            yield at, (graphs, self._answers(graphs, error))
        except KgnnError as wrong:
            yield at, wrong

    def _answers(self, graphs: GraphDataset, error: float) -> list[Any]:
        return answers(self.model, graphs, error=error if self.can_promise else None)

    def _told(self, found: tuple[GraphDataset, list[Any]], draws: bool) -> dict[str, Any]:
        graphs, said = found
        return {
            "model": self.name,
            "predictions": [
                {
                    "id": each.id,
                    "label": each.label,
                    "confidence": each.probabilities[each.label],
                    "probabilities": each.probabilities,
                    "label_set": None if each.label_set is None else list(each.label_set),
                    "novelty": each.novelty.score,
                    "novelty_reason": "; ".join(each.novelty.reasons),
                    "networks": each.networks,
                    "size": size_in_words(Sketch.of(graph)) if draws else _size(graph),
                    "drawing": _drawn(graph) if draws and row < _DRAWN else None,
                }
                for row, (graph, each) in enumerate(zip(graphs, said, strict=True))
            ],
        }

    def has_molecules(self) -> bool:
        """Tell whether the model was fitted on molecules, so that SMILES make sense."""
        return is_molecule(written_out(self.model.labeled_graphs_[:1])[0])

    @property
    def name(self) -> str:
        """Method of the model and when it was saved."""
        return f"{self.told['method']} {self.told['saved']}"

    # -- the rest

    def explain(self, asked: Asked, neighbors: int) -> Any:
        """Explain the prediction for one graph."""
        graphs = named(self.read(asked.body, asked.kind, most=1))
        return self.model.explain(graphs[0], neighbors=neighbors, error=asked.error)

    def similar(self, asked: Asked, n: int) -> dict[str, Any]:
        """Find the labeled graphs most similar to each graph."""
        graphs = named(self.read(asked.body, asked.kind))
        found = self.model.similar(graphs, n)
        return {
            "model": self.name,
            "graphs": [
                {
                    "id": graph.name,
                    "similar": [
                        {"id": e.name, "label": str(e.label), "similarity": e.kernel_value}
                        for e in near
                    ],
                }
                for graph, near in zip(graphs, found, strict=True)
            ],
        }

    def describe(self) -> dict[str, Any]:
        """Return the facts about the model and the limits."""
        from kgnn.evaluation.model_facts import held_out_quality

        quality = held_out_quality(self.model)
        return {
            "method": self.told["method"],
            "classes": self.model.class_names,
            "labeled": self.told["fitted_on"]["labeled"],
            "unlabeled": self.told["fitted_on"]["unlabeled"],
            "expected_accuracy": None if quality is None else quality.accuracy,
            "interval": None if quality is None else list(quality.interval),
            "can_promise_sets": self.can_promise,
            "saved": self.told["saved"],
            "versions": self.told["versions"],
            "limits": {key: getattr(self.settings, key) for key in Limits.model_fields},
        }


def _each(work: Sequence[Callable[[], Any]]) -> list[Any]:
    found = []
    for each in work:
        try:
            found.append(each())
        except Exception as error:
            found.append(error)
    return found


def _records(body: bytes, kind: str) -> Iterator[tuple[str, str | dict[str, Any]]]:
    """Yield the unparsed graphs of a body, each with its place."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphDataError(f"The body is not UTF-8 text: {error}") from error
    if kind == _JSON_LINES:
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                yield f"line {number}", line
        return
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GraphDataError(f"The body is not valid JSON: {error}") from error
    if not isinstance(told, dict) or not told or set(told) - {"graphs", "smiles"}:
        raise GraphDataError('The body must be {"graphs": [graphs]} or {"smiles": [texts]}.')
    for key, wrapped in (("graphs", None), ("smiles", "smiles")):
        if not isinstance(told.get(key, []), list):
            raise GraphDataError(f"'{key}' must be a list.")
        for number, each in enumerate(told.get(key, [])):
            yield f"{key}[{number}]", {wrapped: each} if wrapped else each


def _kind_of(graphs: GraphDataset) -> tuple[Any, ...]:
    """Return what graphs must have in common to be put into one dataset."""
    width = [
        None if a is None else a.shape[1:] for a in (graphs.node_attributes, graphs.edge_attributes)
    ]
    there = [a is None for a in (graphs.node_labels, graphs.edge_labels, graphs.edge_weights)]
    return (*width, *there)


def _size(graph: Any) -> str:
    return f"{graph.n_nodes:,} node{'s' * (graph.n_nodes != 1)}"


def _drawn(graph: Any) -> str:
    return str(draw_whole(graph, width=_WIDTH, height=_HEIGHT))


# -- routes --------------------------------------------------------------------------------------

_GRAPHS = {
    "requestBody": {
        "required": True,
        "content": {
            _JSON_LINES: {
                "schema": {"type": "string"},
                "example": '{"smiles": "CCO", "id": "ethanol"}\n'
                '{"nodes": ["C", "C"], "edges": [[0, 1]]}\n',
            },
            _JSON: {
                "schema": {
                    "type": "object",
                    "additionalProperties": False,
                    "minProperties": 1,
                    "properties": {
                        "graphs": {"type": "array", "items": {"type": "object"}},
                        "smiles": {"type": "array", "items": {"type": "string"}},
                    },
                },
                "example": {"smiles": ["CCO", "c1ccccc1"]},
            },
        },
    }
}
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": told}
    for status, told in {
        400: "The request is malformed.",
        401: "A token is required.",
        403: "The request comes from a page of another site.",
        413: "The body or its graphs exceed the limits.",
        415: "The Content-Type is not supported.",
        421: "The Host header is not this server's.",
        422: "The graphs cannot be read, or the model cannot use them.",
        429: "Too many requests are waiting.",
        503: "The answer took too long.",
    }.items()
}
Error = Annotated[
    float, Query(gt=0, lt=1, description="Share of label sets that may miss the true label.")
]
Number = Annotated[int, Query(ge=1, le=100, description="Number of labeled graphs.")]


def make_app(settings: Settings) -> FastAPI:
    """Return the application that serves a model."""
    server = Server(settings)

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        yield
        server.close()

    told = server.told
    app = FastAPI(
        title=f"kgnn: {told['method']}",
        summary="Predictions of a fitted graph classifier.",
        version=told["versions"]["kgnn"],
        lifespan=running,
        docs_url=None,
        redoc_url=None,
    )
    explain_problems(app)
    _explain_limits(app)
    serve_static(app)
    _add_routes(app, server)
    return app


def app_from_environment() -> Guard:
    """Return the application that a worker of `kgnn serve` runs."""
    end_with(os.getppid())
    return guarded(Settings.read(os.environ[ENVIRONMENT]))


def guarded(settings: Settings) -> Guard:
    """Return the application behind its guard."""
    return Guard(
        make_app(settings),
        hosts=settings.hosts,
        token=settings.token,
        max_bytes=settings.max_bytes,
        open_paths=("/healthz",),
    )


def _explain_limits(app: FastAPI) -> None:
    def told(status: int, error: Exception) -> JSONResponse:
        content = {"status": status, "detail": str(error)}
        headers = {"retry-after": "1"}
        return JSONResponse(content, status, headers, media_type="application/problem+json")

    @app.exception_handler(BusyError)
    def busy(_: Request, error: BusyError) -> JSONResponse:
        return told(429, error)

    @app.exception_handler(TooSlowError)
    def slow(_: Request, error: TooSlowError) -> JSONResponse:
        return told(503, error)


async def _asked(request: Request, error: float, draws: bool = False) -> Asked:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in (_JSON, _JSON_LINES):
        raise HTTPException(
            415, f"The Content-Type must be {_JSON_LINES} or {_JSON}, got '{kind}'."
        )
    return Asked(await request.body(), kind, error, draws)


def _add_routes(app: FastAPI, server: Server) -> None:
    @app.post("/predict", responses=_PROBLEMS, openapi_extra=_GRAPHS, response_model=Predictions)
    async def predict(
        request: Request,
        error: Error = 0.1,
        drawing: Annotated[bool, Query(description="Also draw the first graphs.")] = False,
    ) -> Response:
        """Predict each graph: label, probabilities, label set and novelty."""
        asked = await _asked(request, error, drawing)
        weight = 1 + len(asked.body) // 1024
        return JSONResponse(await server.fast.ask(asked, weight))

    @app.post("/explain", responses=_PROBLEMS, openapi_extra=_GRAPHS)
    async def explain(request: Request, error: Error = 0.1, n: Number = 5) -> dict[str, Any]:
        """Explain the prediction for one graph: evidence and similar labeled graphs."""
        asked = await _asked(request, error)
        found = await server.slow.ask(lambda: server.explain(asked, n).to_json())
        return dict(found)

    @app.post("/explain.html", responses=_PROBLEMS, openapi_extra=_GRAPHS)
    async def explain_in_words(request: Request, error: Error = 0.1, n: Number = 5) -> HTMLResponse:
        """Explain the prediction for one graph as a fragment of HTML."""
        from kgnn.reports.explanation_page import explanation_parts

        asked = await _asked(request, error)
        work = lambda: str(explanation_parts(server.explain(asked, n)))  # noqa: E731
        return HTMLResponse(await server.slow.ask(work))

    @app.post("/similar", responses=_PROBLEMS, openapi_extra=_GRAPHS, response_model=Similars)
    async def similar(request: Request, n: Number = 5) -> Response:
        """Find the labeled graphs most similar to each graph."""
        asked = await _asked(request, 0.1)
        return JSONResponse(await server.slow.ask(lambda: server.similar(asked, n)))

    described = server.describe()

    @app.get("/model")
    async def model() -> Model:
        """Describe the model and the limits."""
        return Model(**described)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Check that the server is up."""
        return {"status": "ok"}

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def page() -> str:
        return pages.render("ask.html", told=described, has_molecules=server.has_molecules())
