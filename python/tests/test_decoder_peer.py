# SPDX-License-Identifier: Apache-2.0
"""A decoder whose cache is state. The calls of prefill and 64 decodes do not pass the
cache. The results have the bits of iree.runtime, which gets the cache as an argument:
in this process, and in sessions of a server.
"""
import asyncio
import gzip
import inspect
import json
import pathlib
import subprocess

import farcall
import numpy
import pytest

from conftest import IREE, ROOT

TOY = ROOT / "tests/corpus/llm/toy"
WEIGHTS = TOY / "weights.irpa"
PROMPT = [0, 208, 214, 29, 19, 86, 176, 120]
STEPS, STRIDE = 64, 16
FLAGS = ["--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=llvm-cpu",
         "--iree-llvmcpu-target-cpu=generic"]


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=600, **options)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.fixture(scope="module")
def steps(tmp_path_factory):
    """The module with its sidecar, and the results of iree.runtime for each step."""
    if not IREE:
        pytest.skip("FARCALL_IREE is not set: scripts/test installs IREE")
    programs, folder = pathlib.Path(IREE), tmp_path_factory.mktemp("toy")
    run(programs / "iree-compile", "-", "-o", folder / "toy.vmfb", *FLAGS,
        input=gzip.decompress((TOY / "model.mlir.gz").read_bytes()).decode())
    run(programs / "python", ROOT / "tests/e2e/decoder_steps.py", folder / "toy.vmfb",
        WEIGHTS, TOY / "config.json", STEPS, folder / "steps.npz", *PROMPT)
    expected = numpy.load(folder / "steps.npz")
    state = {"kv": {"argument": 4, "initial": "zeros", "shape": expected["cache0"].shape}}
    (folder / "toy.farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module", "functions": [
            {"name": name, "state": state} for name in ("prefill_bs1", "decode_bs1")]}))
    return folder / "toy.vmfb", [expected[f"logits{step}"].tobytes()
                                 for step in range(STEPS + 1)], expected[f"cache{STEPS}"]


async def generate(functions):
    """The logits of each step. The functions may be asynchronous."""
    async def call(name, *args):
        given = getattr(functions, name)(*args)
        return await given if inspect.isawaitable(given) else given

    def i64(*values):
        return numpy.array([values], numpy.int64)
    count = len(PROMPT)
    logits = await call("prefill_bs1", i64(*PROMPT, *[0] * (STRIDE - count)),
                        i64(0)[0], i64(count)[0], i64(0))
    found = [logits.tobytes()]
    for _ in range(STEPS):
        token, count = int(logits[0, -1].argmax()), count + 1
        logits = await call("decode_bs1", i64(token), i64(count)[0], i64(count - 1)[0],
                            i64(*range(-(-count // STRIDE))))
        found.append(logits.tobytes())
    return found


def test_in_this_process(steps):
    module, logits, cache = steps
    with farcall.load(module, parameters={"model": WEIGHTS}) as m, m.state() as state:
        for _ in range(2):
            assert asyncio.run(generate(state)) == logits
            assert state["kv"].tobytes() == cache.tobytes()
            state.reset()


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_by_sessions(steps, isolation):
    module, logits, _ = steps

    async def several(server):
        """Concurrently, each in its own session."""
        async def one(client):
            async with client.session("toy") as session:
                return await generate(session)
        async with server.async_client() as client:
            return await asyncio.gather(*(one(client) for _ in range(3)))
    with farcall.serve(module, options=[f"--isolation={isolation}",
                                        f"--parameters=model={WEIGHTS}"]) as server:
        with server.client() as client, client.session("toy") as session:
            assert asyncio.run(generate(session)) == logits
            assert session.describe()["step"] == STEPS + 1
        assert asyncio.run(several(server)) == [logits] * 3
