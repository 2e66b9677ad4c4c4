# SPDX-License-Identifier: Apache-2.0
"""Prometheus scrapes a server: promtool accepts both formats, every query of the
dashboard and of the alert rules finds data, and only the intended rule fires."""
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from certificates import Authority
from conftest import ROOT
from test_metrics import OPEN, SCALARS

RULES = ROOT / "config/prometheus/farcall.rules.yml"
DASHBOARD = ROOT / "config/grafana/farcall.json"


def promtool(*arguments, **options):
    if not shutil.which("promtool"):
        pytest.skip("SKIPPED: no promtool: scripts/deps peers")
    return subprocess.run(["promtool", *map(str, arguments)], text=True,
                          capture_output=True, timeout=120, **options)


def panels():
    return json.loads(DASHBOARD.read_text())["panels"]


def queries():
    """The name and expression of each query of the dashboard and the rules."""
    found = [(panel["title"], target["expr"]) for panel in panels()
             for target in panel["targets"]]
    document = json.loads(DASHBOARD.read_text())
    found += [(each["name"], each["expr"]) for each in document["annotations"]["list"]]
    return found


def test_the_dashboard_fits_its_grid():
    seen = set()
    for panel in panels():
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not cells & seen, panel["title"]
        seen |= cells
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_the_rules_fire_when_they_should():
    for command in (["check", "config", ROOT / "config/prometheus/prometheus.yml"],
                    ["test", "rules", RULES.with_suffix(".test.yml")]):
        done = promtool(*command)
        assert done.returncode == 0, done.stdout + done.stderr
    alerts = re.findall(r"alert: (\w+)", RULES.read_text())
    tested = re.findall(r'alertname="(\w+)"', RULES.with_suffix(".test.yml").read_text())
    assert len(alerts) == len(set(alerts)) and set(alerts) == set(tested)


class Prometheus:
    def __init__(self, folder, target, label, text=None):
        if not shutil.which("prometheus"):
            pytest.skip("SKIPPED: no prometheus: scripts/deps peers")
        with socket.create_server(("127.0.0.1", 0)) as chosen:
            self.address = f"127.0.0.1:{chosen.getsockname()[1]}"
        config = folder / "prometheus.yml"
        config.write_text(text or json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [{"job_name": label, "static_configs": [
                {"targets": [target]}]}]}))
        self.log = (folder / "log").open("w")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.address}",
             "--enable-feature=exemplar-storage"],
            stdout=self.log, stderr=self.log)

    def get(self, path, **arguments):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def wait(self, said, **arguments):
        """Waits until a query has an answer for which `said` is true."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                found = self.get("query", **arguments)["result"]
                if said(found):
                    return found
            except (urllib.error.URLError, ConnectionError):
                pass
            assert self.process.poll() is None, "prometheus has ended"
            time.sleep(0.2)
        pytest.fail(f"{arguments} has no such answer")


@pytest.fixture
def scraped(serve, tmp_path):
    module = tmp_path / "s.vmfb"
    shutil.copy(SCALARS, module)
    broken = tmp_path / "broken.vmfb"
    broken.write_bytes(b"no module")
    server = serve(module, broken, "--admin=loopback", "--metrics-triton")
    (tmp_path / "prometheus").mkdir()
    prometheus = Prometheus(tmp_path / "prometheus", f"{server.host}:{server.port}", "f")
    try:
        yield server, prometheus
    finally:
        prometheus.process.terminate()
        prometheus.process.wait(timeout=60)
        prometheus.log.close()


def test_the_shipped_configuration_reaches_a_server_with_tls_and_tokens(serve, farcall,
                                                                        tmp_path):
    """Uses the lines that are comments in the shipped file."""
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    secret, line = farcall("token", "new", "p", "--scope=metrics").stdout.splitlines()
    (tmp_path / "token").write_text(secret)
    (tmp_path / "tokens").write_text(line + "\n")
    server = serve(SCALARS, f"--tls-cert={certificate}", f"--tls-key={key}",
                   f"--token-file={tmp_path / 'tokens'}")
    shutil.copy(RULES, tmp_path)
    text = RULES.with_name("prometheus.yml").read_text()
    text = re.sub(r"^    #(?=\w)", "    ", text, flags=re.M).replace("15s", "1s")
    text = text.replace("127.0.0.1:8000", f"{server.host}:{server.port}")
    prometheus = Prometheus(tmp_path, "", "", text)
    try:
        prometheus.wait(lambda found: found and found[0]["value"][1] == "1",
                        query="farcall_ready")
    finally:
        prometheus.process.terminate()
        prometheus.process.wait(timeout=60)
        prometheus.log.close()


def test_promtool_finds_no_fault(serve, tmp_path):
    module = tmp_path / "s.vmfb"
    shutil.copy(SCALARS, module)
    server = serve(module)
    server.results("s/fact", [5])
    server.call("s/fact", [])
    text = server.get("/metrics").body.decode()
    done = promtool("check", "metrics", input=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr


def test_prometheus_answers_every_query(scraped):
    server, prometheus = scraped
    started = time.monotonic()
    while time.monotonic() < started + 8:
        server.results("s/fact", [5])
        server.results("s/hyp", [3, 4])
        server.call("s/fact", [])
        assert server.call("broken/f", []).status == 503
        time.sleep(0.05)
    target = prometheus.get("targets")["activeTargets"][0]
    assert target["health"] == "up", target["lastError"]
    prometheus.wait(lambda found: found and float(found[0]["value"][1]) > 100,
                    query="sum(farcall_calls_total)")
    # A module was replaced, so that there is an annotation.
    assert server.request("POST", "/api/v1/modules/s/reload?force=1").status == 200
    server.results("s/fact", [5])
    empty = []
    for name, expression in queries():
        query = expression.replace("$__rate_interval", "30s").replace("$instance", ".*") \
            .replace("$module", ".*")
        if name == "Generations":
            query = query.replace(" > 0", "")
        found = prometheus.get("query", query=query)["result"]
        if not found or all(each["value"][1] == "NaN" for each in found):
            empty.append((name, query))
    assert not empty
    groups = prometheus.get("rules")["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert rules and all(rule["health"] == "ok" for rule in rules), rules
    # Only the broken module fires a rule.
    assert {rule["name"] for rule in rules if rule["state"] == "firing"} == {"FarcallCritical"}
    # The value that a rule compares exists, even if the rule does not fire.
    for rule in rules:
        left = re.sub(r"[^=]?[=<>]=? [0-9.]+.*$", "", rule["query"])
        assert prometheus.get("query", query=left)["result"], rule["query"]
    # The names of Triton's metrics, which autoscalers read.
    assert prometheus.get("query", query="avg(rate(nv_inference_queue_duration_us[30s]) / "
                          "(1 + rate(nv_inference_request_success[30s])))")["result"]


def test_it_is_scraped_as_openmetrics(scraped):
    server, prometheus = scraped
    assert b"# EOF" in server.request("GET", "/metrics", headers={"Accept": OPEN}).body
    server.results("s/fact", [5])
    prometheus.wait(lambda found: found, query="farcall_calls_total")
    metadata = prometheus.get("targets/metadata", metric="farcall_calls")
    # Only OpenMetrics names a counter without the ending _total.
    assert [each["type"] for each in metadata] == ["counter"]
