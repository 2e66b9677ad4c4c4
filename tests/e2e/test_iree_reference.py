# SPDX-License-Identifier: Apache-2.0
"""tests/modules/iree/scalars.mlir, compiled by IREE: over HTTP each function answers
what IREE's own runtime answers, for every row of arguments. If that runtime's answer
is accidental (a signal, raw bits above a narrow integer), the row has ours."""
import json
import pathlib
import struct

import pytest

from conftest import ROOT, Server, end_servers

SOURCE = ROOT / "tests/modules/iree/scalars.mlir"
FLAGS = ["--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=vmvx",
         "--iree-input-demote-f64-to-f32=false"]
LOW, HIGH = -2**31, 2**31 - 1
LOW64, HIGH64 = -2**63, 2**63 - 1
PAIRS = [[7, 3], [-7, 3], [7, -3], [LOW, 2], [HIGH, HIGH], [-1, LOW]]
PAIRS64 = [[7, 3], [-7, 3], [LOW64, 2], [HIGH64, HIGH64], [-1, 5000000000]]
SHIFTS = [[-9, 0], [-9, 1], [9, 31], [LOW, 4]]
FLOATS = [[0.0], [-0.0], [0.5], [1.5], [2.5], [-2.5], [0.1], [-3.75], [11.25]]
FLOAT_PAIRS = [[1.5, 2.25], [-1.5, 0.1], [5.5, -2.0], [0.0, -0.0], [3e38, 3e38]]


def bits(value):
    return struct.unpack("<q", struct.pack("<d", value))[0]


DOUBLES = [bits(v) for v in (0.1, 2.0, 1e300, 12345.678)]
TABLE = {
    **dict.fromkeys(["addi", "subi", "muli", "divsi", "divui", "remsi", "remui",
                     "andi", "ori", "xori", "minsi", "maxui", "lts", "ltu"], PAIRS),
    **dict.fromkeys(["shli", "shrsi", "shrui"], SHIFTS),
    **dict.fromkeys(["addi64", "subi64", "muli64", "divsi64", "divui64", "remsi64",
                     "maxsi64", "ge64"], PAIRS64),
    **dict.fromkeys(["shli64", "shrsi64", "shrui64"], [[-9, 1], [9, 63], [LOW64, 40]]),
    **dict.fromkeys(["absi", "ctlz", "sext8", "zext16", "sext64", "zext64", "sitof",
                     "uitof", "unbits"], [[0], [1], [-1], [200], [40000], [HIGH]]),
    **dict.fromkeys(["ctlz64", "trunc64"], [[0], [1], [-1], [5000000000]]),
    "fmai": [[3, 4, 5], [HIGH, 2, 3], [-7, 11, LOW]],
    "select64": [[0, 1, 5000000000], [-4, LOW64, 2]],
    **dict.fromkeys(["addf", "subf", "mulf", "divf", "remf", "powf", "atan2f", "ltf",
                     "ultf", "eqf"], FLOAT_PAIRS),
    "fmaf": [[1.5, 2.0, 0.25], [0.1, 0.2, 0.3]],
    **dict.fromkeys(["negf", "absf", "ceilf", "floorf", "roundf", "roundevenf",
                     "expf", "exp2f", "expm1f", "sinf", "cosf", "tanhf", "erff",
                     "atanf", "bits", "ftosi"], FLOATS),
    **dict.fromkeys(["sqrtf", "rsqrtf", "logf", "log10f", "log1pf", "log2f", "ftoui"],
                    [[0.25], [1.0], [2.0], [1234.5]]),
    **dict.fromkeys(["addd", "divd"], [[a, b] for a in DOUBLES for b in DOUBLES]),
    **dict.fromkeys(["sqrtd", "expd"], [[v] for v in DOUBLES]),
    "doubled": [[0.25], [-3.0]],
    "fact": [[0], [1], [20], [25], [65], [1000]],
    "gcd": [[84, 36], [17, 5], [0, 9]],
    "collatz": [[1], [27], [837799]],
    "pick": [[0], [1], [2], [3], [-1]],
    "across": [[3, 5000000000, 7, 12], [-3, LOW64, HIGH, -1]],
    "count_up": [[5], [7], [-20]],
    "total_up": [[5], [7000000000]],
    "mean_up": [[2.5], [0.1], [7.0]],
    "list_sum": [[[1, 2, 3]], [[HIGH, 1, -5]]],
    "list_reverse": [[[5000000000, 1.5, -3]]],
    "list_grow": [[1], [10], [1000]],
    "buffer_bytes": [[-2, 4], [-2, 3], [1000, 5], [0, 15]],
    "buffer_copy": [[5000000000], [-1]],
    "buffer_compare": [[5, 5], [5, 6]],
    "positive": [[3]],
}
FAILURES = {"positive": [[0], [-5]]}
# Our own rule: (function, arguments, result), or a word of the error.
OURS = [
    ("addi8", [100, 100], [-56]),
    ("addi8", [-128, -1], [127]),
    ("addi16", [32767, 1], [-32768]),
    ("divsi", [7, 0], "integer"),
    ("divsi", [LOW, -1], "integer"),
    ("remui", [7, 0], "integer"),
    ("remsi64", [7, 0], "integer"),
    ("divsi64", [LOW64, -1], "integer"),
    ("buffer_bytes", [1, 16], "outside a buffer"),
]
CALLS = [(name, row) for name, rows in TABLE.items() for row in rows]


@pytest.fixture(scope="module")
def module(iree):
    return iree.compile(SOURCE, *FLAGS)


@pytest.fixture(scope="module")
def served(module):
    running = Server(module)
    yield running, module.stem
    end_servers([running])


def reference(iree, module, calls):
    done = iree.run("python", pathlib.Path(__file__).with_name("iree_calls.py"),
                    module, input=json.dumps(calls))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def narrow(value):
    """Python's floats are doubles, so 32-bit results are rounded to f32 before they are
    compared."""
    if isinstance(value, list):
        return [narrow(each) for each in value]
    if isinstance(value, str):
        value = float(value)
    if isinstance(value, float):
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            pass
    return repr(value)


def test_results_are_those_of_the_reference(iree, module, served):
    server, name = served
    theirs = reference(iree, module, CALLS)
    assert len(TABLE) >= 60
    wrong = []
    for (function, row), expected in zip(CALLS, theirs):
        reply = server.call(f"{name}/{function}", row)
        got = reply.json.get("results", reply.body)
        # The reference returns several results as a tuple, but one result as itself.
        want = expected[0] if expected and len(got) > 1 else expected
        if expected is None or narrow(got) != narrow(want):
            wrong.append(f"{function}{row}: {got}, reference {expected}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("function", ["fact", "across"])
def test_the_command_line_tool_agrees(iree, module, served, function):
    """Compares with `iree-run-module`: loops, and 64-bit values in internal calls."""
    server, name = served
    for row in TABLE[function]:
        run = iree.run("iree-run-module", f"--module={module}",
                       f"--function={function}", *[f"--input={v}" for v in row])
        assert run.returncode == 0, run.stderr
        theirs = [int(line.split("=")[1]) for line in run.stdout.splitlines()
                  if line.startswith("result[")]
        ours = server.results(f"{name}/{function}", row)
        assert [v for each in ours for v in (each if isinstance(each, list)
                                             else [each])] == theirs, row


def test_every_function_has_a_row(served):
    server, name = served
    listed = server.get(f"/api/v1/modules/{name}").json["functions"]
    names = {f if isinstance(f, str) else f["name"] for f in listed}
    assert names == set(TABLE) | {row[0] for row in OURS}


@pytest.mark.parametrize("function,row,expected", OURS)
def test_our_own_rule(served, function, row, expected):
    server, name = served
    reply = server.call(f"{name}/{function}", row)
    if isinstance(expected, str):
        assert reply.status == 422 and expected in reply.json["detail"], reply.body
    else:
        assert reply.json.get("results") == expected, reply.body


def test_a_failed_assertion_carries_its_message(served):
    server, name = served
    for row in FAILURES["positive"]:
        reply = server.call(f"{name}/positive", row)
        assert reply.status == 422 and "not positive" in reply.json["detail"]
    assert server.results(f"{name}/positive", [4]) == [4]
