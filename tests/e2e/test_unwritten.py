# SPDX-License-Identifier: Apache-2.0
"""Memory that a function allocates but does not write is zero in its answer. It never
contains what an earlier call or the process left there. Tested with both compilers,
for small and large memory."""
import pytest

NATIVE = """
module {
  func.func @empty(%n: index) -> memref<?xf32> {
    %0 = memref.alloc(%n) : memref<?xf32>
    return %0 : memref<?xf32>
  }
  func.func @aligned(%n: index) -> memref<?xf32> {
    %0 = memref.alloc(%n) {alignment = 256 : i64} : memref<?xf32>
    return %0 : memref<?xf32>
  }
  func.func @copied(%n: index) -> memref<?xf32> {
    %0 = memref.alloc(%n) : memref<?xf32>
    %1 = memref.alloc(%n) : memref<?xf32>
    memref.copy %0, %1 : memref<?xf32> to memref<?xf32>
    memref.dealloc %0 : memref<?xf32>
    return %1 : memref<?xf32>
  }
  func.func @filled(%a: memref<?xf32>) -> memref<?xf32> {
    %c0 = arith.constant 0 : index
    %n = memref.dim %a, %c0 : memref<?xf32>
    %0 = memref.alloc(%n) : memref<?xf32>
    memref.copy %a, %0 : memref<?xf32> to memref<?xf32>
    return %0 : memref<?xf32>
  }
}
"""
IREE = """
module @unwritten {
  func.func @empty(%n: index) -> tensor<?xf32> {
    %0 = tensor.empty(%n) : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
  func.func @filled(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = arith.addf %a, %a : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
"""
FLAGS = {"llvm-cpu": ["--iree-hal-local-target-device-backends=llvm-cpu",
                      "--iree-llvmcpu-target-cpu=generic"],
         "vmvx": ["--iree-hal-local-target-device-backends=vmvx"]}
SECRET = 12345.0
COUNTS = [1, 60, 1000, 20000, 100000]  # floats; glibc maps the largest by themselves


def check(server, name, functions):
    for count in COUNTS:
        for function in functions:
            server.results(f"{name}/filled", [[SECRET] * count])
            values = server.results(f"{name}/{function}", [count])[0]
            wrong = [each for each in values if each != 0.0]
            assert not wrong, f"{function} of {count}: {len(wrong)}, such as {wrong[0]}"
            assert len(values) == count


def test_memory_of_a_shared_object(serve, farcall, tmp_path):
    source = tmp_path / "unwritten.mlir"
    source.write_text(NATIVE)
    done = farcall("compile", source, "-o", tmp_path / "unwritten.so")
    assert done.returncode == 0, done.stderr
    server = serve(tmp_path / "unwritten.so", "--workers=1")
    check(server, "unwritten", ["empty", "aligned", "copied"])


@pytest.mark.parametrize("kind", FLAGS)
def test_memory_of_bytecode(serve, iree, kind):
    module = iree.compile_text("unwritten", IREE, "--iree-hal-target-device=local",
                               *FLAGS[kind])
    check(serve(module, "--workers=1"), module.stem, ["empty"])
