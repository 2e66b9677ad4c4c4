# SPDX-License-Identifier: Apache-2.0
"""test_tls.py at the size that is promised."""
from test_tls import authority, check_half_handshakes, files, start  # noqa: F401


def test_ten_thousand_half_handshakes(start, files, authority):  # noqa: F811
    took = check_half_handshakes(start, files, authority, 10000)
    print(f"20 requests of somebody else: {took:.3f} s")
