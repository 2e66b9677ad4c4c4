# SPDX-License-Identifier: Apache-2.0
"""GET /openapi.json describes what the server does. The jsonschema package judges its
schemas; tests/openapi uses tools that are made for such documents."""
import itertools
import json
import re
import shutil
import socket
import struct
import threading
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import jsonschema
import pytest

from conftest import ROOT, Server
from vmfb import Code, module

EXAMPLES = ROOT / "examples/iree"
SCALARS = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"
PART = 64 << 10  # FC_LIMIT_PART


@pytest.fixture(scope="module")
def asked():
    server = Server(EXAMPLES / "digits.vmfb", EXAMPLES / "filter.vmfb",
                    EXAMPLES / "matmul.vmfb", SCALARS)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def document(asked):
    reply = asked.get("/openapi.json")
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    return reply.json


def references(value):
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "$ref":
                yield member
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def at(document, reference):
    assert reference.startswith("#/"), reference
    for step in reference[2:].split("/"):
        document = document[step.replace("~1", "/").replace("~0", "~")]
    return document


def validator(document, reference):
    """A validator for one schema, whose references point into the document."""
    return jsonschema.Draft202012Validator(
        {"$ref": reference, "components": document["components"]})


def functions_of(document):
    return {path: each for path, each in document["paths"].items()
            if path.startswith("/api/v1/functions/")}


def operation_ids(paths):
    return [operation["operationId"] for path in paths.values()
            for name, operation in path.items() if name != "parameters"]


def test_it_lists_every_function_that_can_be_called(asked, document):
    listed = asked.get("/api/v1/functions").json["functions"]
    wanted = {f"/api/v1/functions/{each['module']}/{each['name']}"
              for each in listed if each["callable"]}
    assert set(functions_of(document)) == wanted | {f"{each}?iterate" for each in wanted}
    assert document["openapi"] == "3.1.0"
    ids = operation_ids(document["paths"])
    assert len(ids) == len(set(ids))


def test_its_references_lead_somewhere_and_its_schemas_are_schemas(document):
    found = set(references(document))
    assert len(found) > 20
    for reference in found:
        at(document, reference)
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def plain(document):
    return {path: each for path, each in functions_of(document).items() if "?" not in path}


def test_its_examples_and_their_answers_are_what_the_schemas_say(asked, document):
    for path, operations in plain(document).items():
        content = operations["post"]["requestBody"]["content"]["application/json"]
        values = [each["value"] for each in content["examples"].values()]
        for value in values:
            validator(document, content["schema"]["$ref"]).validate(value)
        reply = asked.request("POST", path, json.dumps(values[0]),
                              {"Content-Type": "application/json"})
        answers = operations["post"]["responses"]
        answer = answers[str(reply.status)]
        if "$ref" in answer:
            answer = at(document, answer["$ref"])
        schema = next(iter(answer["content"].values()))["schema"]
        validator(document, schema["$ref"]).validate(reply.json)
        assert reply.status == 200 or reply.json["code"] == "call_failed", path
        validate, session = operations["post"]["parameters"]
        assert at(document, session["$ref"])["name"] == "Farcall-Session"
        for parameter in [validate]:
            for word in parameter["schema"]["enum"]:
                reply = asked.request("POST", f"{path}?{parameter['name']}={word}",
                                      json.dumps(values[0]), {"Content-Type": "application/json"})
                assert reply.status < 300 and str(reply.status) in answers, reply.body


STEPS = [({"args": [[[0.5]], [[2]]], "repeat": {"times": 3, "feed": {"0": 1}}}, True),
         ({"kwargs": {"a": [[0.5]], "b": [[2]]}, "options": {"results": "b64"},
           "repeat": {"times": 2, "emit": [0], "until": {"result": 0, "equals": 1}}}, True),
         ({"kwargs": {"a": [[0.5]], "b": [[2]]}, "repeat": {"times": 2, "emit": []}}, True),
         ({"args": [[[0.5]], [[2]]]}, False), ([[[0.5]], [[2]]], False),
         ({"args": [[[0.5]], [[2]]], "repeat": {}}, False),
         ({"args": [[[0.5]], [[2]]], "repeat": {"times": 0}}, False),
         ({"args": [[[0.5]], [[2]]], "repeat": {"times": 10_000_001}}, False),
         ({"args": [[[0.5]], [[2]]], "repeat": {"times": 1, "feed": {"00": 0}}}, False),
         ({"args": [[[0.5]], [[2]]], "repeat": {"times": 1, "until": {"result": 0}}}, False),
         ({"args": [[[0.5]], [[2]]], "repeat": {"times": 1, "more": 1}}, False)]


@pytest.mark.parametrize("body, good", STEPS)
@pytest.mark.parametrize("query", ["", "&timing=1"])
def test_steps_are_what_the_schemas_say(asked, document, body, good, query):
    path = "/api/v1/functions/matmul/matmul?iterate"
    operation = document["paths"][path]["post"]
    (media, content), = operation["requestBody"]["content"].items()
    assert validator(document, content["schema"]["$ref"]).is_valid(body) == good
    answers = operation["responses"]["200"]["content"]
    assert list(answers) == ["application/x-ndjson", "text/event-stream"]
    for kind, answer in answers.items():
        reply = asked.request("POST", path + query, json.dumps(body),
                              {"Content-Type": media, "Accept": kind})
        assert (reply.status == 200) == good and str(reply.status) in operation["responses"]
        if not good:
            continue
        assert reply.headers["Content-Type"] == kind
        assert answer["schema"] == {"type": "string"}  # of lines, or events
        schema = validator(document, "#/components/schemas/Step")
        lines = [each.removeprefix("data: ") for each in reply.body.decode().splitlines() if each]
        assert len(lines) > 1 and not schema.is_valid({"step": 1})
        for line in lines:
            schema.validate(json.loads(line))


def test_event_source(asked, document):
    path = "/api/v1/functions/matmul/matmul?iterate"
    operation = document["paths"][path]["get"]
    text = urllib.parse.quote(json.dumps({"args": [[[0.5]], [[2]]], "repeat": {"times": 2}}))
    for last, status in (("", "200"), ("end", "204")):
        reply = asked.request("GET", f"{path}&input={text}", headers={
            "Accept": "text/event-stream", "Sec-Fetch-Site": "same-origin", "Last-Event-ID": last})
        assert str(reply.status) == status
        content = operation["responses"][status].get("content", {})
        assert list(content) == ([reply.headers["Content-Type"]] if content else [])
    assert content == {}


FORMS = [("places", [[[0.5]], [[2]]], True),
         ("placed", {"args": [[[0.5]], [[2]]]}, True),
         ("named", {"kwargs": {"a": [[0.5]], "b": [[2]]},
                    "options": {"results": "typed"}}, True),
         ("too few", [[[0.5]]], False),
         ("a name too few", {"kwargs": {"a": [[0.5]]}}, False),
         ("another name", {"kwargs": {"a": [[1]], "b": [[2]], "c": 1}}, False),
         ("another member", {"args": [[[0.5]], [[2]]], "more": 1}, False),
         ("text", [[["x"]], [[2]]], False)]


@pytest.mark.parametrize("name, body, good", FORMS, ids=[each[0] for each in FORMS])
def test_a_call_is_accepted_as_its_schema_says(asked, document, name, body, good):
    schema = validator(document, "#/components/schemas/matmul.matmul.call")
    assert schema.is_valid(body) == good
    assert (asked.call("matmul/matmul", body).status == 200) == good


def test_errors_are_problems(asked, document):
    schema = validator(document, "#/components/schemas/Problem")
    responses = document["paths"]["/api/v1/functions/matmul/matmul"]["post"]["responses"]
    for body, status in ("[", 400), ("[1]", 422):
        reply = asked.call("matmul/matmul", body)
        assert reply.status == status
        assert str(status) in responses
        schema.validate(reply.json)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """More modules than a turn of the loop can write, and odd names."""
    folder = tmp_path_factory.mktemp("many")
    for name in [f"m{i}" for i in range(200)] + ["a.b", "a-b", "a_b"]:
        shutil.copy(EXAMPLES / "matmul.vmfb", folder / f"{name}.vmfb")
    for name in "large/3", "m0/2":  # paths with an @; m0.vmfb is version 1
        (folder / name).mkdir(parents=True)
        shutil.copy(EXAMPLES / "matmul.vmfb", folder / name / "model.vmfb")
    counts = [900, 1200, 1]  # arguments
    functions = [Code().give(0).function(f"0{'i' * count}_i", count + 2) for count in counts]
    (folder / "wide.vmfb").write_bytes(module(
        functions, [("wide", 0), ("wider", 1), ("wide.signature", 2)]))
    server = Server("--workers=2", "--admin=loopback", folder)
    yield server
    assert server.stop() == 0


def test_a_long_document_is_whole(many):
    reply = many.get("/openapi.json")
    assert len(reply.body) > 4 * PART
    document = reply.json
    paths = document["paths"]
    assert len(functions_of(document)) == 2 * (203 + 2 + 2)  # all but the wider one, each with ?iterate, too
    assert "/api/v1/functions/large@3/matmul" in paths
    # The name m0 leads to version 2, so version 1 has a path of its own.
    assert "/api/v1/functions/m0@1/matmul" in paths
    assert "/api/v1/functions/m0@2/matmul" in paths
    assert paths["/api/v1/functions/wide/wide"]["post"]["summary"] == "wide"
    ids = operation_ids(paths)
    assert len(ids) == len(set(ids))
    for reference in set(references(document)):
        at(document, reference)
    for name in document["components"]["schemas"]:
        assert all(c.isalnum() or c in "._-" for c in name), name
    head = many.request("HEAD", "/openapi.json")
    assert head.headers["Transfer-Encoding"] == "chunked" and not head.body


LONG = ["/openapi.json", "/api/v1/modules?signatures=1", "/api/v1/functions?signatures=1"]


def patient(server, path):
    """Repeats the request until there is room: documents of clients that have left are
    still being written."""
    while True:
        reply = server.get(path)
        if reply.status != 503:
            assert reply.status == 200
            return reply
        assert reply.json["code"] == "overloaded" and "Retry-After" in reply.headers


@pytest.mark.parametrize("path", LONG)
@pytest.mark.parametrize("orderly", [True, False], ids=["orderly", "reset"])
def test_clients_may_leave_while_it_is_written(many, path, orderly):
    expected = patient(many, path).body
    assert len(expected) > PART
    for _ in range(50):
        with socket.create_connection((many.host, many.port)) as gone:
            gone.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            if not orderly:
                gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert patient(many, path).body == expected
    # Clients that have left are only noticed in later turns.
    for _ in range(1000):
        flight = many.get("/api/v1").json["in_flight"]
        if flight["connections"] == 1:
            break
    assert flight["bytes"] < PART, flight


def test_many_may_ask_at_once(many):
    """Beyond a limit, clients are told to come again."""
    def ask(i):
        return many.get(LONG[i % len(LONG)])
    with ThreadPoolExecutor(64) as pool:
        answers = list(pool.map(ask, range(128)))
    expected = [patient(many, path).body for path in LONG]
    for i, answer in enumerate(answers):
        if answer.status == 503:
            assert answer.json["code"] == "overloaded" and "Retry-After" in answer.headers
        else:
            assert answer.body == expected[i % len(LONG)]


def test_modules_may_change_while_it_is_written(many):
    ended = threading.Event()
    acts = []

    def change():
        for i in range(10000):
            if ended.is_set():
                return
            act = ("reload", "unload", "load")[i % 3]
            acts.append(many.request("POST", f"/api/v1/modules/m{i // 3 % 200}/{act}").status)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for i in itertools.count():
            if i >= 24 and len(acts) > 3:
                break
            document = patient(many, LONG[i % len(LONG)]).json
            if "paths" in document:
                assert len(document["paths"]) >= 200
                for reference in set(references(document)):
                    at(document, reference)
            else:
                (listed,) = document.values()
                assert len(listed) >= 200
    finally:
        ended.set()
        thread.join()
    assert set(acts) == {200}


def test_no_path_is_written_twice(many):
    def unique(pairs):
        assert len(dict(pairs)) == len(pairs), "a name stands there twice"
        return dict(pairs)
    json.loads(patient(many, "/openapi.json").body, object_pairs_hook=unique)


def chunks(answer):
    """Reads the whole body of a chunked answer."""
    head, rest = answer.split(b"\r\n\r\n", 1)
    assert b"\r\nTransfer-Encoding: chunked" in head
    body = b""
    while True:
        line, rest = rest.split(b"\r\n", 1)
        size = int(line, 16)
        body += rest[:size]
        assert rest[size:size + 2] == b"\r\n"
        rest = rest[size + 2:]
        if not size:
            assert rest == b""
            return body


@pytest.mark.parametrize("path", LONG)
def test_what_is_sent_behind_the_request_is_answered_next(many, path):
    """A pipelined call, and a body that the request should not have, wait for the
    document."""
    lines = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
    call = ("POST /api/v1/functions/m1/matmul HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Length: 15\r\nConnection: close\r\n\r\n[[[2.0]],[[3]]]")
    with socket.create_connection((many.host, many.port)) as both:
        both.sendall((lines + "\r\n" + call).encode())
        answer = b"".join(iter(lambda: both.recv(1 << 16), b""))
    assert answer.endswith(b'{"results":[[[6.0]]]}')
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    with socket.create_connection((many.host, many.port)) as body:
        body.sendall((lines + "Content-Length: 5\r\n\r\nhello").encode())
        answer = b"".join(iter(lambda: body.recv(1 << 16), b""))
    assert chunks(answer) == many.get(path).body
    assert b"\r\nConnection: close\r\n" in answer


def test_sessions_are_in_it_as_they_are_answered(asked, document):
    """The document has each operation of a session, with its path and method, and no
    others. The oracle is the table of routes."""
    rows = re.findall(r'^FC_STATE_ROUTE\(\w+, "([^"]+)", ([^,]+),',
                      (ROOT / "server/dialect/route.def").read_text(), re.M)
    wanted = {(path, method.lower()) for path, methods in rows
              for method in re.findall(r"FC_ROUTE_(\w+)", methods)}
    paths = {path: each for path, each in document["paths"].items() if "/sessions" in path}
    assert {(path, method) for path, each in paths.items()
            for method in each if method != "parameters"} == wanted
    queries = re.findall(r'^FC_PARAMETER\(SESSIONS, FC_ROUTE_CALL, "(\w+)"',
                         (ROOT / "server/dialect/parameter.def").read_text(), re.M)
    made = paths["/api/v1/modules/{module}/sessions"]["post"]
    assert [(each["name"], each["in"]) for each in made["parameters"]] == [
        (name, "query") for name in queries]
    assert {*queries} | {"values"} == {*document["components"]["schemas"]["NewSession"]["properties"]}
    names = {"module": "matmul"}
    order = [("sessions", "post"), ("sessions", "get"), ("{value}", "put"), ("{value}", "get"),
             ("{session}", "get"), ("export", "get"), ("fork", "post"), ("{value}", "delete"),
             ("reset", "post"), ("{session}", "delete")]
    order = [(path, method) for end, method in order for path in paths
             if path.endswith("/" + end)]
    assert set(order) == wanted
    for path, method in order:
        operation = paths[path][method]
        assert [each["name"] for each in paths[path]["parameters"]] == re.findall(
            r"{(\w+)}", path)
        body = None
        if method == "put":
            body = json.dumps({"dtype": "f32", "shape": [1], "data": [1]})
        reply = asked.request(method.upper(), path.format(**names, value="v"), body,
                              {"Content-Type": "application/json"} if body else {})
        assert str(reply.status) in operation["responses"], (path, method, reply.body)
        content = operation["responses"][str(reply.status)]["content"]
        assert reply.headers["Content-Type"] in content, (path, method)
        schema = content[reply.headers["Content-Type"]]["schema"]
        if "json" in reply.headers["Content-Type"]:
            assert jsonschema.Draft202012Validator(
                {**schema, "components": document["components"]}).is_valid(reply.json), (path, reply.body)
        names["session"] = names.get("session") or reply.headers["Farcall-Session"]
