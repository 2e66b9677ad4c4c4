# SPDX-License-Identifier: Apache-2.0
"""farcall compile with files that jax.export writes. The oracle is JAX, in the
environment of examples/jax (some hundred megabytes, kept like those of
scripts/test)."""
import json
import pathlib
import subprocess

import numpy as np
import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def tools():
    made = subprocess.run(
        ["bash", "-euc", ". scripts/common.sh; "
         "environment examples/jax/requirements.txt; echo $venv"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, timeout=500)
    assert made.returncode == 0
    return pathlib.Path(made.stdout.splitlines()[-1]) / "bin"


@pytest.fixture(scope="module")
def exports(tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    subprocess.run([tools / "python3", ROOT / "tests/e2e/compile_exports.py", folder],
                   check=True, timeout=300)
    return folder


@pytest.fixture
def make(farcall, tools, exports, tmp_path):
    def run(name, *options):
        return farcall("compile", exports / name, "--tools", tools,
                       "-o", tmp_path / "m.vmfb", *options)
    return run


SIGNATURES = [
    ("predict", [], "predict(params: {b: tensor<3xf32>, w: tensor<4x3xf32>}, "
     "x: tensor<2x4xf32>) -> {label: tensor<2xi64>, scores: tensor<2x3xf32>}"),
    ("integers", [], "lambda(x: tensor<3xui8>) -> (tensor<3xui8>, tensor<3xi1>)"),
    ("doubles", [], "lambda(x: tensor<2xf64>) -> tensor<2xf64>"),
    ("rows", ["--batch=8,1"], "lambda(x: tensor<[rows]x4xf32>, y: tensor<3x4xf32>) -> "
     "(tensor<[rows]x3xf32>, tensor<4xf32>) where [rows] is 1 or 8"),
    ("attention", ["--batch=1,8"], "lambda(q: tensor<[rows]x5x4xf32>, "
     "mask: tensor<[rows]x5xi1>) -> tensor<[rows]x5x4xf32> where [rows] is 1 or 8"),
    ("grid", ["--batch=rows=1,2", "--batch=width=2"],
     "lambda(x: tensor<[rows]x2xf32>) -> tensor<[rows]x4xf32> where [rows] is 1 or 2"),
]


@pytest.mark.parametrize("name, options, signature", SIGNATURES,
                         ids=[row[0] for row in SIGNATURES])
def test_trees_and_answers(make, farcall, exports, tmp_path, name, options, signature):
    done = make(f"{name}.bin", *options)
    assert done.returncode == 0, done.stderr
    # If the compiler fails on a model at one optimization level, the next lower one is
    # used.
    assert all("fails at level 2" in line for line in done.stderr.splitlines())
    assert done.stdout.splitlines()[0] == f"m/{signature}"
    for row in json.loads((exports / f"{name}.json").read_text()):
        done = farcall("run", tmp_path / "m.vmfb", "--json",
                       json.dumps({"args": row["args"]}))
        assert done.returncode == 0, done.stderr
        assert_alike(json.loads(done.stdout)["results"], row["results"])


def assert_alike(mine, other):
    if isinstance(other, dict):
        assert sorted(mine) == sorted(other)
        for key in other:
            assert_alike(mine[key], other[key])
    elif isinstance(other, list) and any(isinstance(each, dict) for each in other):
        assert len(mine) == len(other)
        for pair in zip(mine, other):
            assert_alike(*pair)
    else:
        for pair in zip(mine, other, strict=True):
            np.testing.assert_allclose(*pair, rtol=1e-5, atol=1e-6)


def test_tuples_nothing_and_what_is_not_used(make, farcall, tmp_path):
    done = make("nested.bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == (
        "m/nested(pair: (tensor<2xf32>, {deep: tensor<3xf32>}), unused: tensor<7xf32>) -> "
        "(tensor<2xf32>, [tensor<3xf32>, null])")
    done = farcall("run", tmp_path / "m.vmfb", "--json", json.dumps(
        {"args": [[[1, 2], {"deep": [1, 2, 3]}]], "kwargs": {"unused": [0] * 7}}))
    assert done.stdout == '{"results":[[2.0,4.0],[[1.0,2.0,3.0],null]]}\n', done.stderr


def test_a_portable_artifact(make, farcall, exports, tmp_path):
    done = make("integers.mlirbc")
    assert (done.returncode, done.stderr) == (0, "")
    done = farcall("run", tmp_path / "m.vmfb", "--json=[[0,7,200]]")
    assert json.loads(done.stdout)["results"] == [[255, 248, 55], [False, False, True]]


REFUSED = [
    ("rows.bin", [], "its dim 'rows' has no size, and IREE's compiler needs one; "
     "--batch=1,8,32 makes a function for each of these"),
    ("grid.bin", ["--batch=1"], "its dim 'width' has no size, and IREE's compiler needs "
     "one; say --batch=width=1,8"),
    ("tpu.bin", [], "the function was exported for other devices than the processor"),
    ("library.bin", [], "lapack_ssyevd_ffi, at the bytecode's strings: it is a function of LAPACK"),
]


@pytest.mark.parametrize("name, options, message", REFUSED)
def test_refusals_are_one_line(make, tmp_path, name, options, message):
    done = make(name, *options)
    assert done.returncode == 65
    (line,) = done.stderr.splitlines()
    assert message in line and "Traceback" not in line
    assert list(tmp_path.iterdir()) == []
