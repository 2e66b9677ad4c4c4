# SPDX-License-Identifier: Apache-2.0
"""examples/torch: the commands of its page, with an installed PyTorch: that of the
Python in FARCALL_TORCH, or the system's (Debian's python3-torch). Then the answers
for points that were not in the training are compared with PyTorch's own."""
import json
import os
import shlex
import subprocess

import pytest

from conftest import ROOT, Server
from console import commands, matches

PAGE = ROOT / "examples/torch/README.md"
ASK = """
import json, runpy, torch
it = runpy.run_path("examples/torch/net.py")
points = torch.rand(200, 2, generator=torch.Generator().manual_seed(7)) * 2 - 1
print(json.dumps([points.tolist(), it["model"](points).tolist()]))
"""
PYTHON = os.environ.get("FARCALL_TORCH", "/usr/bin/python3")


@pytest.fixture
def environment(tmp_path):
    """Makes the page's `env`: a Python with PyTorch, and the compiler's programs."""
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        pytest.skip("SKIPPED: no PyTorch: apt install python3-torch, or FARCALL_TORCH")
    compiler = os.environ.get("FARCALL_ONNX")
    if not compiler:
        pytest.skip("SKIPPED: no FARCALL_ONNX: CMake says how to install it")
    folder = tmp_path / "env/bin"
    folder.mkdir(parents=True)
    for each in os.listdir(compiler):
        if not each.startswith("python"):
            (folder / each).symlink_to(os.path.join(compiler, each))
    (folder / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(PYTHON)} "$@"\n')
    (folder / "python").chmod(0o755)


def test_the_page(shell, tmp_path, environment):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    todo = list(commands(PAGE))
    assert [command for _, command, _ in todo[:2]] == [
        "python3 -m venv env", "env/bin/pip install -q -r examples/torch/requirements.txt"]
    for number, command, wanted in todo[2:]:
        if command.startswith("farcalld "):
            server = Server(tmp_path / shlex.split(command)[-2])
            continue
        if command.startswith("curl "):
            command = command.replace("localhost:8000", server.url.removeprefix("http://"))
        if command.startswith("env/bin/python "):
            command += " 2>/dev/null"
        # If PyTorch is old, the opset is lifted, and a note says so.
        got = "".join(line for line in shell(command).splitlines(keepends=True)
                      if not line.startswith("farcall: note: "))
        # New versions of the exporter also print much to standard output.
        if command.startswith("env/bin/python "):
            got = got.splitlines()[-1]
        assert matches(wanted, got), f"{PAGE.name}:{number}: prints\n{got}"
    said = subprocess.run(["env/bin/python", "-c", ASK, "again.onnx"], cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    points, inside = json.loads(said.splitlines()[-1])
    assert server.results("points/predict", [points]) == [inside]
    assert set(inside) == {0, 1}
    assert server.stop() == 0
