# SPDX-License-Identifier: Apache-2.0
"""examples/jax: every command of its page, in an environment of JAX and IREE's
compiler (some hundred megabytes, kept like those of scripts/test)."""
import json
import re
import shlex
import subprocess

import numpy as np
import pytest

from conftest import ROOT, Server
from console import commands, matches

PAGE = ROOT / "examples/jax/README.md"


@pytest.fixture(scope="module")
def environment():
    """What the page's first two commands make, made once."""
    made = subprocess.run(
        ["bash", "-euc", ". scripts/common.sh; "
         "environment examples/jax/requirements.txt; echo $venv"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, timeout=500)
    assert made.returncode == 0
    return made.stdout.splitlines()[-1]


def test_the_page(shell, tmp_path, environment):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "env").symlink_to(environment)
    todo = list(commands(PAGE))
    assert [command for _, command, _ in todo[:2]] == [
        "python3 -m venv env",
        "env/bin/pip install -q -r examples/jax/requirements.txt"]
    for number, command, wanted in todo[2:]:
        if command.startswith("farcalld "):
            server = Server(tmp_path / shlex.split(command)[-2])
            continue
        if command.startswith("curl "):
            command = command.replace("localhost:8000",
                                      server.url.removeprefix("http://"))
        got = shell(command)
        assert matches(wanted, got), f"{PAGE.name}:{number}: prints\n{got}"
    # The points that the page has fitted, not the zeros of the printed command.
    sent = re.search(r'\{"kwargs":\{"x":\[ .*?\}\}', PAGE.read_text(), re.DOTALL)[0]
    x, y = (np.array(json.loads(sent)["kwargs"][name]) for name in "xy")
    coefficients, loss = server.results("fit/fit", [x.tolist(), y.tolist()])
    best = np.polyfit(x, y, 2)
    np.testing.assert_allclose(coefficients, best[::-1], atol=1e-3)
    assert abs(loss - ((np.polyval(best, x) - y) ** 2).mean()) < 1e-6
    assert server.stop() == 0
