# SPDX-License-Identifier: Apache-2.0
"""Weights by name over HTTP, compared with `iree-run-module --parameters=`. Some
modules load them in place (`io_parameters.load`), others gather them into memory of
their own (`.gather`). They come from .safetensors, from the .irpa that IREE's tools
make of it, and from several archives. The archives must not change."""
import hashlib
import json
import shutil
import signal
import struct

import numpy
import pytest

from conftest import ROOT, Server
from reloading import wait_until

SOURCE = ROOT / "tests/modules/iree/parameters.mlir"
BACKENDS = {"generic": ["llvm-cpu", "--iree-llvmcpu-target-cpu=generic"],
            "vmvx": ["vmvx"]}
# The compiler's memory model, and the function that the module then imports.
MODELS = {"unified": "io_parameters.load", "discrete": "io_parameters.gather"}
NAMES = {"<f4": "F32", "<i4": "I32", "|i1": "I8"}


def weights():
    random = numpy.random.default_rng(12)
    model = {"weight": random.uniform(-2, 2, (4, 2)).astype("<f4"),
             "bias": random.uniform(-2, 2, 2).astype("<f4"),
             "state": random.integers(-9, 9, 3).astype("<i4"),
             "total": numpy.full(5, 2.5, "<f4")}
    tables = {"flags": numpy.array([0, 1, -1, 127, -128, 5, 6], "i1"),
              "table": random.integers(-999, 999, (64, 3)).astype("<i4")}
    return model, tables


def write_safetensors(path, tensors):
    head, body = {}, b""
    for name, array in tensors.items():
        head[name] = {"dtype": NAMES[array.dtype.str], "shape": array.shape,
                      "data_offsets": [len(body), len(body) + array.nbytes]}
        body += array.tobytes()
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


@pytest.fixture(scope="module")
def archives(iree, tmp_path_factory):
    """The ways to provide the same weights, as lists of SCOPE=FILE."""
    top = tmp_path_factory.mktemp("archives")
    model, tables = weights()
    total = model.pop("total")
    halves = [write_safetensors(top / "model.safetensors", model),
              write_safetensors(top / "tables.safetensors", tables)]
    whole = write_safetensors(top / "whole.safetensors",
                              {**model, **tables, "total": total})

    def tool(program, *arguments):
        done = iree.run(program, *arguments)
        assert done.returncode == 0, done.stderr
    for source in (*halves, whole):
        tool("iree-convert-parameters", f"--parameters={source}",
             f"--output={source.with_suffix('.irpa')}")
    splat = top / "splat.irpa"
    tool("iree-create-parameters", "--splat=total=5xf32=2.5", f"--output={splat}")
    return {
        "safetensors": [f"model={whole}", f"tables={whole}"],
        "irpa": [f"{scope}={whole.with_suffix('.irpa')}"
                 for scope in ("model", "tables")],
        "several": [f"model={halves[0].with_suffix('.irpa')}", f"model={splat}",
                    f"tables={halves[1]}"],
    }


def calls():
    random = numpy.random.default_rng(3)
    yield "layer", [random.uniform(-2, 2, (5, 4)).astype("<f4")]
    yield "row", [0]
    yield "row", [63]
    yield "all_flags", []
    yield "add_state", [numpy.array([1, 2, 3], "<i4")]
    yield "get_total", []


def reference(iree, module, archives, folder, function, arguments):
    flags = [f"--parameters={each}" for each in archives]
    for index, value in enumerate(arguments):
        if isinstance(value, numpy.ndarray):
            numpy.save(folder / f"in{index}.npy", value)
            value = f"@{folder}/in{index}.npy"
        flags.append(f"--input={value}")
    done = iree.run("iree-run-module", "--device=local-sync", f"--module={module}",
                    f"--function={function}", f"--output=@{folder}/out.npy", *flags)
    assert done.returncode == 0, done.stderr
    return numpy.load(folder / "out.npy")


def sums(archives):
    return [hashlib.sha256(open(each.split("=", 1)[1], "rb").read()).digest()
            for each in archives]


@pytest.mark.parametrize("memory", MODELS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_weights_are_those_of_the_archive(iree, archives, tmp_path, backend, memory):
    name, *flags = BACKENDS[backend]
    module = iree.compile(
        SOURCE, "--iree-hal-target-device=local",
        f"--iree-hal-local-target-device-backends={name}", *flags,
        f"--iree-stream-resource-memory-model={memory}")
    imports = iree.run("iree-dump-module", "--output=metadata", module).stdout
    assert MODELS[memory] in imports
    for kind, files in archives.items():
        before = sums(files)
        server = Server("--parameters=" + ",".join(files), module)
        for function, arguments in calls():
            theirs = reference(iree, module, files, tmp_path, function, arguments)
            plain = [each.tolist() if isinstance(each, numpy.ndarray) else each
                     for each in arguments]
            ours, = server.results(f"{module.stem}/{function}", plain)
            ours = numpy.array(ours, theirs.dtype)
            assert ours.shape == theirs.shape, f"{kind} {function}"
            assert ours.tobytes() == theirs.tobytes(), \
                f"{kind} {function}: {ours} {theirs}"
        # The module may change what it has loaded, but not the archive.
        again, = server.results(f"{module.stem}/add_state", [[1, 2, 3]])
        assert again == (weights()[0]["state"] + 2 * numpy.array([1, 2, 3])).tolist()
        assert server.stop() == 0, "".join(server.lines)
        assert sums(files) == before, kind


def test_a_weight_that_is_not_there_is_named(iree, archives, serve):
    name, *flags = BACKENDS["vmvx"]
    module = iree.compile(
        SOURCE, "--iree-hal-target-device=local",
        f"--iree-hal-local-target-device-backends={name}", *flags,
        "--iree-stream-resource-memory-model=unified")
    server = serve("--parameters=" + archives["several"][0], module)
    reply = server.call(f"{module.stem}/get_total", [])
    assert reply.status >= 400
    assert "parameter" in reply.json["detail"] and "scope" in reply.json["detail"], \
        reply.body


WRITER = """
module @writer {
  util.func public @write(%%v: !hal.buffer_view) -> !hal.buffer_view {
    %%x = hal.tensor.import %%v "x" : !hal.buffer_view -> tensor<2xf32>
    %%at = arith.constant 0 : i64
    %%scope = util.buffer.constant : !util.buffer = "model"
    %%name = util.buffer.constant : !util.buffer = "%s"
    %%0 = flow.parameter.write %%x -> %%scope::%%name[%%at] : tensor<2xf32>
    %%r = hal.tensor.export %%0 "r" : tensor<2xf32> -> !hal.buffer_view
    util.return %%r : !hal.buffer_view
  }
}
"""


@pytest.mark.parametrize("name, status", [("bias", "PERMISSION_DENIED"),
                                          ("other", "NOT_FOUND")])
def test_archives_are_not_written(iree, archives, serve, name, status):
    """A module that writes weights (`io_parameters.scatter`) is refused, as by
    iree-run-module, and the archive does not change."""
    backend, *flags = BACKENDS["vmvx"]
    module = iree.compile_text(
        f"writer_{name}", WRITER % name, "--iree-hal-target-device=local",
        f"--iree-hal-local-target-device-backends={backend}", *flags)
    imports = iree.run("iree-dump-module", "--output=metadata", module).stdout
    assert "io_parameters.scatter" in imports
    files = archives["irpa"]
    before = sums(files)
    theirs = iree.run("iree-run-module", "--device=local-sync", f"--module={module}",
                      "--function=write", "--input=2xf32=1,2",
                      *(f"--parameters={each}" for each in files))
    assert theirs.returncode != 0 and status in theirs.stderr, theirs.stderr
    server = serve("--parameters=" + ",".join(files), module)
    reply = server.call(f"{module.stem}/write", [
        {"dtype": "f32", "shape": [2], "data": [1, 2]}])
    assert (reply.status, reply.json["code"]) == (422, "call_failed"), reply.body
    assert status in reply.json["detail"] and f"'{name}'" in reply.json["detail"]
    assert sums(files) == before


# `__init` keeps 12 MB, like models that pack their weights. A call allocates more.
PACKED = """vm.module @packed version 0
vm.type i32
vm.type i64
vm.type !vm.buffer

vm.export @more
vm.func @more(%i0:1: i64) -> (i64) {
^bb0:
  %i2 = vm.const.i32 16
  %r0 = vm.buffer.alloc %i0:1, %i2
  %i0:1 = vm.buffer.length %r0
  vm.return %i0
}

vm.export @__init
vm.func @__init() -> () {
^bb0:
  %i0:1 = vm.const.i64 12000000
  %i2 = vm.const.i32 16
  %r0 = vm.buffer.alloc %i0:1, %i2
  vm.global.store.ref %r0, .refs[0] : !vm.buffer
  vm.return
}
"""


@pytest.fixture(scope="module")
def packed(iree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("packed")
    (folder / "packed.vmasm").write_text(PACKED)
    module = folder / "packed.vmfb"
    assert iree.run("iree-as-module", folder / "packed.vmasm",
                    f"--output={module}").returncode == 0
    return module


def test_what_a_module_may_hold(farcall, packed):
    for heap, size, said in [
            ((), 1000000, None),
            (("--module-heap=20M",), 1000000, None),
            (("--module-heap=20M",), 9000000, "over the module's limit of 20971520 bytes, of "
             "which 1200"),
            (("--module-heap=10M",), 1, "over the module's limit of 10485760 bytes"),
            (("--module-heap=ten",), 1, "'vm.heap' is 'ten': bytes, as 65536, 64k, 2M or 1G")]:
        done = farcall("run", packed, "--function=more", f"--input={size}", *heap)
        if said is None:
            assert json.loads(done.stdout)["results"] == [size], done.stderr
        else:
            assert done.returncode == (65 if "ten" in heap[0] else 1), done.stderr
            assert said in done.stderr


def test_the_server_says_what_a_module_may_hold(serve, packed, tmp_path):
    for name in "small", "large":
        shutil.copy(packed, tmp_path / f"{name}.vmfb")
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"module-heap": "10M",
                                  "modules": {"large": {"module-heap": "20M"}}}))
    server = serve("-c", config, tmp_path)
    assert "limit of 10485760 bytes" in server.get("/api/v1/modules/small").json["reason"]
    assert server.call("large/more", [1000000]).json["results"] == [1000000]
    reply = server.call("large/more", [9000000])
    assert (reply.status, reply.json["code"]) == (503, "call_failed")
    assert "limit of 20971520 bytes, of which 1200" in reply.json["detail"]
    assert "(--module-heap)" in reply.json["detail"]
    # SIGHUP loads the module again.
    config.write_text(json.dumps({"module-heap": "20M"}))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.get("/api/v1/modules/small").json["state"] == "ready")
    assert server.call("small/more", [1000000]).json["results"] == [1000000]
