# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of the package. They import the installed package, never the source
tree.
"""
import os
import pathlib
import subprocess

import farcall
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FARCALL_BUILD_DIR", ROOT / "build/dev"))
IREE = os.environ.get("FARCALL_IREE")  # the folder of its programs
CLIENTS = os.environ.get("FARCALL_CLIENTS")  # the same, with grpcio
ONNX = os.environ.get("FARCALL_ONNX")  # the same, with the importer of ONNX models
CALLS = int(os.environ.get("FARCALL_CALLS", 0))  # of test_memory.py
for _name in [each for each in os.environ if each.startswith("FARCALL_")]:
    del os.environ[_name]  # farcalld takes variables of such names for options
# The wheel was built with the sanitizer, which was loaded before Python.
SANITIZED = "LD_PRELOAD" in os.environ
RELEASES = ROOT / "tests/corpus/iree/releases"
EXAMPLES = ROOT / "examples/iree"
SCALARS = RELEASES / "scalars-3.13.0.vmfb"
VERSIONS = RELEASES / "versions-3.13.0-llvm-cpu.vmfb"
HALF = RELEASES / "half-3.13.0-llvm-cpu.vmfb"

def pytest_sessionfinish(session, exitstatus):
    """A run in which everything was skipped did not pass."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    # pytest counts no tests in a file that is skipped as a whole.
    whole = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and "skipped" in terminal.stats
    if (exitstatus == 0 or whole) and "passed" not in terminal.stats:
        session.exitstatus = 77


@pytest.fixture(scope="session")
def tensor_so(tmp_path_factory):
    """tests/modules/mlir/tensor.mlir, compiled by the package's own program."""
    path = tmp_path_factory.mktemp("modules") / "tensor.so"
    done = subprocess.run(
        [farcall.program("farcall"), "compile", ROOT / "examples/tensor.mlir", "-o",
         path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return path


SOME = """
func.func @twice(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
func.func @wide(%a: i128) -> i128 {
  return %a : i128
}
func.func @rows(%m: memref<?xvector<3xf32>>, %x: f32) -> f32 {
  return %x : f32
}
"""


@pytest.fixture(scope="session")
def some_so(tmp_path_factory):
    """A module of which one function can be called, and two cannot."""
    folder = tmp_path_factory.mktemp("some")
    (folder / "some.mlir").write_text(SOME)
    done = subprocess.run([farcall.program("farcall"), "compile", "some.mlir"],
                          cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder / "some.so"


LISTS = r'''
func.func @arrays(%l: !util.list<?>) -> !util.list<?> attributes {iree.reflection = {
    "iree.abi" = "{\"a\":[[\"named\",\"l\",[\"py_homogeneous_list\",[\"ndarray\",\"f32\",1,null]]]],\"r\":[[\"py_homogeneous_list\",[\"ndarray\",\"f32\",1,null]]],\"v\":1}"}} {
  return %l : !util.list<?>
}
func.func @records(%l: !util.list<?>) -> !util.list<?> attributes {iree.reflection = {
    "iree.abi" = "{\"a\":[[\"py_homogeneous_list\",[\"sdict\",[\"n\",\"i32\"],[\"x\",\"f32\"]]]],\"r\":[[\"py_homogeneous_list\",[\"sdict\",[\"n\",\"i32\"],[\"x\",\"f32\"]]]],\"v\":1}"}} {
  return %l : !util.list<?>
}
func.func @anything(%l: !util.list<?>) -> !util.list<?> {
  return %l : !util.list<?>
}
func.func @nothing() {
  return
}
func.func @same(%t: !util.buffer) -> !util.buffer {
  return %t : !util.buffer
}
func.func @read(%b: !util.buffer) -> !util.buffer {
  return %b : !util.buffer
}
'''


@pytest.fixture(scope="session")
def lists(tmp_path_factory):
    """A module of functions that give back the lists they are given."""
    if not IREE:
        pytest.skip("FARCALL_IREE is not set: scripts/test installs IREE")
    path = tmp_path_factory.mktemp("lists") / "lists.vmfb"
    done = subprocess.run(
        [pathlib.Path(IREE) / "iree-compile", "-", "-o", path,
         "--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=vmvx"],
        input=LISTS, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return path
