# SPDX-License-Identifier: Apache-2.0
"""Programs that need minutes of processor time: products of matrices of 16-bit floats
in generic x86-64 code."""
from conftest import IREE_CORPUS
from test_iree_corpus import LARGE, programs


def test_large_matrices(farcall):
    programs("e2e")
    run = farcall("test", IREE_CORPUS / "e2e" / LARGE, timeout=1800)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "failed" not in run.stdout and "ok" in run.stdout
