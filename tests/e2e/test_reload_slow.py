# SPDX-License-Identifier: Apache-2.0
"""test_reload.py for a minute; test_reload_peer.py is the size that is promised."""
from test_reload import check_reloads_under_calls, leaves_nothing


def test_a_thousand_reloads_leave_nothing(serve, numbered):
    server = serve("--admin=loopback", numbered.path.parent)
    assert leaves_nothing(server, numbered, 1000) < 4096


def test_a_reload_each_second(serve, numbered):
    check_reloads_under_calls(serve, numbered, 15)
