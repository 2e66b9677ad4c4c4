# SPDX-License-Identifier: Apache-2.0
"""Modules of iree-compile that name a processor feature twice. It writes that for
`host` if a hypervisor hides a feature that the processor's model has. The last
mention counts, as in LLVM."""
import pathlib
import re

import pytest

SOURCE = """
func.func @double(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
# LLVM's name and that of /proc/cpuinfo. No processor has both features.
FEATURES = {"fma4": "fma4", "amx-tile": "amx_tile"}


@pytest.fixture(scope="module")
def missing():
    """A feature that this processor lacks."""
    flags = re.search("flags.*|$", pathlib.Path("/proc/cpuinfo").read_text())[0].split()
    return next(name for name, proc in FEATURES.items() if proc not in flags)


def compiled(iree, features):
    return iree.compile_text(
        "double", SOURCE, "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=x86-64",
        f"--iree-llvmcpu-target-cpu-features={features}")


def run(farcall, module):
    return farcall("run", module, "--function=double", "--input=[1,2,3,4]")


def test_a_feature_taken_away_last_is_not_needed(farcall, iree, missing):
    module = compiled(iree, f"+{missing},-{missing}")
    assert f"+{missing},-{missing}".encode() in module.read_bytes()
    done = run(farcall, module)
    assert done.returncode == 0, done.stderr
    assert done.stdout == '{"results":[[2.0,4.0,6.0,8.0]]}\n'


def test_a_feature_asked_for_last_is_needed(farcall, iree, missing):
    done = run(farcall, compiled(iree, f"-{missing},+{missing}"))
    assert done.returncode != 0
    assert f"features this one lacks: {missing}; compile it with " \
        "--iree-llvmcpu-target-cpu=host on this machine" in done.stderr
