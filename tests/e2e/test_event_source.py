# SPDX-License-Identifier: Apache-2.0
"""GET …/functions/{m}/{f}?iterate&input=…: a loop as a browser's EventSource requests
it. The oracle is the same loop by POST. tests/browser uses a real browser."""
import json
import subprocess
import urllib.parse

import pytest

from conftest import BIN, ROOT

EVENTS = "text/event-stream"
PATH = "/api/v1/functions/scalars-3.13.0/fact?iterate"
PAGE = {"Accept": EVENTS, "Sec-Fetch-Site": "same-origin"}
DOCUMENT = {"args": [3], "repeat": {"times": 5, "feed": {"0": 0},
                                    "until": {"result": 0, "equals": 720}}}
SCALARS = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"


@pytest.fixture
def server(serve):
    return serve(SCALARS, "--allow-origin=http://page.example")


def ask(server, document=DOCUMENT, headers=PAGE, method="GET", query="", encode=urllib.parse.quote):
    text = document if isinstance(document, str) else json.dumps(document)
    return server.request(method, f"{PATH}&input={encode(text)}{query}", headers=headers)


@pytest.mark.parametrize("encode", [urllib.parse.quote, urllib.parse.quote_plus])
def test_the_events_are_those_of_a_post(server, encode):
    post = server.request("POST", PATH, json.dumps(DOCUMENT), {"Accept": EVENTS})
    got = ask(server, encode=encode)
    assert (post.status, got.status) == (200, 200), got.body
    *steps, last = post.body.split(b"\n\n")[:-1]
    assert len(steps) == 2
    assert got.body == b"\n\n".join([*steps, b"id: end\n" + last, b""])
    assert got.headers["Content-Type"] == EVENTS
    assert got.headers["Cache-Control"] == "no-store"


def test_who_has_the_end_is_told_to_stop(server):
    for last, status in [("end", 204), ("", 200), ("ends", 200), ("End", 200)]:
        reply = ask(server, headers={**PAGE, "Last-Event-ID": last})
        assert reply.status == status, last
        assert bool(reply.body) == (status == 200)
        assert reply.headers["Cache-Control"] == "no-store"
    # A POST is never repeated automatically.
    post = server.request("POST", PATH, json.dumps(DOCUMENT),
                          {"Accept": EVENTS, "Last-Event-ID": "end"})
    assert post.status == 200


def test_the_error_of_a_step_ends_it_too(server):
    """The second step counts down from 20!, which takes too long: its deadline ends it."""
    endless = {"args": [20], "repeat": {"times": 3, "feed": {"0": 0}}}
    reply = ask(server, endless, {**PAGE, "Farcall-Timeout-Ms": "300"})
    step, last = reply.body.decode().split("\n\n")[:-1]
    assert json.loads(step.removeprefix("data: "))["step"] == 1
    assert last.startswith("id: end\ndata: ")
    error = json.loads(last.removeprefix("id: end\ndata: "))
    assert (error["code"], error["step"]) == ("deadline_exceeded", 2)


def test_times_go_into_the_last_event(server):
    *_, last, empty = ask(server, query="&timing=1").body.split(b"\n\n")
    assert empty == b"" and last.startswith(b'id: end\ndata: {"done":"until","steps":2,"timing":{')
    assert len(json.loads(last.split(b"data: ")[1])["timing"]) == 8


@pytest.mark.parametrize("query, method, headers, status, code", [
    ("&input=[", "GET", {}, 400, "json_syntax"),
    ("&input=%7", "GET", {}, 400, "http_syntax"),
    ("&input=", "GET", {}, 400, "http_syntax"),
    ("", "GET", {}, 400, "http_syntax"),
    ("&input={}", "GET", {}, 422, "missing_argument"),
    ("&input={}&input={}", "GET", {}, 400, "unknown_field"),
    ("&input={}&session=0", "GET", {}, 400, "unknown_field"),
    ("&input={}&format=text", "GET", {}, 400, "unknown_field"),
    ("&input={}", "GET", {"Accept": "*/*"}, 406, "not_acceptable"),
    ("&input={}", "GET", {"Accept": "application/x-ndjson"}, 406, "not_acceptable"),
    ("&input={}", "HEAD", {}, 400, None),
    ("&input={}", "POST", {"Content-Length": "2"}, 400, "unknown_field"),
    # What a page of another site can send: no Origin, or its own
    ("&input={}", "GET", {"Sec-Fetch-Site": "cross-site"}, 403, "origin_not_allowed"),
    ("&input={}", "GET", {"Sec-Fetch-Site": "same-site"}, 403, "origin_not_allowed"),
    ("&input={}", "GET", {"Sec-Fetch-Site": "none"}, 403, "origin_not_allowed"),
    ("&input={}", "GET", {"Sec-Fetch-Site": ""}, 403, "origin_not_allowed"),
    ("&input={}", "GET", {"Sec-Fetch-Site": "same-origin", "Origin": "http://other.example"},
     403, "origin_not_allowed"),
    ("&input={}", "GET", {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
     403, "origin_not_allowed")])
def test_what_is_refused(server, query, method, headers, status, code):
    body = "{}" if method == "POST" else None
    reply = server.request(method, PATH + query, body, {**PAGE, **headers})
    assert reply.status == status, reply.body
    if code:
        assert reply.json["code"] == code


def test_a_page_that_is_let_in(server):
    reply = ask(server, headers={"Accept": EVENTS, "Origin": "http://page.example",
                                 "Sec-Fetch-Site": "cross-site"})
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == "http://page.example"


def test_a_get_with_a_body_is_no_loop(server):
    reply = server.request("GET", PATH + "&input={}", "{}", PAGE)
    assert (reply.status, reply.json["code"]) == (400, "unknown_field")


def test_it_is_a_call(serve, tmp_path):
    """Its token needs the scope of a call."""
    tokens = tmp_path / "tokens"
    secrets = {}
    with open(tokens, "w", encoding="utf-8") as out:
        for scope in ("read", "call"):
            made = subprocess.run([BIN / "farcall", "token", "new", scope, f"--scope={scope}"],
                                  capture_output=True, text=True, check=True).stdout.splitlines()
            secrets[scope] = made[0]
            out.write("\n".join(made[1:]) + "\n")
    tokens.chmod(0o600)
    server = serve(SCALARS, f"--token-file={tokens}")
    for scope, status in (("read", 403), ("call", 200)):
        reply = ask(server, headers={**PAGE, "Authorization": f"Bearer {secrets[scope]}"})
        assert reply.status == status, (scope, reply.body)
    assert ask(server).status == 401
