# SPDX-License-Identifier: Apache-2.0
"""The cost of a step in a session: if the session has a decoder's cache, CALL takes at
most 1.05 times the instructions of the bare kernel. `farcall run --repeat` calls
that kernel with a cache of its own. The number of instructions does not depend on
the machine's other load."""
import http.client
import json
import os
import re
import shutil
import signal
import subprocess

import numpy
import pytest

from conftest import BIN
from test_decoder_peer import PROMPT, TOY, inputs, name_of, toy  # noqa: F401  (fixtures)

SHAPE = (5, 12288)
FIRST = 7  # a token: which one changes nothing in what is counted


def counted(folder, function, command, drive=lambda process: process.wait(120)):
    """The instructions within `function` when this command runs."""
    out = folder / "callgrind"
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("FARCALL_")}
    process = subprocess.Popen(
        ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}",
         f"--toggle-collect={function}", *map(str, command)], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        drive(process)
        said, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, said
    return int(re.search(r"^totals: (\d+)", out.read_text(), re.M)[1])


def kernel(folder, module, repeat):
    """Runs the decode after the prompt and one token, `repeat` times."""
    words = ["--input=1x1xi64=%d" % FIRST, "--input=1xi64=%d" % (len(PROMPT) + 2),
             "--input=1xi64=%d" % (len(PROMPT) + 1), "--input=1x1xi64=0",
             "--input=%dx%dxf16=0" % SHAPE]
    return counted(folder, "fc_frame_invoke", [
        BIN / "farcall", "run", module, "decode_bs1", f"--parameters=model={TOY / 'weights.irpa'}",
        f"--repeat={repeat}", "--print=none", *words])


def steps(folder, module, count):
    """Runs a prefill and `count` decodes in a session."""
    def drive(process):
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                break
        else:
            pytest.fail("the server does not start")
        client = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=120)

        def post(path, body, **fields):
            client.request("POST", path, body, fields)
            answer = json.loads(client.getresponse().read())
            assert "results" in answer or "session" in answer, answer
            return answer
        session = post("/api/v1/modules/toy/sessions", None)["session"]
        for step in range(count + 1):
            post(f"/api/v1/functions/toy/{name_of(step)}",
                 json.dumps([each.tolist() for each in inputs([FIRST] * step)]),
                 **{"Farcall-Session": session})
        process.send_signal(signal.SIGTERM)
    return counted(folder, "fc_worker_call", [
        BIN / "farcalld", "--listen=127.0.0.1:0", "--isolation=thread", "--lane=never",
        "--workers=1", f"--parameters=model={TOY / 'weights.irpa'}", module], drive)


def test_a_step_is_little_more_than_its_kernel(toy, tmp_path):  # noqa: F811
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind here: scripts/deps bench installs it")
    bare, module = tmp_path / "bare.vmfb", tmp_path / "toy.vmfb"
    bare.symlink_to(toy)
    module.symlink_to(toy)
    state = {"kv": {"argument": 4, "initial": "zeros", "shape": SHAPE}}
    (tmp_path / "toy.farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module",
        "functions": [{"name": name_of(step), "state": state} for step in (0, 1)]}))
    least = kernel(tmp_path, bare, 3) - kernel(tmp_path, bare, 2)
    step = steps(tmp_path, module, 2) - steps(tmp_path, module, 1)
    print(f"{least} instructions of the kernel, {step} of a step: {step / least:.4f}")
    assert 0 < least and step <= 1.05 * least
