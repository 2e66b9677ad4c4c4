# SPDX-License-Identifier: Apache-2.0
"""Compiled code trusts that the dims of its arguments agree. Where they do not,
the call is refused or ends in a 502; it never answers with bytes from elsewhere:
other clients fill memory with a pattern in between."""
import json
import shutil

import pytest

from conftest import BIN, RELEASES, ROOT, Server

SOURCE = ROOT / "tests/modules/iree/dynamic.mlir"
CANARY = 98765432
TIMES = 20
REFUSED = {(502, "worker_crashed"), (422, "shape_mismatch"),
           (422, "call_failed")}


def rows(count, width=3, value=1):
    return [[value] * width] * count


# name: function, arguments, and the answer where nothing is read that does not
# belong to an argument, or else to the ones that fill its last 64 bytes
CASES = {
    "many rows and one": ("dynamic/add3", [rows(300000), rows(1)], None),
    "four rows and two": ("dynamic/add3", [rows(4), rows(2)], None),
    "two rows and four": ("dynamic/add3", [rows(2), rows(4)], [rows(2, 3, 2)]),
    "a row and none": ("dynamic/add3", [rows(1), []], None),
    "k too large": ("dynamic/matmul", [rows(2, 1000), rows(3, 2)], None),
    "by one": ("dynamic/matmul", [rows(2, 3), rows(2, 2)], None),
    "of 3.13": ("versions/matmul", [rows(2, 1000), rows(3, 2)], None),
    "of 3.13, by one": ("versions/matmul", [rows(2, 3), rows(2, 2)], None),
    "native, many and one": ("add/sums", [[1] * 100000, [1]], None),
    "native, four and two": ("add/sums", [[1] * 4, [1] * 2], [[2, 2, 0, 0]]),
}
# What others ask meanwhile, in all modules and sizes.
OTHERS = [("add/reverse", [[CANARY] * n]) for n in (1, 2, 30, 5000)]
OTHERS += [("dynamic/add3", [rows(n, 3, CANARY), rows(n, 3, 0)])
           for n in (1, 2, 4, 1000)]
OTHERS += [("versions/matmul", [rows(2, 2, CANARY), [[1, 0], [0, 1]]])]


@pytest.fixture(scope="module")
def served(iree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    module = iree.compile(
        SOURCE, "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic")
    shutil.copy(module, folder / "dynamic.vmfb")
    shutil.copy(RELEASES / "versions-3.13.0-llvm-cpu.vmfb",
                folder / "versions.vmfb")
    for end in (".so", ".farcall.json"):
        shutil.copy(BIN.parent / f"tests/modules/hostile/add{end}", folder)
    running = Server("--crash-limit=0", folder)
    yield running
    assert running.stop() == 0, "".join(running.lines[-20:])


def test_such_functions_are_known(served):
    for function in ("dynamic/add3", "versions/matmul", "add/sums"):
        signature = served.get("/api/v1/functions/" + function).json
        assert signature["memory_safe"] is False


@pytest.mark.parametrize("name", CASES)
def test_dims_that_differ(served, name):
    function, arguments, answer = CASES[name]
    document = json.dumps(arguments)
    statuses = []
    for i in range(TIMES):
        other, canaries = OTHERS[i % len(OTHERS)]
        served.results(other, canaries)
        reply = served.call(function, document)
        assert str(CANARY)[:4].encode() not in reply.body
        if reply.status == 200:
            assert reply.json["results"] == answer
        else:
            assert (reply.status, reply.json["code"]) in REFUSED
        statuses.append(reply.status)
    print(name, set(statuses))


def test_dims_that_agree(served):
    assert served.results("dynamic/add3", [rows(4), rows(4)]) == [rows(4, 3, 2)]
    assert served.results("dynamic/matmul", [rows(2, 3), rows(3, 2)]) == [
        rows(2, 2, 3)]
    assert served.results("add/sums", [[1, 2], [3, 4]]) == [[4, 6]]
