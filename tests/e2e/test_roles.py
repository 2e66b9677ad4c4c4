# SPDX-License-Identifier: Apache-2.0
"""Arguments that a function writes into: tests/corpus/iree/roles has functions as torch
exports them. A call with an undeclared write is refused; one with a declared or
known write is answered."""
import json
import shutil

import pytest

import iree_tensors
from conftest import ROOT

ROLES = ROOT / "tests/corpus/iree/roles/roles.vmfb"
X, CACHE = [1, 2, 3, 4], [5, 6, 7, 8]
PUT = [[1], [X], [[0] * 4] * 3]
AFTER = [[0.0] * 4, [1.0, 2.0, 3.0, 4.0], [0.0] * 4]


@pytest.fixture
def alone(tmp_path):
    """The module without its sidecar."""
    path = tmp_path / "roles.vmfb"
    shutil.copy(ROLES, path)
    return path


def describe(path, role):
    path.with_suffix(".farcall.json").write_text(json.dumps({
        "farcall": 1, "functions": [
            {"name": "put", "args": [{}, {}, {"name": "cache", "role": role}]}]}))
    return path


def roles(server, function):
    arguments = server.get(f"/api/v1/functions/roles/{function}").json["arguments"]
    return [(each["role"], each.get("certain", False)) for each in arguments]


def test_what_the_code_says_is_known(serve, alone):
    server = serve(alone)
    assert roles(server, "bump") == [("in", False), ("inout", True)]
    assert roles(server, "copy") == [("in", False), ("inout", True)]
    assert roles(server, "read") == [("in", False), ("in", False)]
    assert server.results("roles/bump", [X, CACHE]) == [
        [6.0, 16.0, 30.0, 48.0], [6.0, 8.0, 10.0, 12.0]]
    typed = {"dtype": "f32", "shape": [4], "data": CACHE}
    assert server.results("roles/copy", [X, typed]) == [[1.0, 2.0, 3.0, 4.0]] * 2
    assert server.results("roles/read", [X, CACHE]) == [[5.0, 12.0, 21.0, 32.0]]


def test_v1_answers_what_was_written_behind_the_results(serve, alone):
    server = serve(describe(alone, "inout"))
    reply = server.request("POST", "/v1/models/roles.put:predict", json.dumps(
        {"inputs": {"0": PUT[0], "1": PUT[1], "cache": PUT[2]}}))
    assert reply.status == 200, reply.body
    assert list(reply.json["outputs"].items()) == [("0", [X]), ("cache", AFTER)]
    reply = server.get("/v1/models/roles.put/metadata")
    said = reply.json["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert list(said["outputs"]) == ["0", "cache"]


def test_what_nobody_declared_is_refused(serve, alone):
    server = serve(alone)
    for _ in range(20):  # more calls than are compared of a function that never writes
        reply = server.call("roles/put", PUT)
        assert (reply.status, reply.json["code"]) == (500, "argument_written")
    detail = reply.json["detail"]
    assert detail.startswith("argument 2: the function wrote into it")
    reply = server.request("POST", "/v2/models/roles.put/infer", json.dumps({"inputs": [
        {"name": name, "datatype": datatype, "shape": shape, "data": data}
        for name, datatype, shape, data in [
            ("0", "INT64", [1], [1]), ("1", "FP32", [1, 4], X),
            ("2", "FP32", [3, 4], [0] * 12)]]}))
    assert (reply.status, reply.headers["Farcall-Error-Code"]) == (
        500, "argument_written"), reply.body
    # The error contains the entry for the sidecar.
    entry = json.loads(detail[detail.index("{"):detail.rindex("}") + 1])
    alone.with_suffix(".farcall.json").write_text(
        json.dumps({"farcall": 1, "functions": [entry]}))
    server = serve(alone)
    assert roles(server, "put")[2] == ("inout", True)
    assert server.results("roles/put", PUT) == [[[1.0, 2.0, 3.0, 4.0]], AFTER]


def test_scratch_is_lost(serve, alone):
    server = serve(describe(alone, "scratch"))
    assert roles(server, "put")[2] == ("scratch", True)
    assert server.results("roles/put", PUT) == [[[1.0, 2.0, 3.0, 4.0]]]


def test_a_self_test_finds_it(serve, alone):
    alone.with_name("roles.tests.jsonl").write_text(
        json.dumps({"function": "put", "args": PUT}) + "\n")
    (alone.parent / "other").mkdir()
    other = alone.parent / "other/other.vmfb"
    shutil.copy(ROLES, other)
    server = serve(alone, other)
    found = {each["name"]: each for each in server.get("/api/v1/modules").json["modules"]}
    assert found["roles"]["state"] == "failed"
    assert "the function wrote into it" in found["roles"]["reason"]
    assert found["other"]["state"] == "ready"


def test_the_command_line_says_the_same(serve, farcall, alone):
    words = ["run", alone, "-f", "put"]
    words += [f"--input={json.dumps(value)}" for value in PUT]
    done = farcall(*words)
    assert done.returncode != 0 and "argument_written: argument 2" in done.stderr
    describe(alone, "inout")
    done = farcall(*words)
    assert json.loads(done.stdout) == {"results": [[[1.0, 2.0, 3.0, 4.0]], AFTER]}
    assert serve(alone).results("roles/put", PUT) == json.loads(done.stdout)["results"]


def test_the_doctor_finds_it(farcall, alone):
    def findings(*words):
        done = farcall("doctor", "--json", *words)
        assert done.returncode == 0, done.stderr
        return {each["thing"]: each for each in json.loads(done.stdout)["findings"]
                if each["subject"] == "role" and each["level"] == "warn"}
    sidecar = alone.with_suffix(".farcall.json")
    assert list(findings(alone)) == ["put"] and not sidecar.exists()
    sidecar.write_text(json.dumps({"farcall": 1, "abi": "module", "functions": [
        {"name": "put", "args": [{"name": "row"}, {"name": "x"}, {"name": "cache"}]}]}))
    found = findings("--write", alone)["put"]
    assert found["place"] == "argument 2 'cache'" and str(sidecar) in found["way_out"]
    assert not findings("--write", alone)
    done = farcall("sig", alone, "-f", "put")
    assert done.stdout.startswith(
        "roles/put(row: tensor<1xi64>, x: tensor<1x4xf32>, "
        "inout cache: tensor<3x4xf32>) -> tensor<1x4xf32>\n")
    sidecar.write_text("{")
    assert "sidecar" in farcall("doctor", "--write", alone).stdout
    assert sidecar.read_text() == "{"


@pytest.mark.parametrize("x, found", [(X, ["put"]), ([0] * 4, [])])
def test_the_doctor_makes_the_calls_of_examples(farcall, alone, x, found):
    """Uses the example's arguments: writing zeros over zeros would not be noticed."""
    alone.with_suffix(".farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "module", "functions": [], "examples": [
            {"function": "put", "name": "a row", "args": [[1], [x], [[0] * 4] * 3]}]}))
    done = farcall("doctor", "--json", alone)
    assert done.returncode == 0, done.stderr
    assert [each["thing"] for each in json.loads(done.stdout)["findings"]
            if each["subject"] == "role" and each["level"] == "warn"] == found


# Like `put` of roles.mlir: only a call shows that a row of the cache is written.
INTEGERS = """
func.func @put(%from: !hal.buffer_view, %cache: !hal.buffer_view) -> !hal.buffer_view {
  %x = hal.tensor.import %from : !hal.buffer_view -> tensor<1x4xi64>
  %old = hal.tensor.import %cache : !hal.buffer_view -> tensor<3x4xi64>
  %new = tensor.insert_slice %x into %old[1, 0] [1, 4] [1, 1]
      : tensor<1x4xi64> into tensor<3x4xi64>
  %written = hal.tensor.alias %new : tensor<3x4xi64> to %cache : !hal.buffer_view
  %row = tensor.extract_slice %written[1, 0] [1, 4] [1, 1]
      : tensor<3x4xi64> to tensor<1x4xi64>
  %result = hal.tensor.export %row : tensor<1x4xi64> -> !hal.buffer_view
  return %result : !hal.buffer_view
}
"""


def test_the_doctor_finds_written_integers(farcall, iree, tmp_path):
    """Writing zeros over zeros would not be noticed."""
    compiled = iree.compile_text("integers", INTEGERS, *iree_tensors.VARIANTS["vmvx"])
    module = shutil.copy(compiled, tmp_path / "integers.vmfb")
    done = farcall("doctor", "--json", module)
    assert done.returncode == 0, done.stderr
    assert [each["place"] for each in json.loads(done.stdout)["findings"]
            if each["subject"] == "role"] == ["argument 1 'input1'"]


def test_compile_reads_the_source(farcall, iree, tmp_path):
    out = tmp_path / "made.vmfb"
    done = farcall("compile", ROLES.with_suffix(".mlir"), "-o", out, "--cpu=vmvx",
                   "--tools", iree.folder)
    assert done.returncode == 0, done.stderr
    sidecar = json.loads(out.with_suffix(".farcall.json").read_text())
    said = {each["name"]: [it.get("role") for it in each["args"]]
            for each in sidecar["functions"]}
    assert said == {"bump": ["in", "inout"], "copy": ["in", "inout"],
                    "put": ["in", "in", "inout"], "read": ["in", None]}
    done = farcall("run", out, "-f", "put", "--json", json.dumps(PUT))
    assert json.loads(done.stdout) == {"results": [[[1.0, 2.0, 3.0, 4.0]], AFTER]}
