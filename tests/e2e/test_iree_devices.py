# SPDX-License-Identifier: Apache-2.0
"""A module for a GPU: `farcall sig` and the server both say that its functions are not
callable and why, and neither runs any of its code."""
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


LOCAL = """#hal.device.target<"local", {ordinal = %d : index}, [
    #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64",
        {cpu = "generic", target_triple = "x86_64-unknown-unknown-eabi-elf"}>]>"""
TWO = f"""
module @two {{
  util.global private @dev_a = {LOCAL % 0} : !hal.device
  util.global private @dev_b = {LOCAL % 1} : !hal.device
  func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = flow.tensor.transfer %a : tensor<4xf32> to #hal.device.affinity<@dev_a>
    %1 = arith.addf %0, %0 : tensor<4xf32>
    %2 = flow.tensor.transfer %1 : tensor<4xf32> to #hal.device.affinity<@dev_b>
    %3 = arith.mulf %2, %2 : tensor<4xf32>
    return %3 : tensor<4xf32>
  }}
}}
"""


def test_a_module_for_two_local_devices_is_told_that_there_is_one(iree, farcall):
    done = farcall("run", iree.compile_text("two", TWO), "--function=f",
                   "--input=[1,2,3,4]")
    assert done.returncode != 0
    assert "compiled for several local devices, and farcall has one" in done.stderr
    assert "dev_b" in done.stderr


def test_a_core_vm_module_is_named(farcall, tmp_path):
    file = tmp_path / "core.vmfb"
    file.write_bytes(b"IREEVM\0\0" + bytes(120))
    done = farcall("sig", file)
    assert done.returncode != 0
    assert "a Core VM module of the HRX system" in done.stderr
