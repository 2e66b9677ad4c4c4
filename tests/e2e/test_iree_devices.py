# SPDX-License-Identifier: Apache-2.0
"""A module for a GPU: `farcall sig` says of its functions what the server says, that
they are not callable and why, and neither runs anything of it."""
import json

import pytest

from conftest import ROOT, Server

MODULE = ROOT / "tests/corpus/iree/device/double-vulkan.vmfb"
REASON = "the module is compiled for 'vulkan-spirv-fb', and farcall runs modules on the " \
    "processor of this machine only; compile it with --iree-hal-target-device=local " \
    "--iree-hal-local-target-device-backends=llvm-cpu"


@pytest.fixture(scope="module")
def server():
    running = Server(MODULE)
    yield running
    status = running.stop()
    assert status == 0, f"exit status {status}:\n" + "".join(running.lines)


def test_it_is_listed_and_not_callable(server, farcall):
    served = server.get("/api/v1/functions/double-vulkan/double").json
    assert (served["callable"], served["reason"]) == (False, REASON)
    done = farcall("sig", MODULE, "--function=double", "--json")
    assert done.returncode == 0, done.stderr
    described = json.loads(done.stdout)
    assert (described["callable"], described["reason"]) == (False, REASON)
    assert farcall("sig", MODULE).stdout == \
        "double-vulkan/double(input0: tensor<4xf32>) -> tensor<4xf32>" \
        f"  # not callable: {REASON}\n"


def test_the_log_and_ls_say_it(server, farcall):
    line = next(line for line in server.lines if "functions can be called" in line)
    assert (json.loads(line)["level"], json.loads(line)["reason"]) == ("warn", REASON)
    assert farcall("ls", "--server", server.url).stdout == \
        "double-vulkan  vm      double (not callable)\n"


def test_calling_it_says_why(server, farcall):
    reply = server.call("double-vulkan/double", [[1, 2, 3, 4]])
    assert (reply.status, reply.json["code"]) == (501, "unsupported_type")
    assert reply.json["detail"] == "function 'double': " + REASON
    done = farcall("run", MODULE, "--function=double", "--input=[1,2,3,4]")
    assert done.returncode != 0
    assert REASON in done.stderr
