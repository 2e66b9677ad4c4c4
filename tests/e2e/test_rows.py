# SPDX-License-Identifier: Apache-2.0
"""Functions for several numbers of rows become one that takes any number, if rows do
not depend on each other. The expected result of a row alone comes from the function
for one row, and from numpy."""
import json
import resource
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

from conftest import BIN, Server, end_servers
from test_faces import FACES, Model
from test_sizes import BACKENDS
from oip_calls import same_bits
from reloading import wait_until

SIZES = [1, 4, 8]
WEIGHTS = [[0.5, -1.25, 3.0], [2.0, 0.1, -0.7], [-0.3, 1.5, 0.25], [1.0, -2.0, 0.6]]

MAPS = """
#row = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>
#all = affine_map<(i, k, j) -> (k, j)>
#out = affine_map<(i, k, j) -> (i, j)>
"""
HEAD = "func.func @{name}_bs{n}(%x: tensor<{n}x4xf32>) -> tensor<{n}x4xf32> {{"
PARALLEL = 'iterator_types = ["parallel", "parallel"]'
ELEMENTS = """
  %e = tensor.empty() : tensor<{n}x4xf32>
  %y = linalg.generic {{indexing_maps = [#row, #row], """ + PARALLEL + """}}
      ins(%x : tensor<{n}x4xf32>) outs(%e : tensor<{n}x4xf32>) {{
    ^bb0(%a: f32, %b: f32):
"""
END = """
      linalg.yield %r : f32
  }} -> tensor<{n}x4xf32>
  return %y : tensor<{n}x4xf32>
}}
"""
SUM = """
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %s = linalg.generic {{indexing_maps = [#row, #sum],
                       iterator_types = ["reduction", "parallel"]}}
      ins(%x : tensor<{n}x4xf32>) outs(%zero : tensor<4xf32>) {{
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      linalg.yield %c : f32
  }} -> tensor<4xf32>
  %e = tensor.empty() : tensor<{n}x4xf32>
  %y = linalg.generic {{indexing_maps = [#row, #sum, #row], """ + PARALLEL + """}}
      ins(%x, %s : tensor<{n}x4xf32>, tensor<4xf32>) outs(%e : tensor<{n}x4xf32>) {{
    ^bb0(%a: f32, %t: f32, %b: f32):
"""
SOURCES = {
    # Divides each row by the sum of all rows.
    "share": HEAD + SUM + "      %r = arith.divf %a, %t : f32" + END,
    # "leak" depends on a NaN in another row only; "large" on a large number only.
    "leak": HEAD + SUM + """
      %seen = arith.cmpf uno, %t, %t : f32
      %one = arith.constant 1.0 : f32
      %z = arith.select %seen, %one, %a : f32
      %r = arith.addf %a, %z : f32""" + END,
    "large": HEAD + SUM + """
      %square = arith.mulf %t, %t : f32
      %most = arith.constant 1.0e20 : f32
      %seen = arith.cmpf ogt, %square, %most : f32
      %one = arith.constant 1.0 : f32
      %z = arith.select %seen, %one, %a : f32
      %r = arith.addf %a, %z : f32""" + END,
    # Adds the number of the row.
    "place": HEAD + ELEMENTS + """
      %i = linalg.index 0 : index
      %k = arith.index_cast %i : index to i32
      %f = arith.sitofp %k : i32 to f32
      %r = arith.addf %a, %f : f32""" + END,
    # The sum of all rows so far.
    "running": HEAD + """
  %zero = arith.constant dense<0.0> : tensor<{n}x4xf32>
  %y = linalg.generic {{indexing_maps = [#all, #out],
                       iterator_types = ["parallel", "reduction", "parallel"]}}
      ins(%x : tensor<{n}x4xf32>) outs(%zero : tensor<{n}x4xf32>) {{
    ^bb0(%a: f32, %b: f32):
      %i = linalg.index 0 : index
      %k = linalg.index 1 : index
      %before = arith.cmpi ule, %k, %i : index
      %nothing = arith.constant 0.0 : f32
      %c = arith.select %before, %a, %nothing : f32
      %r = arith.addf %c, %b : f32""" + END,
    # A row alone is multiplied by another factor.
    "near": HEAD + ELEMENTS + """
      %f = arith.constant {factor} : f32
      %r = arith.mulf %a, %f : f32""" + END,
    "good": """
func.func @good_bs{n}(%x: tensor<{n}x4xf32>, %y: tensor<{n}xi32>)
    -> (tensor<{n}x3xf32>, tensor<{n}xi32>) {{
  %w = arith.constant dense<{weights}> : tensor<4x3xf32>
  %zero = arith.constant dense<0.0> : tensor<{n}x3xf32>
  %p = linalg.matmul ins(%x, %w : tensor<{n}x4xf32>, tensor<4x3xf32>)
      outs(%zero : tensor<{n}x3xf32>) -> tensor<{n}x3xf32>
  %d = arith.addi %y, %y : tensor<{n}xi32>
  return %p, %d : tensor<{n}x3xf32>, tensor<{n}xi32>
}}
""",
}
REASONS = {
    "share": "is not what it is alone (result 0: ",
    "leak": "beside NaN, is not what it is alone (result 0: ",
    "large": "beside large numbers, is not what it is alone (result 0: ",
    "place": "row 1 of 4, beside other rows, is not what it is alone (result 0: ",
    "running": "row 1 of 4, beside other rows, is not what it is alone (result 0: ",
    "near": "row 0 of 4, beside other rows, is not what it is alone (result 0: ",
}
MODULES = [*BACKENDS, "mlir"]
SLOW = {"waits": "nanosleep(&(struct timespec){0, 250000000}, NULL);",
        "works": "for (clock_t end = clock() + CLOCKS_PER_SEC; clock() < end;) {}",
        "sleeps": "nanosleep(&(struct timespec){30, 0}, NULL);"}


def source():
    return "".join(
        text.format(name=name, n=n, weights=json.dumps(WEIGHTS),
                    factor="3.0" if n == 1 else "3.000001")
        for name, text in SOURCES.items() for n in SIZES)


@pytest.fixture(scope="session")
def folder(iree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    for name, flags in BACKENDS.items():
        shutil.copy(iree.compile_text("rows", f"{MAPS}module {{{source()}}}", *flags),
                    folder / f"{name}.vmfb")
    (folder / "mlir.mlir").write_text(MAPS + source())
    subprocess.run([BIN / "farcall", "compile", "mlir.mlir"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    (folder / "mlir.mlir").unlink()
    return folder


def path_of(folder, name):
    return folder / (name + (".so" if name == "mlir" else ".vmfb"))


def inputs(count):
    dice = numpy.random.default_rng(count)
    return (dice.normal(size=(count, 4)).astype("f4"),
            dice.integers(-1000, 1000, count).astype("i4"))


def batch_of(server, function):
    return server.get(f"/api/v1/functions/{function}").json["raw"]["attrs"]["batch"]


def test_any_number_of_rows_gives_what_each_row_gives(serve, folder):
    server = serve(folder)
    for name in MODULES:
        function = f"{name}/good"
        assert batch_of(server, function) == "exact"
        text = server.get(f"/api/v1/functions/{function}").json["text"]
        assert text.endswith("where [batch] is 1 or more, by 1, 4 or 8")
        for count in [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 31, 100]:
            x, y = inputs(count)
            products, doubles = server.results(function, [x.tolist(), y.tolist()])
            alone = [server.results(f"{function}_bs1", [[a.tolist()], [int(b)]])
                     for a, b in zip(x[:13], y)]
            assert products[:13] == [each[0][0] for each in alone]
            assert doubles == (2 * y).tolist()
            numpy.testing.assert_allclose(
                products, x.astype("f8") @ numpy.array(WEIGHTS), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [1, 5, 11])
def test_every_face_takes_them(serve, folder, count):
    server = serve(folder)
    asked = 0
    for name in MODULES:
        model = Model(f"{name}.good", server.get(f"/v2/models/{name}.good").json)
        x, y = inputs(count)
        names = list(model.inputs)
        model.inputs[names[0]], model.inputs[names[1]] = x, y
        expected = server.results(f"{name}/good", [x.tolist(), y.tolist()])
        for face, call in FACES.items():
            found = call(server, model)
            if found is None:  # it has no such form
                continue
            asked += 1
            for value, want in zip(found.values(), expected):
                assert same_bits(value, numpy.array(want, value.dtype)), (name, face)
    assert asked >= 9 * len(MODULES)


def test_rows_that_depend_on_others_are_found(serve, folder, farcall):
    server = serve(folder)
    for name in MODULES:
        for function, reason in REASONS.items():
            said = batch_of(server, f"{name}/{function}")
            assert said.startswith("off: row ") and reason in said, (name, function, said)
            x, _ = inputs(5)
            reply = server.call(f"{name}/{function}", [x.tolist()])
            assert (reply.status, reply.json["code"]) == (422, "shape_mismatch")
            assert "[batch] is 5, it may be 1, 4 or 8" in reply.json["detail"]
            assert server.call(f"{name}/{function}", [x[:4].tolist()]).status == 200
    done = farcall("run", path_of(folder, "mlir"), "--function=place",
                   f"--input={json.dumps(inputs(5)[0].tolist())}")
    assert done.returncode != 0
    assert "it may be 1, 4 or 8; batching is off: row 1 of 4" in done.stderr


def compile_c(folder, body, sizes=(1, 4)):
    """Compiles functions of rows in C, one for each of the sizes."""
    (folder / "m.c").write_text(f"""
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
typedef struct {{ float *a, *b; int64_t offset, sizes[1], strides[1]; }} rows_t;
void _mlir_ciface_f(rows_t *out, rows_t *x) {{
  {body}
  float *y = calloc(x->sizes[0], sizeof *y);
  *out = (rows_t){{y, y, 0, {{x->sizes[0]}}, {{1}}}};
}}
""")
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", folder / "m.so", folder / "m.c"],
                   check=True)
    (folder / "m.c").unlink()
    (folder / "m.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": f"f_bs{n}", "symbol": "_mlir_ciface_f", "cc": "ciface",
             "args": [{"type": f"memref<{n}xf32>"}],
             "results": [{"type": f"memref<{n}xf32>"}]} for n in sizes]}))


@pytest.fixture(scope="module", autouse=True)
def slow(request, tmp_path_factory):
    """Folders and servers of modules whose calls are slow. A server listens when its proofs
    are over, after up to 20 s: those that a test asks for begin before the first test."""
    kinds = {each.callspec.params["kind"] for each in request.session.items
             if each.module is request.module and "kind" in each.fixturenames}
    folders = {kind: tmp_path_factory.mktemp(kind) for kind in sorted(kinds)}
    for kind, folder in folders.items():
        compile_c(folder, SLOW[kind])
    before = len(Server.started)
    with ThreadPoolExecutor(len(SLOW)) as pool:
        begun = {kind: (folder, pool.submit(Server, folder))
                 for kind, folder in folders.items()}
        wait_until(lambda: len(Server.started) == before + len(begun))
        yield begun
        end_servers([server.result() for _, server in begun.values()])


@pytest.mark.once
@pytest.mark.parametrize("body", ["__builtin_trap();", "for (;;) __asm__ volatile(\"\");"])
def test_random_rows_do_not_end_the_command(tmp_path, farcall, body):
    compile_c(tmp_path, body)
    done = farcall("run", tmp_path / "m.so", "--function=f", "--input=[1,2]")
    assert done.returncode > 0
    assert "it may be 1 or 4; batching is off: its random rows end the process" in done.stderr


@pytest.mark.once
def test_batches_that_take_much_memory_are_not_tried(tmp_path, farcall):
    compile_c(tmp_path, "__builtin_trap();", (1, 1 << 29))
    done = farcall("run", tmp_path / "m.so", "--function=f", "--input=[1,2]")
    assert done.returncode > 0
    assert "batching is off: its batches are too large to be tried" in done.stderr


@pytest.mark.once
def test_the_doctor_says_so(folder, farcall):
    for name in MODULES:
        said = farcall("doctor", path_of(folder, name)).stdout
        assert "its rows do not depend on each other (exact)" in said
        for reason in REASONS.values():
            assert reason in said, (name, reason)


@pytest.mark.once
def test_the_doctor_does_not_blame_rows_for_files(folder, farcall):
    """With few descriptors, there is no pipe to the child process, or the child cannot
    open the module."""
    said = []
    while not said or "(exact)" not in said[-1]:
        most = len(said) + 3
        assert most < 64, said[-1]
        said.append(farcall("doctor", path_of(folder, "bytecode"), preexec_fn=lambda:
                            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))).stdout)
    assert any("they cannot be tried here" in each for each in said)
    assert not any("end the process" in each for each in said)


@pytest.mark.parametrize("tolerance, says", [
    ({"rel": 1e-5}, "approximate"), ({"abs": 1e-30}, "off: row 0 of 4"),
    ({"abs": 1e-4}, "approximate")])
def test_what_is_declared_to_be_near_enough_is(serve, folder, tmp_path, tolerance, says):
    for name in MODULES:
        path = path_of(folder, name)
        sidecar = path.with_suffix(".farcall.json")
        known = {"farcall": 1, "abi": "module", "functions": []}
        if sidecar.exists():
            known = json.loads(sidecar.read_text())
        shutil.copy(path, tmp_path)
        (tmp_path / sidecar.name).write_text(json.dumps({**known, "sizes": [
            {"name": "near", "batch": "approximate", "tolerance": tolerance}]}))
    server = serve(tmp_path)
    for name in MODULES:
        assert batch_of(server, f"{name}/near").startswith(says)
        if says != "approximate":
            continue
        x, _ = inputs(6)
        near = server.results(f"{name}/near", [x.tolist()])[0]
        numpy.testing.assert_allclose(near, 3 * x.astype("f8"), rtol=2e-6)


@pytest.mark.parametrize("kind", ["waits"])
def test_a_proof_has_processor_time(slow, farcall, kind):
    """A call that waits is no slow one, nor is one that the machine lets wait."""
    folder, server = slow[kind]
    assert batch_of(server.result(), "m/f") == "exact"
    done = farcall("run", folder / "m.so", "--function=f", "--input=[1,2]")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["works", "sleeps"])
def test_slow_calls_are_not_tried_for_long(slow, kind):
    _, server = slow[kind]
    server = server.result()
    assert batch_of(server, "m/f") == "off: not tried: its calls are slow"
    path = "/api/v1/functions/m"
    tag = server.get(path).headers["ETag"]
    assert server.request(
        "GET", path, None, {"If-None-Match": tag}).status == 304
