# SPDX-License-Identifier: Apache-2.0
"""A running Prometheus, with the shipped rules, fires alerts about what is wrong with a
server, and stops when it is repaired."""
import re
import signal

import pytest

from certificates import Authority
from test_conditions import WAYS, Watched, until
from test_metrics_peer import Prometheus

# The condition of test_conditions: its alert, and whether the alert waits before it
# fires.
ALERTS = {"quarantined": ("FarcallCritical", False), "load_failed": ("FarcallCritical", False),
          "certificate_ended": ("FarcallCritical", False),
          "certificate_ends": ("FarcallWarning", True), "crashed": ("FarcallWarning", True)}


class Alerted(Watched):
    """The server of test_conditions, with a port of its own for Prometheus."""

    def start(self, *arguments):
        super().start("--listen=http://127.0.0.1:0", *arguments)

    def port(self):
        return re.search(r"http://127\.0\.0\.1:(\d+)", (self.folder / "log").read_text())[1]


@pytest.fixture
def alerted(tmp_path):
    (tmp_path / "prometheus").mkdir()
    server = Alerted(tmp_path)
    running = []

    def begin(code):
        WAYS[code](server)
        running.append(Prometheus(tmp_path / "prometheus", f"127.0.0.1:{server.port()}", "f"))
        return server, running[0]
    yield begin
    for prometheus in running:
        prometheus.process.terminate()
        prometheus.process.wait(timeout=60)
        prometheus.log.close()
    server.end()


def states(prometheus, code):
    """The alerts for the condition, and the state of each."""
    return {each["labels"]["alertname"]: each["state"]
            for each in prometheus.get("alerts")["alerts"]
            if each["labels"].get("code") == code}


@pytest.mark.parametrize("code", ALERTS)
def test_an_alert_of_each_severity(alerted, code):
    alert, waits = ALERTS[code]
    server, prometheus = alerted(code)
    prometheus.wait(lambda found: found, query=f'{{code="{code}"}} >= 1')
    allowed = ("pending", "firing") if waits else ("firing",)
    until(lambda: states(prometheus, code).get(alert) in allowed)
    assert set(states(prometheus, code)) == {alert}
    if code.startswith("certificate"):
        Authority(server.folder).sign("server", days=30)
        server.process.send_signal(signal.SIGHUP)
        until(lambda: not states(prometheus, code))
