# SPDX-License-Identifier: Apache-2.0
"""Run by test_peer.py, not by pytest. Compiles the tensor programs of tests/e2e to
machine code for any x86-64, and calls them in this process and in IREE's runtime.
Reads the folder of IREE's programs and a folder for its files. Writes how many
programs have the same results, bit for bit, in all calls, and the names of the others.
"""
import json
import pathlib
import sys

import ml_dtypes
import numpy

import farcall

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/e2e"))
import iree_tensors  # noqa: E402  (found by the line above)
from conftest import Iree  # noqa: E402
from iree_programs import Tensor  # noqa: E402

BF16 = numpy.dtype(ml_dtypes.bfloat16)


def given(value):
    if not isinstance(value, Tensor):
        return value
    return value.values.astype(BF16) if value.dtype == "bf16" else value.values


def taken(value, wanted):
    if not isinstance(value, numpy.ndarray):
        return value
    names = {each: name for name, each in iree_tensors.DTYPES.items() if name != "bf16"}
    name = "bf16" if value.dtype == BF16 else names[value.dtype.type]
    return Tensor(name, value.astype(numpy.float32) if value.dtype == BF16 else value)


def answers_the_same(function, arguments, wanted):
    got = function(*map(given, arguments))
    got = list(got) if isinstance(got, tuple) else [] if got is None else [got]
    return len(got) == len(wanted) and all(
        iree_tensors.equal(taken(*pair), pair[1], True) for pair in zip(got, wanted))


iree = Iree(sys.argv[1], pathlib.Path(sys.argv[2]))
same, others = 0, []
for variant, name in iree_tensors.pairs("generic"):
    theme = iree_tensors.THEMES[name]
    path = iree_tensors.compiled(iree, variant, theme)
    calls = [(program.name, arguments) for program in theme.programs
             for arguments in program.calls]
    references = iter(iree_tensors.reference(iree, path, calls))
    module = farcall.load(path)
    for program in theme.programs:
        # All calls are made, and all references are consumed, also after a difference.
        if all([answers_the_same(module[program.name], arguments, next(references))
                for arguments in program.calls]):
            same += 1
        else:
            others.append(f"{name}/{program.name}")
json.dump({"same": same, "others": others}, sys.stdout)
