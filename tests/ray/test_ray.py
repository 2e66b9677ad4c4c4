# SPDX-License-Identifier: Apache-2.0
"""examples/ray: a replica's answers over HTTP, without Ray. And a cluster of two nodes
on this machine: the commands of the page, the replicas of both nodes, and a node
that is killed while calls are made and verified."""
import asyncio
import doctest
import inspect
import json
import pathlib
import re
import subprocess
import threading
import time
import urllib.request

import farcall
import farcall_serve
import ml_dtypes
import numpy
import pytest
import ray
from ray import serve
from ray.cluster_utils import Cluster
from starlette.requests import Request

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = str(ROOT / "examples/iree/matmul.vmfb")


SOURCE = """
double _mlir_ciface_over(double a, double b) { return a / b; }
void _mlir_ciface_both(double out[2], double a, double b) { out[0] = a, out[1] = b; }
void _mlir_ciface_vector(float *v) { (void)v; }
"""
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": "over", "symbol": "_mlir_ciface_over", "cc": "ciface",
     "args": [{"name": "a", "type": "f64"}, {"name": "b", "type": "f64"}],
     "results": [{"type": "f64"}]},
    {"name": "both", "symbol": "_mlir_ciface_both", "cc": "ciface",
     "args": [{"type": "f64"}, {"type": "f64"}], "results": [{"type": "complex<f64>"}]},
    {"name": "vector", "symbol": "_mlir_ciface_vector", "cc": "ciface",
     "args": [{"type": "vector<4xf32>"}], "results": []}]}


@pytest.fixture(scope="module")
def replica(tmp_path_factory):
    """A replica of a module that divides, makes a complex number of two numbers, and
    has a function that cannot be called."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "numbers.c").write_text(SOURCE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "numbers.so",
                    folder / "numbers.c"], check=True, timeout=60)
    (folder / "numbers.farcall.json").write_text(json.dumps(SIDECAR))
    return farcall_serve.Served.func_or_class(folder / "numbers.so")


@pytest.mark.parametrize("function, body, status, wanted", [
    ("over", b"[1, 4]", 200, [0.25]),
    ("over", b'{"b": 4, "a": 1}', 200, [0.25]),
    ("over", b"[0, 0]", 200, ["NaN"]),
    ("over", b"[1, 0]", 200, ["Infinity"]),
    ("over", b"[-1, 0]", 200, ["-Infinity"]),
    ("both", b"[1, -2]", 200, [[1.0, -2.0]]),
    ("over", b"[1]", 422, "missing_argument"),
    ("over", b'{"a": 1, "c": 4}', 422, "unknown_argument"),
    ("over", b'[1, "x"]', 422, "type_mismatch"),
    ("over", b"5", 400, "json_schema"),
    ("over", b"null", 400, "json_schema"),
    ("over", b'"ab"', 400, "json_schema"),
    ("over", b"", 400, "json_syntax"),
    ("over", b"[1, 4", 400, "json_syntax"),
    ("over", b"[1, NaN]", 400, "json_syntax"),
    ("over", b"[1, -Infinity]", 400, "json_syntax"),
    ("over", b"[1, \"\xff\"]", 400, "json_syntax"),
    ("over", "[1, 4]".encode("utf-16"), 400, "json_syntax"),
    ("over", b"[" + b"9" * 5000 + b"]", 400, "json_syntax"),
    ("over", b"[" * 10**5, 400, "json_too_deep"),
    ("under", b"[1, 4]", 404, "function_not_found"),
    ("vector", b"[[1, 2, 3, 4]]", 501, "unsupported_type")])
def test_what_a_replica_answers(replica, function, body, status, wanted):
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}
    request = Request({"type": "http", "method": "POST", "path": f"/numbers/{function}",
                       "query_string": b"", "headers": [], "server": ("localhost", 8000)},
                      receive)
    answer = asyncio.run(replica(request))
    got = json.loads(answer.body)
    assert answer.status_code == status, got
    assert got.get("code", got.get("results")) == wanted
    assert status == 200 or got["error"]


@pytest.mark.parametrize("value, wanted", [
    (1.5, 1.5), (True, True), (2**64 - 1, 2**64 - 1), ("text", "text"),
    (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (1 - 2j, [1.0, -2.0]),
    (complex("inf"), ["Infinity", 0.0]), (b"\xff\x00", {"b64": "/wA="}),
    ({"a": [b"", float("nan")]}, {"a": [{"b64": ""}, "NaN"]}), ((1, 2), [1, 2]),
    (numpy.float32(0.5), 0.5), (numpy.float32("nan"), "NaN"),
    (numpy.array([[1, 2]], "int8"), [[1, 2]]), (numpy.array(7), 7),
    (numpy.array([1, numpy.inf], "float16"), [1.0, "Infinity"]),
    (numpy.array([0.5, numpy.nan], ml_dtypes.bfloat16), [0.5, "NaN"]),
    (numpy.array([[448, 0.5]], ml_dtypes.float8_e4m3fn), [[448.0, 0.5]]),
    (numpy.array([1 + 2j, complex("nan")]), [[1.0, 2.0], ["NaN", 0.0]]),
    (numpy.zeros((0, 3)), [])], ids=repr)
def test_results_are_json(value, wanted):
    got = farcall_serve.plain(value)
    assert got == wanted
    json.dumps(got, allow_nan=False)


def test_what_cannot_be_called_has_a_signature(replica):
    found = replica.signatures()
    assert found.keys() == {"over", "both", "vector"}
    assert all(isinstance(each, inspect.Signature) for each, _ in found.values())
    assert "cannot be called" in found["vector"][1]


def until(said, seconds=180):
    ends = time.monotonic() + seconds
    while not (got := said()):
        assert time.monotonic() < ends
        time.sleep(0.2)
    return got


@pytest.fixture(scope="module")
def cluster():
    made = Cluster(initialize_head=True, head_node_args={
        "num_cpus": 4, "include_dashboard": False, "object_store_memory": 10**8})
    ray.init(address=made.address, log_to_driver=False)
    yield made
    serve.shutdown()
    ray.shutdown()
    made.shutdown()


def test_the_page(cluster, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "examples/ray/README.md").read_text()
    source = "".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S))
    test = doctest.DocTestParser().get_doctest(source, {}, "README.md", None, 0)
    failed, tried = doctest.DocTestRunner(
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(test)
    assert (failed, tried) == (0, len(test.examples)) and tried > 8
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen("http://127.0.0.1:8000/matmul/matmul", b"[[[1,2]],[[3]]]")
    assert refused.value.code == 422 and b"shape_mismatch" in refused.value.read()
    serve.delete("matmul")


class Caller(threading.Thread):
    """Makes calls until it is told to stop; each answer is verified."""

    def __init__(self, function, seed):
        super().__init__()
        self.function, self.numbers = function, numpy.random.default_rng(seed)
        self.good, self.wrong, self.longest, self.over = 0, [], 0.0, False

    def run(self):
        while not self.over:
            a, b = (self.numbers.integers(-99, 99, (8, 8)).astype("f4") for _ in "ab")
            began = time.monotonic()
            try:
                assert (self.function(a, b) == a @ b).all()
                self.good += 1
            except Exception as error:
                self.wrong.append(repr(error))
            self.longest = max(self.longest, time.monotonic() - began)


def test_a_node_is_killed(cluster, capfd):
    second = cluster.add_node(num_cpus=4, object_store_memory=10**8)
    functions = farcall_serve.run(MODULE, autoscaling_config=None, num_replicas=2,
                                  max_replicas_per_node=1)

    def nodes():
        """The nodes whose replicas answer."""
        asked = [functions.handle.where.remote() for _ in range(20)]
        found = set()
        for each in asked:
            try:
                found.add(each.result(timeout_s=30)[0])
            except ray.exceptions.RayActorError:
                pass
        return found
    both = until(lambda: (got := nodes()) and len(got) == 2 and got)
    assert second.node_id in both
    callers = [Caller(functions.matmul, seed) for seed in range(4)]
    for each in callers:
        each.start()
    try:
        until(lambda: all(each.good > 20 for each in callers))
        cluster.remove_node(second, allow_graceful=False)
        before = [each.good for each in callers]
        until(lambda: all(each.good > old + 50 for each, old in zip(callers, before)))
        assert until(lambda: (got := nodes()) == both - {second.node_id} and got)
        # A new node gets the replica that is missing.
        cluster.add_node(num_cpus=4, object_store_memory=10**8)
        until(lambda: len(nodes()) == 2)
    finally:
        for each in callers:
            each.over = True
        for each in callers:
            each.join()
    with capfd.disabled():
        print(f"\n{sum(each.good for each in callers)} calls verified, the longest took "
              f"{max(each.longest for each in callers):.1f} s")
    assert [each.wrong for each in callers] == [[]] * 4
