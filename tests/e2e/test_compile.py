# SPDX-License-Identifier: Apache-2.0
"""farcall compile: what it writes, what it refuses, and with which message."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import BIN, CORPUS, SAMPLES, Server


def build(farcall, tmp_path, source, *arguments, name="m.mlir"):
    path = tmp_path / name
    path.write_text(source)
    return farcall("compile", path, "-o", tmp_path / "m.so", *arguments)


def sidecar(path):
    return json.loads(path.with_suffix("").with_suffix(".farcall.json").read_text())


def embedded(path):
    text = path.read_bytes()
    start = text.index(b'{"farcall":')
    return json.loads(text[start:text.index(b"\0", start)])


# Samples that use memref.reinterpret_cast, whose bounds nothing checks.
UNVERIFIED = {"ownership", "stride0"}


def test_sidecar_and_embedded_say_the_same(corpus):
    for path in sorted(corpus.glob("*.so")):
        beside = sidecar(path)
        digest = beside.pop("so_sha256")
        assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
        assert beside == embedded(path)
        assert beside["farcall"] == 1
        assert beside["compiler"].startswith("mlir 2")
        assert beside["checked"] is (path.stem not in UNVERIFIED)


def test_functions_of_a_sidecar(corpus):
    functions = {f["name"]: f for f in sidecar(corpus / "abi.so")["functions"]}
    assert len(functions) == 35
    assert functions["priv"]["symbol"] == "_mlir_ciface_priv"
    assert functions["bare_noiface"]["symbol"] == "_mlir_ciface_bare_noiface"
    assert functions["m_2memref"] == {
        "name": "m_2memref", "symbol": "_mlir_ciface_m_2memref", "cc": "ciface",
        "threads": "reentrant",
        "args": [{"name": "m", "type": "memref<?xf32>"},
                 {"name": "n", "type": "memref<2x?xi8>"}],
        "results": [{"type": "memref<?xf32>"}, {"type": "memref<2x?xi8>"}]}
    owners = sidecar(corpus / "ownership.so")
    assert owners["pure"] is False  # a mutable global
    assert {f["threads"] for f in owners["functions"]} == {"serial"}
    roles = {f["name"]: [a.get("role") for a in f["args"]]
             for f in sidecar(corpus / "outparam.so")["functions"]}
    assert roles == {"axpy": [None, None, "inout"], "fill_out": [None, "out"],
                     "transpose_out": [None, "inout"]}


def test_stack_frames_are_measured(modules):
    stack = sidecar(modules / "stack.so")
    assert 400000 <= stack["max_frame"] < 400000 + 4096
    assert stack["pure"] is False  # `use` is defined elsewhere


ALIGNED = """
func.func @f(%a: memref<?xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %b = memref.assume_alignment %a, 64 : memref<?xf32>
  %v = memref.load %b[%c0] : memref<?xf32>
  return %v : f32
}
"""


def test_alignment_is_said_where_nothing_relies_on_it(corpus, farcall, tmp_path):
    said = {module.stem: sidecar(module).get("alignment")
            for module in corpus.glob("*.so")}
    # `abi` has vectors and 128-bit integers in memory, so it needs alignment.
    assert said == {**dict.fromkeys(CORPUS, 1), "abi": None}
    (tmp_path / "aligned.mlir").write_text(ALIGNED)
    done = farcall("compile", tmp_path / "aligned.mlir", "-o", tmp_path / "aligned.so")
    assert done.returncode == 0, done.stderr
    assert "alignment" not in sidecar(tmp_path / "aligned.so")


NAMED = """
func.func @add(%a: tensor<?x3xf32> {farcall.dims = ["n", "?"]},
               %b: tensor<?x3xf32> {farcall.dims = [DIMS]})
    -> (tensor<?x3xf32> {farcall.dims = ["n", "?"]}) {
  %0 = arith.addf %a, %b : tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
"""


def test_dims_get_the_names_of_the_source(farcall, tmp_path):
    source, module = tmp_path / "named.mlir", tmp_path / "named.so"
    source.write_text(NAMED.replace("DIMS", '"n", "?"'))
    done = farcall("compile", "--unchecked", source, "-o", module)
    assert done.returncode == 0, done.stderr
    assert [a["dims"] for a in sidecar(module)["functions"][0]["args"]] == [
        ["n", None]] * 2
    for _ in range(2):  # by the sidecar, then by what is in the module
        done = farcall("sig", module)
        assert ("add(a: tensor<[n]x3xf32>, b: tensor<[n]x3xf32>) -> "
                "tensor<[n]x3xf32>") in done.stdout
        done = farcall("run", module, "--function=add", "--input=4x3xf32=1",
                       "--input=2x3xf32=1")
        assert "dim 0 is 2, dim 0 of argument 0 ('a') is 4" in done.stderr
        module.with_suffix(".farcall.json").unlink(missing_ok=True)
    # A file beside the module may give other names than the module itself.
    module.with_suffix(".farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "module", "functions": [
            {"name": "add", "args": [{"name": "left", "dims": ["rows", None]}, {}]}]}))
    assert ("add(left: tensor<[rows]x3xf32>, b: tensor<[rows]x3xf32>) -> "
            "tensor<[rows]x3xf32>") in farcall("sig", module).stdout
    for dims, message in [
            ('"n"', "/functions/0/args/1/dims: 1 dims for a type of 2"),
            ('"n", "m"', "dim 1 has a size in the type, no name"),
            ("3", "it is an array of strings")]:
        source.write_text(NAMED.replace("DIMS", dims))
        done = farcall("compile", source, "-o", module)
        assert done.returncode == 65 and message in done.stderr, done.stderr


def test_nothing_of_this_machine_is_inside(modules, tmp_path_factory):
    for path in modules.rglob("*.so"):
        data = path.read_bytes()
        assert b"/tmp" not in data and b"farcall-" not in data, path
        assert str(tmp_path_factory.getbasetemp()).encode() not in data


LINES = """func.func @f(%a: f32, %b: i32, %c: i32) -> f32 {
  %0 = arith.divsi %b, %c : i32
  %1 = arith.sitofp %0 : i32 to f32
  %2 = arith.addf %a, %1 : f32
  return %2 : f32
}
"""


@pytest.mark.parametrize("level", "13")
def test_lines_of_the_source_are_in_the_module(farcall, tmp_path, scratch, level):
    done = build(farcall, tmp_path, LINES, "-g", f"-O{level}")
    assert done.returncode == 0, done.stderr
    shown = farcall("dump", "m.so", "--function=f", cwd=tmp_path).stdout
    assert re.search(r"^(; )?(\./)?m\.mlir:4$", shown, re.M), shown
    assert "%2 = arith.addf %a, %1 : f32" in shown
    assert b"/tmp" not in (tmp_path / "m.so").read_bytes()
    done = farcall("run", tmp_path / "m.so", "--json=[0.5,7,0]")
    assert "m.mlir:2:8: integer division by zero" in done.stderr or "2:8" in done.stderr
    assert farcall("run", tmp_path / "m.so", "--json=[0.5,7,2]").stdout == '{"results":[3.5]}\n'
    assert build(farcall, tmp_path, LINES).returncode == 0
    assert "m.mlir:" not in farcall("dump", tmp_path / "m.so", cwd=tmp_path).stdout


def test_checks_name_the_source(corpus):
    data = (corpus / "tensor.so").read_bytes()
    assert b'loc("tensor.mlir":12:10)' in data
    assert b"incompatible with inferred dimension size" in data


def test_unchecked_leaves_the_checks_out(farcall, tmp_path, scratch):
    done = farcall("compile", SAMPLES / "tensor.mlir", "-o", tmp_path / "t.so",
                   "--unchecked")
    assert (done.returncode, done.stderr) == (0, "")
    assert b"incompatible" not in (tmp_path / "t.so").read_bytes()
    assert sidecar(tmp_path / "t.so")["checked"] is False


def test_what_no_check_sees_is_said(farcall, tmp_path, scratch):
    source = tmp_path / "v.mlir"
    source.write_text("""func.func @at(%x: memref<4xf32>, %i: index) -> f32 {
  %v = vector.load %x[%i] : memref<4xf32>, vector<4xf32>
  %s = vector.extract %v[0] : f32 from vector<4xf32>
  return %s : f32
}
""")
    done = farcall("compile", source, "-o", tmp_path / "v.so")
    assert done.returncode == 0
    assert "v.mlir:2:8: nothing checks the indices of 'vector.load'" in done.stderr
    assert sidecar(tmp_path / "v.so")["checked"] is False


def test_attributes_name_and_direct_arguments(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func @f(%a: memref<4xf32> {farcall.name = "left hand"},
                   %0: memref<?xf32> {farcall.role = "inout"},
                   %b: memref<2xf32> {farcall.role = "out"})
          -> (f32 {farcall.name = "sum"}) {
        %c = arith.constant 1.0 : f32
        return %c : f32
      }""")
    assert (done.returncode, done.stderr) == (0, "")
    (function,) = sidecar(tmp_path / "m.so")["functions"]
    assert function["args"] == [
        {"name": "left hand", "type": "memref<4xf32>"},
        {"type": "memref<?xf32>", "role": "inout"},
        {"name": "b", "type": "memref<2xf32>", "role": "out"}]
    assert function["results"] == [{"name": "sum", "type": "f32"}]


def test_a_function_may_be_named_like_the_c_library(farcall, tmp_path, scratch):
    """Calls inside the module stay inside it, and other libraries keep the C library's
    functions. What LLVM assumes of `exp` and `conj` does not hold for these
    functions."""
    done = build(farcall, tmp_path, """
      func.func @select(%x: i32) -> i32 attributes {no_inline} {
        return %x : i32
      }
      func.func @exp(%x: f64) -> f64 attributes {no_inline} {
        %0 = arith.negf %x : f64
        return %0 : f64
      }
      func.func @conj(%x: memref<2xf32>) {
        %c0 = arith.constant 0 : index
        %0 = memref.load %x[%c0] : memref<2xf32>
        memref.store %0, %x[%c0] : memref<2xf32>
        return
      }
      func.func @both(%x: f64) -> (f64, f64) {
        %c = arith.constant 0.0 : f64
        %0 = call @exp(%c) : (f64) -> f64
        %1 = call @exp(%x) : (f64) -> f64
        %2 = math.exp %c : f64
        %3 = arith.addf %0, %2 : f64
        return %3, %1 : f64, f64
      }""")
    assert done.returncode == 0, done.stderr
    assert [(f["name"], f["symbol"]) for f in sidecar(tmp_path / "m.so")["functions"]] == [
        ("select", "_mlir_ciface_select"), ("exp", "_mlir_ciface_exp.farcall"),
        ("conj", "_mlir_ciface_conj.farcall"), ("both", "_mlir_ciface_both")]
    for name, argument, results in [("select", "7", "[7]"), ("exp", "2", "[-2.0]"),
                                    ("both", "3", "[1.0,-3.0]"),
                                    ("conj", "[1,2]", "[[1.0,2.0]]")]:
        done = farcall("run", tmp_path / "m.so", "-f", name, "--json", f"[{argument}]")
        assert done.stdout == f'{{"results":{results}}}\n', done.stderr


def test_elementwise_arithmetic_on_tensors(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func @f(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xi1> {
        %0 = arith.mulf %x, %x : tensor<3xf32>
        %1 = arith.cmpf olt, %0, %y : tensor<3xf32>
        return %1 : tensor<3xi1>
      }""")
    assert done.returncode == 0, done.stderr
    done = farcall("run", tmp_path / "m.so", "--json=[[1,2,3],[0,5,9]]")
    assert done.stdout == '{"results":[[false,true,false]]}\n', done.stderr


def test_tosa_is_lowered(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func @f(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> tensor<2x3xf32> {
        %0 = tosa.add %x, %y : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
        %1 = tosa.abs %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %1 : tensor<2x3xf32>
      }""")
    assert done.returncode == 0, done.stderr
    done = farcall("run", tmp_path / "m.so", "--json=[[[1,2,3],[4,5,6]],[[-2,-2,-2]]]")
    assert done.stdout == '{"results":[[[1.0,0.0,1.0],[2.0,3.0,4.0]]]}\n', done.stderr


def test_standard_input(farcall, tmp_path, scratch):
    source = "func.func @f(%x: i32) -> i32 { return %x : i32 }"
    done = farcall("compile", "-", "-o", tmp_path / "m.so", input=source)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("m/f(x: i32) -> i32\ncurl -s localhost:8000/api/v1/functions/"
                           "m/f -d '{\"kwargs\":{\"x\":0}}'\n")
    done = farcall("compile", "-", input=source)
    assert done.returncode == 64 and "give -o FILE" in done.stderr
    done = farcall("compile", "-", "-o", tmp_path / "m.so", input="func.func @f( {")
    assert done.stderr.splitlines()[-1].startswith("farcall: standard input:1:")


def test_variants_for_processors(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, "func.func @f(%x: i32) -> i32 { return %x : i32 }",
                 "--cpu=generic,x86-64-v3,x86-64-v2", "-O1")
    assert done.returncode == 0, done.stderr
    assert sidecar(tmp_path / "m.so")["variants"] == [
        {"file": "m-x86-64-v3.so", "cpu": ["x86-64-v3"]},
        {"file": "m-x86-64-v2.so", "cpu": ["x86-64-v2"]}]
    for name in ["m.so", "m-x86-64-v2.so"]:
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert sidecar(tmp_path / name)["so_sha256"] == digest
    assert farcall("run", tmp_path / "m.so", "--input=7").stdout == '{"results":[7]}\n'


def test_private_functions_stay_private(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func private @hidden(%x: i32) -> i32 attributes {no_inline} {
        return %x : i32
      }
      func.func @shown(%x: i32) -> i32 {
        %0 = call @hidden(%x) : (i32) -> i32
        return %0 : i32
      }""")
    assert done.returncode == 0, done.stderr
    names = [f["name"] for f in sidecar(tmp_path / "m.so")["functions"]]
    assert names == ["shown"]
    symbols = subprocess.run(["nm", "-D", "--defined-only", tmp_path / "m.so"],
                             capture_output=True, text=True).stdout
    assert "shown" in symbols and "hidden" not in symbols


def test_a_private_function_with_an_interface_is_served(farcall, tmp_path, scratch):
    """Layouts are read in both spellings: `strided` and affine maps."""
    done = build(farcall, tmp_path, """
      func.func private @third(%x: memref<?xf32, affine_map<(d0)[s0, s1] -> (d0 * s1 + s0)>>)
          -> f32 attributes {llvm.emit_c_interface} {
        %c2 = arith.constant 2 : index
        %0 = memref.load %x[%c2] : memref<?xf32, affine_map<(d0)[s0, s1] -> (d0 * s1 + s0)>>
        return %0 : f32
      }""")
    assert done.returncode == 0, done.stderr
    done = farcall("run", tmp_path / "m.so", "-f", "third", "--json=[[1,2,3]]")
    assert done.stdout == '{"results":[3.0]}\n', done.stderr


def test_variadic_functions_are_left_out(farcall, tmp_path, scratch):
    """MLIR makes no C interface for variadic functions. A function that calls one is
    served."""
    done = build(farcall, tmp_path, """
      llvm.func @printf(!llvm.ptr, ...) -> i32
      llvm.func @many(%n: i32, ...) -> i32 { llvm.return %n : i32 }
      func.func @f(%x: i32) -> i32 {
        %0 = llvm.call @many(%x, %x) vararg(!llvm.func<i32 (i32, ...)>) : (i32, i32) -> i32
        return %0 : i32
      }""")
    assert done.returncode == 0, done.stderr
    assert [f["name"] for f in sidecar(tmp_path / "m.so")["functions"]] == ["f"]
    done = farcall("run", tmp_path / "m.so", "-f", "f", "--json=[7]")
    assert done.stdout == '{"results":[7]}\n', done.stderr


REFUSED = [
    ("syntax", "func.func @f(%x: f32) -> f32 {\n  return %y : f32\n}",
     "m.mlir:2:10: not valid MLIR: use of undeclared SSA value name"),
    ("unknown dialect", 'func.func @f() {\n  "a.b"() : () -> ()\n  return\n}',
     "m.mlir:2:8: not valid MLIR: operation being parsed with an unregistered"),
    ("stablehlo", """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.abs %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}""", "m.mlir is MLIR of the stablehlo dialect, which MLIR's tools do not lower: "
     "--road=iree does"),
    ("an archive", "PK\x03\x04rest", "m.mlir: this is a zip archive: what is in it may be a model: PyTorch's"),
    ("no lowering", """func.func @f(%x: memref<4xf32>) {
  gpu.memcpy %x, %x : memref<4xf32>, memref<4xf32>
  return
}""", "m.mlir:2:3: to LLVM: no lowering for 'gpu.memcpy'; 'gpu' is for GPUs: farcall "
     "runs modules on the processor only"),
    ("nothing public", "func.func private @f() {\n  return\n}",
     "m.mlir: no public func.func with a body"),
    ("wrong role", 'func.func @f(%x: memref<4xf32> {farcall.role = "both"}) {\n'
     "  return\n}", "argument 0 of 'f' has farcall.role \"both\""),
    ("role of a scalar", 'func.func @f(%x: f32 {farcall.role = "out"}) {\n'
     "  return\n}", "a f32 cannot be written to"),
    ("out without a size", "func.func @f(%x: memref<?xf32> "
     '{farcall.role = "out"}) {\n  return\n}', 'use "inout"'),
    ("in, and written into", "func.func @f(%x: tensor<4xf32> {bufferization.writable = true, "
     'farcall.role = "in"}, %s: f32) -> tensor<4xf32> {\n'
     "  %0 = linalg.fill ins(%s : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>\n"
     "  return %0 : tensor<4xf32>\n}",
     "argument 0 of 'f' has farcall.role \"in\" beside bufferization.writable = true, by which "
     'the function writes into it: use "inout"'),
    ("in, and a result", 'func.func @f(%x: memref<4xf32> {bufferize.result, '
     'farcall.role = "in"}) {\n  return\n}', 'farcall.role "in" beside bufferize.result'),
    ("a misspelt attribute", "func.func @f(%x: memref<?xf32> "
     '{farcall.dmis = ["n"]}) {\n  return\n}',
     "argument 0 of 'f' has an attribute farcall.dmis, which farcall does not know: did you "
     "mean farcall.dims?"),
    ("an attribute of another world", "func.func @f(%x: f32) -> (f32 "
     '{farcall.unit = "m"}) {\n  return %x : f32\n}',
     "result 0 of 'f' has an attribute farcall.unit, which farcall does not know: did you mean "
     "farcall.name, farcall.role or farcall.dims?"),
    ("twin names", 'func.func @f(%a: f32, %b: f32 {farcall.name = "a"}) {\n'
     "  return\n}", "arguments 0 and 1 of 'f' are both named 'a'"),
]


ASYNC = """func.func @f(%x: f32) -> f32 {
  %token, %r = async.execute -> !async.value<f32> {
    async.yield %x : f32
  }
  %0 = async.await %r : !async.value<f32>
  return %0 : f32
}"""
SPARSE = """#CSR = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
func.func @f(%x: f32, %y: tensor<4x4xf32, #CSR>) -> f32 {
  return %x : f32
}"""
# Sources that cannot be lowered. The message names the line and operation, or says what
# is wrong with its type.
UNLOWERED = [
    ("operation", ASYNC, "m.mlir:2:16: to LLVM: no lowering for 'async.execute'"),
    ("sequence", "module attributes {transform.with_named_sequence} {\n  func.func @g() { return }\n  transform.named_sequence "
     "@__transform_main(%x: !transform.any_op) {\n    transform.yield\n  }\n}",
     "m.mlir:3:3: to LLVM: no lowering for 'transform.named_sequence'"),
    ("tuple", "func.func @f(%x: f32, %t: tuple<i32, f32>) {\n  return\n}",
     "m.mlir:1:1: to LLVM: argument 1 of 'f': tuple<i32, f32>: a tuple has no C calling"),
    ("tf32", "func.func @f() -> tf32 {\n  %0 = arith.constant 1.0 : tf32\n"
     "  return %0 : tf32\n}", "m.mlir:1:1: to LLVM: result 0 of 'f': tf32: this float type"),
    ("sparse", SPARSE, "m.mlir:2: the interface: argument 1 of 'f' is a sparse tensor"),
]
REST = """
func.func @g(%x: f32) -> f32 attributes {note = "@f"} {
  return %x : f32
}
"""


@pytest.mark.parametrize("source,message", [r[1:] for r in UNLOWERED],
                         ids=[r[0] for r in UNLOWERED])
def test_what_cannot_be_lowered_is_named_as_in_the_source(farcall, tmp_path, scratch,
                                                          source, message):
    done = build(farcall, tmp_path, source)
    assert done.returncode == 65 and message in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("source,message",
                         [r[1:] for r in UNLOWERED if "@f" in r[1]],
                         ids=[r[0] for r in UNLOWERED if "@f" in r[1]])
def test_the_other_functions_are_served(farcall, tmp_path, scratch, source, message):
    done = build(farcall, tmp_path, source + REST)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("farcall: note: 'f' is left out: ")
    assert message in done.stderr and len(done.stderr.splitlines()) == 1
    names = [f["name"] for f in sidecar(tmp_path / "m.so")["functions"]]
    assert names == ["g"]


def test_the_other_function_of_a_line_is_served(farcall, tmp_path, scratch):
    source = "func.func @f(%x: f32, %t: tuple<i32, f32>) { return }" + REST
    done = build(farcall, tmp_path, source.replace("\n", " "))
    assert done.returncode == 0, done.stderr
    assert [f["name"] for f in sidecar(tmp_path / "m.so")["functions"]] == ["g"]


def test_callers_of_what_is_left_out_are_left_out(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, ASYNC + REST + """
      func.func @outer(%x: f32) -> f32 {
        %0 = call @inner(%x) : (f32) -> f32
        return %0 : f32
      }
      func.func private @inner(%x: f32) -> f32 {
        %0 = call @f(%x) : (f32) -> f32
        return %0 : f32
      }""")
    assert done.returncode == 0, done.stderr
    assert [line.split(": ")[2:] for line in done.stderr.splitlines()[1:]] == [
        ["'outer' is left out", "it calls 'inner'"],
        ["'inner' is left out", "it calls 'f'"]]


def test_realloc_is_lowered(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func @f(%n: index, %x: f32) -> f32 {
        %c0 = arith.constant 0 : index
        %a = memref.alloc(%n) : memref<?xf32>
        memref.store %x, %a[%c0] : memref<?xf32>
        %b = memref.realloc %a : memref<?xf32> to memref<40xf32>
        %0 = memref.load %b[%c0] : memref<40xf32>
        memref.dealloc %b : memref<40xf32>
        return %0 : f32
      }""")
    assert done.returncode == 0 and done.stderr == ""
    done = farcall("run", tmp_path / "m.so", "--json=[3,1.5]")
    assert done.stdout == '{"results":[1.5]}\n', done.stderr


@pytest.mark.parametrize("source,message", [r[1:] for r in REFUSED],
                         ids=[r[0] for r in REFUSED])
def test_refusals(farcall, tmp_path, scratch, source, message):
    done = build(farcall, tmp_path, source)
    last = done.stderr.splitlines()[-1]
    assert done.returncode == 65, done.stderr
    assert last.startswith("farcall: ")
    assert message in last
    assert not (tmp_path / "m.so").exists()


def test_the_line_of_the_source_is_shown(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path,
                 "func.func @f(%x: f32) -> f32 {\n  return %y : f32\n}")
    lines = done.stderr.splitlines()
    assert lines[0] == "  return %y : f32"
    assert lines[1].strip() == "^"


def test_files(farcall, tmp_path, scratch):
    done = farcall("compile", tmp_path / "none.mlir", "-o", tmp_path / "x.so")
    assert done.returncode == 65
    assert "none.mlir: No such file" in done.stderr
    (tmp_path / "ok.mlir").write_text("func.func @f() { return }")
    done = farcall("compile", tmp_path / "ok.mlir", "-o",
                   tmp_path / "no/dir/x.so")
    assert done.returncode == 65
    assert "no/dir/x.so" in done.stderr


def test_two_modules_of_one_name_have_one_sidecar(farcall, tmp_path, scratch):
    source, module = tmp_path / "ok.mlir", tmp_path / "ok.so"
    source.write_text("func.func @f() { return }")
    done = farcall("compile", source, "-o", module)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "ok.vmfb").touch()
    done = farcall("compile", source, "-o", module)
    assert done.returncode == 0 and done.stderr == \
        f"farcall: note: {tmp_path}/ok.farcall.json is of {module} now, not of " \
        f"{tmp_path}/ok.vmfb: -o gives another name\n"


def test_names_that_need_care(farcall, tmp_path, scratch):
    for name in ["-x.mlir", "a b.mlir", "farcall-log", "über'.mlir", "plain"]:
        (tmp_path / name).write_text("func.func @f(%x: i8) -> i8 { return %x : i8 }")
        done = subprocess.run(
            [BIN / "farcall", "compile", "-o", "out.so", "--", name],
            cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), name


def test_the_name_of_a_module_is_known_before(farcall, tmp_path):
    (tmp_path / "a b.mlir").write_text("no MLIR")
    for arguments in [["a b.mlir"], ["a b.mlir", "-o", "x/a b.so"]]:
        done = farcall("compile", *arguments, cwd=tmp_path)
        assert done.returncode == 64
        assert "'a b.so' gives no module name: letters, digits" in done.stderr
        assert done.stderr.endswith(": give another with -o FILE.so\n")


def test_what_was_not_made_is_not_described(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """func.func @f(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %f = arith.constant 2.0 : f32
  memref.store %f, %x[%c0] : memref<4xf32>
  gpu.memcpy %x, %x : memref<4xf32>, memref<4xf32>
  return
}""")
    assert done.returncode == 65
    assert "writes into" not in done.stderr


def test_usage(farcall):
    assert farcall("compile").returncode == 64
    assert farcall("compile", "a.mlir", "b.mlir").returncode == 64
    done = farcall("compile", "--chekced", "a.mlir")
    assert done.returncode == 64
    done = farcall("compile", "--uncheked", "a.mlir")
    assert "did you mean '--unchecked'?" in done.stderr


def test_tools_that_are_not_there(farcall, tmp_path, scratch):
    (tmp_path / "a.mlir").write_text("func.func @f() { return }")
    done = farcall("compile", tmp_path / "a.mlir", "--tools", tmp_path,
                   "-o", tmp_path / "a.so")
    assert done.returncode == 69
    assert "mlir-opt" in done.stderr
    assert "`apt install mlir-22-tools` installs it" in done.stderr


def test_keep(farcall, tmp_path):
    (tmp_path / "a.mlir").write_text("func.func @f() { return }")
    done = farcall("compile", tmp_path / "a.mlir", "--keep",
                   "-o", tmp_path / "a.so",
                   env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0
    kept = pathlib.Path(re.search(r"files are in (.+)", done.stderr)[1])
    assert kept.parent == tmp_path
    assert (kept / "a.mlir").exists() and len(list(kept.iterdir())) > 5


def test_an_interrupt_cleans_up(tmp_path, scratch):
    """The command is killed while a tool runs. No files are left, and the exit status
    says why."""
    slow = tmp_path / "tools"
    slow.mkdir()
    started = tmp_path / "started"
    for name in ["mlir-opt", "mlir-translate", "opt", "llc"]:
        (slow / name).write_text(f"#!/bin/sh\n: > {started}\nexec sleep 60\n")
        (slow / name).chmod(0o755)
    (tmp_path / "a.mlir").write_text("func.func @f() { return }")
    process = subprocess.Popen([BIN / "farcall", "compile", tmp_path / "a.mlir",
                                "--tools", slow, "-o", tmp_path / "a.so"])
    deadline = time.monotonic() + 60
    while not started.exists():
        assert time.monotonic() < deadline
        os.sched_yield()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    assert not (tmp_path / "a.so").exists()


def test_without_a_terminal_a_line_says_now_and_then_what_runs(tmp_path, scratch):
    """The tool sends the alarm signal that normally comes after a minute, until it sees
    the line."""
    said = tmp_path / "said"
    for name in ["mlir-opt", "mlir-translate", "opt", "llc"]:
        (tmp_path / name).write_text(
            f"#!/bin/sh\nuntil grep -q still {said}; do kill -ALRM $PPID; sleep 0.01; "
            "done\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "a.mlir").write_text("func.func @f() { return }")
    with open(said, "wb") as file:
        done = subprocess.run([BIN / "farcall", "compile", tmp_path / "a.mlir", "--tools",
                               tmp_path, "--road=mlir"], stderr=file, timeout=60)
    assert done.returncode == 65
    assert re.match(r"farcall: note: mlir-opt still runs after \d+ s\n", said.read_text())


def test_a_served_module_is_not_written_into(farcall, tmp_path, scratch):
    """The file is replaced, so a mapping of the old one stays as it was."""
    source = "func.func @f(%x: i8) -> i8 {{ {0} return %x : i8 }}"
    build(farcall, tmp_path, source.format(""))
    before = open(tmp_path / "m.so", "rb")
    digest = hashlib.sha256(before.read()).digest()
    build(farcall, tmp_path, source.format("%y = arith.addi %x, %x : i8"))
    before.seek(0)
    assert hashlib.sha256(before.read()).digest() == digest
    assert os.fstat(before.fileno()).st_ino != (tmp_path / "m.so").stat().st_ino


# ---------------------------------------------------------------------------
# Arguments that a function writes into

STORES = """
func.func @AXPY(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) {  // in in inout
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %u = memref.load %x[%i] : memref<?xf32>
    %v = memref.load %y[%i] : memref<?xf32>
    %w = arith.mulf %a, %u : f32
    %s = arith.addf %v, %w : f32
    memref.store %s, %y[%i] : memref<?xf32>
  }
  return
}
func.func @PARALLEL(%x: memref<4x4xf32>, %o: memref<4x4xf32>) {  // in inout
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c4) step (%c1, %c1) {
    %v = memref.load %x[%i, %j] : memref<4x4xf32>
    memref.store %v, %o[%j, %i] : memref<4x4xf32>
    scf.reduce
  }
  return
}
func.func @VIEWS(%x: memref<8xf32>, %o: memref<8xf32>) {  // in inout
  %v = memref.subview %o[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  %c = memref.cast %v : memref<4xf32, strided<[1], offset: 4>> to memref<?xf32, strided<[?], offset: ?>>
  %b, %offset, %sizes, %strides = memref.extract_strided_metadata %c : memref<?xf32, strided<[?], offset: ?>> -> memref<f32>, index, index, index
  %z = arith.constant 0.0 : f32
  memref.store %z, %b[] : memref<f32>
  return
}
func.func @CHOSEN(%p: i1, %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {  // in inout inout in
  %c0 = arith.constant 0 : index
  %f = arith.constant 0.0 : f32
  %m = scf.if %p -> memref<4xf32> {
    scf.yield %x : memref<4xf32>
  } else {
    scf.yield %y : memref<4xf32>
  }
  memref.store %f, %m[%c0] : memref<4xf32>
  return
}
func.func @TURNS(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {  // inout inout in
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (memref<4xf32>, memref<4xf32>) {
    memref.copy %a, %b : memref<4xf32> to memref<4xf32>
    scf.yield %b, %a : memref<4xf32>, memref<4xf32>
  }
  return
}
func.func @LATE(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {  // inout inout in
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (memref<4xf32>) {
    memref.store %f, %a[%c0] : memref<4xf32>
    scf.yield %y : memref<4xf32>
  }
  return
}
func.func @BRANCHES(%p: i1, %x: memref<4xf32>, %y: memref<4xf32>) {  // in inout in
  %c0 = arith.constant 0 : index
  %f = arith.constant 0.0 : f32
  cf.cond_br %p, ^bb1(%x : memref<4xf32>), ^bb2
^bb1(%m: memref<4xf32>):
  memref.store %f, %m[%c0] : memref<4xf32>
  cf.br ^bb2
^bb2:
  return
}
func.func private @fill(%m: memref<4xf32>, %v: f32) {
  linalg.fill ins(%v : f32) outs(%m : memref<4xf32>)
  return
}
func.func private @pass(%v: f32, %m: memref<4xf32>) {
  call @fill(%m, %v) : (memref<4xf32>, f32) -> ()
  return
}
func.func @CALLS(%v: f32, %m: memref<4xf32>) {  // in inout
  call @pass(%v, %m) : (f32, memref<4xf32>) -> ()
  return
}
func.func private @sum(%m: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %v = memref.load %m[%c0] : memref<4xf32>
  return %v : f32
}
func.func @ASKS(%m: memref<4xf32>) -> f32 {  // in
  %v = call @sum(%m) : (memref<4xf32>) -> f32
  return %v : f32
}
func.func @LINALG(%a: memref<2x3xf32>, %b: memref<3x2xf32>, %c: memref<2x2xf32>, %s: memref<2xf32>, %t: memref<2x2xf32>) {  // in in inout inout inout
  linalg.matmul ins(%a, %b : memref<2x3xf32>, memref<3x2xf32>) outs(%c : memref<2x2xf32>)
  linalg.reduce {arith.addf} ins(%c : memref<2x2xf32>) outs(%s : memref<2xf32>) dimensions = [0]
  linalg.transpose ins(%c : memref<2x2xf32>) outs(%t : memref<2x2xf32>) permutation = [1, 0]
  return
}
func.func @MAPS(%a: memref<4xf32>, %b: memref<4xf32>) {  // in inout
  linalg.map {math.absf} ins(%a : memref<4xf32>) outs(%b : memref<4xf32>)
  return
}
func.func @VECTORS(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>, %e: memref<8xf32>, %m: memref<4xi1>) {  // in inout inout inout inout in
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = vector.load %a[%c0] : memref<8xf32>, vector<4xf32>
  %on = vector.load %m[%c0] : memref<4xi1>, vector<4xi1>
  vector.store %v, %b[%c0] : memref<8xf32>, vector<4xf32>
  vector.transfer_write %v, %c[%c0] : vector<4xf32>, memref<8xf32>
  vector.maskedstore %d[%c0], %on, %v : memref<8xf32>, vector<4xi1>, vector<4xf32>
  vector.compressstore %e[%c0], %on, %v : memref<8xf32>, vector<4xi1>, vector<4xf32>
  return
}
func.func @SCATTERS(%a: memref<8xf32>, %i: memref<4xi32>, %b: memref<4xf32>) {  // inout in in
  %c0 = arith.constant 0 : index
  %on = arith.constant dense<true> : vector<4xi1>
  %at = vector.load %i[%c0] : memref<4xi32>, vector<4xi32>
  %v = vector.load %b[%c0] : memref<4xf32>, vector<4xf32>
  vector.scatter %a[%c0] [%at], %on, %v : memref<8xf32>, vector<4xi32>, vector<4xi1>, vector<4xf32>
  return
}
func.func @COUNTS(%x: memref<4xi32>, %c: memref<4xi32>, %d: memref<4xi32>) {  // in inout inout
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xi32>
  %r = memref.atomic_rmw addi %v, %c[%c0] : (i32, memref<4xi32>) -> i32
  %g = memref.generic_atomic_rmw %d[%c0] : memref<4xi32> {
  ^bb0(%old: i32):
    %new = arith.muli %old, %v : i32
    memref.atomic_yield %new : i32
  }
  return
}
func.func @AFFINE(%x: memref<8xf32>, %y: memref<8xf32>) {  // in inout
  affine.for %i = 0 to 8 {
    %v = affine.load %x[%i] : memref<8xf32>
    affine.store %v, %y[7 - %i] : memref<8xf32>
  }
  return
}
func.func @READS(%p: i1, %x: memref<4xf32>) -> (f32, memref<4xf32>) {  // in in
  // What is stored into has the names of views of %x in the region before.
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = scf.if %p -> f32 {
    %v = memref.subview %x[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
    %u = memref.load %v[%c0] : memref<2xf32, strided<[1], offset: 1>>
    scf.yield %u : f32
  } else {
    %v = memref.alloca() : memref<2xf32>
    %one = arith.constant 1.0 : f32
    memref.store %one, %v[%c1] : memref<2xf32>
    %u = memref.load %v[%c1] : memref<2xf32>
    scf.yield %u : f32
  }
  %m = memref.alloc() : memref<4xf32>
  memref.copy %x, %m : memref<4xf32> to memref<4xf32>
  return %f, %m : f32, memref<4xf32>
}
func.func @TOLD(%x: memref<4xf32> {farcall.role = "in"}, %y: memref<4xf32> {farcall.role = "out"}) {  // in out
  memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  linalg.exp ins(%y : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}
func.func @UNRANKED(%m: memref<*xf32>) {  // inout
  %r = memref.cast %m : memref<*xf32> to memref<?xf32>
  %c0 = arith.constant 0 : index
  %f = arith.constant 2.0 : f32
  memref.store %f, %r[%c0] : memref<?xf32>
  return
}
"""


def test_what_is_stored_into_is_a_result(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, STORES)
    assert done.returncode == 0, done.stderr
    wanted = dict(re.findall(r"@([A-Z]+)\(.*?//((?: (?:in|out|inout))+)\n", STORES))
    got = {f["name"]: " " + " ".join(a.get("role", "in") for a in f["args"])
           for f in sidecar(tmp_path / "m.so")["functions"]}
    assert got == wanted
    notes = done.stderr.splitlines()
    assert notes[0] == ("farcall: note: 'AXPY' writes into argument 2 ('y'): its role is "
                        "inout, and what it holds then is a result")
    notes = [note for note in notes if "nothing checks" not in note]
    assert len(notes) == sum(
        " ".join(f).count(" inout") for f in wanted.items())
    done = farcall("run", tmp_path / "m.so", "-f", "AXPY",
                   "--json=[2,[1,2,3],[10,20,30]]")
    assert done.stdout == '{"results":[[12.0,24.0,36.0]]}\n', done.stderr


def test_a_tensor_is_a_value_whatever_becomes_of_its_buffer(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func @mixed(%t: tensor<4xf32>, %m: memref<4xf32>) -> tensor<4xf32> {
        %c0 = arith.constant 0 : index
        %f = arith.constant 2.0 : f32
        memref.store %f, %m[%c0] : memref<4xf32>
        %r = tensor.insert %f into %t[%c0] : tensor<4xf32>
        return %r : tensor<4xf32>
      }""")
    assert "argument 1 ('m')" in done.stderr and "argument 0" not in done.stderr
    done = farcall("run", tmp_path / "m.so", "--json=[[1,1,1,1],[5,6,7,8]]")
    assert done.stdout == '{"results":[[2.0,1.0,1.0,1.0],[2.0,6.0,7.0,8.0]]}\n'


def test_a_foreign_function_may_write(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, """
      func.func private @other(memref<4xf32>, f32)
      func.func @f(%x: memref<4xf32>, %y: memref<4xf32>, %v: f32) {
        call @other(%x, %v) : (memref<4xf32>, f32) -> ()
        return
      }""")
    assert done.returncode == 0, done.stderr
    (function,) = sidecar(tmp_path / "m.so")["functions"]
    assert [a.get("role") for a in function["args"]] == ["inout", None, None]


PRINTS = """
func.func @shown(%x: memref<4xf32>, %n: i64, %h: f16, %b: bf16, %d: f64, %p: i1,
                 %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
  vector.print %v : vector<4xf32>
  vector.print %n : i64
  vector.print %h : f16
  vector.print %b : bf16
  vector.print %d : f64
  vector.print %p : i1
  vector.print %i : index
  %u = arith.constant dense<[[1, 2], [3, 250]]> : vector<2x2xi8>
  vector.print %u : vector<2x2xi8>
  vector.print str "a word"
  vector.print punctuation <newline>
  %r = vector.extract %v[0] : f32 from vector<4xf32>
  return %r : f32
}
func.func @div(%a: i32, %b: i32) -> i32 {
  vector.print %a : i32
  %r = arith.divsi %a, %b : i32
  return %r : i32
}
"""
CALL = '[[1.5,-2,"NaN",1e10],-9223372036854775808,0.1,3,1e300,true,7]'
# What the functions print, in the format of LLVM's own runtime library.
PRINTED = ["( 1.5, -2, nan, 1e+10 )", "-9223372036854775808", "0.0999756", "3",
           "1e+300", "1", "7", "( ( 1, 2 ), ( 3, -6 ) )", "a word"]


def test_what_a_function_prints_is_shown(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, PRINTS)
    assert done.returncode == 0
    assert "nothing checks the indices of 'vector.load'" in done.stderr
    done = farcall("run", tmp_path / "m.so", "-f", "shown", "--json", CALL)
    assert (done.returncode, done.stdout) == (0, '{"results":[1.5]}\n'), done.stderr
    assert done.stderr.splitlines() == PRINTED
    # A function that prints can be aborted half-way like any other.
    done = farcall("run", tmp_path / "m.so", "-f", "div", "--json=[1,0]")
    assert done.returncode == 1 and "division by zero" in done.stderr
    server = Server("--isolation=process", tmp_path / "m.so")
    assert server.results("m/shown", json.loads(CALL)) == [1.5]
    assert server.stop() == 0
    log = "".join(server.lines)
    for line in PRINTED:
        assert line in log, line


RUNNER = """
func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
func.func private @printMemrefI64(memref<*xi64>)
func.func private @printMemrefInd(memref<*xindex>) attributes {llvm.emit_c_interface}
func.func private @printMemrefF16(memref<*xf16>) attributes {llvm.emit_c_interface}
func.func private @printMemrefC32(memref<*xcomplex<f32>>) attributes {llvm.emit_c_interface}
func.func private @printMemref1dI8(memref<?xi8>) attributes {llvm.emit_c_interface}
func.func private @printMemrefShapeC64(memref<*xcomplex<f64>>)
  attributes {llvm.emit_c_interface}
func.func private @printMemrefVector4x4xf32(memref<?x?xvector<4x4xf32>>)
  attributes {llvm.emit_c_interface}
func.func private @verifyMemRefF32(memref<*xf32>, memref<*xf32>) -> i64
  attributes {llvm.emit_c_interface}
func.func private @stdSortF64(i64, memref<?xf64>) attributes {llvm.emit_c_interface}
func.func private @nanoTime() -> i64 attributes {llvm.emit_c_interface}
func.func @prints(%x: memref<?x2x3xf32>, %y: memref<?x2x3xf32>, %i: memref<3xi64>,
                  %n: memref<2x1xindex>, %h: memref<1xf16>, %c: memref<complex<f32>>,
                  %b: memref<?xi8>, %d: memref<2x1xcomplex<f64>>) -> (i64, i64) {
  %0 = memref.cast %x : memref<?x2x3xf32> to memref<*xf32>
  call @printMemrefF32(%0) : (memref<*xf32>) -> ()
  %1 = memref.cast %i : memref<3xi64> to memref<*xi64>
  call @printMemrefI64(%1) : (memref<*xi64>) -> ()
  %2 = memref.cast %n : memref<2x1xindex> to memref<*xindex>
  call @printMemrefInd(%2) : (memref<*xindex>) -> ()
  %3 = memref.cast %h : memref<1xf16> to memref<*xf16>
  call @printMemrefF16(%3) : (memref<*xf16>) -> ()
  %4 = memref.cast %c : memref<complex<f32>> to memref<*xcomplex<f32>>
  call @printMemrefC32(%4) : (memref<*xcomplex<f32>>) -> ()
  call @printMemref1dI8(%b) : (memref<?xi8>) -> ()
  %5 = memref.cast %d : memref<2x1xcomplex<f64>> to memref<*xcomplex<f64>>
  call @printMemrefShapeC64(%5) : (memref<*xcomplex<f64>>) -> ()
  %v = arith.constant dense<0.5> : vector<4x4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = memref.alloc() : memref<1x2xvector<4x4xf32>>
  memref.store %v, %m[%c0, %c0] : memref<1x2xvector<4x4xf32>>
  memref.store %v, %m[%c0, %c1] : memref<1x2xvector<4x4xf32>>
  %6 = memref.cast %m : memref<1x2xvector<4x4xf32>> to memref<?x?xvector<4x4xf32>>
  call @printMemrefVector4x4xf32(%6) : (memref<?x?xvector<4x4xf32>>) -> ()
  memref.dealloc %m : memref<1x2xvector<4x4xf32>>
  %7 = memref.cast %y : memref<?x2x3xf32> to memref<*xf32>
  %8 = call @verifyMemRefF32(%0, %7) : (memref<*xf32>, memref<*xf32>) -> i64
  %9 = call @verifyMemRefF32(%0, %0) : (memref<*xf32>, memref<*xf32>) -> i64
  return %8, %9 : i64, i64
}
func.func @sorted(%x: memref<?xf64>) -> i1 {
  %n = arith.constant 3 : i64
  call @stdSortF64(%n, %x) : (i64, memref<?xf64>) -> ()
  %t = call @nanoTime() : () -> i64
  %c = arith.constant 1600000000000000000 : i64
  %0 = arith.cmpi sgt, %t, %c : i64
  return %0 : i1
}
llvm.mlir.global internal constant @hello("a line\\00")
llvm.func @puts(!llvm.ptr)
func.func @says(%x: i32) -> i32 {
  %0 = llvm.mlir.addressof @hello : !llvm.ptr
  llvm.call @puts(%0) : (!llvm.ptr) -> ()
  %c0 = arith.constant 0 : i32
  %ok = arith.cmpi ne, %x, %c0 : i32
  cf.assert %ok, "x is zero"
  return %x : i32
}
func.func @mixes(%x: i32) -> i32 {
  %0 = llvm.mlir.addressof @hello : !llvm.ptr
  llvm.call @puts(%0) : (!llvm.ptr) -> ()
  vector.print %x : i32
  llvm.call @puts(%0) : (!llvm.ptr) -> ()
  %c0 = arith.constant 0 : i32
  %ok = arith.cmpi ne, %x, %c0 : i32
  cf.assert %ok, "x is zero"
  vector.print %x : i32
  return %x : i32
}
"""
RUNNER_CALL = ("[[[[1,2.5,-3],[4,5,1e10]],[[1,2.5,-3],[4,5,0.1]]],"
               "[[[1,2.5,-3],[4,5,1e10]],[[1.0000001,2.25,-3],[4,0,0.1]]],"
               "[1,-2,3],[[-1],[7]],[-0.1],[1.5,-2],[65,66],[[[0,0]],[[0,0]]]]")
# What mlir-runner prints with libmlir_runner_utils of LLVM 22.
RUNNER_PRINTED = """\
Unranked Memref base@ = 0x rank = 3 offset = 0 sizes = [2, 2, 3] strides = [6, 3, 1] data = 
[[[1,    2.5,    -3], 
  [4,    5,    1e+10]], 
 [[1,    2.5,    -3], 
  [4,    5,    0.1]]]
Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [3] strides = [1] data = 
[1,  -2,  3]
Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [2, 1] strides = [1, 1] data = 
[[18446744073709551615], 
 [7]]
Unranked Memref base@ = 0x rank = 1 offset = 0 sizes = [1] strides = [1] data = 
[-0.0999756]
Unranked Memref base@ = 0x rank = 0 offset = 0 sizes = [] strides = [] data = 
[(1.5,-2)]
Memref base@ = 0x rank = 1 offset = 0 sizes = [2] strides = [1] data = 
[A,  B]
Unranked Memref base@ = 0x rank = 2 offset = 0 sizes = [2, 1] strides = [1, 1]
Memref base@ = 0x rank = 2 offset = 0 sizes = [1, 2] strides = [2, 1] data = 
[[((0.5, 0.5, 0.5, 0.5),   (0.5, 0.5, 0.5, 0.5),   (0.5, 0.5, 0.5, 0.5),  \
(0.5, 0.5, 0.5, 0.5)),   ((0.5, 0.5, 0.5, 0.5),   (0.5, 0.5, 0.5, 0.5),   \
(0.5, 0.5, 0.5, 0.5),  (0.5, 0.5, 0.5, 0.5))]]
2.5 != 2.25 offset = 7
5 != 0 offset = 10
"""


def test_functions_of_mlirs_runner_are_there(farcall, tmp_path, scratch):
    done = build(farcall, tmp_path, RUNNER)
    assert done.returncode == 0, done.stderr
    assert "declared without a body" not in done.stderr
    done = farcall("run", tmp_path / "m.so", "-f", "prints", "--json", RUNNER_CALL)
    assert (done.returncode, done.stdout) == (0, '{"results":[2,0]}\n'), done.stderr
    assert re.sub("0x[0-9a-f]+", "0x", done.stderr) == RUNNER_PRINTED
    done = farcall("run", tmp_path / "m.so", "-f", "sorted", "--json=[[3,1,2]]")
    assert done.returncode == 0 and "true" in done.stdout, done.stderr
    done = farcall("run", tmp_path / "m.so", "-f", "says", "--json=[1]")
    assert (done.stdout, done.stderr) == ('{"results":[1]}\n', "a line\n")
    done = farcall("run", tmp_path / "m.so", "-f", "says", "--json=[0]")
    assert done.returncode == 1 and "x is zero" in done.stderr
    # Lines come in the order in which they were printed, whichever library printed
    # them.
    done = farcall("run", tmp_path / "m.so", "-f", "mixes", "--json=[7]")
    assert done.stderr == "a line\n7\na line\n7\n"
    done = farcall("run", tmp_path / "m.so", "-f", "mixes", "--json=[0]")
    assert done.returncode == 1
    assert done.stderr.startswith("a line\n0\n") and "x is zero" in done.stderr


# ---------------------------------------------------------------------------
# Integer division

def toward_zero(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# For each operation, named without dialect and sign: its result for exact integers.
SIGNED = {"div": toward_zero, "rem": lambda a, b: a - b * toward_zero(a, b),
          "ceildiv": lambda a, b: -(-a // b), "floordiv": lambda a, b: a // b}
UNSIGNED = {"div": lambda a, b: a // b, "rem": lambda a, b: a % b,
            "ceildiv": lambda a, b: -(-a // b)}
ARITH = {f"arith.{name}{sign}i": (function, sign == "s")
         for sign, table in [("s", SIGNED), ("u", UNSIGNED)]
         for name, function in table.items()}
INDEX = {f"index.{name}{sign}": (function, sign == "s")
         for sign, table in [("s", SIGNED), ("u", UNSIGNED)]
         for name, function in table.items()}

DIVISION = {
    # linalg turns an operation on tensors into a loop over numbers.
    "tensor<?xi8>": """
func.func @NAME(%a: tensor<?xi8>, %b: tensor<?xi8>) -> tensor<?xi8> {
  %r = OP %a, %b : tensor<?xi8>
  return %r : tensor<?xi8>
}""",
    "i32": """
func.func @NAME(%a: i32, %b: i32) -> i32 {
  %r = OP %a, %b : i32
  return %r : i32
}""",
    "vector<4xi16>": """
func.func @NAME(%a: memref<4xi16>, %b: memref<4xi16>) -> memref<4xi16> {
  %c0 = arith.constant 0 : index
  %x = vector.load %a[%c0] : memref<4xi16>, vector<4xi16>
  %y = vector.load %b[%c0] : memref<4xi16>, vector<4xi16>
  %z = OP %x, %y : vector<4xi16>
  %r = memref.alloc() : memref<4xi16>
  vector.store %z, %r[%c0] : memref<4xi16>, vector<4xi16>
  return %r : memref<4xi16>
}""",
    "index": """
func.func @NAME(%a: index, %b: index) -> index {
  %r = OP %a, %b : index
  return %r : index
}""",
}


def divided(function, signed, bits, a, b):
    """The quotient, as a signed integer for JSON. None: it does not exist."""
    if b == 0 or (signed and a == -2**(bits - 1) and b == -1):
        return None
    if not signed:
        a, b = a % 2**bits, b % 2**bits
    value = function(a, b) % 2**bits
    return value - 2**bits if value >= 2**(bits - 1) else value


def edges(bits):
    top = 2**(bits - 1)
    return [-top, -top + 1, -7, -1, 0, 1, 2, 7, top - 1]


@pytest.fixture(scope="module")
def divisions(farcall, tmp_path_factory):
    """Every operation on every kind of value. Returns {name: (operation, type)} and the
    module."""
    folder, names, text = tmp_path_factory.mktemp("divisions"), {}, ""
    for number, (kind, form) in enumerate(DIVISION.items()):
        for op in [*ARITH, *(INDEX if kind == "index" else {})]:
            name = op.replace(".", "_") + f"_{number}"
            names[name] = (op, kind)
            # Operations of the dialect index are written without a type.
            line = form.replace(" : index\n", "\n", 1) if op in INDEX else form
            text += line.replace("NAME", name).replace("OP", op)
    (folder / "d.mlir").write_text(text)
    done = farcall("compile", folder / "d.mlir", "-o", folder / "d.so")
    assert done.returncode == 0, done.stderr
    server = Server("--isolation=process", folder / "d.so")
    yield names, server
    metrics = server.get("/metrics").body.decode()
    assert server.stop() == 0
    crashes = re.findall(r'^farcall_worker_crashes_total\{.*?\} (\d+)', metrics, re.M)
    assert [int(each) for each in crashes if int(each)] == [], crashes


def test_what_divides_divides_exactly(divisions):
    names, server = divisions
    for name, (op, kind) in names.items():
        function, signed = {**ARITH, **INDEX}[op]
        bits = {"tensor<?xi8>": 8, "i32": 32, "vector<4xi16>": 16, "index": 64}[kind]
        values = range(-128, 128) if bits == 8 else edges(bits)
        pairs = [(a, b) for a in values for b in values
                 if divided(function, signed, bits, a, b) is not None]
        wanted = [divided(function, signed, bits, a, b) for a, b in pairs]
        if kind == "vector<4xi16>":
            pairs, wanted = pairs[:len(pairs) // 4 * 4], wanted[:len(pairs) // 4 * 4]
        size = {"tensor<?xi8>": len(pairs), "vector<4xi16>": 4}.get(kind)
        got = []
        for at in range(0, len(pairs), size or 1):
            a, b = zip(*pairs[at:at + (size or 1)])
            call = [list(a), list(b)] if size else [a[0], b[0]]
            result, = server.results(f"d/{name}", call)
            got += result if size else [result]
        differ = [(p, g, w) for p, g, w in zip(pairs, got, wanted) if g != w]
        assert differ == [], f"{op} on {kind}"


def test_what_cannot_be_divided_is_refused(divisions):
    """422 with the line, for every operation and for every lane of a vector."""
    names, server = divisions
    for name, (op, kind) in names.items():
        _, signed = {**ARITH, **INDEX}[op]
        bits = {"tensor<?xi8>": 8, "i32": 32, "vector<4xi16>": 16, "index": 64}[kind]
        bad = [(a, 0, "integer division by zero") for a in edges(bits)]
        if signed:
            bad.append((-2**(bits - 1), -1, "integer division overflows"))
        for number, (a, b, message) in enumerate(bad):
            call = [a, b]
            if kind[0] in "tv":
                call = [[9] * 4, [3] * 4]
                call[0][number % 4], call[1][number % 4] = a, b
            reply = server.call(f"d/{name}", call)
            assert reply.status == 422, (op, kind, a, b, reply.body)
            assert reply.json["code"] == "call_failed"
            assert f"'{name}': {message} at d.mlir:" in reply.json["detail"]


def test_unchecked_divisions_are_not_looked_at(farcall, tmp_path, scratch):
    source = DIVISION["i32"].replace("NAME", "f").replace("OP", "arith.divsi")
    assert build(farcall, tmp_path, source, "--unchecked").returncode == 0
    assert b"integer division" not in (tmp_path / "m.so").read_bytes()
    # A constant divisor needs no check.
    source = source.replace("%r = ", "%c = arith.constant 7 : i32\n  %r = ")
    source = source.replace("%a, %b", "%a, %c")
    assert build(farcall, tmp_path, source).returncode == 0
    assert b"integer division" not in (tmp_path / "m.so").read_bytes()
