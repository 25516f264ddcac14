"""Only the server's own pages, and programs with the token, get in."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from kgnn.errors import KgnnError, ParameterError
from kgnn.web.guard import Guard
from kgnn.web.running import listen, token_for

_TOKEN = "a token that nobody guesses"
_JSON = {"content-type": "application/json"}


async def _echo(scope, receive, send):
    """Answer with the size of the body."""
    n, more = 0, True
    while more:
        message = await receive()
        n, more = n + len(message.get("body", b"")), message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(n).encode()})


def _ask(method, path="/", *, token=None, host="127.0.0.1:8765", **options):
    guard = Guard(
        _echo,
        hosts=["127.0.0.1:8765", "example.org"],
        token=token,
        max_bytes=1000,
        open_paths=["/healthz"],
    )

    async def ask():
        transport = httpx.ASGITransport(guard)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.request(method, path, **options)

    return asyncio.run(ask())


def test_the_servers_own_page_is_let_in():
    assert _ask("GET").status_code == 200
    own = {"origin": "http://127.0.0.1:8765", "sec-fetch-site": "same-origin", **_JSON}
    done = _ask("POST", content=b"{}", headers=own)
    assert (done.status_code, done.text) == (200, "2")


@pytest.mark.parametrize("host", ["evil.example:8765", "127.0.0.1:9999", "127.0.0.1.evil.example"])
def test_another_name_for_this_machine_is_refused(host):
    assert _ask("GET", host=host).status_code == 421


def test_a_host_without_a_port_may_be_asked_at_any():
    assert _ask("GET", host="example.org:1234").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example", **_JSON}, 403),
        ({"origin": "null", **_JSON}, 403),
        ({"origin": "http://127.0.0.1:9999", **_JSON}, 403),
        ({"sec-fetch-site": "cross-site", **_JSON}, 403),
        ({"sec-fetch-site": "same-site", **_JSON}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=application/json"}, 415),
        ({}, 415),
    ],
)
def test_pages_of_others_can_change_nothing(headers, status):
    done = _ask("POST", content=b"{}", headers=headers)
    assert done.status_code == status
    assert done.headers["content-type"] == "application/problem+json"


def test_a_token_is_asked_for_and_kept_in_a_cookie_that_scripts_cannot_read():
    assert _ask("GET", token=_TOKEN).status_code == 401
    assert _ask("GET", token=_TOKEN, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert _ask("GET", token=_TOKEN, headers={"cookie": "kgnn_token=wrong"}).status_code == 401
    right = {"authorization": f"Bearer {_TOKEN}"}
    assert _ask("GET", token=_TOKEN, headers=right).status_code == 200
    opened = _ask("GET", "/learn", token=_TOKEN, params={"token": _TOKEN, "a": "b"})
    assert (opened.status_code, opened.headers["location"]) == (303, "/learn?a=b")
    cookie = opened.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
    assert _ask("GET", "/healthz", token=_TOKEN).status_code == 200


def test_a_token_in_an_address_changes_nothing_and_leads_nowhere_else():
    done = _ask("POST", params={"token": _TOKEN}, token=_TOKEN, content=b"{}", headers=_JSON)
    assert done.status_code == 401
    done = _ask(
        "GET", "http://127.0.0.1:8765//evil.example", params={"token": _TOKEN}, token=_TOKEN
    )
    assert done.headers["location"] == "/evil.example"


def test_long_bodies_are_refused_with_the_limit_whether_or_not_they_say_how_long_they_are():
    async def chunks():
        for _ in range(20):
            yield b"x" * 100

    for content in (b"x" * 1001, chunks()):
        done = _ask("POST", content=content, headers=_JSON)
        assert done.status_code == 413
        assert "1,000 bytes" in done.json()["detail"]
    assert _ask("POST", content=b"x" * 1000, headers=_JSON).text == "1000"


def test_answers_allow_nothing_from_elsewhere():
    for done in (_ask("GET"), _ask("GET", host="evil.example")):
        policy = dict(
            part.split(" ", 1) for part in done.headers["content-security-policy"].split("; ")
        )
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert done.headers["x-content-type-options"] == "nosniff"
        assert done.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.1"])
def test_only_a_server_for_this_machine_has_no_token(host, monkeypatch):
    monkeypatch.delenv("KGNN_TOKEN", raising=False)
    token = token_for(host)
    assert (token is None) == (host in ("127.0.0.1", "::1", "localhost"))
    assert token is None or len(token) >= 32


def test_a_token_may_be_given_but_no_short_one(monkeypatch):
    monkeypatch.setenv("KGNN_TOKEN", "0123456789abcdef")
    assert token_for("127.0.0.1") == token_for("0.0.0.0") == "0123456789abcdef"
    monkeypatch.setenv("KGNN_TOKEN", "secret")
    with pytest.raises(ParameterError, match="16"):
        token_for("0.0.0.0")


def test_a_port_that_is_taken_is_named():
    place, opened = listen("127.0.0.1", 0)
    opened.listen()
    assert place.hosts() == sorted(f"{n}:{place.port}" for n in ("127.0.0.1", "[::1]", "localhost"))
    with pytest.raises(KgnnError, match=f"port {place.port}"):
        listen("127.0.0.1", place.port)
    opened.close()
