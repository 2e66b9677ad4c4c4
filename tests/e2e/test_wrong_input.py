# SPDX-License-Identifier: Apache-2.0
"""Wrong requests: each gets its code, status and pointer (docs/errors.md), and the next
request works."""
import dataclasses
import http.client
import typing

import pytest


@dataclasses.dataclass
class Wrong:
    name: str
    function: str
    body: str
    status: int
    code: str
    pointer: typing.Optional[str] = None
    detail: str = ""  # a part of it


MATMUL = "tensor/matmul"
ROWS = [
    Wrong("no body", MATMUL, "", 400, "json_syntax"),
    Wrong("cut off", MATMUL, "[[[1,2", 400, "json_syntax"),
    Wrong("two documents", "abi/s_i8", "[1] [2]", 400, "json_syntax"),
    Wrong("trailing comma", "abi/s_i8", "[1,]", 400, "json_syntax"),
    Wrong("bare NaN", "abi/s_f32", "[NaN]", 400, "json_syntax"),
    Wrong("bare Infinity", "abi/s_f32", "[-Infinity]", 400, "json_syntax"),
    Wrong("single quotes", "abi/s_i8", "['1']", 400, "json_syntax"),
    Wrong("byte order mark", "abi/s_i8", "\ufeff[1]", 400, "json_syntax"),
    Wrong("lone surrogate", "abi/s_i8", '["\\ud800"]', 400, "json_syntax"),
    Wrong("neither array nor object", "abi/s_i8", "7", 400, "json_schema"),
    Wrong("unknown field", "abi/s_i8", '{"arg":[1]}', 400, "unknown_field",
          "/arg"),
    Wrong("unknown option", "abi/s_i8", '{"args":[1],"options":{"x":1}}', 400,
          "unknown_field", "/options/x"),
    Wrong("key twice", "abi/s_i8", '{"args":[1],"args":[1]}', 400,
          "duplicate_key", "/args"),

    Wrong("rank too small", MATMUL, "[[1,2],[[1],[2]]]", 422, "shape_mismatch"),
    Wrong("rank too big", "abi/r1", "[[[1]]]", 422, "shape_mismatch"),
    Wrong("scalar for a tensor", "abi/r1", "[1]", 422, "shape_mismatch", "/0"),
    Wrong("static dim", "abi/r2s", "[[[1,2],[3,4]]]", 422, "shape_mismatch"),
    Wrong("ragged", MATMUL, "[[[1,2],[3]],[[1],[2]]]", 422, "shape_mismatch",
          "/0/1"),
    Wrong("300 for i8", "abi/s_i8", "[300]", 422, "out_of_range", "/0",
          "300 does not fit i8"),
    Wrong("300 deep in a tensor", "dtypes/t_i8", '{"args":[[1,300]]}', 422,
          "out_of_range", "/args/0/1"),
    Wrong("by name", "abi/s_i8", '{"kwargs":{"a":300}}', 422, "out_of_range",
          "/kwargs/a"),
    Wrong("1.5 for i32", "abi/s_i32", "[1.5]", 422, "type_mismatch", "/0"),
    Wrong("2^63 for i64", "abi/s_i64", "[9223372036854775808]", 422,
          "out_of_range", "/0"),
    Wrong("1e400 for f64", "abi/s_f64", "[1e400]", 422, "out_of_range", "/0"),
    Wrong("NaN for an integer", "abi/s_i32", '["NaN"]', 422, "type_mismatch",
          "/0"),
    Wrong("true for an integer", "abi/s_i32", "[true]", 422, "type_mismatch",
          "/0"),
    Wrong("2 for a boolean", "abi/s_i1", "[2]", 422, "out_of_range", "/0"),
    Wrong("null", "abi/s_i32", "[null]", 422, "type_mismatch", "/0"),
    Wrong("text for a number", "abi/s_f32", '["1.5"]', 422, "type_mismatch",
          "/0"),
    Wrong("negative for ui8", "dtypes/t_ui8", "[[-1]]", 422, "out_of_range",
          "/0/0"),

    Wrong("missing argument", MATMUL, "[[[1]]]", 422, "missing_argument", ""),
    Wrong("missing by name", MATMUL, '{"kwargs":{"a":[[1]]}}', 422,
          "missing_argument"),
    Wrong("extra argument", "abi/s_i8", "[1,2]", 422, "extra_argument", "/1"),
    Wrong("unknown argument", MATMUL, '{"kwargs":{"a":[[1]],"bb":[[1]]}}', 422,
          "unknown_argument", "/kwargs/bb"),
    Wrong("argument twice", MATMUL, '{"args":[[[1]]],"kwargs":{"a":[[1]]}}',
          422, "duplicate_argument", "/kwargs/a"),
    Wrong("stated dtype", "abi/r1",
          '[{"dtype":"i32","shape":[1],"data":[1]}]', 422, "dtype_mismatch",
          "/0/dtype"),
    Wrong("stated shape", "abi/r1",
          '[{"dtype":"f32","shape":[2],"data":[1]}]', 422, "data_length"),
    Wrong("negative dim", "abi/r1",
          '[{"dtype":"f32","shape":[-1],"data":[]}]', 422, "shape_mismatch"),
    Wrong("huge shape", "abi/r1",
          '[{"dtype":"f32","shape":[4611686018427387904],"data":[]}]', 422,
          "tensor_too_large"),
    Wrong("base64", "abi/r1", '[{"dtype":"f32","shape":[1],"b64":"AA=A"}]', 422,
          "base64", "/0/b64"),
    Wrong("too few bytes", "abi/r1",
          '[{"dtype":"f32","shape":[1],"b64":"AAA="}]', 422, "data_length"),

    Wrong("inner dims differ", MATMUL, "[[[1,2,3],[4,5,6]],[[1,0],[0,1]]]", 422,
          "call_failed"),
    Wrong("image too small", "tensor/conv", "[[[[[1]]]]]", 422, "call_failed"),
    Wrong("vectors", "abi/s_v22", "[[[1,2],[3,4]]]", 501, "unsupported_type"),
    Wrong("unknown function", "tensor/matmull", "[]", 404,
          "function_not_found", None, "matmul"),
    Wrong("unknown module", "tensr/matmul", "[]", 404, "module_not_found", None,
          "tensor"),
    Wrong("unknown version", "tensor@7/matmul", "[]", 404, "version_not_found"),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_is_refused(server, row):
    reply = server.call(row.function, row.body.encode())
    problem = reply.json
    assert (reply.status, problem.get("code")) == (row.status, row.code), problem
    assert problem["status"] == row.status
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert problem["type"] == "urn:farcall:error:" + row.code
    assert problem["error"] == problem["detail"]
    assert row.detail in problem["detail"]
    if row.pointer is not None:
        assert problem.get("pointer") == row.pointer, problem
    assert server.results(MATMUL, [[[2]], [[3]]]) == [[[6.0]]]


def test_a_body_over_the_limit_is_refused_unread(server):
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    connection.putrequest("POST", "/api/v1/functions/tensor/matmul")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    answer = connection.getresponse()
    assert answer.status == 413
    assert b'"body_too_large"' in answer.read()
    connection.close()
    assert server.results(MATMUL, [[[2]], [[3]]]) == [[[6.0]]]


def test_methods(server):
    reply = server.request("DELETE", "/api/v1/functions/tensor/matmul")
    assert reply.status == 405
    assert "POST" in reply.headers["Allow"]
    reply = server.request("GET", "/api/v1/nothing")
    assert (reply.status, reply.json["code"]) == (404, "not_found")


def test_a_refusal_is_one_request_of_many(server):
    """Right and wrong requests on one connection; the answers come in order."""
    connection = http.client.HTTPConnection(server.host, server.port, timeout=60)
    for number in range(40):
        wrong = number % 3 == 0
        body = "[1.5]" if wrong else f"[{number}]"
        connection.request("POST", "/api/v1/functions/abi/s_i32", body,
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if wrong:
            assert answer.status == 422
        else:
            assert text == b'{"results":[%d]}' % (2 * number)
    connection.close()
