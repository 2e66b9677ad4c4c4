# SPDX-License-Identifier: Apache-2.0
"""All of MLIR's own integration tests that can run on this processor. `farcall compile`
replaces the passes that lower, and `farcall run` replaces mlir-runner. LLVM's
FileCheck judges what the module prints by the rules in the test itself.
FARCALL_MLIR_TESTS is the folder that scripts/mlir-tests prints.
tests/spec/mlir_tests.tsv lists the tests that are not run or do not pass, and why."""
import csv
import fnmatch
import os
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import mlir_suite
from conftest import ROOT

KNOWN = ROOT / "tests/spec/mlir_tests.tsv"
TOOLS = pathlib.Path("/usr/lib/llvm-22/bin")
SECONDS = 300  # of one step


@pytest.fixture(scope="module")
def folder():
    found = pathlib.Path(os.environ.get("FARCALL_MLIR_TESTS") or "/nonexistent")
    if not (found / "Dialect").is_dir():
        pytest.skip("FARCALL_MLIR_TESTS is not set: scripts/mlir-tests prints it")
    if not (TOOLS / "FileCheck").exists():
        pytest.skip(f"no FileCheck in {TOOLS}: llvm-22-tools has it")
    return found / "Dialect"


@pytest.fixture(scope="module")
def known():
    with KNOWN.open() as file:
        return {row["test"]: row["why"] for row in csv.DictReader(file, delimiter="\t")}


def tool(name, *arguments, **options):
    return subprocess.run([TOOLS / name, *arguments], capture_output=True, text=True,
                          errors="replace", timeout=SECONDS, **options)


def why_not(farcall, path, run, work):
    """Why the test does not pass. None: it passes."""
    source, module = work / "source.mlir", work / "m.so"
    text, entry = mlir_suite.callable_text(path.read_text(), run.entry)
    source.write_text(text)
    if run.passes:
        done = tool("mlir-opt", source, *run.passes, "-o", work / "passed.mlir")
        if done.returncode:
            return f"passes: {done.stderr}"
        source = work / "passed.mlir"
    options = ["--cpu=host"] if "X86" in path.parts else []
    options += [] if run.checked else ["--unchecked"]
    done = farcall("compile", "--road=mlir", *options, source, "-o", module,
                   timeout=SECONDS)
    if done.returncode:
        return f"compile: {done.stderr}"
    notes = done.stderr
    done = farcall("run", module, f"--function={entry}", timeout=SECONDS)
    if done.returncode:
        return f"run: {done.stderr} {notes}"
    if run.check is None:
        return None
    output = mlir_suite.printed(done.stderr) + (done.stdout if run.prints_result else "")
    done = tool("FileCheck", path, "--allow-empty", *run.check, input=output)
    return done.stderr if done.returncode else None


def jobs_of(folder):
    """(name, path, Run) of each test. If Run is None, the test only runs passes."""
    for path in sorted(folder.rglob("*.mlir")):
        if mlir_suite.ELSEWHERE.search(str(path)):
            continue
        name = str(path.relative_to(folder))
        for run in mlir_suite.runs_of(path) or [None]:
            yield name, path, run


def test_what_mlir_expects_is_printed(farcall, folder, known, tmp_path, capsys):
    def tried(numbered):
        number, (_, path, run) = numbered
        work = tmp_path / str(number)
        work.mkdir()
        try:
            return why_not(farcall, path, run, work)
        except subprocess.TimeoutExpired as slow:
            return f"takes too long: {slow}"
    jobs = list(jobs_of(folder))
    ran = [job for job in jobs if job[2]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = list(pool.map(tried, enumerate(ran)))
    failed = {name: why for (name, _, _), why in zip(ran, reasons) if why}
    unrun = {name for name, _, run in jobs if not run}
    with capsys.disabled():
        print(f"\n{len({name for name, _, _ in jobs})} tests, {len(ran)} runs of "
              f"{len({name for name, _, _ in ran})}: {len(ran) - sum(map(bool, reasons))} "
              "runs print what they must")
        for name, why in failed.items():
            print(name, " ".join(why.split())[:400], sep="\t")
    unknown = [name for name in failed.keys() | unrun
               if not any(fnmatch.fnmatch(name, each) for each in known)]
    assert len(ran) > 200
    assert not unknown
    # If a listed test passes now, its row must be removed.
    assert not [each for each in known if not fnmatch.filter(failed.keys() | unrun, each)]
