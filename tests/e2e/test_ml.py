# SPDX-License-Identifier: Apache-2.0
"""Estimators of ai.onnx.ml as farcall compile converts them: each operator is compared
with onnxruntime, and two are also compiled."""
import json
import subprocess

import numpy
import pytest

from conftest import ROOT

REFUSED = {
    "probabilities": "CalibratedClassifierCV", "equal": "BRANCH_EQ",
    "texts": "encode text as numbers", "dictionary": "CategoryMapper: it is not",
}
# Runs in the Python with ONNX, and prints the answers of onnxruntime.
RUNTIME = """
import json, sys, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
print(json.dumps([each.tolist() for each in session.run(
    None, {"x": numpy.array(json.loads(sys.argv[2]), "f4")})]))
"""
NAMES = ["low", "mid", "high"]


@pytest.fixture(scope="module")
def said(onnx_tools, tmp_path_factory):
    """What the script prints for each case, and the folder with two models."""
    folder = tmp_path_factory.mktemp("ml")
    done = subprocess.run(
        [onnx_tools / "python3", ROOT / "tests/e2e/ml_models.py",
         ROOT / "cli/compile/tools", folder, "forest", "linear_regressor"],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines()), folder


def test_each_operator_answers_as_onnxruntime_does(said):
    verdicts = {name: text for name, text in said[0].items() if name not in REFUSED}
    assert len(verdicts) >= 28
    assert set(verdicts.values()) == {"ok"}, verdicts


def test_what_is_refused_says_a_way_out(said):
    for name, text in REFUSED.items():
        assert said[0][name].startswith("refused: ") and text in said[0][name]


@pytest.mark.parametrize("name", ["forest", "linear_regressor"])
def test_a_module_answers_as_onnxruntime_does(farcall, onnx_tools, said, tmp_path, name):
    source, module = said[1] / f"{name}.onnx", tmp_path / "m.vmfb"
    done = farcall("compile", source, "-o", module, "--tools", onnx_tools, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = numpy.random.default_rng(1).normal(size=(7, 4)).astype("f4").tolist()
    done = farcall("run", module, "--json", json.dumps([rows]))
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)["results"]
    labelled = farcall("sig", module, "--function=g").stdout
    assert ("  labels of /0: 0 low, 1 mid, 2 high\n" in labelled) == (name == "forest")
    done = subprocess.run([onnx_tools / "python3", "-c", RUNTIME, source, json.dumps(rows)],
                          capture_output=True, text=True, timeout=120)
    want = json.loads(done.stdout)
    if name == "forest":
        want[0] = [NAMES.index(each) for each in want[0]]
    assert len(got) == len(want)
    for mine, theirs in zip(got, want):
        numpy.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
