# SPDX-License-Identifier: Apache-2.0
"""The programs of test_iree_tensors.py as machine code for this machine's processor:
wide vectors, and usually different kernels."""
import pytest

import iree_tensors

PAIRS = iree_tensors.pairs("host")


@pytest.fixture(scope="module")
def served(iree):
    with iree_tensors.serving(iree, "host") as running:
        yield running


@pytest.mark.parametrize("variant,name", PAIRS)
def test_results_are_those_of_the_reference(served, iree, variant, name):
    server, files = served
    theme = iree_tensors.THEMES[name]
    wrong = list(iree_tensors.differences(
        server, iree, files[variant, name], variant, theme))
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong)
