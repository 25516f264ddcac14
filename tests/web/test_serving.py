"""A served model answers as the model does, within limits, and never with an error of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys

import httpx
import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, given
from hypothesis import settings as effort
from schemathesis.specs.openapi.checks import response_schema_conformance

from kgnn.graphs.molecules import from_smiles
from kgnn.methods.wl_linear import WLLinear
from kgnn.web.pages import version
from kgnn.web.running import listen
from kgnn.web.serving import Settings, guarded
from tests.web.servers import running

_ALCOHOLS = ["CCO", "CCCO", "CC(C)O", "OCC1CC1", "OCCCO", "CCCCO", "OC1CCC1", "CC(O)CC"]
_AMINES = ["CCN", "CCCN", "CC(C)N", "NCC1CC1", "NCCCN", "CCCCN", "NC1CCC1", "CC(N)CC"]
_LINES = {"content-type": "application/x-ndjson"}


@pytest.fixture(scope="module")
def model():
    graphs = from_smiles([*_ALCOHOLS, *_AMINES], ["alcohol"] * 8 + ["amine"] * 8)
    return WLLinear().fit(graphs)


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    model.save(folder)
    return folder


@pytest.fixture(scope="module")
def address(folder):
    """Where a server with narrow limits answers."""
    place, opened = listen("127.0.0.1", 0)
    limits = {"max_bytes": 20_000, "max_graphs": 20, "max_nodes": 200, "seconds": 20}
    with running(guarded(Settings(str(folder), tuple(place.hosts()), **limits)), opened):
        yield place.address


@pytest.fixture(scope="module")
def client(address):
    with httpx.Client(base_url=address, timeout=30) as client:
        yield client


def test_answers_are_the_models_whether_in_json_or_in_lines(client, model):
    smiles = ["CCCCCO", "CCCCCN"]
    graphs = from_smiles(smiles)
    told = client.post("/predict", json={"smiles": smiles}).json()["predictions"]
    lines = "\n".join(json.dumps({"smiles": each, "id": each}) for each in smiles)
    by_line = client.post("/predict", content=lines, headers=_LINES).json()["predictions"]
    for answers in (told, by_line):
        assert [each["label"] for each in answers] == model.predict(graphs).tolist()
        proba = [list(each["probabilities"].values()) for each in answers]
        assert np.allclose(proba, model.predict_proba(graphs))
        assert [each["label_set"] for each in answers] == model.predict_sets(graphs)
        assert [each["novelty"] for each in answers] == [n.score for n in model.novelty(graphs)]
    assert [each["id"] for each in told + by_line] == ["0", "1", *smiles]
    assert told[0]["drawing"] is None


def test_graphs_may_be_given_as_json_lines_has_them(client):
    graph = {"id": "g", "nodes": ["C", "O"], "edges": [[0, 1, "-"]]}
    nodes = [{"label": label, "attributes": [3, 0, 0, 0, 0, 0]} for label in ("C", "O")]
    for body in ({"graphs": [{**graph, "nodes": nodes}]}, {"smiles": ["CO"]}):
        assert client.post("/predict", json=body).status_code == 200
    refused = client.post("/predict", json={"graphs": [graph, {"nodes": 1}]})
    assert refused.status_code == 422
    assert "graphs[1]" in refused.json()["detail"]


def test_requests_that_are_answered_together_do_not_disturb_each_other(address):
    bodies = [{"smiles": ["CCCO"]}, {"smiles": ["nonsense"]}, {"smiles": ["CCN"] * 21}]
    bodies += [{"graphs": [{"nodes": 2, "edges": [[0, 1]]}]}, {"smiles": ["CCCN", "CO"]}]

    async def ask():
        async with httpx.AsyncClient(base_url=address, timeout=30) as client:
            return await asyncio.gather(*(client.post("/predict", json=b) for b in bodies * 8))

    answers = asyncio.run(ask())
    statuses = [{each.status_code for each in answers[n::5]} for n in range(5)]
    assert [statuses[n] for n in (0, 1, 2, 4)] == [{200}, {422}, {422}, {200}]
    assert {each.json()["predictions"][0]["label"] for each in answers[0::5]} == {"alcohol"}


def test_similar_graphs_and_explanations_are_the_models(client, model):
    graphs = from_smiles(["CCCCO"])
    near = client.post("/similar?n=3", json={"smiles": ["CCCCO"]}).json()["graphs"][0]["similar"]
    expected = model.similar(graphs, 3)[0]
    assert [(each["id"], each["label"]) for each in near] == [(e.name, e.label) for e in expected]
    told = client.post("/explain?n=2", json={"smiles": ["CCCCO"]}).json()
    assert told["predicted"] == model.explain(graphs).predicted
    assert len(told["neighbors"]) == 2
    page = client.post("/explain.html", json={"smiles": ["CCCCO"]})
    assert "<svg" in page.text
    assert client.post("/explain", json={"smiles": ["C", "CC"]}).status_code == 422


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        ({"smiles": ["C"] * 21}, 422, "20 graphs"),
        ({"smiles": ["C" * 150, "C" * 100]}, 413, "200 nodes"),
        ({"smiles": ["C" * 30_000]}, 413, "20,000 bytes"),
        ({"graphs": [{"nodes": 10**9, "edges": []}]}, 413, "200 nodes"),
        ({"smiles": ["C", "xx", "yy"]}, 422, "smiles[1]"),
        ({"smiles": []}, 422, "no graphs"),
        ({"smiles": "CCO"}, 422, "list"),
        ({"molecules": ["C"]}, 422, "smiles"),
        (["CCO"], 422, "smiles"),
    ],
)
def test_what_is_too_much_or_wrong_is_refused_with_the_reason(client, body, status, told):
    refused = client.post("/predict", json=body)
    assert refused.status_code == status
    assert told in refused.json()["detail"]
    assert refused.headers["content-type"] == "application/problem+json"


def test_hostile_bodies_are_refused(client):
    for body in (b"[" * 15_000, b"\xff\xfe", b'{"smiles":["C"]', b"null", b"1e999", b'{"a":1e999}'):
        for headers in (_LINES, {"content-type": "application/json"}):
            assert client.post("/predict", content=body, headers=headers).status_code == 422


def test_a_hostile_name_is_escaped_in_drawings(client):
    line = json.dumps({"smiles": "CCO", "id": "<script>alert(1)</script>"})
    told = client.post("/predict?drawing=true", content=line, headers=_LINES).json()
    assert "<script" not in told["predictions"][0]["drawing"]
    page = client.post("/explain.html", content=line, headers=_LINES).text
    assert "<script>alert" not in page


def test_what_is_served_is_described_and_nothing_comes_from_elsewhere(client, model):
    told = client.get("/model").json()
    assert told["classes"] == model.class_names
    assert told["limits"]["max_nodes"] == 200
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404
    page = client.get("/").text
    for place in re.findall(r'(?:href|src)="([^"]+)"', page):
        assert place.startswith("/")
        assert client.get(place).status_code == 200
    for name in ("../project.py", "%2e%2e%2fproject.py", "nothing.js"):
        assert client.get(f"/static/{version()}/{name}").status_code == 404
    assert client.get("/static/another/ask.js").status_code == 404


@pytest.mark.filterwarnings("ignore:Edges of 'request' have labels")
def test_no_request_that_the_description_allows_or_forbids_breaks_the_server(address):
    schema = schemathesis.openapi.from_url(f"{address}openapi.json")
    asked = set()
    for found in schema.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy())
        @effort(max_examples=25, suppress_health_check=list(HealthCheck))
        def check(case):
            response = case.call()
            assert response.status_code < 500
            asked.add((case.path, response.status_code))
            case.validate_response(response, checks=[response_schema_conformance])

        check()
    assert {path for path, _ in asked} >= {"/predict", "/explain", "/similar", "/model"}


def test_the_command_serves_with_a_token_and_stops_gracefully(folder):
    words = ["serve", str(folder), "--port", "0", "--workers", "2"]
    environment = {**os.environ, "KGNN_TOKEN": "a-token-for-this-test"}
    with subprocess.Popen(
        [sys.executable, "-m", "kgnn", *words], stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        try:
            address, token = re.search(
                r"(http://\S+/)\?token=(\S+)", server.stderr.readline()
            ).groups()
            retrying = httpx.HTTPTransport(retries=8)
            with httpx.Client(base_url=address, transport=retrying, timeout=60) as client:
                assert client.get("/healthz").status_code == 200
                assert client.get("/model").status_code == 401
                client.headers["authorization"] = f"Bearer {token}"
                said = client.post("/predict", json={"smiles": ["CCCO"]}).json()
                assert said["predictions"][0]["label"] == "alcohol"
        finally:
            server.send_signal(signal.SIGTERM)
            code = server.wait(timeout=30)
    assert code == 0
