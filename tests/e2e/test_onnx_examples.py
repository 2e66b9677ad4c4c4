# SPDX-License-Identifier: Apache-2.0
"""Follows the README of examples/onnx."""
import subprocess

from conftest import ROOT
from onnx_readme import Reader


def test_readme(onnx, tmp_path):
    reader = Reader("onnx", tmp_path, onnx)
    try:
        assert len(list(reader.follow())) == 12  # all of them were seen
    finally:
        reader.stop()


def test_an_open_dim_fails_as_the_page_says(onnx, farcall, tmp_path):
    """Fails when a newer compiler no longer makes this mistake: then the page need not
    warn of it."""
    subprocess.run([onnx.folder / "python", ROOT / "examples/onnx/edges.py"],
                   cwd=tmp_path, check=True)
    made = [onnx.run("iree-import-onnx", "edges.onnx", "-o", "edges.mlir", cwd=tmp_path)]
    call = "1x1x4x5xf32=1"
    for backend, answers in [("vmvx", False), ("llvm-cpu", True)]:
        made.append(onnx.run(
            "iree-compile", "edges.mlir", "-o", "edges.vmfb", cwd=tmp_path, *[
                "--iree-hal-target-device=local", "--iree-llvmcpu-target-cpu=generic",
                f"--iree-hal-local-target-device-backends={backend}"]))
        assert made[-1].returncode == 0, made[-1].stderr
        done = farcall("run", tmp_path / "edges.vmfb", f"--input={call}")
        assert (done.returncode == 0) == answers, (backend, done.stderr)
        assert answers or "call_failed" in done.stderr
        theirs = onnx.run("iree-run-module", f"--module={tmp_path}/edges.vmfb",
                          "--device=local-sync", "--function=edges", f"--input={call}")
        assert (theirs.returncode == 0) == answers, (backend, theirs.stderr)
