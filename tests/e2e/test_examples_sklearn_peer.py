# SPDX-License-Identifier: Apache-2.0
"""examples/sklearn: every command of its page, in an environment of scikit-learn and IREE's
compiler; then the answers for all flowers beside scikit-learn's own."""
import json
import shlex
import subprocess

import numpy as np
import pytest

from conftest import ROOT, Server
from console import commands, matches

PAGE = ROOT / "examples/sklearn/README.md"
ASK = """
import json, runpy, sys
it = runpy.run_path("examples/sklearn/iris.py")
print(json.dumps({"data": it["data"].tolist(), "labels": it["forest"].predict(it["data"]).tolist(),
                  "shares": it["forest"].predict_proba(it["data"]).tolist()}))
"""


@pytest.fixture(scope="module")
def environment():
    """What the page's first two commands make, made once."""
    made = subprocess.run(
        ["bash", "-euc", ". scripts/common.sh; "
         "environment examples/sklearn/requirements.txt; echo $venv"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, timeout=900)
    assert made.returncode == 0
    return made.stdout.splitlines()[-1]


def test_the_page(shell, tmp_path, environment):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "env").symlink_to(environment)
    todo = list(commands(PAGE))
    assert [command for _, command, _ in todo[:2]] == [
        "python3 -m venv env",
        "env/bin/pip install -q -r examples/sklearn/requirements.txt"]
    for number, command, wanted in todo[2:]:
        if command.startswith("farcalld "):
            server = Server(tmp_path / shlex.split(command)[-2])
            continue
        if command.startswith("curl "):
            command = command.replace("localhost:8000",
                                      server.url.removeprefix("http://"))
        got = shell(command)
        assert matches(wanted, got), f"{PAGE.name}:{number}: prints\n{got}"
    said = subprocess.run(
        ["env/bin/python", "-c", ASK, "again.onnx"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1]
    wanted = json.loads(said)
    labels, shares = server.results("iris/predict", [wanted["data"]])
    assert labels == wanted["labels"] and set(labels) == {0, 1, 2}
    np.testing.assert_allclose(shares, wanted["shares"], atol=1e-5)
    assert server.stop() == 0
