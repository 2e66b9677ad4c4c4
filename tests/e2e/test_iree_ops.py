# SPDX-License-Identifier: Apache-2.0
"""tests/corpus/vm/ops.{vmfb,txt} must be what tests/modules/vmasm/make.py makes with
IREE's assembler and runtime: so the expectations of module/vm/ops are not our own. A
server gives the same answers."""
import pathlib
import re
import struct
import subprocess

import pytest

from conftest import Server

TESTS = pathlib.Path(__file__).resolve().parents[1]
MAKE = TESTS / "modules/vmasm/make.py"
OPS = TESTS / "corpus/vm"
# Results of these functions of the C library may differ in the last bits.
INEXACT = re.compile(r"(atan|cos\.|sin\.|exp|log|pow\.|tanh\.|erf\.)")
# These need a module that only the reference's tests provide.
IMPORTS = re.compile(r"import\.(?!missing)")
FORMATS = {"i32": ("i", "I"), "i64": ("q", "Q"), "f32": ("f", "I"), "f64": ("d", "Q")}


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


@pytest.fixture(scope="module")
def served():
    running = Server(OPS / "ops.vmfb")
    yield running
    assert running.stop() == 0, "".join(running.lines)


def bits(dtype, value):
    """(the bits of a result as a number, whether it is a NaN, which may have several
    bit patterns)"""
    value = float(value) if dtype.startswith("f") else value
    given, taken = FORMATS[dtype]
    number, = struct.unpack("<" + taken, struct.pack("<" + given, value))
    return number, value != value


def same(name, dtype, got, word):
    wanted = int(word, 16)
    number, is_nan = bits(dtype, got)
    if is_nan:
        given, taken = FORMATS[dtype]
        there, = struct.unpack("<" + given, struct.pack("<" + taken, wanted))
        return there != there
    return number == wanted or INEXACT.match(name) and abs(number - wanted) <= 2


def test_every_opcode(served):
    count, wrong = 0, []
    for name, words in lines(OPS / "ops.txt"):
        if IMPORTS.match(name):
            continue
        words = words.split("#")[0].split()
        reply = served.call("ops/" + name, [])
        if words and words[0].startswith("!"):
            status = 503 if words[0] == "!RESOURCE_EXHAUSTED" else 422
            assert (reply.status, reply.json["code"]) == (status, "call_failed"), name
            continue
        if reply.status != 200:
            wrong.append((name, reply.body))
            continue
        results = reply.json["results"]
        types = served.get("/api/v1/functions/ops/" + name).json["results"]
        assert len(results) == len(types) == len(words), name
        for each, got, word in zip(types, results, words):
            if not same(name, each["type"]["dtype"], got, word):
                wrong.append((name, got, word))
        count += len(words)
    assert not wrong
    assert count > 5000
