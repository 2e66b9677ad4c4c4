# SPDX-License-Identifier: Apache-2.0
"""farcall compile of MLIR by IREE's compiler (that of FARCALL_IREE): which compiler a
source goes to, and what of the source is kept."""
import json
import os
import pathlib
import re

import pytest

from conftest import BIN


@pytest.fixture(scope="module")
def tools():
    folder = os.environ.get("FARCALL_IREE")
    if not folder:
        pytest.skip("FARCALL_IREE is not set: scripts/test installs IREE")
    return pathlib.Path(folder)


@pytest.fixture
def on_path(tools, monkeypatch):
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")


LINALG = """func.func @scale(%x: tensor<?xf32>, %factor: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%factor : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %y = arith.mulf %x, %f : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""
STABLEHLO = """func.func @double(%x: tensor<3xui8>) -> tensor<3xui8> {
  %0 = stablehlo.add %x, %x : tensor<3xui8>
  return %0 : tensor<3xui8>
}
"""
TOSA = """func.func @size(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tosa.abs %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
TORCH = """func.func @twice(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %int1 = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %x, %int1 : !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>, !torch.int -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
"""
MEMREF = """func.func @first(%x: memref<2xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<2xf32>
  return %0 : f32
}
"""
NAMED = """func.func @sum(%arg0: tensor<2xf32> {iree.abi.name = "left"}, %arg1: tensor<2xf32>)
    -> (tensor<2xf32> {iree.abi.name = "total"}) {
  %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""
ROADS = [
    ("named", NAMED, "sum(left: tensor<2xf32>, input1: tensor<2xf32>) -> tensor<2xf32>",
     ".vmfb", {"left": [1, 2], "input1": [3, 4]}, [[4.0, 6.0]]),
    ("linalg", LINALG, "scale(x: tensor<?xf32>, factor: f32) -> tensor<?xf32>", ".vmfb",
     {"x": [1, 2], "factor": 3}, [[3.0, 6.0]]),
    ("stablehlo", STABLEHLO, "double(x: tensor<3xui8>) -> tensor<3xui8>", ".vmfb",
     {"x": [1, 2, 100]}, [[2, 4, 200]]),
    ("tosa", TOSA, "size(x: tensor<2xf32>) -> tensor<2xf32>", ".vmfb",
     {"x": [1, -2]}, [[1.0, 2.0]]),
    ("torch", TORCH, "twice(x: tensor<2xf32>) -> tensor<2xf32>", ".vmfb",
     {"x": [1, -2]}, [[2.0, -4.0]]),
    ("memref", MEMREF, "first(x: tensor<2xf32>) -> f32", ".so", {"x": [1, -2]}, [1.0]),
]


@pytest.mark.parametrize("source, signature, suffix, arguments, results",
                         [row[1:] for row in ROADS], ids=[row[0] for row in ROADS])
def test_a_source_takes_its_road(farcall, on_path, tmp_path, source, signature, suffix,
                                 arguments, results):
    (tmp_path / "m.txt").write_text(source)
    done = farcall("compile", "m.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"m/{signature}"
    done = farcall("run", tmp_path / f"m{suffix}", "--json",
                   json.dumps({"kwargs": arguments}))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"] == results


BUCKET = """func.func @f_bs{0}(%x: tensor<{0}x2xf32>) -> tensor<{0}x2xf32> {{
  %y = arith.mulf %x, %x : tensor<{0}x2xf32>
  return %y : tensor<{0}x2xf32>
}}
"""


@pytest.mark.parametrize("road, suffix", [("iree", ".vmfb"), ("mlir", ".so")])
def test_functions_of_several_sizes_are_one(farcall, on_path, tmp_path, road, suffix):
    (tmp_path / "m.mlir").write_text("".join(map(BUCKET.format, (1, 4))))
    done = farcall("compile", "m.mlir", f"--road={road}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("m/f(x: tensor<[batch]x2xf32>) -> tensor<[batch]x2xf32>")
    done = farcall("run", tmp_path / f"m{suffix}", "-f", "f", "--json=[[[1,2],[3,4],[5,6]]]")
    assert done.stdout == '{"results":[[[1.0,4.0],[9.0,16.0],[25.0,36.0]]]}\n', done.stderr


AFFINE = """func.func public @f( // of rows {
    %x: tensor<?x3xf32> {iree.abi.name = "rows"},
    %w: tensor<3x2xf32>, %add: f32) -> (tensor<?x2xf32>, tensor<?x3xf32>) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x3xf32>
  %e = tensor.empty(%n) : tensor<?x2xf32>
  %b = linalg.fill ins(%add : f32) outs(%e : tensor<?x2xf32>) -> tensor<?x2xf32>
  %y = linalg.matmul ins(%x, %w : tensor<?x3xf32>, tensor<3x2xf32>)
      outs(%b : tensor<?x2xf32>) -> tensor<?x2xf32>
  return %y, %x : tensor<?x2xf32>, tensor<?x3xf32>
}
"""
ADDED = """func.func @f(%x: tensor<?x3xf32>) -> tensor<?x2xf32> {
  %w = stablehlo.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %b = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  %s = shape.shape_of %0 : tensor<?x2xf32> -> tensor<2xindex>
  %1 = stablehlo.dynamic_broadcast_in_dim %b, %s, dims = [1]
      : (tensor<2xf32>, tensor<2xindex>) -> tensor<?x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<?x2xf32>
  return %2 : tensor<?x2xf32>
}
"""
SIGNED = """func.func @f(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = tosa.abs %x : (tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
"""
BATCHED = [
    ("linalg", AFFINE, "f(rows: tensor<[batch]x3xf32>, w: tensor<3x2xf32>, add: f32)",
     [[[1, 0], [0, 1], [1, 1]], 5.0], lambda x: [[x[0] + x[2] + 5, x[1] + x[2] + 5], x]),
    ("stablehlo", ADDED, "f(x: tensor<[batch]x3xf32>)", [],
     lambda x: [[x[0] + 3 * x[1] + 5 * x[2] + 10, 2 * x[0] + 4 * x[1] + 6 * x[2] + 20]]),
    ("tosa", SIGNED, "f(x: tensor<[batch]x3xf32>)", [], lambda x: [[*map(abs, x)]]),
]


@pytest.mark.parametrize("source, signature, more, row", [row[1:] for row in BATCHED],
                         ids=[row[0] for row in BATCHED])
def test_a_function_of_any_rows_gets_sizes(farcall, on_path, tmp_path, source, signature,
                                           more, row):
    """In the names of IREE's kernels, a D stands for a size that is not known."""
    (tmp_path / "m.mlir").write_text(source)
    done = farcall("compile", "m.mlir", "--batch=4,1,4", "--cpu=host", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"m/{signature} -> ") and "[batch] is 1 or 4" in lines[0]
    assert [line.split("(")[0] for line in lines[1:3]] == ["m/f_bs1", "m/f_bs4"]
    module = (tmp_path / "m.vmfb").read_bytes()
    assert re.search(rb"f_bs4_dispatch_0_\w*_(4x|12)", module)
    assert not re.search(rb"_dispatch_\d+_\w*_D", module)
    for count in 1, 4, 7:
        rows = [[float(i), -2.0 * i, i + 1.0] for i in range(count)]
        done = farcall("run", tmp_path / "m.vmfb", "-f", "f", "--json",
                       json.dumps([rows, *more]))
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["results"] == [*map(list, zip(*map(row, rows)))]


REFUSED = [
    (["--road=iree"], MEMREF, 65, "with memrefs, which IREE's compiler does not take: "
     "--road=mlir does"),
    (["--road=mlir"], STABLEHLO, 65, "which MLIR's tools do not lower: --road=iree does"),
    (["--road=gcc"], LINALG, 64, "--road=gcc: it is iree or mlir"),
    (["-O4"], LINALG, 64, "-O4: it is 0, 1, 2 or 3"),
    (["--batch=x=1,8"], LINALG, 65, "--batch=x=1,8: dims of MLIR have no names: write --batch="),
    (["--batch=1", "--batch=2"], LINALG, 65, "--batch=2: dims of MLIR have no names"),
    (["--batch=0,1"], LINALG, 65, "--batch: 0 rows: there are up to 256 sizes of 1 to"),
    (["--batch=1,8"], TORCH, 65, "m.txt has no function f from tensor<?x…> to tensor<?x…> "
     "for --batch: write f_bs1, f_bs8, … for their rows"),
    (["--batch=1,8"], MEMREF, 65, "m.txt: --batch is for --road=iree: here write functions "
     "f_bs1, f_bs8, … for their rows"),
    ([], "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %y : tensor<2xf32>\n}",
     65, "m.txt:2:10: iree-compile: use of undeclared SSA value name"),
]


@pytest.mark.parametrize("level", "0123")
def test_levels_answer_alike(farcall, on_path, tmp_path, level):
    (tmp_path / "m.mlir").write_text(LINALG)
    done = farcall("compile", "m.mlir", f"-O{level}", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = farcall("run", tmp_path / "m.vmfb", "--json=[[1,2],3]")
    assert done.stdout == '{"results":[[3.0,6.0]]}\n'


@pytest.mark.parametrize("options, source, status, message", REFUSED)
def test_refusals(farcall, on_path, tmp_path, options, source, status, message):
    (tmp_path / "m.txt").write_text(source)
    done = farcall("compile", "m.txt", *options, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert message in done.stderr.splitlines()[-1]
    assert [path.name for path in tmp_path.iterdir()] == ["m.txt"]


def test_the_compiler_ends_with_the_command(on_path, tmp_path):
    """iree-compile is a script that starts the compiler. Both end, and nothing is left."""
    import signal
    import subprocess
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    big = "".join(f"  %{i + 1} = stablehlo.sine %{i} : tensor<64x64xf32>\n"
                  for i in range(0, 4000))
    (tmp_path / "m.mlir").write_text(
        "func.func @f(%0: tensor<64x64xf32>) -> tensor<64x64xf32> {\n" + big +
        "  return %4000 : tensor<64x64xf32>\n}\n")
    running = subprocess.Popen(
        [BIN / "farcall", "compile", "m.mlir", "-o", "m.vmfb"], cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch), "FARCALL_TOKEN": "not for a compiler"})
    compilers = []
    while not compilers and running.poll() is None:
        compilers = [process for process in pathlib.Path("/proc").glob("[0-9]*")
                     if str(scratch) in _working_folder(process)
                     and not _is_farcall(process)]
    assert compilers
    for process in compilers:
        assert b"not for a compiler" not in (process / "environ").read_bytes()
    running.send_signal(signal.SIGTERM)
    assert running.wait(60) == 128 + signal.SIGTERM
    assert list(scratch.iterdir()) == []
    assert not (tmp_path / "m.vmfb").exists()


def _is_farcall(process):
    """The process is farcall until the compiler's program replaces it."""
    try:
        return os.readlink(process / "exe") == str((BIN / "farcall").resolve())
    except OSError:
        return True


def _working_folder(process):
    try:
        return os.readlink(process / "cwd")
    except OSError:
        return ""
