# SPDX-License-Identifier: Apache-2.0
"""The self-checking programs of test_iree_corpus.py, called over HTTP. Each function
has no arguments, and succeeds unless its name says that it fails. Functions that
need a module which only tests provide cannot be called."""
import pytest

from conftest import Server
from test_iree_corpus import LARGE, programs

GIVEN_BY_THE_TEST = "yieldable_test"


@pytest.mark.parametrize("kind,least", [("vmasm", 284), ("e2e", 280)])
def test_every_program(kind, least):
    files = [path for path in programs(kind) if path.name != LARGE]
    server = Server(*files)
    modules = server.get("/api/v1/modules?signatures=1").json["modules"]
    assert len(modules) == len(files)
    called = 0
    for module in modules:
        assert module["state"] == "ready", module
        for function in module["functions"]:
            path = f"{module['name']}/{function['name']}"
            reply = server.call(path, [])
            if GIVEN_BY_THE_TEST in (function["reason"] or ""):
                assert reply.status == 501, f"{path}: {reply.body}"
                continue
            fails = function["name"].startswith("fail_")
            assert reply.status == (422 if fails else 200), f"{path}: {reply.body}"
            called += 1
    assert server.stop() == 0, "".join(server.lines)
    assert called >= least
