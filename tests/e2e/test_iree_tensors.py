# SPDX-License-Identifier: Apache-2.0
"""Tensor programs over HTTP compared with IREE's own runtime, compiled to machine code
for any x86-64 and to VMVX. test_iree_tensors_slow.py compiles them for this
machine's processor."""
import pytest

import iree_tensors

PAIRS = iree_tensors.pairs("generic", "vmvx")


@pytest.fixture(scope="module")
def served(iree):
    with iree_tensors.serving(iree, "generic", "vmvx") as running:
        yield running


@pytest.mark.parametrize("variant,name", PAIRS)
def test_results_are_those_of_the_reference(served, iree, variant, name):
    server, files = served
    theme = iree_tensors.THEMES[name]
    wrong = list(iree_tensors.differences(
        server, iree, files[variant, name], variant, theme))
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong)


@pytest.mark.parametrize("variant,least", [("generic", 320), ("vmvx", 275)])
def test_no_program_got_lost(variant, least):
    assert iree_tensors.count_programs(variant) >= least
