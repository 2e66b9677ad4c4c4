# SPDX-License-Identifier: Apache-2.0
"""What takes minutes, another Python, or IREE's own package."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import farcall
import numpy
import pytest

from conftest import BUILD, EXAMPLES, IREE, ROOT, VERSIONS

TESTS = pathlib.Path(__file__).parent


def run(*command, **variables):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True,
                          timeout=1800, env={**os.environ, **variables})
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture
def iree():
    if not IREE:
        pytest.skip("FARCALL_IREE is not set: scripts/test installs IREE")
    return pathlib.Path(IREE)


def test_overhead(iree):
    (site,) = iree.parent.glob("lib/python3*/site-packages")
    ours, theirs = json.loads(run(sys.executable, TESTS / "overhead.py", VERSIONS, site))
    print(f"a call of 4xf32: {ours:.2f} us, iree.runtime {theirs:.2f} us")
    assert ours <= theirs / 5


def test_programs(iree, tmp_path):
    answer = json.loads(run(sys.executable, TESTS / "programs.py", iree, tmp_path))
    print(answer["same"], "programs")
    assert not answer["others"]
    assert answer["same"] >= 322


def test_a_million_calls():
    out = run(sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider",
              TESTS / "test_memory.py", FARCALL_CALLS="1000000")
    print(out)


def test_two_threads_on_two_cores():
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("SKIPPED: one core")
    matmul = farcall.load(EXAMPLES / "matmul.vmfb").matmul
    a = numpy.ones((60, 60), numpy.float32)

    def work():
        for _ in range(20):
            matmul(a, a)

    def timed(count):
        threads = [threading.Thread(target=work) for _ in range(count)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start
    timed(2)
    ratio = min(timed(2) for _ in range(5)) / min(timed(1) for _ in range(5))
    print(f"twice the calls in two threads: {ratio:.2f} times as long")
    assert ratio < 1.25


def python(version):
    """An interpreter of that version, wherever this machine has one."""
    found = [*pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
             shutil.which(f"python{version}")]
    for each in filter(None, found):
        done = subprocess.run([each, "--version"], capture_output=True, text=True)
        if done.stdout.startswith(f"Python {version}."):
            return each
    pytest.skip(f"SKIPPED: no Python {version} on this machine")


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_other_pythons(tmp_path, version):
    """The wheel in an environment of its own, as a user installs it."""
    run(python(version), "-m", "venv", tmp_path / "venv")
    there = tmp_path / "venv/bin/python"
    (wheel,) = (BUILD / "python/dist").glob("*.whl")
    run(there, "-m", "pip", "install", "-q", "--only-binary=:all:", wheel,
        "-r", ROOT / "tests/requirements.txt")
    out = run(there, "-m", "pytest", "-q", "-p", "no:cacheprovider",
              TESTS / "test_local.py", TESTS / "test_remote.py", TESTS / "test_docs.py")
    print(version, out.splitlines()[-1])


def test_a_wheel_of_the_sdist(tmp_path):
    """What pip does where there is no wheel."""
    run(ROOT / "scripts/wheel", tmp_path / "dist")
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin/pip", "install", "-q", sdist)
    code = f"import farcall; print(farcall.load({str(VERSIONS)!r}).fact(10))"
    assert run(venv / "bin/python", "-c", code) == "3628800\n"
