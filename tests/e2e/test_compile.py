# SPDX-License-Identifier: Apache-2.0
"""farcall compile: what it writes, what it refuses and how it says so."""
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import BIN, CORPUS, SAMPLES


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A TMPDIR of its own, which must be empty again in the end."""
    inner = tmp_path / "tmpdir"
    inner.mkdir()
    monkeypatch.setenv("TMPDIR", str(inner))
    yield inner
    assert list(inner.iterdir()) == []


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


def test_sidecar_and_embedded_say_the_same(corpus):
    for path in sorted(corpus.glob("*.so")):
        beside = sidecar(path)
        digest = beside.pop("so_sha256")
        assert digest == hashlib.sha256(path.read_bytes()).hexdigest()
        assert beside == embedded(path)
        assert beside["farcall"] == 1
        assert beside["compiler"].startswith("mlir 2")
        assert beside["checked"] is True


def test_functions_of_a_sidecar(corpus):
    functions = {f["name"]: f for f in sidecar(corpus / "abi.so")["functions"]}
    assert len(functions) == 34
    assert "priv" not in functions
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
    assert stack["pure"] is False  # `use` is somebody else's


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
    # Vectors and 128-bit integers in memory.
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
    # Other names beside what is in the module.
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
    """Calls inside the module stay inside it."""
    done = build(farcall, tmp_path, """
      func.func @select(%x: i32) -> i32 attributes {no_inline} {
        return %x : i32
      }""")
    assert done.returncode == 0, done.stderr
    done = farcall("run", tmp_path / "m.so", "-f", "select", "--input=7")
    assert done.stdout == '{"results":[7]}\n', done.stderr


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


REFUSED = [
    ("syntax", "func.func @f(%x: f32) -> f32 {\n  return %y : f32\n}",
     "m.mlir:2:10: not valid MLIR: use of undeclared SSA value name"),
    ("unknown dialect", 'func.func @f() {\n  "a.b"() : () -> ()\n  return\n}',
     "m.mlir:2:8: not valid MLIR: operation being parsed with an unregistered"),
    ("not bufferizable", """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tosa.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}""", "m.mlir:2:8: one-shot-bufferize: op was not bufferized"),
    ("no lowering", """func.func @f(%x: memref<4xf32>) {
  gpu.memcpy %x, %x : memref<4xf32>, memref<4xf32>
  return
}""", "m.mlir:2:3: to LLVM: no lowering for 'gpu.memcpy'"),
    ("a name of the C library", "func.func @exp(%x: f64) -> f64 "
     "{ return %x : f64 }", "m.mlir: 'exp' is a name of the C library"),
    ("nothing public", "func.func private @f() {\n  return\n}",
     "m.mlir: no public func.func with a body"),
    ("wrong role", 'func.func @f(%x: memref<4xf32> {farcall.role = "both"}) {\n'
     "  return\n}", "argument 0 of 'f' has farcall.role \"both\""),
    ("role of a scalar", 'func.func @f(%x: f32 {farcall.role = "out"}) {\n'
     "  return\n}", "a f32 cannot be written to"),
    ("out without a size", "func.func @f(%x: memref<?xf32> "
     '{farcall.role = "out"}) {\n  return\n}', 'use "inout"'),
    ("twin names", 'func.func @f(%a: f32, %b: f32 {farcall.name = "a"}) {\n'
     "  return\n}", "arguments 0 and 1 of 'f' are both named 'a'"),
]


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


def test_names_that_need_care(farcall, tmp_path, scratch):
    for name in ["-x.mlir", "a b.mlir", "farcall-log", "über'.mlir", "plain"]:
        (tmp_path / name).write_text("func.func @f(%x: i8) -> i8 { return %x : i8 }")
        done = subprocess.run(
            [BIN / "farcall", "compile", "-o", "out.so", "--", name],
            cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), name
    done = farcall("compile", "--", "a b.mlir", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "a b.so").exists()


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
    assert "mlir-opt" in done.stderr and "mlir-22-tools" in done.stderr


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
    """Killed while a tool runs: nothing stays, the exit status says why."""
    slow = tmp_path / "tools"
    slow.mkdir()
    started = tmp_path / "started"
    for name in ["mlir-opt", "mlir-translate", "opt", "llc"]:
        (slow / name).write_text(f"#!/bin/sh\n: > {started}\nexec sleep 60\n")
        (slow / name).chmod(0o755)
    (tmp_path / "a.mlir").write_text("func.func @f() { return }")
    process = subprocess.Popen([BIN / "farcall", "compile", tmp_path / "a.mlir",
                                "--tools", slow, "-o", tmp_path / "a.so"])
    deadline = time.monotonic() + 30
    while not started.exists():
        assert time.monotonic() < deadline
        os.sched_yield()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    assert not (tmp_path / "a.so").exists()


def test_a_served_module_is_not_written_into(farcall, tmp_path, scratch):
    """The file is replaced, so what is mapped stays what it was."""
    source = "func.func @f(%x: i8) -> i8 {{ {0} return %x : i8 }}"
    build(farcall, tmp_path, source.format(""))
    before = open(tmp_path / "m.so", "rb")
    digest = hashlib.sha256(before.read()).digest()
    build(farcall, tmp_path, source.format("%y = arith.addi %x, %x : i8"))
    before.seek(0)
    assert hashlib.sha256(before.read()).digest() == digest
    assert os.fstat(before.fileno()).st_ino != (tmp_path / "m.so").stat().st_ino
