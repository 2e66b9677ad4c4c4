# SPDX-License-Identifier: Apache-2.0
"""The ONNX tests of operators that onnx_tests.txt names, imported and compiled by IREE
as users do. The answers over HTTP must be within the tests' tolerances. The first
run compiles the tests, which takes a minute or two, and keeps the modules.
test_onnx_slow.py runs many more."""
import pytest

from conftest import ROOT, Server
from onnx_suite import Suite, call, verdicts

TABLE = (ROOT / "tests/e2e/onnx_tests.txt").read_text()
NAMES = [line for line in TABLE.splitlines() if not line.startswith("#")]


@pytest.fixture(scope="module")
def suite(onnx):
    return Suite(onnx, NAMES)


@pytest.fixture(scope="module")
def server(suite):
    running = Server(*map(suite.module, NAMES))
    yield running
    assert running.stop() == 0, "".join(running.lines)


def test_the_list_is_long():
    assert len(set(NAMES)) == len(NAMES) >= 150


@pytest.mark.parametrize("name", NAMES)
def test_operator(suite, server, name):
    assert not suite.refusal(name)
    wrong, signature = call(server, suite, name)
    assert wrong is None
    for what, verdict in verdicts(suite, name, signature):
        assert verdict in ("exact", "open", "unknown"), what
