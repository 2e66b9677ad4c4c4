# SPDX-License-Identifier: Apache-2.0
"""Functions that callers see as one: each was compiled for one size, and a call runs
the one of its size."""
import json
import shutil
import subprocess

import jsonschema
import numpy
import pytest

from conftest import BIN
from test_faces import FACES, Model, arrays_of, native_json
from oip_calls import same_bits

# The second result tells which function was called.
ROWS = """
func.func @rows_{n}(%x: tensor<{n}x2xf32>) -> (tensor<{n}x2xf32>, tensor<{n}xi32>) {{
  %y = arith.addf %x, %x : tensor<{n}x2xf32>
  %n = arith.constant dense<{n}> : tensor<{n}xi32>
  return %y, %n : tensor<{n}x2xf32>, tensor<{n}xi32>
}}
"""
OTHER = """
func.func @other(%x: tensor<3xi32>) -> tensor<3xi32> {
  %y = arith.addi %x, %x : tensor<3xi32>
  return %y : tensor<3xi32>
}
"""
LOCAL = ["--iree-hal-target-device=local"]
BACKENDS = {
    "code": [*LOCAL, "--iree-hal-local-target-device-backends=llvm-cpu",
             "--iree-llvmcpu-target-cpu=generic"],
    "bytecode": [*LOCAL, "--iree-hal-local-target-device-backends=vmvx"],
}
MODULES = [*BACKENDS, "mlir"]
SIZES = [1, 3, 8]
NAMED = {"name": "rows", "functions": [f"rows_{n}" for n in SIZES],
         "args": [{"name": "x", "dims": ["batch", None]}],
         "results": [{"name": "twice"}, {"name": "size"}]}


def source(*sizes):
    first, *rest = [ROWS.format(n=n) for n in sizes]
    return first + OTHER + "".join(rest)


def declare(path, sizes, **members):
    """Adds members to the sidecar of a module, or writes a new sidecar."""
    sidecar = path.with_suffix(".farcall.json")
    known = {"farcall": 1, "abi": "module", "functions": []}
    if sidecar.exists():
        known = json.loads(sidecar.read_text())
    sidecar.write_text(json.dumps({**known, "sizes": sizes, **members}))
    return path


def compile_mlir(folder, name, *sizes):
    (folder / f"{name}.mlir").write_text(source(*sizes))
    subprocess.run([BIN / "farcall", "compile", f"{name}.mlir"], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL)
    return folder / f"{name}.so"


@pytest.fixture(scope="session")
def folder(iree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    for name, flags in BACKENDS.items():
        shutil.copy(iree.compile_text("sizes", f"module {{{source(*SIZES)}}}", *flags),
                    folder / f"{name}.vmfb")
        declare(folder / f"{name}.vmfb", [NAMED])
    declare(compile_mlir(folder, "mlir", *SIZES), [NAMED])
    return folder


def path_of(folder, name):
    return folder / (name + (".so" if name == "mlir" else ".vmfb"))


def rows(count):
    return [[i + 0.5, -i] for i in range(count)]


def answer(count):
    return [[[2 * i + 1.0, -2.0 * i] for i in range(count)], [count] * count]


def test_a_call_is_made_of_the_function_of_its_size(serve, folder):
    server = serve(folder)
    for name in MODULES:
        for count in [*SIZES, *reversed(SIZES)]:
            assert server.results(f"{name}/rows", [rows(count)]) == answer(count)
        assert server.results(f"{name}/other", [[1, 2, 3]]) == [[2, 4, 6]]


@pytest.mark.parametrize("count", SIZES)
def test_every_face_takes_every_size(serve, folder, count):
    server = serve(folder)
    asked = 0
    for name in MODULES:
        model = Model(f"{name}.rows", server.get(f"/v2/models/{name}.rows").json)
        model.inputs["x"] = numpy.resize(arrays_of("rows", {
            "name": "x", "datatype": "FP32", "shape": [8, 2]}), (count, 2))
        expected = native_json(server, model)
        assert expected["size"].tolist() == [count] * count
        assert same_bits(expected["twice"], model.inputs["x"] + model.inputs["x"])
        for face, call in FACES.items():
            found = call(server, model)
            if found is None:  # it has no such form
                continue
            asked += 1
            for each, value in found.items():
                assert same_bits(value, expected[each]), (name, face, each)
    assert asked >= 13 * len(MODULES)


def test_another_size_is_refused(serve, folder):
    server = serve(folder)
    says = "argument 0 ('x'), dim 0: [batch] is 2, it may be 1, 3 or 8"
    for name in MODULES:
        function = f"{name}/rows"
        for suffix in ["", "?validate=only"]:
            reply = server.call(function + suffix, [rows(2)])
            assert (reply.status, reply.json["code"]) == (422, "shape_mismatch")
            assert says in reply.json["detail"], reply.json
            assert (reply.json["expected"], reply.json["got"]) == ("1, 3 or 8", "2")
        assert server.call(function + "?validate=only", [rows(3)]).status == 204
        reply = server.call(function, [[]])
        assert "[batch] is 0" in reply.json["detail"]
        reply = server.request("POST", f"/v2/models/{name}.rows/infer", json.dumps(
            {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2, 2],
                         "data": [1, 2, 3, 4]}]}))
        assert reply.status == 400 and says in reply.json["error"]
        reply = server.request("POST", f"/v1/models/{name}.rows:predict",
                               json.dumps({"instances": rows(2)}))
        assert reply.status == 400 and says in reply.json["error"]


def test_documents_have_the_sizes(serve, folder):
    server = serve(folder)
    for name in MODULES:
        listed = server.get(f"/api/v1/modules/{name}").json["functions"]
        assert sorted(listed) == ["other", "rows"]
        path = f"/api/v1/functions/{name}/rows"
        signature = server.get(path).json
        assert signature["text"] == (
            "rows(x: tensor<[batch]x2xf32>) -> (twice: tensor<[batch]x2xf32>, "
            "size: tensor<[batch]xi32>) where [batch] is 1, 3 or 8")
        assert signature["sizes"] == [{"batch": n} for n in SIZES]
        tensor = signature["arguments"][0]["type"]
        assert (tensor["shape"], tensor["dims"]) == ([None, 2], ["batch", None])
        assert "symbol" not in signature["raw"]["attrs"]
        for hidden in ["rows_1", "rows_3", "rows_8"]:
            assert server.get(f"/api/v1/functions/{name}/{hidden}").status == 404
            assert server.call(f"{name}/{hidden}", [rows(1)]).status == 404
        metadata = server.get(f"/v2/models/{name}.rows").json
        assert metadata["inputs"] == [
            {"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
        assert [each["shape"] for each in metadata["outputs"]] == [[-1, 2], [-1]]
        described = json.dumps(server.get("/openapi.json").json)
        assert signature["text"] in described


def test_the_schema_takes_those_sizes_alone(serve, folder):
    server = serve(folder)
    for name in MODULES:
        path = f"/api/v1/functions/{name}/rows"
        schema = jsonschema.Draft202012Validator(
            server.get(f"{path}?format=jsonschema").json)
        example = server.get(f"{path}/example").json
        schema.validate(example)
        assert server.call(f"{name}/rows", example).status == 200
        for count in SIZES:
            schema.validate([rows(count)])
            schema.validate([{"shape": [count, 2], "data": rows(count)}])
        assert not schema.is_valid([rows(9)])
        assert not schema.is_valid([{"shape": [2, 2], "data": rows(2)}])


def test_the_command_line_has_one_function(farcall, serve, folder):
    server = serve(folder)
    for name in MODULES:
        path = path_of(folder, name)
        said = farcall("sig", path, "--function=rows").stdout
        assert "where [batch] is 1, 3 or 8" in said and "rows_" not in said
        for count in SIZES:
            for target in [("run", path, "--function=rows"),
                           ("call", f"{name}/rows", f"--server={server.url}")]:
                done = farcall(*target, f"--input={json.dumps(rows(count))}")
                assert done.returncode == 0, done.stderr
                assert json.loads(done.stdout)["results"] == answer(count)
        done = farcall("run", path, "--function=rows", f"--input={json.dumps(rows(2))}")
        assert done.returncode != 0
        assert "it may be 1, 3 or 8" in done.stderr


def test_known_answers_are_asked_of_it(serve, folder, tmp_path):
    for name in MODULES:
        path = shutil.copy(path_of(folder, name), tmp_path)
        sidecar = path_of(folder, name).with_suffix(".farcall.json")
        known = json.loads(sidecar.read_text())
        (tmp_path / sidecar.name).write_text(json.dumps({**known, "self_test": [
            {"function": "rows", "args": [rows(n)], "results": answer(n)} for n in SIZES]
            + [{"function": "rows", "args": [rows(2)], "error": "shape_mismatch"}]}))
    server = serve(tmp_path)
    for name in MODULES:
        assert server.get(f"/api/v1/modules/{name}").json["state"] == "ready"


def test_fewer_sizes_are_refused(serve, folder, tmp_path):
    server = None
    for name in MODULES:
        path = tmp_path / path_of(folder, name).name
        sidecar = path_of(folder, name).with_suffix(".farcall.json")
        shutil.copy(path_of(folder, name), path)
        shutil.copy(sidecar, tmp_path)
        server = serve("--admin=loopback", path)
        declare(path, [{**NAMED, "functions": ["rows_1", "rows_8"]}])
        reply = server.request("POST", f"/api/v1/modules/{name}/reload")
        assert (reply.status, reply.json["code"]) == (409, "signature_narrowed")
        assert "takes fewer sizes" in reply.json["detail"]
        assert server.results(f"{name}/rows", [rows(3)]) == answer(3)


@pytest.mark.parametrize("sizes, says", [
    ([{**NAMED, "functions": ["rows_1", "rows_2"]}],
     "/sizes/0/functions: the module has no function 'rows_2'"),
    ([{**NAMED, "functions": ["rows_1", "other"]}],
     "/sizes/0/functions: 'other' takes or returns another number"),
    ([{**NAMED, "name": "other"}],
     "/sizes/0/name: the module has another function 'other'")])
def test_a_list_that_does_not_fit_is_refused(farcall, folder, tmp_path, sizes, says):
    for name in MODULES:
        path = tmp_path / path_of(folder, name).name
        shutil.copy(path_of(folder, name), path)
        shutil.copy(path_of(folder, name).with_suffix(".farcall.json"), tmp_path)
        done = farcall("sig", declare(path, sizes))
        assert done.returncode != 0
        assert f"{path.name}: its sidecar, {says}" in done.stderr
