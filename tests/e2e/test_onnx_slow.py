# SPDX-License-Identifier: Apache-2.0
"""Each third test of an ONNX operator that IREE's importer and compiler take, over
HTTP; prints how many pass. The first run compiles for some seven minutes of
processor time, and keeps it. What IREE's own runtime gets right we must.
test_onnx_peer.py takes them all."""
import collections
import json

import pytest

from conftest import Server
from onnx_suite import Suite, call, verdicts

AT_ONCE = 100  # modules of one farcalld
# What the compiler made of it reads outside of its input: right by chance.
BY_CHANCE = {"test_gridsample_zeros_padding"}


@pytest.fixture(scope="module")
def step():
    return 3


@pytest.fixture(scope="module")
def suite(onnx, step):
    return Suite(onnx, step=step)


@pytest.fixture(scope="module")
def reference(suite):
    """{name: None or what IREE's runtime got wrong}, for both hosts."""
    return json.loads(suite.make("reference", suite.compiled()))


def called(suite, names, *options):
    """{name: (what is wrong or None, signature)}"""
    found = {}
    for begin in range(0, len(names), AT_ONCE):
        part = names[begin:begin + AT_ONCE]
        server = Server(*options, *map(suite.module, part))
        found |= {name: call(server, suite, name) for name in part}
        assert server.stop() == 0, "".join(server.lines)
    return found


@pytest.fixture(scope="module", params=["thread", "process"])
def answers(suite, request):
    return called(suite, suite.compiled(), f"--isolation={request.param}")


def test_what_the_reference_passes_passes(suite, reference, answers, capsys):
    names = list(answers)
    imported = [name for name in suite.names
                if (suite.refusal(name) or ("compile",))[0] == "compile"]
    theirs = [name for name in names if reference[name] is None]
    ours = [name for name in names if answers[name][0] is None]
    with capsys.disabled():
        print(f"\ngenerated {len(suite.index)}, of tensors {len(suite.tensors)}, "
              f"taken {len(suite.names)}, imported {len(imported)}, compiled {len(names)}, "
              f"IREE's runtime passes {len(theirs)}, farcall {len(ours)}")
        for name in names:
            if answers[name][0]:
                print(f"{name}: {answers[name][0]}; IREE: {reference[name]}")
    assert len(ours) >= 150
    assert not set(theirs) - set(ours) - BY_CHANCE


def test_recovered_signatures_are_the_declared_ones(suite, answers, capsys):
    counts = collections.Counter()
    wrong = []
    for name, (_, signature) in answers.items():
        counts["functions inferred"] += signature["source"] == "inferred"
        counts["functions"] += 1
        for what, verdict in verdicts(suite, name, signature):
            if verdict not in ("exact", "open", "unknown"):
                wrong.append(f"{name}: {what}: {verdict}")
                verdict = "wrong"
            counts[f"{what} {verdict}"] += 1
    with capsys.disabled():
        print("\n" + ", ".join(f"{k}: {v}" for k, v in sorted(counts.items())))
    assert not wrong, "\n".join(wrong)
