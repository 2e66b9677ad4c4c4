# SPDX-License-Identifier: Apache-2.0
"""What is promised of a server that is asked for more than it can do, as figures: how much
it still does, how long that takes, and what a client with few calls notices of one with
many. Its calls sleep, so that what it can do does not depend on the processors; the load
is `farcall bench`."""
import hashlib
import http.client
import json
import subprocess
import threading
import time

import pytest

from conftest import BIN
from console import user_environment

SOURCE = """
#include <unistd.h>
long long _mlir_ciface_nap(long long x) { usleep(20000); return x; }
"""
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": "nap", "symbol": "_mlir_ciface_nap", "cc": "ciface",
     "args": [{"type": "i64"}], "results": [{"type": "i64"}]}]}
CAPACITY = 100  # calls a second: two workers, 20 ms each


@pytest.fixture
def server(serve, tmp_path):
    folder = tmp_path / "modules"
    folder.mkdir()
    (tmp_path / "nap.c").write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", folder / "nap.so",
                    tmp_path / "nap.c"], check=True)
    (folder / "nap.farcall.json").write_text(json.dumps(SIDECAR))
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(
        f"{each} call,read {hashlib.sha256(each.encode()).hexdigest()}\n" for each in "ab"))
    tokens.chmod(0o600)
    for each in "ab":
        (tmp_path / each).write_text(each)
    return serve("--isolation=process", "--workers=2", "--timeout=1s",
                 f"--token-file={tokens}", folder)


class Bench:
    """A load, begun; `result` waits for its end."""

    def __init__(self, server, work, token, *options):
        self.saved = work / f"{token}.json"
        self.process = subprocess.Popen(
            [BIN / "farcall", "bench", "nap/nap", f"--server={server.url}", "--json=[1]",
             f"--token=@{work / token}", f"--save={self.saved}", *options],
            env=user_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def result(self):
        said, _ = self.process.communicate(timeout=120)
        assert self.saved.exists(), said.decode()
        return json.loads(self.saved.read_text())


class Health:
    """Asks for /livez every 20 ms while a test runs."""

    def __init__(self, server):
        self.server, self.times, self.over = server, [], False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = http.client.HTTPConnection(self.server.host, self.server.port)
        while not self.over:
            began = time.monotonic()
            connection.request("GET", "/livez")
            assert connection.getresponse().read()
            self.times.append(time.monotonic() - began)
            time.sleep(0.02)

    def p99(self):
        self.over = True
        self.thread.join()
        return sorted(self.times)[int(len(self.times) * 0.99)]


def test_too_much_costs_little(server, tmp_path):
    peak = Bench(server, tmp_path, "a", "-c", "4", "-d", "5s").result()["answers_per_s"]
    for times in 2, 5, 10:
        health = Health(server)
        result = Bench(server, tmp_path, "a", "-c", "256", "-d", "6s", "--warmup=2s",
                       f"--rate={times * CAPACITY}").result()
        p99, slow = result["latency"]["p99_ns"] / 1e9, health.p99()
        print(f"{times}x: {result['answers_per_s']:.1f}/s of {peak:.1f}/s, p99 {p99:.3f} s, "
              f"health p99 {slow * 1000:.1f} ms, errors {result['errors']}")
        assert result["answers_per_s"] >= 0.9 * peak
        assert p99 <= 1.0
        assert slow <= 0.05
        assert result["errors"]["broken"] == result["errors"]["different"] == 0


def test_one_client_starves_no_other(server, tmp_path):
    share = CAPACITY // 2
    quiet = ("-c", "64", "-d", "8s", f"--rate={share}", "--warmup=1s")
    alone = Bench(server, tmp_path, "b", *quiet).result()
    loud = Bench(server, tmp_path, "a", "-c", "256", "-d", "12s", f"--rate={50 * share}")
    time.sleep(2)
    beside = Bench(server, tmp_path, "b", *quiet).result()
    other = loud.result()
    print(f"alone {alone['answers_per_s']:.1f}/s, beside {beside['answers_per_s']:.1f}/s "
          f"(p99 {beside['latency']['p99_ns'] / 1e6:.0f} ms), the other "
          f"{other['answers_per_s']:.1f}/s, errors {other['errors']}")
    assert beside["answers_per_s"] >= 0.9 * alone["answers_per_s"]
