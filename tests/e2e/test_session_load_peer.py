# SPDX-License-Identifier: Apache-2.0
"""test_session_load.py at the size that is promised."""
import pytest

from test_session_load import HOSTS, check_load, start  # noqa: F401  (a fixture)


@pytest.mark.parametrize("host, kill_ms", HOSTS)
def test_a_million_calls_of_a_thousand_sessions(start, host, kill_ms):  # noqa: F811
    figures = check_load(*start(host), 10**6, 1024, kill_ms, 5)
    assert figures["right"] > 10**6 * 9 // 10
