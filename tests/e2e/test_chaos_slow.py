# SPDX-License-Identifier: Apache-2.0
"""test_chaos.py for minutes; test_chaos_peer.py is the size that is promised."""
from test_chaos import (add, both, check_load, check_nothing_stays,  # noqa: F401
                        start)


def test_two_million_calls(start, add):  # noqa: F811
    figures = check_load(start(add), 2 * 10**6, 1500)
    assert figures["sent"] >= 2 * 10**6


def test_crashes_and_two_thousand_restarts(start, both):  # noqa: F811
    check_nothing_stays(start(both), 300, 2000)
