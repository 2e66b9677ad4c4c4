# SPDX-License-Identifier: Apache-2.0
"""Our answers to some hundred requests, compared with the recorded answers of a Triton.
test_triton_peer.py tests that Triton still gives these answers."""
import shutil

import oip_beside
import triton


def test_what_differs_has_a_reason(serve, iree, tmp_path):
    echo = shutil.copy(triton.echo(iree), tmp_path / "echo.vmfb")
    unknown, unused = oip_beside.compare(serve(*triton.SERVED, echo))
    assert unknown == []
    assert unused == []
