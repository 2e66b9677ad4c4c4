# SPDX-License-Identifier: Apache-2.0
"""Every third test of an ONNX operator that IREE's importer and compiler accept, over
HTTP; prints how many pass. The first run compiles for about seven minutes of
processor time, and keeps the modules. Where IREE's own runtime is right, we must be
right and give the same bits. tests/spec/onnx_operators.tsv lists what differs, and
why. test_onnx_peer.py runs all tests."""
import collections
import json

import pytest

from conftest import ROOT, Server
from onnx_suite import Suite, call, call_by_oip, difference, unlike, verdicts

AT_ONCE = 100  # modules of one farcalld
KNOWN = dict(line.split("\t") for line in (
    ROOT / "tests/spec/onnx_operators.tsv").read_text().splitlines()[1:])


@pytest.fixture(scope="module")
def step():
    return 3


@pytest.fixture(scope="module")
def suite(onnx, step):
    return Suite(onnx, step=step)


@pytest.fixture(scope="module")
def reference(suite):
    """{name: None, or what is wrong in IREE's runtime}, for both hosts."""
    return json.loads(suite.make("reference", suite.compiled()))


def judged(suite, name, results):
    return difference(suite, name, results), unlike(suite, name, results)


def called(suite, names, *options):
    """{name: (why the call failed, or what is wrong and what differs, signature)}"""
    found = {}
    for begin in range(0, len(names), AT_ONCE):
        part = names[begin:begin + AT_ONCE]
        server = Server(*options, *map(suite.module, part))
        found |= {name: call(server, suite, name, judged) for name in part}
        assert server.stop() == 0, "".join(server.lines)
    return found


@pytest.fixture(scope="module", params=["thread", "process"])
def answers(suite, reference, request):  # whose results are compared
    return called(suite, suite.compiled(), f"--isolation={request.param}")


def wrong_of(answer):
    return answer[0] if isinstance(answer[0], str) else answer[0][0]


def test_what_the_reference_passes_passes(suite, reference, answers, capsys):
    names = list(answers)
    imported = [name for name in suite.names
                if (suite.refusal(name) or ("compile",))[0] == "compile"]
    theirs = [name for name in names if reference[name] is None]
    ours = [name for name in names if wrong_of(answers[name]) is None]
    with capsys.disabled():
        print(f"\ngenerated {len(suite.index)}, of tensors {len(suite.tensors)}, "
              f"taken {len(suite.names)}, imported {len(imported)}, compiled {len(names)}, "
              f"IREE's runtime passes {len(theirs)}, farcall {len(ours)}")
        for name in names:
            if wrong_of(answers[name]):
                print(f"{name}: {wrong_of(answers[name])}; IREE: {reference[name]}")
    assert len(ours) >= 150
    assert not set(theirs) - set(ours) - KNOWN.keys()


def test_results_are_those_of_the_reference(suite, answers, capsys):
    wrong = {}
    for name, (answer, _) in answers.items():
        why = answer if isinstance(answer, str) else answer[1]
        both_fail = why is answer and not (suite.folder / f"{name}.iree").exists()
        if why and not both_fail:
            wrong[name] = why
    with capsys.disabled():
        print(f"\n{len(answers)} programs called, not equal: {wrong}")
    assert not wrong.keys() - KNOWN.keys()


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


def test_values_of_unknown_type_are_sent_by_oip(suite, reference, capsys):
    """A tensor of unknown type is sent with its own type. If IREE's runtime is right,
    so must we be."""
    signatures = {name: answer[1] for name, answer in called(
        suite, suite.compiled(), "--isolation=process").items()}
    unknown = [name for name, signature in signatures.items() if "unknown" in
               [each["type"]["kind"] for each in signature["arguments"]]]
    found = {}
    for begin in range(0, len(unknown), AT_ONCE):
        part = unknown[begin:begin + AT_ONCE]
        server = Server("--isolation=process", *map(suite.module, part))
        found |= {name: call_by_oip(server, suite, name) for name in part}
        assert server.stop() == 0, "".join(server.lines)
    with capsys.disabled():
        print(f"\n{len(unknown)} of {len(signatures)} functions have an argument of unknown "
              f"type, {sum(why is None for why in found.values())} answer by OIP: "
              f"{collections.Counter(filter(None, found.values()))}")
    lacks = {name for name, why in found.items() if why and "protocol" in why}
    right = {name for name in unknown if reference[name] is None} - KNOWN.keys()
    assert not [(name, found[name]) for name in right - lacks if found[name]]
