# SPDX-License-Identifier: Apache-2.0
"""The modules of examples/iree are what their sources say."""
import re
import subprocess

from conftest import ROOT

EXAMPLES = ROOT / "examples"
MODULES = sorted(path.name for path in (EXAMPLES / "iree").glob("*.vmfb"))


def build(*arguments):
    return subprocess.run([EXAMPLES / "build", *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_sources_and_modules_are_as_recorded():
    done = build("--check")
    assert done.returncode == 0, done.stdout


def test_the_compiler_makes_the_same_modules(iree, tmp_path):
    done = build("--into", tmp_path)
    assert done.returncode == 0, done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == MODULES
    for name in MODULES:
        assert (tmp_path / name).read_bytes() == \
            (EXAMPLES / "iree" / name).read_bytes(), name


def test_the_recorded_compiler_is_the_pinned_one():
    pinned = re.search(r"^iree-base-compiler==([0-9.]+)$",
                       (ROOT / "tests/requirements-iree.txt").read_text(), re.M)
    recorded = (EXAMPLES / "iree/built.sha256").read_text().splitlines()[0]
    assert re.search(r" ([0-9.]+)(rc|$)", recorded)[1] == pinned[1]
