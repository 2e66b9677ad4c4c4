# SPDX-License-Identifier: Apache-2.0
"""Type hints: the package is correct, callers see the hints, and the hints of the
extension describe what it has.
"""
import subprocess
import sys

import pytest

from conftest import BUILD, SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="mypy is not built for the sanitizer")

# Code of a caller, for mypy --strict.
CALLER = """
from collections.abc import Generator
from typing import Any, assert_type

import farcall
import numpy

m = farcall.load("m.vmfb", parameters={"model": "weights.irpa"})
assert_type(m, farcall.Module)
assert_type(m.name, str)
assert_type(m.sha256, str)
assert_type(m.main, farcall.Function)
assert_type(m["main"], farcall.Function)
assert_type(list(m), list[str])
assert_type([*m.functions.values()], list[farcall.Function])
assert_type(m.main(1, x=2), Any)
assert_type(m.main.iterate(1, times=2, feed={0: "x"}, until=(0, 1.5), emit=[]),
            Generator[Any, None, None])
assert_type([each.name for each in m.main.inputs], list[str])
with farcall.load(b"bytes", name="m", casting="no") as other:
    assert_type(other, farcall.Module)
assert_type(farcall.empty((2, 3)), numpy.ndarray[Any, Any])
assert_type(farcall.aligned([1.5]), numpy.ndarray[Any, Any])
assert_type(farcall.dtype("bf16"), numpy.dtype[Any])
with farcall.serve("m.vmfb", options=["--log-level=warn"]) as server:
    assert_type(server.url, str)
    assert_type(server.client(verify=False), farcall.Client)
    assert_type(server.stop(), int)
with farcall.Client("unix:/run/farcall", timeout=None) as client:
    assert_type(client.modules(), list[str])
    assert_type(client["m"].main(1), Any)
    for step in client["m"].main.iterate(1, times=2):
        assert_type(step, Any)
    with client.session("m", ttl=1.5, max_bytes=1 << 20) as session:
        assert_type(session.main(session["kv"], keep={0: "kv", "y": "y"}, step=0), Any)
        assert_type(session["kv"], farcall.Ref)
        assert_type(session.id, str)
        assert_type(session.put("kv", session["v"], if_absent=True), farcall.Ref)
        assert_type(session.export(), bytes)
        assert_type(session.describe(), dict[str, Any])
with m.state(max_bytes=1 << 20) as state:
    assert_type(state, farcall.State)
    assert_type(state.main(1), Any)
    assert_type(state.bytes, int)


async def call() -> None:
    async with farcall.AsyncClient() as client:
        m = await client.module("m")
        assert_type(await m.main(1), Any)
        async for step in m.main.iterate(1, times=2):
            assert_type(step, Any)
        async with client.session("m") as session:
            assert_type(await session.main(1, keep={0: "kv"}), Any)
            assert_type(await session.describe(), dict[str, Any])


def code(error: farcall.Error) -> tuple[str, str | None]:
    return error.code, error.pointer
"""


def run(program, *words):
    done = subprocess.run([sys.executable, "-m", program, *words], capture_output=True,
                          text=True, timeout=250)
    assert done.returncode == 0, done.stdout + done.stderr


def mypy(*words):
    run("mypy", "--strict", "--cache-dir", BUILD / "python/mypy", *words)


def test_the_package():
    mypy("-p", "farcall")


def test_callers(tmp_path):
    path = tmp_path / "caller.py"
    path.write_text(CALLER)
    mypy(path)


def test_the_extension():
    run("mypy.stubtest", "farcall._farcall")
