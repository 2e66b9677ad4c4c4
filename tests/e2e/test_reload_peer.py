# SPDX-License-Identifier: Apache-2.0
"""test_reload.py at the size that is promised."""
from test_reload import check_reloads_under_calls, leaves_nothing


def test_ten_thousand_reloads_leave_nothing(serve, numbered):
    server = serve("--admin=loopback", numbered.path.parent)
    assert leaves_nothing(server, numbered, 10000) < 4096


def test_a_reload_each_second_for_five_minutes(serve, numbered):
    check_reloads_under_calls(serve, numbered, 300)
