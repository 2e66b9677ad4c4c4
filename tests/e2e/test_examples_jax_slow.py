# SPDX-License-Identifier: Apache-2.0
"""examples/jax: every command of its page, in an environment of JAX and IREE's
compiler (some hundred megabytes, kept like those of scripts/test)."""
import json
import re

import numpy as np
import pytest

import example_page
from conftest import ROOT

PAGE = ROOT / "examples/jax/README.md"


@pytest.fixture(scope="module")
def environment():
    return example_page.environment("jax")


def test_the_page(shell, tmp_path, environment):
    server = example_page.follow("jax", shell, tmp_path, environment)
    # Sends the points that the page has fitted, not the zeros of the printed command.
    sent = re.search(r'\{"kwargs":\{"x":\[ .*?\}\}', PAGE.read_text(), re.DOTALL)[0]
    x, y = (np.array(json.loads(sent)["kwargs"][name]) for name in "xy")
    coefficients, loss = server.results("fit/fit", [x.tolist(), y.tolist()])
    best = np.polyfit(x, y, 2)
    np.testing.assert_allclose(coefficients, best[::-1], atol=1e-3)
    assert abs(loss - ((np.polyval(best, x) - y) ** 2).mean()) < 1e-6
    assert server.stop() == 0
