# SPDX-License-Identifier: Apache-2.0
"""Values of sessions over HTTP: read and put as calls in the session's order, copied,
exported and imported."""
import concurrent.futures
import json
import shutil
import socket
import struct

import pytest

from conftest import ROOT
from test_conditions import until
from test_sessions import SCALARS, call, expect, make, sessions, show

FILES = ("x-npy", "x-npz", "x-safetensors")
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def roles(tmp_path):
    path = tmp_path / "roles.vmfb"
    shutil.copy(ROOT / "tests/corpus/iree/roles/roles.vmfb", path)
    return path


def value(session, name, module="scalars"):
    return sessions(module, session, "values", name)


def tensor(data, dtype="f32", shape=None):
    return {"dtype": dtype, "shape": shape or [len(data)], "data": data}


def put(server, path, what, **fields):
    body = what if isinstance(what, bytes) else json.dumps(what)
    return server.request("PUT", path, body, {
        **({} if isinstance(what, bytes) else JSON),
        **{name.replace("_", "-"): each for name, each in fields.items()}})


def read(server, path):
    reply = server.get(path)
    assert reply.status == 200, reply.body
    return reply.json["results"][0]


def safetensors(**values):
    """A safetensors file of rows of f32, written by hand."""
    head, data = {}, b""
    for name, row in values.items():
        end = len(data) + 4 * len(row)
        head[name] = {"dtype": "F32", "shape": [len(row)], "data_offsets": [len(data), end]}
        data += struct.pack(f"<{len(row)}f", *row)
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data


def test_a_value_is_put_and_read(serve):
    server = serve(SCALARS)
    session = make(server)
    path = value(session, "m")
    matrix = tensor([[1, 2], [3, 4], [5, 6]], "i16", [3, 2])
    reply = put(server, path, matrix)
    assert reply.status == 200 and reply.json["results"] == [{
        "ref": "m", "type": {"kind": "tensor", "dtype": "i16", "shape": [3, 2]}}]
    assert reply.headers["Farcall-Session"] == session
    assert read(server, path) == matrix
    assert read(server, path + "?slice=1") == tensor([[3, 4]], "i16", [1, 2])
    assert read(server, path + "?slice=%3A2%2C1") == tensor([[2], [4]], "i16", [2, 1])
    assert server.request("HEAD", path).status == 200
    # Putting a value is no step: no function was called.
    said = show(server, session).json
    assert said["step"] == 0 and said["values"]["m"]["bytes"] == 12
    # A value of another type, bytes or a scalar may replace the first one.
    for other in (tensor([0.5, 1.5]), {"b64": "YWJj"}):
        assert put(server, path, {"bytes": "abc"} if "b64" in other else other).status == 200
        assert read(server, path) == other
    assert put(server, path, {"dtype": "f64", "data": 2.5}).status == 200
    assert read(server, path) == 2.5
    assert server.stop() == 0


@pytest.mark.parametrize("form", FILES)
def test_a_value_comes_and_goes_as_a_file(serve, form):
    server = serve(SCALARS)
    session = make(server)
    big = [float(i % 251) for i in range(100_000)]
    assert put(server, value(session, "a"), tensor(big)).status == 200
    reply = server.request("GET", value(session, "a"), None, {"Accept": "application/" + form})
    assert reply.status == 200 and reply.headers["Content-Type"] == "application/" + form
    assert struct.pack(f"<{len(big)}f", *big) in reply.body
    # In safetensors the tensor has the value's name.
    other = make(server)
    said = {"Content-Type": "application/" + form} if form != "x-npz" else {}
    again = server.request("PUT", value(other, "a"), reply.body, said)
    assert again.status == 200, again.body
    assert read(server, value(other, "a")) == tensor(big)
    assert server.stop() == 0


def test_a_value_is_copied_by_its_name(serve, roles):
    server = serve(roles)
    session = make(server, "roles")
    names = {name: value(session, name, "roles") for name in "ab"}
    assert put(server, names["a"], tensor([1, 2, 3, 4])).status == 200
    assert put(server, names["b"], {"ref": "a"}).status == 200
    bump = json.dumps([[1] * 4, {"ref": "b"}])
    assert call(server, session, "roles/bump", bump).status == 200
    assert read(server, names["a"])["data"] == [1, 2, 3, 4]
    assert read(server, names["b"])["data"] == [2, 3, 4, 5]
    expect(put(server, names["b"], {"ref": "c"}), 422, "reference_unknown")


def test_wrong_values_change_nothing(serve):
    server = serve("--session-memory=64K", "--max-body=1M", SCALARS)
    session = make(server)
    path = value(session, "a")
    assert put(server, path, tensor([1]), If_None_Match="*").status == 200
    for what, status, code in [
            ([1, 2], 422, "untyped_value"), (None, 422, "type_mismatch"),
            (b"{", 400, "json_syntax"), (b"", 400, "json_syntax"),
            (b"\x93NUMPY", 400, "binary_framing"),
            (tensor([1, 2], shape=[3]), 422, "data_length"),
            (tensor([0] * 4096), 429, "too_many_requests"),
            (b" " * (1 << 20) + b" ", 413, "body_too_large")]:
        expect(put(server, path, what), status, code)
        assert read(server, path) == tensor([1])
    expect(put(server, path, tensor([2]), If_None_Match="*"), 412, "precondition_failed")
    expect(put(server, path, tensor([2]), Content_Encoding="br"), 415,
           "unsupported_media_type")
    expect(put(server, path, tensor([2]), Farcall_Session_Step="1"), 409, "session_busy")
    for name in ("a%2Fb", ".a", "x" * 64):
        expect(put(server, value(session, name), tensor([1])), 400, "json_schema")
        expect(server.get(value(session, name)), 400, "json_schema")
    expect(server.get(value(session, "b")), 422, "reference_unknown")
    for query in ("slice=1:9", "slice=x", "slice=" + "1" * 200, "slice=%zz", "cut=1",
                  "slice=0&slice=0"):
        expect(server.get(path + "?" + query), 400, "unknown_field")
    expect(server.request("GET", path, "x"), 400, "http_syntax")
    for method in ("PUT", "DELETE"):
        expect(server.request(method, path + "?slice=0", json.dumps(tensor([2]))),
               400, "unknown_field")
    expect(server.request("POST", path, "{}"), 405, "method_not_allowed")
    expect(put(server, value("0" * 32, "a"), tensor([1])), 404, "session_not_found")
    assert list(show(server, session).json["values"]) == ["a"]
    assert server.stop() == 0


def test_a_session_is_made_with_values(serve, roles):
    server = serve(roles)
    reply = server.request("POST", sessions("roles"), json.dumps({
        "ttl_ms": 60000, "values": {"kv": tensor([1, 2, 3, 4]), "copy": {"ref": "kv"}}}))
    assert reply.status == 201, reply.body
    session = reply.json["session"]
    assert reply.headers["Farcall-Session"] == session
    assert (reply.json["ttl_ms"], reply.json["step"]) == (60000, 0)
    assert set(reply.json["values"]) == {"kv", "copy"}
    reply = call(server, session, "roles/bump", json.dumps([[1] * 4, {"ref": "kv"}]))
    assert reply.status == 200 and reply.headers["Farcall-Session"] == session
    assert read(server, value(session, "kv", "roles"))["data"] == [2, 3, 4, 5]
    assert read(server, value(session, "copy", "roles"))["data"] == [1, 2, 3, 4]
    # Every answer that makes a session has its id in the head.
    for path in (sessions("roles"), sessions("roles", session, "fork")):
        reply = server.request("POST", path)
        assert reply.headers["Farcall-Session"] == reply.json["session"] != session
    for body, status, code in [
            ({"values": {"a": [1]}}, 422, "untyped_value"),
            ({"values": {"a/b": tensor([1])}}, 400, "json_schema"),
            ({"values": []}, 400, "json_schema"),
            ({"values": {"a": {"ref": "b"}}}, 422, "reference_unknown"),
            ({"max_bytes": 4096, "values": {n: tensor([1]) for n in "ab"}}, 429,
             "too_many_requests"),
            ({"values": {"a": tensor([0] * 40000)}}, 413, "body_too_large")]:
        reply = expect(server.request("POST", sessions("roles"), json.dumps(body)),
                       status, code)
    # None of these requests left a session.
    assert b"\nfarcall_sessions 3\n" in server.get("/metrics").body
    assert server.stop() == 0


def test_what_is_exported_is_imported(serve, roles):
    server = serve(roles)
    first = make(server, "roles")
    for name, row in {"a": [1, 2, 3, 4], "b": [5, 6]}.items():
        assert put(server, value(first, name, "roles"), tensor(row)).status == 200
    reply = server.get(sessions("roles", first, "export"))
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/x-safetensors"
    reply_of_export = reply.body
    said = {"Content-Type": "application/x-safetensors"}
    for file in (reply.body, safetensors(b=[5, 6], a=[1, 2, 3, 4])):
        made = server.request("POST", sessions("roles"), file, said)
        assert made.status == 201, made.body
        other = made.json["session"]
        for name, row in {"a": [1, 2, 3, 4], "b": [5, 6]}.items():
            assert read(server, value(other, name, "roles")) == tensor(row)
    reply = call(server, other, "roles/bump", json.dumps([[1] * 4, {"ref": "a"}]))
    assert reply.status == 200
    assert read(server, value(first, "a", "roles"))["data"] == [1, 2, 3, 4]
    # The query has the members that the document has in other requests.
    asked = sessions("roles") + "?ttl_ms=1234&max_bytes=8192&checkpoint=true"
    for file in (reply_of_export, None):
        made = server.request("POST", asked, file, said if file else {})
        assert made.status == 201, made.body
        assert [made.json[name] for name in ("ttl_ms", "max_bytes", "checkpoint")] == [
            1234, 8192, True]
    for query, status, code in [("ttl_ms=x", 422, "out_of_range"),
                                ("ttl_ms=060000", 422, "out_of_range"),
                                ("ttl_ms=0", 422, "out_of_range"),
                                ("max_bytes=" + "9" * 21, 422, "out_of_range"),
                                ("max_bytes=4096", 429, "too_many_requests"),
                                ("checkpoint=1", 400, "unknown_field"),
                                ("ttl=1", 400, "unknown_field")]:
        expect(server.request("POST", f"{sessions('roles')}?{query}", reply_of_export, said),
               status, code)
    expect(server.request("POST", asked, "{}"), 400, "unknown_field")
    # An empty session, and files that are invalid
    empty = server.get(sessions("roles", make(server, "roles"), "export")).body
    assert server.request("POST", sessions("roles"), empty, said).json["values"] == {}
    expect(server.request("POST", sessions("roles"), b"abc", said), 400, "binary_framing")
    twice = safetensors(a=[1]).replace(b'"a"', b'"/"')
    expect(server.request("POST", sessions("roles"), twice, said), 400, "binary_framing")
    expect(server.request("GET", sessions("roles", first, "export"), None,
                          {"Accept": "application/json"}), 406, "not_acceptable")
    expect(server.get(sessions("roles", "0" * 32, "export")), 404, "session_not_found")
    assert server.stop() == 0


def test_a_checkpointed_session_has_a_limit(serve):
    """A replaced value is copied first, but that copy is no room for new values."""
    server = serve(SCALARS)
    session = make(server, body={"max_bytes": 8192, "checkpoint": True})
    for name in "a", "b":
        assert put(server, value(session, name), tensor([1])).status == 200
    for name in "c", "d":
        expect(put(server, value(session, name), tensor([1])), 429, "too_many_requests")
    expect(put(server, value(session, "a"), tensor([1.0] * 1025)), 429, "too_many_requests")
    assert put(server, value(session, "a"), tensor([2])).status == 200
    assert read(server, value(session, "a")) == tensor([2])
    said = show(server, session).json
    assert (said["bytes"], list(said["values"])) == (8192, ["a", "b"])
    assert server.stop() == 0


def test_values_are_in_the_order_of_calls(serve, roles):
    """Whatever reads and writes happen at the same time, the answers fit one single
    order."""
    server = serve("--workers=4", roles)
    session = make(server, "roles")
    path = value(session, "c", "roles")
    assert put(server, path, tensor([0] * 4)).status == 200
    bump = json.dumps([[1] * 4, {"ref": "c"}])

    def act(i):
        if i % 3 == 2:
            return read(server, path)["data"]
        assert call(server, session, "roles/bump", bump).status == 200
        return None
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        seen = [each for each in pool.map(act, range(150)) if each]
    assert all(len(set(each)) == 1 for each in seen)
    assert read(server, path)["data"] == [100] * 4
    assert show(server, session, "roles").json["step"] == 100
    assert server.stop() == 0


def test_a_session_that_nobody_waits_for_is_not_left(serve, tmp_path):
    """The client leaves before its values are put: they wait behind a call."""
    path = tmp_path / "endless.vmfb"
    shutil.copy(ROOT / "tests/corpus/vm/endless.vmfb", path)
    server = serve("--workers=1", path)

    def numbers():
        lines = server.get("/metrics").body.decode().splitlines()
        return {key: float(number) for key, number in (
            line.rsplit(" ", 1) for line in lines if line.startswith("farcall_"))}

    def send(path, body):
        client = socket.create_connection((server.host, server.port))
        # The connection is reset: after a FIN the client might still wait for an
        # answer.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        return client
    first = send("/api/v1/functions/endless/branch", "[]")
    until(lambda: sum(n for key, n in numbers().items()
                      if key.startswith("farcall_calls_running")))
    second = send(sessions("endless"), json.dumps({"values": {"a": tensor([1])}}))
    until(lambda: numbers()["farcall_sessions"])
    second.close()
    first.close()
    until(lambda: not numbers()["farcall_sessions"])
    made = server.request("POST", sessions("endless"),
                          json.dumps({"values": {"a": tensor([1])}}))
    assert made.status == 201 and made.json["values"]["a"]["bytes"] == 4
    assert numbers()["farcall_session_bytes"] == 4096
    assert server.stop() == 0


LISTS = """
func.func @boxed(%a: tensor<2xf32>, %n: i32) -> !util.list<?> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %two = arith.constant dense<2.0> : tensor<2xf32>
  %b = arith.mulf %a, %two : tensor<2xf32>
  %v = hal.tensor.export %b : tensor<2xf32> -> !hal.buffer_view
  %in = util.list.create %c1 : !util.list<?>
  util.list.resize %in, %c1 : !util.list<?>
  util.list.set %in[%c0], %v : !hal.buffer_view -> !util.list<?>
  %l = util.list.create %c2 : !util.list<?>
  util.list.resize %l, %c2 : !util.list<?>
  util.list.set %l[%c0], %n : i32 -> !util.list<?>
  util.list.set %l[%c1], %in : !util.list<?> -> !util.list<?>
  return %l : !util.list<?>
}
func.func @number(%l: !util.list<?>) -> i32 {
  %c0 = arith.constant 0 : index
  %n = util.list.get %l[%c0] : !util.list<?> -> i32
  return %n : i32
}
func.func @tensor(%l: !util.list<?>) -> tensor<2xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %in = util.list.get %l[%c1] : !util.list<?> -> !util.list<?>
  %v = util.list.get %in[%c0] : !util.list<?> -> !hal.buffer_view
  %t = hal.tensor.import %v : !hal.buffer_view -> tensor<2xf32>
  return %t : tensor<2xf32>
}
"""
BOXED = {"list": [7, {"list": [tensor([3.0, 5.0])]}]}


def boxed(session, server, first=1.5):
    kept = call(server, session, "boxed/boxed", json.dumps(
        {"args": [[first, 2.5], 7], "options": {"keep": {"0": "l"}}}))
    assert kept.status == 200, kept.body
    return kept.json["results"]


def tensor_of(server, session):
    return call(server, session, "boxed/tensor", '[{"ref":"l"}]').json["results"]


def test_lists_stay(serve, iree, tmp_path):
    module = tmp_path / "boxed.vmfb"
    shutil.copy(iree.compile_text("boxed", LISTS, "--iree-hal-target-device=local",
                                  "--iree-hal-local-target-device-backends=vmvx"), module)
    server = serve("--workers=3", module)
    session = make(server, "boxed")
    unknown = {"kind": "list", "items": {"kind": "unknown"}}
    assert boxed(session, server) == [{"ref": "l", "type": unknown}]
    assert tensor_of(server, session) == [[3.0, 5.0]]
    assert call(server, session, "boxed/number", '[{"ref":"l"}]').json["results"] == [7]
    # Each step of a loop gets the list, and the result of the last step is kept.
    steps = call(server, session, "boxed/number?iterate", json.dumps(
        {"args": [{"ref": "l"}], "repeat": {"times": 2}})).body.decode().splitlines()
    assert [json.loads(each)["results"] for each in steps[:2]] == [[7], [7]]
    assert call(server, session, "boxed/boxed?iterate", json.dumps(
        {"args": [[9, 9], 7], "repeat": {"times": 2},
         "options": {"keep": {"0": "last"}}})).status == 200
    assert call(server, session, "boxed/tensor", '[{"ref":"last"}]').json["results"] == [
        [18.0, 18.0]]
    path = value(session, "l", "boxed")
    read_back = read(server, path)
    assert read_back["list"][1] == BOXED["list"][1]
    # A forked session shares the list until one of the two keeps another one.
    other = server.request("POST", sessions("boxed", session, "fork")).json["session"]
    boxed(other, server, 4)
    assert tensor_of(server, session) == [[3.0, 5.0]]
    assert tensor_of(server, other) == [[8.0, 5.0]]
    assert put(server, value(session, "copy", "boxed"), {"ref": "l"}).status == 200
    assert read(server, value(session, "copy", "boxed")) == read_back
    # PUT accepts what GET returns, also when a session is made.
    typed = {"list": [{"dtype": "i32", "data": 9}, BOXED["list"][1]]}
    assert put(server, path, typed).status == 200
    assert call(server, session, "boxed/number", '[{"ref":"l"}]').json["results"] == [9]
    made = server.request("POST", sessions("boxed"), json.dumps({"values": {"l": typed}}))
    assert made.status == 201, made.body
    assert tensor_of(server, made.json["session"]) == [[3.0, 5.0]]
    # A file of tensors cannot contain lists.
    expect(server.get(sessions("boxed", session, "export")), 406, "not_acceptable")
    expect(server.get(path + "?slice=0"), 400, "unknown_field")
    expect(call(server, session, "boxed/boxed", '[{"ref":"l"},1]'), 422, "type_mismatch")
    assert server.stop() == 0
