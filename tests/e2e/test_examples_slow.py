# SPDX-License-Identifier: Apache-2.0
"""Trains the digit classifier again in a copy of the tree, with the command that
trained it."""
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from conftest import ROOT, Server

FIGURE = r"^// (\d+) of 360 images it never saw are read right"


def figure(top):
    text = (top / "examples/iree/digits.mlir").read_text()
    return int(re.search(FIGURE, text, re.M)[1])


def test_training_again_gives_as_good_a_module(tmp_path):
    if not os.environ.get("FARCALL_IREE"):
        pytest.skip("FARCALL_IREE is not set: scripts/test installs IREE")
    for folder in ["examples", "scripts", "tests"]:
        shutil.copytree(ROOT / folder, tmp_path / folder,
                        ignore=shutil.ignore_patterns("corpus"))
    made = ["iree/digits.mlir", "iree/digits.vmfb", "digits/heldout-images.npy",
            "digits/heldout-labels.npy"]
    for name in made:
        (tmp_path / "examples" / name).unlink()
    done = subprocess.run([tmp_path / "examples/build", "--train"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    # Rounding differs between processors, so a weight or an image's result may differ.
    assert abs(figure(tmp_path) - figure(ROOT)) <= 3
    images, labels = (np.load(tmp_path / "examples/digits" / name)
                      for name in ("heldout-images.npy", "heldout-labels.npy"))
    for name in made[2:]:
        assert (tmp_path / "examples" / name).read_bytes() == \
            (ROOT / "examples" / name).read_bytes()
    for host in "thread", "process":  # training once is enough
        server = Server(f"--isolation={host}", tmp_path / "examples/iree/digits.vmfb")
        read, _ = server.results("digits/batch", [images.tolist()])
        assert (np.array(read) == labels).sum() == figure(tmp_path)
        assert server.stop() == 0
