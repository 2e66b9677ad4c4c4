# SPDX-License-Identifier: Apache-2.0
"""The long forms of test_reload.py."""
import time

from reloading import Callers
from test_reload import leaves_nothing, numbered, reload_under_calls  # noqa: F401


def test_ten_thousand_reloads_leave_nothing(serve, numbered):  # noqa: F811
    server = serve("--admin=loopback", numbered.path.parent)
    assert leaves_nothing(server, numbered, 10000) < 4096


def test_a_reload_each_second_for_a_minute(serve, numbered):  # noqa: F811
    server = serve("--admin=loopback", numbered.path.parent)
    with Callers(server) as alone:
        time.sleep(20)
    assert alone.wrong == []
    with Callers(server) as callers:
        reload_under_calls(server, numbered, callers, 60, 1)
    assert callers.wrong == []
    print(f"p99 {alone.p99_ms():.2f} ms of {alone.calls} calls without reloads, "
          f"{callers.p99_ms():.2f} ms of {callers.calls} calls with 60")
