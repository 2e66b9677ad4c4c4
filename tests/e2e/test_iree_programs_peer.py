# SPDX-License-Identifier: Apache-2.0
"""IREE's own end-to-end programs (tests/e2e of its sources), compiled for any x86-64
and to VMVX. Each checks itself (`farcall test`). Then all of its functions are
called over HTTP and in IREE's own runtime, and must give the same answers.
FARCALL_IREE_SOURCES is a checkout of iree-org/iree: no package contains the sources.
tests/spec/iree_programs.tsv lists what differs, and why."""
import csv
import hashlib
import json
import os
import pathlib
import re
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import iree_tensors
from conftest import ROOT, Server
from iree_programs import DTYPES, Tensor

KNOWN = ROOT / "tests/spec/iree_programs.tsv"
OTHER_DEVICES = {"rocm_specific", "vulkan_specific"}
VARIANTS = {name: iree_tensors.VARIANTS[name] for name in ("generic", "vmvx")}
AT_ONCE = 40  # modules of one farcalld
SECONDS = 120  # of one program, compiled or run
OUTCOME = re.compile(r"^(ok|failed)\s", re.M)


@pytest.fixture(scope="module")
def sources():
    folder = pathlib.Path(os.environ.get("FARCALL_IREE_SOURCES", "/nonexistent")) / "tests/e2e"
    if not folder.is_dir():
        pytest.skip(f"no {folder}: set FARCALL_IREE_SOURCES")
    return [path for path in sorted(folder.rglob("*.mlir"))
            if path.relative_to(folder).parts[0] not in OTHER_DEVICES]


def name_of(path):
    parts = path.parts[path.parts.index("e2e") + 1:]
    return "_".join((*parts[:-1], path.stem)).replace("-", "_")


def compiled(iree, job):
    """The module. None: the compiler refuses the program, which is remembered."""
    path, variant = job
    text = path.read_text()
    key = hashlib.sha256(json.dumps([text, VARIANTS[variant]]).encode()).hexdigest()
    folder = iree.compiled / "e2e"
    folder.mkdir(exist_ok=True)
    module = folder / f"{name_of(path)}-{variant}-{key[:8]}.vmfb"
    refused = module.with_suffix(".refused")
    if not module.exists() and not refused.exists():
        unfinished = module.with_suffix(f".{os.getpid()}.tmp")
        try:
            done = iree.run("iree-compile", path, "-o", unfinished, *VARIANTS[variant],
                            timeout=SECONDS)
            why = done.stderr if done.returncode else None
        except subprocess.TimeoutExpired:
            why = "it takes too long"
        if why is None:
            unfinished.rename(module)
        else:
            refused.write_text(why)
    return module if module.exists() else None


@pytest.fixture(scope="module")
def programs(iree, sources):
    """{(program, variant): module}"""
    jobs = [(path, variant) for path in sources for variant in VARIANTS]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        modules = list(pool.map(lambda job: compiled(iree, job), jobs))
    return {(name_of(path), variant): module
            for (path, variant), module in zip(jobs, modules) if module}


@pytest.fixture(scope="module")
def known():
    with KNOWN.open() as file:
        return {(row["program"], row["variant"]): row["why"]
                for row in csv.DictReader(file, delimiter="\t")}


def checked(farcall, module):
    """Why its own checks do not pass. None: they pass."""
    try:
        done = farcall("test", module, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "its checks take too long"
    if done.returncode == 0 or not OUTCOME.search(done.stdout):
        return None  # passed, or there are none
    return " ".join((done.stdout + done.stderr).split())[:300]


def value_of(kind, seed):
    """An argument of this type. None: there is none that both sides accept."""
    random = numpy.random.default_rng(zlib.crc32(seed.encode()))
    if kind["kind"] == "scalar":
        return int(random.integers(0, 4)) if kind["dtype"] in (
            "i1", "i8", "i16", "i32", "i64", "index") else float(random.integers(0, 4))
    if kind["kind"] != "tensor" or kind["dtype"] not in DTYPES or kind["shape"] is None:
        return None
    shape = [4 if dim is None else dim for dim in kind["shape"]]
    return Tensor(kind["dtype"], random.integers(0, 2 if kind["dtype"] == "i1" else 4, shape))


def calls_of(server, module):
    """(function, arguments) of each function that accepts values of this test."""
    for name in server.get(f"/api/v1/modules/{module.stem}").json["functions"]:
        signature = server.get(f"/api/v1/functions/{module.stem}/{name}").json
        values = [value_of(each["type"], f"{name} {i}")
                  for i, each in enumerate(signature["arguments"]) if each["role"] == "in"]
        if signature["callable"] and not any(value is None for value in values):
            yield name, values


def reference(iree, module, calls):
    """A list of results for each call, None for a call that failed. None instead of the
    list: the runtime crashed."""
    document = json.dumps([[function, list(map(iree_tensors.raw, arguments))]
                           for function, arguments in calls])
    try:
        done = iree.run("python", pathlib.Path(__file__).with_name("iree_calls.py"),
                        module, "--tensors", input=document, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return None if done.returncode else [
        None if each is None else list(map(iree_tensors.theirs, each))
        for each in json.loads(done.stdout)]


def compared(server, iree, module, exact):
    """What differs. None: nothing."""
    document = server.get(f"/api/v1/modules/{module.stem}").json
    if document["state"] != "ready":
        return f"not loaded: {document['reason']}"
    calls = list(calls_of(server, module))
    if not calls:
        return None
    theirs = reference(iree, module, calls)
    if theirs is None:
        return "IREE's runtime died"
    for (function, arguments), wanted in zip(calls, theirs):
        reply = server.call(f"{module.stem}/{function}", {
            "args": list(map(iree_tensors.plain, arguments)),
            "options": {"results": "typed"}})
        if wanted is None or reply.status != 200:
            if (wanted is None) == (reply.status != 200):
                continue
            return f"{function}: {reply.body[:200]}" if wanted else f"{function}: IREE fails"
        got = list(map(iree_tensors.ours, reply.json["results"]))
        if len(got) != len(wanted) or \
                not all(iree_tensors.equal(*pair, exact) for pair in zip(got, wanted)):
            return f"{function}: other numbers"
    return None


def parts_of(items):
    for begin in range(0, len(items), AT_ONCE):
        yield items[begin:begin + AT_ONCE]


def test_programs_pass_their_own_checks(farcall, programs, known, capsys):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = dict(zip(programs, pool.map(lambda each: checked(farcall, each),
                                            programs.values())))
    judge("checks", programs, wrong, known, capsys)


@pytest.mark.parametrize("isolation", ["thread", "process"])
def test_answers_are_those_of_the_reference(iree, programs, known, isolation, capsys):
    wrong = {}
    for part in parts_of(list(programs.items())):
        server = Server(f"--isolation={isolation}", "--workers=1",
                        *(module for _, module in part))
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            wrong |= zip(dict(part), pool.map(
                lambda each: compared(server, iree, each[1], each[0][1] != "vmvx"), part))
        server.stop()
    judge(f"calls in a {isolation}", programs, wrong, known, capsys)


def judge(what, programs, wrong, known, capsys):
    wrong = {key: why for key, why in wrong.items() if why}
    with capsys.disabled():
        print(f"\n{what}: {len(programs)} programs compiled, {len(wrong)} not equal")
        for key, why in wrong.items():
            print(*key, why, sep="\t")
    assert not wrong.keys() - known.keys()
