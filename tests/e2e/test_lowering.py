# SPDX-License-Identifier: Apache-2.0
"""farcall compile with MLIR's tools: contractions that are computed in tiles of vectors
give numpy's results, at every edge of a tile, for each type, layout and processor."""
import functools
import math
import pathlib
import re
import shutil
import subprocess

import numpy as np
import pytest

from conftest import BIN

MAPS = {"mn": "(m, n)", "nm": "(n, m)", "mk": "(m, k)", "km": "(k, m)", "kn": "(k, n)",
        "nk": "(n, k)"}


def product(name, a, b, c, element, result, widen="", order="%p, %z"):
    """A function c + a * b on tensors. The strings a, b and c name the loops of their
    dims."""
    maps = ", ".join(f"affine_map<(m, n, k) -> {MAPS[x]}>" for x in (a, b, c))
    kind = "f" if result[0] == "f" else "i"
    body = "\n".join(f"    %w{x} = arith.{widen} %{x} : {element} to {result}"
                     for x in "xy" if widen)
    x, y = ("%wx", "%wy") if widen else ("%x", "%y")
    i, o = f"tensor<?x?x{element}>", f"tensor<?x?x{result}>"
    return f"""func.func @{name}(%a: {i}, %b: {i}, %c: {o}) -> {o} {{
  %0 = linalg.generic {{indexing_maps = [{maps}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {i}, {i}) outs(%c : {o}) {{
  ^bb0(%x: {element}, %y: {element}, %z: {result}):
{body}
    %p = arith.mul{kind} {x}, {y} : {result}
    %s = arith.add{kind} {order} : {result}
    linalg.yield %s : {result}
  }} -> {o}
  return %0 : {o}
}}
"""


def named(name, operation, ranks, element="f32", result="f32", options=""):
    """A function that contains one operation of linalg."""
    a, b, c = (f"tensor<{'?x' * rank}{kind}>"
               for rank, kind in zip(ranks, (element, element, result)))
    return f"""func.func @{name}(%a: {a}, %b: {b}, %c: {c}) -> {c} {{
  %0 = linalg.{operation} {options} ins(%a, %b : {a}, {b}) outs(%c : {c}) -> {c}
  return %0 : {c}
}}
"""


CONV = "{strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<[1, 2]> : tensor<2xi64>}"
SOURCE = "".join([
    named("f32", "matmul", (2, 2, 2)),
    named("f64", "matmul", (2, 2, 2), "f64", "f64"),
    named("i8", "matmul", (2, 2, 2), "i8", "i32"),
    named("u8", "matmul", (2, 2, 2), "i8", "i32", "{cast = #linalg.type_fn<cast_unsigned>}"),
    named("i16", "matmul", (2, 2, 2), "i16", "i32"),
    named("i32", "matmul", (2, 2, 2), "i32", "i32"),
    named("i64", "matmul", (2, 2, 2), "i64", "i64"),
    named("f16", "matmul", (2, 2, 2), "f16", "f32"),
    product("rows_of_b", "mk", "nk", "mn", "f32", "f32"),
    product("columns_of_a", "km", "kn", "mn", "f32", "f32", order="%z, %p"),
    product("columns_of_c", "mk", "kn", "nm", "f32", "f32"),
    product("short", "mk", "nk", "mn", "i16", "i64", widen="extsi"),
    named("batches", "batch_matmul", (3, 3, 3)),
    named("vector", "matvec", (2, 1, 1)),
    named("row", "vecmat", (1, 2, 1)),
    named("conv", "conv_2d_nhwc_hwcf", (4, 4, 4), options=CONV),
    # This is no contraction, so it is not changed.
    named("depth", "depthwise_conv_2d_nhwc_hwc", (4, 3, 4)),
    """func.func @part(%a: memref<6x10xf32>, %b: memref<9x9xf32>, %c: memref<5x8xf32>) {
  %s = memref.subview %a[1, 2] [5, 4] [1, 2]
      : memref<6x10xf32> to memref<5x4xf32, strided<[10, 2], offset: 12>>
  %t = memref.subview %b[3, 1] [4, 8] [1, 1]
      : memref<9x9xf32> to memref<4x8xf32, strided<[9, 1], offset: 28>>
  linalg.matmul ins(%s, %t : memref<5x4xf32, strided<[10, 2], offset: 12>>,
                             memref<4x8xf32, strided<[9, 1], offset: 28>>)
      outs(%c : memref<5x8xf32>)
  return
}
"""])
COUNT = SOURCE.count("func.func") - 1

SHAPES = [(1, 1, 1), (2, 3, 1), (0, 4, 3), (4, 0, 3), (3, 4, 0), (1, 70, 9), (70, 1, 9),
          (5, 33, 7), (6, 8, 3), (7, 31, 2), (12, 32, 5), (13, 33, 16), (25, 47, 70),
          (67, 65, 15), (97, 9, 11), (8, 515, 3), (5, 9, 1030)]
TYPES = {"f": "f4", "d": "f8", "b": "i1", "h": "i2", "i": "i4", "l": "i8", "e": "f2"}


def multiply(a, b, c):
    return c + a.astype(c.dtype) @ b.astype(c.dtype)


# Each function returns the shapes of a, b and c for given m, n and k.
def plain(m, n, k):
    return (m, k), (k, n), (m, n)


PRODUCTS = [
    ("f32", "fff", plain, multiply),
    ("f64", "ddd", plain, multiply),
    ("i8", "bbi", plain, multiply),
    ("u8", "bbi", plain, lambda a, b, c: multiply(a.view("u1"), b.view("u1"), c)),
    ("i16", "hhi", plain, multiply),
    ("i32", "iii", plain, multiply),
    ("i64", "lll", plain, multiply),
    ("f16", "eef", plain, multiply),
    ("rows_of_b", "fff", lambda m, n, k: ((m, k), (n, k), (m, n)),
     lambda a, b, c: c + a @ b.T),
    ("columns_of_a", "fff", lambda m, n, k: ((k, m), (k, n), (m, n)),
     lambda a, b, c: c + a.T @ b),
    ("columns_of_c", "fff", lambda m, n, k: ((m, k), (k, n), (n, m)),
     lambda a, b, c: c + (a @ b).T),
    ("short", "hhl", lambda m, n, k: ((m, k), (n, k), (m, n)),
     lambda a, b, c: multiply(a, b.T, c)),
    ("batches", "fff", lambda m, n, k: ((2, m, k), (2, k, n), (2, m, n)), multiply),
    ("vector", "fff", lambda m, n, k: ((m, k), (k,), (m,)), multiply),
    ("row", "fff", lambda m, n, k: ((k,), (k, n), (n,)), multiply),
]


def convolve(a, b, c, strides=(2, 1), dilations=(1, 2)):
    for y in range(b.shape[0]):
        for x in range(b.shape[1]):
            rows = a[:, y * dilations[0]:][:, ::strides[0]][:, :c.shape[1]]
            part = rows[:, :, x * dilations[1]:][:, :, ::strides[1]][:, :, :c.shape[2]]
            c = c + part @ b[y, x]
    return c


def draw(random, shape, kind):
    """Whole numbers, also as floats, so that a sum in any order is the same."""
    dtype = np.dtype(TYPES[kind])
    if dtype.kind == "i" and dtype.itemsize < 4:
        least = np.iinfo(dtype).min
        return random.integers(least, -least, shape).astype(dtype)
    return random.integers(-9, 10, shape).astype(dtype)


@pytest.fixture(scope="module", params=["generic", "x86-64-v3", "host"])
def module(request, farcall, tmp_path_factory):
    cpu = request.param
    if cpu == "x86-64-v3" and " avx2 " not in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("no x86-64-v3 here")
    folder = tmp_path_factory.mktemp("lowering")
    (folder / "m.mlir").write_text(SOURCE)
    done = farcall("compile", "m.mlir", "--road=mlir", f"--cpu={cpu}", "-v", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"note: {COUNT} contractions are computed in tiles" in done.stderr
    return folder / "m.so"


def test_answers_are_those_of_numpy(serve, module):
    random = np.random.default_rng(1)
    call = functools.partial(answer, serve(module, "--isolation=process"))
    for m, n, k in SHAPES:
        for name, kinds, shapes, reference in PRODUCTS:
            check(call, name, reference,
                  *(draw(random, s, t) for s, t in zip(shapes(m, n, k), kinds)))
    for channels, filters, width in [(3, 5, 9), (16, 33, 20), (1, 1, 30)]:
        check(call, "conv", convolve, draw(random, (2, 9, width, channels), "f"),
              draw(random, (3, 2, channels, filters), "f"),
              draw(random, (2, 4, width - 2, filters), "f"))
        check(call, "depth", lambda a, b, c: c + sum(
                  a[:, y:y + 7, x:x + width - 1] * b[y, x]
                  for y in range(3) for x in range(2)),
              draw(random, (2, 9, width, channels), "f"),
              draw(random, (3, 2, channels), "f"),
              draw(random, (2, 7, width - 1, channels), "f"))
    check(call, "part", lambda a, b, c: c + a[1:6, 2:10:2] @ b[3:7, 1:9],
          draw(random, (6, 10), "f"), draw(random, (9, 9), "f"), draw(random, (5, 8), "f"))


def answer(server, name, *arguments):
    tensors = [{"shape": list(a.shape), "data": a.ravel().tolist()} for a in arguments]
    return server.results(f"m/{name}", tensors)


def check(call, name, reference, *arguments):
    expected = reference(*arguments)
    (result,) = call(name, *arguments)
    got = np.array(result, expected.dtype).reshape(expected.shape)
    assert np.array_equal(got, expected), (name, [a.shape for a in arguments])


def test_sizes_are_checked_before_the_call(serve, module):
    server = serve(module, "--isolation=process")
    for name, a, b in [("f32", (3, 4), (5, 6)), ("i8", (30, 4), (3, 6))]:
        reply = server.call(f"m/{name}", [np.zeros(a, int).tolist(), np.zeros(b, int).tolist(),
                                          np.zeros((a[0], b[1]), int).tolist()])
        assert reply.status == 422, reply.body
        assert "incompatible with inferred dimension size" in reply.json["detail"]


# The other tests set no level: they use 2.
@pytest.mark.parametrize("level, tiles", [("1", False), ("3", True)])
def test_levels(farcall, tmp_path, level, tiles):
    (tmp_path / "m.mlir").write_text(named("f32", "matmul", (2, 2, 2)))
    done = farcall("compile", "m.mlir", "--road=mlir", f"-O{level}", "-v", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("note: 1 contractions are computed in tiles" in done.stderr) is tiles
    done = farcall("run", tmp_path / "m.so", "--json=[[[1,2]],[[3],[4]],[[5]]]")
    assert done.stdout == '{"results":[[[16.0]]]}\n', done.stderr


def test_what_cannot_be_done_in_tiles_is_done_plainly(farcall, tmp_path):
    """A tool refuses the fast code. The module is made without it."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ["mlir-opt", "mlir-translate", "opt", "llc"]:
        real = shutil.which(f"{name}-22") or shutil.which(name)
        refusal = "" if name != "mlir-opt" else (
            'case "$*" in *generalize*) echo "m.mlir:1:1: error: no" >&2; exit 1;; esac\n')
        (tools / name).write_text(f'#!/bin/sh\n{refusal}exec {real} "$@"\n')
        (tools / name).chmod(0o755)
    (tmp_path / "m.mlir").write_text(named("f32", "matmul", (2, 2, 2)))
    arguments = [BIN / "farcall", "compile", "m.mlir", "--road=mlir", "--tools", tools]
    note = "note: compiled without tiles and vectors: "
    for more in [], ["-v"]:
        done = subprocess.run([*arguments, *more], cwd=tmp_path, capture_output=True,
                              text=True)
        assert done.returncode == 0, done.stderr
        said = done.stderr.splitlines()
        assert sum(note in line for line in said) == 1, done.stderr
        assert more or len(said) == 1, done.stderr
        done = farcall("run", tmp_path / "m.so", "--json=[[[1,2]],[[3],[4]],[[5]]]")
        assert done.stdout == '{"results":[[[16.0]]]}\n', done.stderr


# Calls a product of 9 rows, which is computed in tiles, with a malloc that always
# fails.
WITHOUT_MEMORY = r"""
#include <stdio.h>
#include <stddef.h>
void *__libc_malloc(size_t size);
static int armed, refused;
void *malloc(size_t size) {
  if (!armed) return __libc_malloc(size);
  refused++;
  return NULL;
}
typedef struct { float *base, *data; long offset, sizes[2], strides[2]; } matrix_t;
void _mlir_ciface_product(matrix_t *a, matrix_t *b, matrix_t *c);
enum { M = 9, N = 40, K = 7 };
static float a[M * K], b[K * N], c[M * N];
int main(void) {
  int wrong = 0;
  for (int i = 0; i < M * K; i++) a[i] = i % 5 - 2;
  for (int i = 0; i < K * N; i++) b[i] = i % 7 - 3;
  matrix_t x = {a, a, 0, {M, K}, {K, 1}}, y = {b, b, 0, {K, N}, {N, 1}};
  matrix_t z = {c, c, 0, {M, N}, {N, 1}};
  armed = 1;
  _mlir_ciface_product(&x, &y, &z);
  armed = 0;
  for (int i = 0; i < M * N; i++) {
    float sum = 0;
    for (int k = 0; k < K; k++) sum += a[i / N * K + k] * b[k * N + i % N];
    wrong += sum != c[i];
  }
  printf("%d refused, %d wrong\n", refused, wrong);
}
"""


def test_without_memory_for_tiles_there_are_none(farcall, tmp_path):
    """In farcall, malloc's failure would abort the call. So another program calls the
    module."""
    kind = "memref<?x?xf32>"
    (tmp_path / "m.mlir").write_text(
        f"func.func @product(%a: {kind}, %b: {kind}, %c: {kind}) {{\n"
        f"  linalg.matmul ins(%a, %b : {kind}, {kind}) outs(%c : {kind})\n"
        "  return\n}\n")
    done = farcall("compile", "m.mlir", "--road=mlir", "-v", cwd=tmp_path)
    assert "note: 1 contractions are computed in tiles" in done.stderr, done.stderr
    (tmp_path / "main.c").write_text(WITHOUT_MEMORY)
    subprocess.run(["cc", "-fno-builtin", "main.c", "./m.so", "-rdynamic", "-o", "main",
                    "-Wl,-rpath,$ORIGIN"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "1 refused, 0 wrong\n")


FUNCTIONS = {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log2": np.log2,
             "log1p": np.log1p, "tanh": np.tanh, "erf": np.vectorize(math.erf)}
# Polynomials are not accurate enough for these functions, so there are none in the module
# that uses them.
EXACT = {"sin": np.sin, "cos": np.cos, "atan": np.arctan, "cbrt": np.cbrt, "exp": np.exp}


@pytest.mark.parametrize("functions", [FUNCTIONS, EXACT], ids=["polynomials", "library"])
def test_functions_are_exact_to_five_units(farcall, serve, tmp_path, functions):
    vector = "tensor<?xf32>"
    (tmp_path / "m.mlir").write_text("".join(
        f"func.func @f_{name}(%x: {vector}) -> {vector} {{\n"
        f"  %0 = math.{name} %x : {vector}\n  return %0 : {vector}\n}}\n"
        for name in functions))
    done = farcall("compile", "m.mlir", "--road=mlir", "--cpu=host", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    server = serve(tmp_path / "m.so", "--isolation=process")
    for name, reference in functions.items():
        x = np.random.default_rng(1).uniform(-80, 80, 4001).astype("f4")
        x[:2000] /= 80
        x = np.abs(x) if name.startswith("log") else x
        expected = reference(x.astype("f8"))
        got = np.array(server.results(f"m/f_{name}", [x.tolist()])[0], "f4").astype("f8")
        unit = np.spacing(np.abs(expected).astype("f4")).astype("f8")
        assert np.max(np.abs(got - expected) / unit) <= 5, name


CHAIN = """func.func @chain(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = arith.mulf %a, %b : tensor<?x?xf32>
  %1 = arith.addf %0, %a : tensor<?x?xf32>
  %2 = arith.mulf %1, %1 : tensor<?x?xf32>
  %3 = arith.subf %2, %b : tensor<?x?xf32>
  %4 = arith.maximumf %3, %b : tensor<?x?xf32>
  return %4 : tensor<?x?xf32>
}
"""


def operations(farcall, folder):
    """Compiles m.mlir, and counts the generic operations that its tensors are lowered
    to."""
    done = farcall("compile", "m.mlir", "--road=mlir", "--keep", cwd=folder)
    assert done.returncode == 0, done.stderr
    kept = pathlib.Path(re.search(r"files are in (.+)", done.stderr)[1])
    lowered = (kept / "farcall-2-buffers.mlir").read_text()
    shutil.rmtree(kept)
    return lowered.count('"linalg.generic"')


def test_a_chain_is_one_operation(farcall, serve, tmp_path):
    (tmp_path / "m.mlir").write_text(CHAIN)
    assert operations(farcall, tmp_path) == 1
    call = functools.partial(answer, serve(tmp_path / "m.so", "--isolation=process"))
    random = np.random.default_rng(1)
    for shape in [(0, 3), (1, 1), (3, 5), (2, 31), (17, 64), (5, 70)]:
        check(call, "chain",
              lambda a, b: np.maximum((a * b + a) ** 2 - b, b),
              draw(random, shape, "f"), draw(random, shape, "f"))
    done = farcall("run", tmp_path / "m.so", "--json=[[[1,2,3]],[[1,2]]]")
    assert "incompatible with inferred dimension size" in done.stderr


def operand_by(operand, taken):
    """A function that adds the exp of a tensor with another layout to %b."""
    return f"""func.func @f(%a: {operand}, %b: tensor<4x4xf32>) -> tensor<4x4xf32> {{
  %0 = math.exp %a : {operand}
  %1 = tensor.empty() : tensor<4x4xf32>
  %2 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> {taken}>,
      affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%0, %b : {operand}, tensor<4x4xf32>) outs(%1 : tensor<4x4xf32>) {{
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  }} -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}}
"""


@pytest.mark.parametrize("operand, taken, count", [
    ("tensor<4x4xf32>", "(i, j)", 1), ("tensor<4x4xf32>", "(j, i)", 1),
    ("tensor<4xf32>", "(i)", 2), ("tensor<4x1xf32>", "(i, 0)", 2)])
def test_what_is_broadcast_is_computed_once(farcall, tmp_path, operand, taken, count):
    (tmp_path / "m.mlir").write_text(operand_by(operand, taken))
    assert operations(farcall, tmp_path) == count
