# SPDX-License-Identifier: Apache-2.0
"""test_chaos.py at the size that is promised."""
from test_chaos import (add, both, check_load, check_nothing_stays,  # noqa: F401
                        start)


def test_ten_million_calls(start, add):  # noqa: F811
    figures = check_load(start(add), 10**7, 1500)
    assert figures["sent"] >= 10**7


def test_a_thousand_crashes_ten_thousand_restarts(start, both):  # noqa: F811
    check_nothing_stays(start(both), 1000, 10000)
