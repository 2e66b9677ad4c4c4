# SPDX-License-Identifier: Apache-2.0
"""GET /openapi.json: it describes what the server does. Its schemas are judged by the
jsonschema package; tests/openapi asks the tools that are made for such documents."""
import json
import shutil
import socket

import jsonschema
import pytest

from conftest import ROOT, Server

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
    """Judges by one schema, whose references lead into the document."""
    return jsonschema.Draft202012Validator(
        {"$ref": reference, "components": document["components"]})


def test_it_lists_every_function_that_can_be_called(asked, document):
    listed = asked.get("/api/v1/functions").json["functions"]
    wanted = {f"/api/v1/functions/{each['module']}/{each['name']}"
              for each in listed if each["callable"]}
    assert set(document["paths"]) == wanted
    assert document["openapi"] == "3.1.0"
    ids = [operation["operationId"] for path in document["paths"].values()
           for operation in path.values()]
    assert len(ids) == len(set(ids))


def test_its_references_lead_somewhere_and_its_schemas_are_schemas(document):
    found = set(references(document))
    assert len(found) > 20
    for reference in found:
        at(document, reference)
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_its_examples_and_their_answers_are_what_the_schemas_say(asked, document):
    for path, operations in document["paths"].items():
        content = operations["post"]["requestBody"]["content"]["application/json"]
        value = content["examples"]["zeros"]["value"]
        validator(document, content["schema"]["$ref"]).validate(value)
        reply = asked.request("POST", path, json.dumps(value),
                              {"Content-Type": "application/json"})
        answers = operations["post"]["responses"]
        answer = answers[str(reply.status)]
        if "$ref" in answer:
            answer = at(document, answer["$ref"])
        schema = next(iter(answer["content"].values()))["schema"]
        validator(document, schema["$ref"]).validate(reply.json)
        assert reply.status == 200 or reply.json["code"] == "call_failed", path


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
    """More modules than a turn of the loop writes about, and odd names."""
    folder = tmp_path_factory.mktemp("many")
    for name in [f"m{i}" for i in range(200)] + ["a.b", "a-b", "a_b"]:
        shutil.copy(EXAMPLES / "matmul.vmfb", folder / f"{name}.vmfb")
    large = folder / "large" / "3"  # its path has an @
    large.mkdir(parents=True)
    shutil.copy(EXAMPLES / "matmul.vmfb", large / "model.vmfb")
    server = Server("--workers=2", folder)
    yield server
    assert server.stop() == 0


def test_a_long_document_is_whole(many):
    reply = many.get("/openapi.json")
    assert len(reply.body) > 4 * PART
    document = reply.json
    assert len(document["paths"]) == 204
    assert "/api/v1/functions/large@3/matmul" in document["paths"]
    for reference in set(references(document)):
        at(document, reference)
    for name in document["components"]["schemas"]:
        assert all(c.isalnum() or c in "._-" for c in name), name
    assert int(many.request("HEAD", "/openapi.json").headers["Content-Length"]) == len(
        reply.body)


LONG = ["/openapi.json", "/api/v1/modules?signatures=1", "/api/v1/functions?signatures=1"]


@pytest.mark.parametrize("path", LONG)
def test_clients_may_leave_while_it_is_written(many, path):
    expected = many.get(path).body
    for _ in range(50):
        with socket.create_connection((many.host, many.port)) as gone:
            gone.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert many.get(path).body == expected


@pytest.mark.parametrize("path", LONG)
def test_what_is_sent_behind_the_request_is_answered_next(many, path):
    """A pipelined call, and a body that nobody asked for, wait for the document."""
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
    assert answer.endswith(many.get(path).body)
    assert b"\r\nConnection: close\r\n" in answer
