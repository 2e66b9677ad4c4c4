# SPDX-License-Identifier: Apache-2.0
"""tests/modules/iree/tensors.mlir over HTTP against `iree-run-module`: machine
code gives the same bits, VMVX the same numbers within one unit of the last
place."""
import numpy
import pytest

from conftest import ROOT, Server

SOURCE = ROOT / "tests/modules/iree/tensors.mlir"
# function: (shapes and types of the arguments, types of the results)
TABLE = {
    "add": (["2x3xf32", "2x3xf32"], ["f32"]),
    "div": (["7xf32", "7xf32"], ["f32"]),
    "exp": (["9xf32"], ["f32"]),
    "sqrt": (["4xf32"], ["f32"]),
    "addi8": (["4xi8", "4xi8"], ["i8"]),
    "muli64": (["5xi64", "5xi64"], ["i64"]),
    "less": (["4xf32", "4xf32"], ["i8"]),
    "both": (["2x2xf32"], ["f32", "f32"]),
    "matmul": (["3x4xf32", "4x2xf32"], ["f32"]),
    "sum": (["3x4xf32"], ["f32"]),
    "turn": (["2x3xi32"], ["i32"]),
    "slice": (["4x4xi32"], ["i32"]),
    "window": (["1x4x4x1xf32", "2x2x1x1xf32"], ["f32"]),
}
DTYPES = {"f32": "<f4", "i8": "<i1", "i32": "<i4", "i64": "<i8"}


def arguments(types):
    random = numpy.random.default_rng(7)
    values = []
    for text in types:
        *dims, dtype = text.split("x")
        shape = [int(d) for d in dims]
        if dtype == "f32":
            values.append(random.uniform(0.1, 9, shape).astype("<f4"))
        else:
            values.append(random.integers(-100, 100, shape).astype(DTYPES[dtype]))
    return values


@pytest.fixture(scope="module", params=["llvm-cpu", "vmvx"])
def served(request, iree):
    module = iree.compile(
        SOURCE, "--iree-hal-target-device=local",
        f"--iree-hal-local-target-device-backends={request.param}",
        "--iree-llvmcpu-target-cpu=generic")
    running = Server(module)
    yield request.param, running, module
    status = running.stop()
    assert status == 0, f"exit status {status}:\n" + "".join(running.lines)


@pytest.mark.parametrize("function", TABLE)
def test_results_are_those_of_the_reference(served, iree, tmp_path, function):
    kind, server, module = served
    types, results = TABLE[function]
    values = arguments(types)
    flags = []
    for index, value in enumerate(values):
        numpy.save(tmp_path / f"in{index}.npy", value)
        flags.append(f"--input=@{tmp_path}/in{index}.npy")
    flags += [f"--output=@{tmp_path}/out{i}.npy" for i in range(len(results))]
    done = iree.run("iree-run-module", "--device=local-sync",
                    f"--module={module}", f"--function={function}", *flags)
    assert done.returncode == 0, done.stderr
    answers = server.results(f"{module.stem}/{function}",
                             [value.tolist() for value in values])
    assert len(answers) == len(results)
    for index, dtype in enumerate(results):
        ours = numpy.array(answers[index], DTYPES[dtype])
        theirs = numpy.load(tmp_path / f"out{index}.npy")
        assert ours.shape == theirs.shape
        if kind == "llvm-cpu" or dtype != "f32":
            assert ours.tobytes() == theirs.tobytes(), f"{ours} {theirs}"
        else:
            numpy.testing.assert_array_max_ulp(ours, theirs, 1)
