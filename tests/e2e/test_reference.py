# SPDX-License-Identifier: Apache-2.0
"""farcall test --reference: a module compared with an ONNX model, and with arrays."""
import re
import subprocess

import numpy
import pytest

from conftest import ROOT

SOURCE = """
func.func @scale(%x: tensor<2x3xf32>, %by: f32) -> tensor<2x3xf32> {
  %0 = tensor.splat %by : tensor<2x3xf32>
  %1 = arith.mulf %x, %0 : tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}
"""
X = numpy.arange(6, dtype="f4").reshape(2, 3) / 3


@pytest.fixture(scope="module")
def scale(farcall, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    (folder / "scale.mlir").write_text(SOURCE)
    done = farcall("compile", "--road=mlir", folder / "scale.mlir", "-o",
                   folder / "scale.so")
    assert done.returncode == 0, done.stderr
    return folder / "scale.so"


@pytest.fixture
def beside(farcall, onnx_tools, scale, tmp_path):
    """Tests the module against the arrays."""
    def run(*options, **arrays):
        numpy.savez(tmp_path / "r.npz", **arrays)
        return farcall("test", scale, f"--reference={tmp_path}/r.npz", "--tools", onnx_tools,
                       *options)
    return run


@pytest.mark.parametrize("names", [("x", "by", "result0"), ("arg0", "arg1", "result0"),
                                   ("x0", "x1", "y0")])
def test_arrays(beside, names):
    done = beside(**dict(zip(names, (X, numpy.float32(2), X * 2))))
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("ok     scale: 6 values, 0 differ from the file, at most by "
                           "0 and 0 ulp\n")


def test_the_first_difference_is_named(beside):
    wrong = X * 2
    wrong[1, 1] += 1
    done = beside(x=X, by=numpy.float32(2), result0=wrong)
    assert done.returncode == 1
    assert re.fullmatch(
        r"failed scale: 6 values, 1 differ from the file, at most by (1|0\.99\d*|1\.00\d*)"
        r" and \d+ ulp, first at /results/0/1/1: expected \S+, got \S+\n", done.stdout)
    assert beside("--tolerance=2", x=X, by=numpy.float32(2),
                  result0=wrong).returncode == 0


def test_what_an_npz_lacks(beside):
    done = beside(x=X, result0=X)
    assert done.returncode == 65 and "Traceback" not in done.stderr
    assert "it has no arguments x, by; it has result0, x" in done.stderr


def test_wrong_command_lines(farcall, scale, tmp_path):
    for words, status, message in [
            ([scale, "--reference=none.npz"], 65, "none.npz: there is no such file"),
            ([scale, "b", "--reference=none.npz"], 64, "takes one FILE"),
            ([scale, "--reference=x", "--tolerance=y"], 64, "it is a number")]:
        done = farcall("test", *words, cwd=tmp_path)
        assert done.returncode == status and message in done.stderr


def test_a_model(farcall, onnx_tools, tmp_path):
    """Uses random arguments, and given ones."""
    for script in ("xor", "edges"):
        subprocess.run([onnx_tools / "python3", ROOT / f"examples/onnx/{script}.py"],
                       cwd=tmp_path, check=True, timeout=120)
    done = farcall("compile", tmp_path / "xor.onnx", "-o", tmp_path / "xor.vmfb",
                   "--tools", onnx_tools, timeout=300)
    assert done.returncode == 0, done.stderr
    for given in ([], ["--json=[[[0,1],[1,1],[1,0]]]"], ["--input=3x2xf32=0 1 1 1 1 0"]):
        done = farcall("test", tmp_path / "xor.vmfb", "--tools", onnx_tools,
                       f"--reference={tmp_path}/xor.onnx", *given)
        assert done.returncode == 0, done.stderr
        values = 3 if given else 1
        assert done.stdout.startswith(
            f"ok     xor: {values} values, 0 differ from onnxruntime, at most by ")
    done = farcall("test", tmp_path / "xor.vmfb", "--tools", onnx_tools,
                   f"--reference={tmp_path}/edges.onnx")
    assert done.returncode in (1, 65) and "Traceback" not in done.stderr
