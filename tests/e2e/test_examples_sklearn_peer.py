# SPDX-License-Identifier: Apache-2.0
"""examples/sklearn: every command of its page, in an environment of scikit-learn and
IREE's compiler. Then the answers for all flowers are compared with scikit-learn's."""
import json
import subprocess

import numpy as np
import pytest

import example_page

ASK = """
import json, runpy, sys
it = runpy.run_path("examples/sklearn/iris.py")
print(json.dumps({"data": it["data"].tolist(), "labels": it["forest"].predict(it["data"]).tolist(),
                  "shares": it["forest"].predict_proba(it["data"]).tolist()}))
"""


@pytest.fixture(scope="module")
def environment():
    return example_page.environment("sklearn")


def test_the_page(shell, tmp_path, environment):
    server = example_page.follow("sklearn", shell, tmp_path, environment)
    said = subprocess.run(
        ["env/bin/python", "-c", ASK, "again.onnx"], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, check=True).stdout.splitlines()[-1]
    wanted = json.loads(said)
    labels, shares = server.results("iris/predict", [wanted["data"]])
    assert labels == wanted["labels"] and set(labels) == {0, 1, 2}
    np.testing.assert_allclose(shares, wanted["shares"], atol=1e-5)
    assert server.stop() == 0
