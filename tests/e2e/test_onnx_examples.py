# SPDX-License-Identifier: Apache-2.0
"""examples/onnx: what its README says, done."""
from onnx_readme import Reader


def test_readme(onnx, tmp_path):
    reader = Reader("onnx", tmp_path, onnx)
    try:
        assert len(list(reader.follow())) == 8  # all of them were seen
    finally:
        reader.stop()
