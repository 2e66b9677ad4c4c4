# SPDX-License-Identifier: Apache-2.0
"""test_onnx_slow.py with all of ONNX's tests: twenty minutes of processor time."""
import pytest

from test_onnx_slow import (answers, reference, suite,  # noqa: F401
                            test_recovered_signatures_are_the_declared_ones,
                            test_results_are_those_of_the_reference,
                            test_values_of_unknown_type_are_sent_by_oip,
                            test_what_the_reference_passes_passes)


@pytest.fixture(scope="module")
def step():
    return 1
