# SPDX-License-Identifier: Apache-2.0
"""Every public function of the samples over HTTP, every value checked."""
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

import abi_table
import corpus as samples
from corpus import CASES, Case, Listed, differs


def label(case):
    return case.function


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Case)],
                         ids=label)
def test_results(server, case):
    results = server.results(case.function, case.arguments)
    why = differs(results, case.results, case.ulp)
    assert why is None, why


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c, Listed)],
                         ids=label)
def test_what_cannot_be_called_says_why(server, case):
    signature = server.get("/api/v1/functions/" + case.function).json
    assert signature["callable"] is False
    assert case.reason in signature["reason"]
    reply = server.call(case.function, [])
    assert reply.status == 501
    assert reply.json["code"] == "unsupported_type"
    assert case.reason in reply.json["detail"]


def test_every_public_function_is_here(server):
    listed = set()
    for module in server.get("/api/v1/modules").json["modules"]:
        assert module["state"] == "ready", module
        listed |= {f"{module['name']}/{f}" for f in module["functions"]}
    known = {case.function for case in CASES} | set(samples.ELSEWHERE)
    assert listed == known
    # The number of functions in the six modules that the project promises, without
    # stride0.
    assert len([f for f in listed if not f.startswith("stride0/")]) == 98


def test_signatures(server):
    matmul = server.get("/api/v1/functions/tensor/matmul").json
    assert [a["name"] for a in matmul["arguments"]] == ["a", "b"]
    assert all(a["role"] == "in" and a["keyword"] for a in matmul["arguments"])
    tensor = {"kind": "tensor", "dtype": "f32", "shape": [None, None]}
    assert matmul["arguments"][0]["type"] == tensor
    assert matmul["results"] == [{"type": tensor}]
    axpy = server.get("/api/v1/functions/outparam/axpy").json
    assert [a["role"] for a in axpy["arguments"]] == ["in", "in", "inout"]
    fill = server.get("/api/v1/functions/outparam/fill_out").json
    assert [a["role"] for a in fill["arguments"]] == ["in", "out"]


def test_arguments_by_name(server):
    by_name = {"kwargs": {"b": [[1], [2]], "a": [[3, 4]]}}
    assert server.results("tensor/matmul", by_name) == [[[11.0]]]
    mixed = {"args": [[[3, 4]]], "kwargs": {"b": [[1], [2]]}}
    assert server.results("tensor/matmul", mixed) == [[[11.0]]]


def test_a_dangling_result_is_refused(server):
    reply = server.call("ownership/dangling", [])
    assert reply.status == 500
    assert reply.json["code"] == "bad_result"
    assert server.results("ownership/alias_ro", []) == [[1.0, 2.0, 3.0, 4.0]]


def test_a_module_with_state_counts_right(serve, corpus):
    """Calls of a module with a mutable global run one after the other."""
    server = serve("--workers", "4", corpus / "ownership.so")
    calls = 400
    with ThreadPoolExecutor(16) as pool:
        seen = list(pool.map(
            lambda _: server.results("ownership/counter", [])[0][0],
            range(calls)))
    assert sorted(seen) == [float(n) for n in range(1, calls + 1)]
    assert server.stop() == 0


def test_failed_checks_are_answers(server):
    """A checked module refuses shapes that do not fit, and does not crash."""
    for function, arguments in [
            ("tensor/matmul", [[[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1]]]),
            ("tensor/conv", [[[[[1]]]]]),
            ("ranks/r2_strided_trace", [[[1], [2], [3]]])]:
        reply = server.call(function, arguments)
        assert reply.status == 422, (function, reply.body)
        problem = reply.json
        assert problem["code"] == "call_failed"
        assert "/tmp" not in problem["detail"]
        assert problem["function"] == function.split("/")[1]
    assert server.results("tensor/matmul", [[[2]], [[3]]]) == [[[6.0]]]


def test_the_table_of_the_docs(server):
    """The table in tests/modules/mlir, written by scripts/abi-table, has these answers."""
    assert abi_table.table(server) == abi_table.written()


def test_text_is_exact(server):
    """The exact bytes of one answer."""
    reply = server.call("tensor/mlp", "[[[1,2,3,4]]]")
    assert reply.body == b'{"results":[[[-5.8750005,2.125]]]}'
    assert reply.headers["Content-Type"].startswith("application/json")
    reply = server.call("abi/m_i8_f64_i1", "[-3, 5e-1, true]")
    assert reply.body == b'{"results":[-3,0.5,true]}'
    assert json.loads(reply.body)["results"][2] is True
