# SPDX-License-Identifier: Apache-2.0
"""Modules that others compiled. IREE's self-checking programs are run with `farcall
test`. The disassembly of every module is compared line by line with
`iree-dump-module`, if that can read the file at all: bytecode 17.0. Without these
modules every test here is skipped, and so is the run. Our own modules are in
test_iree_disassembly.py, the one program that takes minutes is in
test_iree_corpus_slow.py."""
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import IREE_CORPUS

LARGE = "linalg_large_linalg_matmul.llvm-cpu.vmfb"
FUNCTION = re.compile(r"^(ok|failed)\s+(\S+)", re.M)
INTERNAL = re.compile(r"@([^\s(.:]+)(?:[.:][^\s(]+)?\(")


def programs(kind):
    folder = IREE_CORPUS / kind
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set FARCALL_IREE_CORPUS")
    return sorted(folder.glob("*.vmfb"))


def self_checks(farcall, files):
    """For each file, the names of the functions that ran."""
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda path: farcall("test", path), files))
    names = {}
    for path, run in zip(files, runs):
        assert run.returncode == 0, f"{path.name}: {run.stdout}{run.stderr}"
        found = FUNCTION.findall(run.stdout)
        assert {word for word, _ in found} == {"ok"}, f"{path.name}: {run.stdout}"
        names[path.name] = [name for _, name in found]
    return names


def test_vmasm_programs(farcall):
    # async_ops imports a module that only unit/module/vm/test_interp.c provides.
    files = [path for path in programs("vmasm") if path.name != "async_ops.vmfb"]
    names = self_checks(farcall, files)
    assert len(names) == 29
    functions = [name for each in names.values() for name in each]
    assert len(functions) == 284
    assert sum(name.startswith("fail_") for name in functions) == 18


def test_end_to_end_programs(farcall):
    files = programs("e2e")
    assert len(files) == 63
    files = [path for path in files if path.name != LARGE]
    names = self_checks(farcall, files)
    assert len(names) == 62
    assert all(names.values())


def instructions(text):
    """The lines of the function bodies, which both tools write alike."""
    return [line for line in text.splitlines() if line.startswith("[")]


def same(ours, theirs):
    if ours == theirs:
        return True
    # In these lines iree-dump-module omits the upper half of 64-bit registers.
    if re.search(r"vm\.switch\.[if]64 ", ours):
        head, values, tail = re.match(r"(.*\[)(%.*)(\] else.*)", ours).groups()
        return theirs == head + re.sub(r":\d+", "", values) + tail
    # iree-dump-module takes the number of an internal function for that of an export.
    if re.search(r"vm\.call @[^\s(]+:\d+\(", ours):
        return INTERNAL.sub(r"@\1(", ours) == INTERNAL.sub(r"@\1(", theirs)
    return False


def compare(farcall, iree, path):
    ours = farcall("dump", path)
    assert ours.returncode == 0, f"{path.name}: {ours.stderr}"
    if "// bytecode 17.0" not in ours.stdout:
        return 0
    theirs = iree.run("iree-dump-module", "--output=disassembly",
                      "--bytecode_offsets", path)
    assert theirs.returncode == 0, f"{path.name}: {theirs.stderr}"
    left, right = instructions(ours.stdout), instructions(theirs.stdout)
    for one, other in zip(left, right):
        assert same(one, other), f"{path.name}:\n{one}\n{other}"
    assert len(left) == len(right), path.name
    return len(left)


def test_disassembly_of_the_corpus(farcall, iree):
    files = programs("vmasm") + programs("e2e")
    with ThreadPoolExecutor(2) as pool:
        lines = list(pool.map(lambda path: compare(farcall, iree, path), files))
    assert all(lines)
    print(f"{sum(lines)} lines of {len(files)} modules")
    assert sum(lines) > 25000
