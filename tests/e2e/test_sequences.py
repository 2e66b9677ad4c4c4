# SPDX-License-Identifier: Apache-2.0
"""Sequences of the Open Inference Protocol: calls with one id share a state, which is
that of a session; and values of sessions as inputs."""
import contextlib
import gzip
import hashlib
import itertools
import json
import shutil
import signal
import socket
import struct

import numpy
import pytest

from conftest import BIN, ROOT
from fleet import until
from test_sessions import make, sessions

SEQUENCE = BIN.parent / "tests/modules/native/sequence.so"


def document(value, *, parameters=None, **members):
    return json.dumps({
        "inputs": [{"name": "INPUT", "datatype": "INT32", "shape": [1], "data": [value]}],
        **({} if parameters is None else {"parameters": parameters}), **members})


def infer(server, value, *, model="sequence.add", headers=(), **parameters):
    return server.request("POST", f"/v2/models/{model}/infer", document(
        value, parameters={f"sequence_{name}": each for name, each in parameters.items()}),
        dict(headers))


def output(reply):
    assert reply.status == 200, reply.body
    return reply.json["outputs"][0]["data"][0]


def expect(reply, status, code, words=""):
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    assert words in reply.json["error"] == reply.json["detail"], reply.body
    return reply


def count(server):
    line = server.get("/metrics").body.split(b"\nfarcall_sessions ")[1]
    return int(line.split()[0])


def test_each_sequence_has_its_own_sum(serve):
    server = serve(SEQUENCE)
    ids = [1, 2**64 - 1, "1", "a\n\"\u00e4", "x" * 128]
    for each in ids:
        assert output(infer(server, 5, id=each, start=True)) == 5
    for step, (number, each) in itertools.product(range(1, 4), enumerate(ids)):
        reply = infer(server, number, id=each)
        assert output(reply) == 5 + step * number
        # The sequence has the id of a session, which the native API knows.
        session = reply.headers["Farcall-Session"]
        said = server.get(sessions("sequence", session)).json
        assert (said["step"], list(said["values"])) == (step + 1, ["sum"])
    # Another function of the module has the same state.
    assert output(infer(server, 50, model="sequence.divide", id=2**64 - 1)) == 10
    assert count(server) == len(ids)
    for number, each in enumerate(ids):
        infer(server, 0, id=each, end=True)
        assert count(server) == len(ids) - 1 - number
        expect(infer(server, 1, id=each), 404, "session_not_found", "the START flag")
    # A call without a sequence starts from zeros.
    for parameters in {}, {"id": 0}, {"id": "", "start": False}, {"id": None, "end": None}:
        for _ in range(2):
            assert output(infer(server, 7, **parameters)) == 7
    for zero in "-0", "0.0", "0e5":
        reply = server.request(
            "POST", "/v2/models/sequence.add/infer",
            document(7, parameters={"sequence_id": 0}).replace('"sequence_id": 0',
                                                               f'"sequence_id": {zero}'))
        assert output(reply) == 7
    assert count(server) == 0 and server.stop() == 0


def test_one_that_begins_again_is_another(serve):
    server = serve(SEQUENCE)
    for value in 3, 4:
        assert output(infer(server, value, id=9, start=True)) == value
        assert output(infer(server, 1, id=9, start=False)) == value + 1
    assert count(server) == 1
    # One call may be a whole sequence.
    assert output(infer(server, 8, id=9, start=True, end=True)) == 8
    assert count(server) == 0


def test_a_call_that_is_refused_is_no_part_of_it(serve):
    server = serve(SEQUENCE)
    expect(infer(server, "x", id=9, start=True), 400, "type_mismatch")
    assert count(server) == 0
    expect(infer(server, 1, id=9), 404, "session_not_found")
    assert output(infer(server, 5, id=9, start=True)) == 5
    expect(infer(server, "x", id=9, end=True), 400, "type_mismatch")
    assert output(infer(server, 5, id=9, end=True)) == 10
    assert count(server) == 0


def test_a_start_that_is_refused_leaves_the_one_that_was(serve):
    server = serve(SEQUENCE)
    assert output(infer(server, 5, id=9, start=True)) == 5
    session = infer(server, 1, id=9).headers["Farcall-Session"]
    for _ in range(2):
        expect(infer(server, "x", id=9, start=True), 400, "type_mismatch")
        assert count(server) == 1
    reply = infer(server, 1, id=9)
    assert (output(reply), reply.headers["Farcall-Session"]) == (7, session)
    reply = infer(server, 2, id=9, start=True)
    assert (output(reply), reply.headers["Farcall-Session"]) == (2, session)
    assert count(server) == 1 and output(infer(server, 1, id=9, end=True)) == 3
    assert count(server) == 0 and server.stop() == 0


def test_there_is_room_to_begin_again(serve):
    """A sequence may begin again even if the client has the largest number of sessions."""
    server = serve("--sessions=8", SEQUENCE)
    for value in 5, 6:
        assert output(infer(server, value, id=9, start=True)) == value
        assert output(infer(server, 1, id=9)) == value + 1
    expect(infer(server, 1, id=8, start=True), 429, "too_many_requests")
    assert output(infer(server, 1, id=9, end=True)) == 8
    assert output(infer(server, 1, id=8, start=True)) == 1
    assert server.stop() == 0


@contextlib.contextmanager
def call_without_body(server, session):
    """A call of the session, which has not sent its body yet."""
    with socket.create_connection((server.host, server.port), 60) as late:
        late.sendall(b"POST /v2/models/sequence.add/infer HTTP/1.1\r\nHost: localhost\r\n"
                     b"Farcall-Session: %s\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
                     % session.encode())
        assert late.recv(4096).startswith(b"HTTP/1.1 100 ")
        yield


def test_one_that_was_replaced_is_not_listed(serve):
    """It ends after its calls."""
    server = serve(SEQUENCE)
    session = infer(server, 5, id=9, start=True).headers["Farcall-Session"]
    with call_without_body(server, session):
        assert output(infer(server, 2, id=9, start=True)) == 2
        assert count(server) == 2
        listed = server.get(sessions("sequence")).json
        digest = hashlib.sha256(bytes.fromhex(session)).hexdigest()[:12]
        assert [each["digest"] for each in listed["sessions"]] == [digest]
        assert listed["count"] == 1
    until(lambda: count(server) == 1)
    assert output(infer(server, 1, id=9, end=True)) == 3
    assert count(server) == 0 and server.stop() == 0


def test_one_that_has_calls_makes_no_room(serve):
    """It would be there until these are answered, so nothing is won by ending it."""
    server = serve("--sessions=8", SEQUENCE)
    session = infer(server, 5, id=9, start=True).headers["Farcall-Session"]
    with call_without_body(server, session):
        expect(infer(server, 7, id=9, start=True), 429, "too_many_requests")
        assert output(infer(server, 1, id=9)) == 6
    until(lambda: infer(server, 7, id=9, start=True).status == 200)
    assert output(infer(server, 1, id=9, end=True)) == 8
    assert count(server) == 0 and server.stop() == 0


def test_the_head_may_name_its_session(serve):
    """A balancer needs that: it does not read bodies."""
    server = serve(SEQUENCE)
    head = {"Farcall-Session": infer(server, 5, id=9, start=True).headers["Farcall-Session"]}
    assert output(infer(server, 1, id=9, headers=head)) == 6
    for parameters in {"id": 8}, {"id": "9"}, {"id": 8, "start": True}:
        expect(infer(server, 1, headers=head, **parameters), 400, "http_syntax",
               "that is another one")
    assert output(infer(server, 2, id=9, start=True, headers=head)) == 2
    assert output(infer(server, 2, id=9, end=True, headers=head)) == 4
    assert count(server) == 0
    expect(infer(server, 2, id=9, headers=head), 404, "session_not_found")
    assert server.stop() == 0


def test_a_crash_loses_the_sequence(process_server):
    server = process_server("--crash-limit=0", SEQUENCE)
    for each in 1, 2:
        assert output(infer(server, 5, id=each, start=True)) == 5
    reply = infer(server, 0, model="sequence.divide", id=1)
    expect(reply, 502, "worker_crashed", "SIGFPE")
    expect(infer(server, 1, id=1), 410, "session_lost", "'divide' at step 1")
    assert output(infer(server, 6, id=2)) == 11
    assert output(infer(server, 6, id=1, start=True)) == 6
    expect(infer(server, 0, model="sequence.divide", id=1), 502, "worker_crashed", "SIGFPE")
    # A lost sequence is ended by its END.
    assert count(server) == 2
    expect(infer(server, 1, id=1, end=True), 410, "session_lost")
    expect(infer(server, 1, id=1), 404, "session_not_found")
    assert count(server) == 1


WRONG = [
    ({"id": 1.5}, "type_mismatch", "not a whole number"), ({"id": -1}, "out_of_range", ""),
    ({"id": 2**64}, "out_of_range", ""), ({"id": True}, "type_mismatch", "a number or a text"),
    ({"id": ["a"]}, "type_mismatch", "a number or a text"),
    ({"id": "x" * 129}, "out_of_range", "at most 128 bytes"),
    ({"id": 1, "start": 1}, "type_mismatch", "true or false"),
    ({"id": 1, "end": "yes"}, "type_mismatch", "true or false"),
    ({"start": True}, "missing_key", "needs a 'sequence_id'"),
    ({"id": 0, "end": True}, "missing_key", "needs a 'sequence_id'"),
]


@pytest.mark.parametrize("parameters, code, words", WRONG)
def test_wrong_parameters(serve, parameters, code, words):
    server = serve(SEQUENCE)
    reply = expect(infer(server, 1, **parameters), 400, code, words)
    assert reply.json["pointer"].startswith("/parameters")
    assert count(server) == 0


def test_a_sequence_that_is_not_seen_is_refused(serve):
    server = serve(SEQUENCE)
    path, parameters = "/v2/models/sequence.add/infer", {"sequence_id": 1, "sequence_start": True}
    plain = document(1, parameters=parameters)
    for body, headers in [
            (gzip.compress(plain.encode()), {"Content-Encoding": "gzip"}),
            (plain.replace("sequence_id", "sequence\\u005fid").replace("sequence_start", "s"), {}),
            (document(1, parameters=parameters, padding=" " * (256 << 10)), {})]:
        expect(server.request("POST", path, body, headers), 400, "unknown_field",
               "comes uncompressed")
    assert output(server.request("POST", path, document(
        1, parameters=parameters, padding=" " * (250 << 10)))) == 1
    # The head names the session, so the document does not.
    session = make(server, "sequence")
    head = {"Farcall-Session": session}
    assert output(infer(server, 3, headers=head)) == 3
    assert output(infer(server, 3, headers=head)) == 6
    expect(infer(server, 3, headers=head, id=1), 400, "http_syntax", "names a session")
    packed = {**head, "Content-Encoding": "gzip"}
    expect(server.request("POST", path, gzip.compress(plain.encode()), packed), 400,
           "unknown_field", "comes uncompressed")
    assert output(infer(server, 3, headers=head)) == 9


def test_with_raw_bytes(serve):
    """As tritonclient sends it: the elements follow the document."""
    server = serve(SEQUENCE)
    for step in range(1, 4):
        head = json.dumps({"inputs": [{
            "name": "INPUT", "datatype": "INT32", "shape": [1],
            "parameters": {"binary_data_size": 4}}],
            "parameters": {"sequence_id": 5, "sequence_start": step == 1}}).encode()
        assert output(server.request(
            "POST", "/v2/models/sequence.add/infer", head + struct.pack("<i", 10),
            {"Inference-Header-Content-Length": str(len(head))})) == 10 * step


def test_an_id_is_one_clients_and_one_modules(serve, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(
        f"{name} call,read,metrics {hashlib.sha256(name.encode()).hexdigest()}\n"
        for name in ("anna", "bert")))
    tokens.chmod(0o600)
    other = tmp_path / "other.so"
    shutil.copy(SEQUENCE, other)
    shutil.copy(SEQUENCE.with_suffix(".farcall.json"), tmp_path / "other.farcall.json")
    server = serve(f"--token-file={tokens}", SEQUENCE, other)
    who = [{"Authorization": f"Bearer {name}"} for name in ("anna", "bert")]
    models = ["sequence.add", "other.add"]
    every = list(enumerate(itertools.product(who, models), 1))
    for number, (headers, model) in every:
        expect(infer(server, 1, model=model, headers=headers, id=1), 404, "session_not_found")
        assert output(infer(server, number, model=model, headers=headers, id=1,
                            start=True)) == number
    found = set()
    for number, (headers, model) in every:
        reply = infer(server, number, model=model, headers=headers, id=1)
        assert output(reply) == 2 * number
        found.add(reply.headers["Farcall-Session"])
    assert len(found) == len(every)


def row_of(server, row, start):
    head = json.dumps({"inputs": [{
        "name": "INPUT", "datatype": "FP32", "shape": [row.size],
        "parameters": {"binary_data_size": row.nbytes}}],
        "parameters": {"sequence_id": "row", "sequence_start": start}}).encode()
    return output(server.request(
        "POST", "/v2/models/sequence.row/infer", head + row.tobytes(),
        {"Inference-Header-Content-Length": str(len(head))}))


def test_a_sequence_outlives_a_reload(serve, tmp_path):
    """Also with a body so large that it is in a file for the workers of one generation."""
    module = tmp_path / "sequence.so"
    shutil.copy(SEQUENCE, module)
    shutil.copy(SEQUENCE.with_suffix(".farcall.json"), tmp_path / "sequence.farcall.json")
    server = serve("--session-drain=60000", module)
    assert output(infer(server, 5, id=1, start=True)) == 5
    row = numpy.zeros(1 << 20, "<f4")
    row[0] = 2
    assert row_of(server, row, start=True) == 2
    shutil.copy(SEQUENCE, tmp_path / "new")
    (tmp_path / "new").rename(module)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: b'farcall_module_generation{module="sequence"} 2' in
          server.get("/metrics").body)
    assert output(infer(server, 6, id=1)) == 11
    for times in 2, 3:
        assert row_of(server, row, start=False) == 2 * times
    assert output(infer(server, 7, id=2, start=True)) == 7
    assert server.stop() == 0


def test_one_begins_while_its_module_is_replaced(serve, tmp_path):
    """The head of its first call comes before the reload, its body after."""
    module = tmp_path / "sequence.so"
    shutil.copy(SEQUENCE, module)
    shutil.copy(SEQUENCE.with_suffix(".farcall.json"), tmp_path / "sequence.farcall.json")
    server = serve(module)
    connection = socket.create_connection((server.host, server.port), timeout=60)
    body = document(5, parameters={"sequence_id": 9, "sequence_start": True}).encode()
    connection.sendall(b"POST /v2/models/sequence.add/infer HTTP/1.1\r\nHost: localhost\r\n"
                       b"Connection: close\r\nExpect: 100-continue\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body))
    read = connection.makefile("rb")
    assert read.readline() == b"HTTP/1.1 100 Continue\r\n"
    shutil.copy(SEQUENCE, tmp_path / "new")
    (tmp_path / "new").rename(module)
    server.process.send_signal(signal.SIGHUP)
    until(lambda: b'farcall_module_generation{module="sequence"} 2' in
          server.get("/metrics").body)
    connection.sendall(body)
    reply = read.read()
    assert b"HTTP/1.1 200 OK" in reply and b"[5]" in reply, reply
    connection.close()
    assert output(infer(server, 6, id=9)) == 11
    assert server.stop() == 0


def test_what_the_server_says_of_sequences(serve):
    server = serve(SEQUENCE, BIN.parent / "tests/modules/native/simple.so")
    assert {"sequence", "sequence(string_id)"} <= set(server.get("/v2").json["extensions"])
    assert server.get("/v2/models/sequence.add/config").json["sequence_batching"] == {}
    assert "sequence_batching" not in server.get("/v2/models/simple/config").json


# ---------------------------------------------------------------------------
# Values of a session as inputs

@pytest.fixture
def roles(serve, tmp_path):
    """bump(x, cache) adds x to the cache, and returns x times the new cache."""
    return serve(shutil.copy(ROOT / "tests/corpus/iree/roles/roles.vmfb",
                             tmp_path / "roles.vmfb"))


def tensor(name, **members):
    return {"name": name, "shape": [4], "datatype": "FP32", **members}


def bump(server, session, *inputs):
    return server.request("POST", "/v2/models/roles.bump/infer", json.dumps(
        {"inputs": list(inputs)}), {"Farcall-Session": session} if session else {})


def test_a_value_of_the_session_is_an_input(roles):
    session = make(roles, "roles")
    names = [each["name"] for each in roles.get("/v2/models/roles.bump").json["inputs"]]
    x = tensor(names[0], data=[1, 2, 3, 4])
    path = sessions("roles", session, "values", "c")
    put = roles.request("PUT", path, json.dumps(
        {"dtype": "f32", "shape": [4], "data": [0] * 4}), {"Content-Type": "application/json"})
    assert put.status == 200, put.body
    stored = {"name": names[1], "parameters": {"ref": "c"}}
    for times in 1, 2, 3:
        reply = bump(roles, session, x, stored)
        assert reply.status == 200, reply.body
        assert reply.json["outputs"][0]["data"] == [times * each * each for each in (1, 2, 3, 4)]
    assert roles.get(path).json["results"][0]["data"] == [3, 6, 9, 12]
    # The members may come in any order, and may repeat what the value itself says.
    reply = bump(roles, session, x, {"parameters": {"ref": "c"}, **tensor(names[1])})
    assert reply.status == 200, reply.body
    expect(bump(roles, session, x, {"name": names[1], "parameters": {"ref": "d"}}),
           400, "reference_unknown", "there is no value 'd' among the 1")
    expect(bump(roles, session, stored | {"name": names[0]}, stored),
           400, "duplicate_argument", "given twice")
    expect(bump(roles, None, x, stored), 400, "reference_unknown", "belongs to no session")
    expect(bump(roles, session, x, {**stored, **tensor(names[1], data=[1] * 4)}),
           400, "binary_framing", "both data and 'ref'")
    expect(bump(roles, session, x, {"name": names[1], "parameters": {"ref": 1}}),
           400, "type_mismatch", "the name of a value")
    roles.request("PUT", path, json.dumps({"dtype": "f32", "shape": [2], "data": [0] * 2}),
                  {"Content-Type": "application/json"})
    expect(bump(roles, session, x, stored), 400, "type_mismatch", "value 'c' is a tensor f32[2]")


def test_columns_of_tensorflow_serving_name_values(roles):
    session = make(roles, "roles")
    for name, shape in ("c", [4]), ("row", []):
        put = roles.request("PUT", sessions("roles", session, "values", name), json.dumps(
            {"dtype": "f32", "shape": shape, "data": [0] * 4 if shape else 0}),
            {"Content-Type": "application/json"})
        assert put.status == 200, put.body

    def predict(document, headers):
        return roles.request("POST", "/v1/models/roles.bump:predict", json.dumps(document),
                             headers)
    stored, head = {"inputs": {"0": [2] * 4, "1": {"ref": "c"}}}, {"Farcall-Session": session}
    for times in 1, 2:
        reply = predict(stored, head)
        assert reply.status == 200, reply.body
        assert reply.json["outputs"]["0"] == [4 * times] * 4
    expect(predict(stored, {}), 400, "reference_unknown", "belongs to no session")
    for name in "c", "row":
        expect(predict({"instances": [{"0": 1, "1": {"ref": name}}] * 4}, head),
               400, "type_mismatch", "input '1'")
