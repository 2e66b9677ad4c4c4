# SPDX-License-Identifier: Apache-2.0
"""Weights of 88 MiB, inside a module and in archives beside it, stay in their file: the
server's processes do not need more memory of their own (RssAnon), neither when the
module is loaded nor after all weights were read. The oracles are /proc and NumPy."""
import json
import os
import pathlib
import re
import struct
import subprocess

import numpy
import pytest

from conftest import Server
from processes import children_of

ROWS, COLUMNS = 2400, 9600
WEIGHTS = ROWS * COLUMNS * 4
SLACK = 16 << 20  # the request, the answer, and what a sanitizer adds
PROGRAM = """
func.func @row(%i: i32) -> tensor<9600xf32> {
  %w = WEIGHTS : tensor<2400x9600xf32>
  %index = arith.index_cast %i : i32 to index
  %r = tensor.extract_slice %w[%index, 0] [1, 9600] [1, 1]
    : tensor<2400x9600xf32> to tensor<9600xf32>
  return %r : tensor<9600xf32>
}
func.func @total(%scale: f32) -> tensor<9600xf32> {
  %w = WEIGHTS : tensor<2400x9600xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<9600xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<9600xf32>)
    -> tensor<9600xf32>
  %s = linalg.generic {
      indexing_maps = [affine_map<(c, r) -> (r, c)>, affine_map<(c, r) -> (c)>],
      iterator_types = ["parallel", "reduction"]}
    ins(%w : tensor<2400x9600xf32>) outs(%z : tensor<9600xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %scale : f32
    %n = arith.addf %m, %b : f32
    linalg.yield %n : f32
  } -> tensor<9600xf32>
  return %s : tensor<9600xf32>
}
"""


def processes(pid):
    yield pid
    for child in children_of(pid):
        yield from processes(int(child))


def resident(server):
    """Bytes in memory by kind, of the server and its child processes."""
    sums = {"VmRSS": 0, "RssAnon": 0, "RssFile": 0, "RssShmem": 0}
    for pid in processes(server.process.pid):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        for name in sums:
            found = re.search(rf"{name}:\s+(\d+) kB", status)
            sums[name] += int(found[1]) << 10 if found else 0
    return sums


def report(when, sums):
    print(f"{when:>10}: " + "  ".join(
        f"{name} {size / (1 << 20):.1f} MiB" for name, size in sums.items()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weights")
    yield folder
    for file in folder.iterdir():
        file.unlink()  # 88 MiB each; pytest would keep them


@pytest.fixture(scope="module")
def weights():
    random = numpy.random.default_rng(1)
    return random.standard_normal((ROWS, COLUMNS), dtype="<f4")


def compile(iree, source, backend):
    module = source.with_name(f"{source.stem}_{backend.replace('-', '_')}.vmfb")
    done = iree.run("iree-compile", source, "-o", module,
                    "--iree-hal-target-device=local",
                    f"--iree-hal-local-target-device-backends={backend}",
                    "--iree-llvmcpu-target-cpu=generic")
    assert done.returncode == 0, done.stderr
    return module


@pytest.fixture(scope="module", params=["llvm-cpu", "vmvx"])
def module(request, iree, folder, weights):
    source = folder / "inside.mlir"
    if not source.exists():
        # A resource is a string of hexadecimal digits that begins with its alignment.
        source.write_text(
            PROGRAM.replace("WEIGHTS", "arith.constant dense_resource<w>") +
            '{-# dialect_resources: { builtin: { w: "0x40000000' +
            weights.tobytes().hex().upper() + '" } } #-}\n')
    module = compile(iree, source, request.param)
    assert module.stat().st_size > WEIGHTS
    return module


@pytest.fixture(scope="module")
def safetensors(folder, weights):
    """An archive in which the weights begin at a multiple of 64 bytes."""
    header = json.dumps({"w": {"dtype": "F32", "shape": [ROWS, COLUMNS],
                               "data_offsets": [0, WEIGHTS]}})
    header = header.ljust(-(-(8 + len(header)) // 64) * 64 - 8)
    path = folder / "w.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode())
        file.write(weights.tobytes())
    return path


@pytest.fixture(scope="module")
def archives(iree, folder, safetensors):
    irpa = folder / "w.irpa"
    done = iree.run("iree-convert-parameters", f"--parameters={safetensors}",
                    f"--output={irpa}")
    assert done.returncode == 0, done.stderr
    return {".safetensors": safetensors, ".irpa": irpa}


@pytest.fixture(scope="module")
def beside(iree, folder):
    """A module whose weights are in an archive."""
    source = folder / "beside.mlir"
    source.write_text(
        'util.global private @w = #flow.parameter.named<"model"::"w"> '
        ": tensor<2400x9600xf32>\n" +
        PROGRAM.replace("WEIGHTS", "util.global.load @w"))
    return compile(iree, source, "llvm-cpu")


def check(serve, weights, module, *options):
    """Loads the module, reads one row of weights, then all. Yields the sizes after
    each."""
    server = serve(module, *options)
    while server.get("/readyz").status != 200:
        pass
    name = module.stem
    sizes = [resident(server)]
    results = server.results(f"{name}/row", [1234])
    assert numpy.array_equal(numpy.float32(results[0]), weights[1234])
    sizes.append(resident(server))
    for _ in range(2):
        results = server.results(f"{name}/total", [0.5])
        wanted = weights.sum(axis=0, dtype="f8") * 0.5
        assert numpy.abs(numpy.float32(results[0]) - wanted).max() < 0.01
        sizes.append(resident(server))
    for when, sums in zip(["loaded", "one row", "all", "all again"], sizes):
        report(when, sums)
    for sums in sizes:
        assert sums["RssAnon"] + sums["RssShmem"] < 2 * SLACK
    for sums in sizes[:2]:
        assert sums["RssFile"] < 2 * SLACK
    assert sizes[2]["RssFile"] > WEIGHTS


def test_weights_inside_a_module(serve, weights, module, host):
    check(serve, weights, module, host)


@pytest.mark.parametrize("kind", [".irpa", ".safetensors"])
def test_weights_in_an_archive(serve, beside, weights, archives, kind, host):
    check(serve, weights, beside, host, f"--parameters=model={archives[kind]}")


def test_a_module_written_to_in_place(serve, weights, module, host):
    """Writing to the file in place changes the module's constants, but not what was
    verified. Replacing the file by renaming another one changes nothing."""
    copy = module.with_name("copy.vmfb")
    subprocess.run(["cp", module, copy], check=True)
    server = serve(host, copy)
    while server.get("/readyz").status != 200:
        pass
    with copy.open("r+b") as file:
        content = file.read(1 << 20)
        file.seek(0)
        file.write(b"\xff" * 4096)  # header and tables
    results = server.results("copy/row", [1234])
    assert numpy.array_equal(numpy.float32(results[0]), weights[1234])
    at = content.find(weights[0, :8].tobytes())
    assert at > 0, "the weights do not begin in the first megabyte"
    with copy.open("r+b") as file:
        file.seek(at)
        file.write(struct.pack("<f", 42.0))
    assert server.results("copy/row", [0])[0][0] == 42.0
    another = module.with_name("another")
    another.write_bytes(b"nothing")
    os.rename(another, copy)
    row = numpy.float32(server.results("copy/row", [0])[0])
    assert numpy.array_equal(row[1:], weights[0, 1:])
    assert server.stop() == 0
