# SPDX-License-Identifier: Apache-2.0
"""tests/corpus/vm/ops.{vmfb,txt} is what tests/modules/vmasm/make.py makes with
IREE's assembler and runtime: the expectations of module/vm/ops are not ours."""
import pathlib
import re
import subprocess

TESTS = pathlib.Path(__file__).resolve().parents[1]
MAKE = TESTS / "modules/vmasm/make.py"
OPS = TESTS / "corpus/vm"
# Functions of the C library may differ in the last bits.
INEXACT = re.compile(r"(atan|cos\.|sin\.|exp|log|pow\.|tanh\.|erf\.)")


def lines(path):
    return [line.split(": ", 1) for line in path.read_text().splitlines()]


def test_the_reference_still_says_so(iree, tmp_path):
    done = subprocess.run([iree.folder / "python", MAKE, tmp_path],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ops.vmfb").read_bytes() == \
        (OPS / "ops.vmfb").read_bytes()
    now, then = lines(tmp_path / "ops.txt"), lines(OPS / "ops.txt")
    assert [name for name, _ in now] == [name for name, _ in then]
    for (name, got), (_, wanted) in zip(now, then):
        assert got == wanted or INEXACT.match(name), name
