# SPDX-License-Identifier: Apache-2.0
"""The promises for an overloaded server, as figures: how many calls it still answers
and how fast, how soon it refuses the others, and what a client with few calls
notices of a client with many. The calls sleep, so the server's capacity does not
depend on the processors. The load is `farcall bench`."""
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
    """A load that has begun. `result` waits for its end."""

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


class Asker:
    """Repeats one request while a test runs, each time a certain time after the
    previous answer."""

    def __init__(self, server, pause_s, method, path, body=None, headers=None):
        self.server, self.pause_s, self.over = server, pause_s, False
        self.request = method, path, body, headers or {}
        self.seen = []  # status and time of each
        self.began = time.monotonic()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = http.client.HTTPConnection(self.server.host, self.server.port)
        while not self.over:
            began = time.monotonic()
            connection.request(*self.request)
            answer = connection.getresponse()
            assert answer.read()
            self.seen.append((answer.status, time.monotonic() - began))
            time.sleep(self.pause_s)

    def end(self):
        self.over = True
        self.thread.join()
        self.took_s = time.monotonic() - self.began
        return self.seen


def ask_health(server):
    return Asker(server, 0.02, "GET", "/livez")


def ask_calls(server, token):
    return Asker(server, 0.05, "POST", "/api/v1/functions/nap/nap", "[1]",
                 {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


def test_too_much_costs_little(server, tmp_path):
    peak = Bench(server, tmp_path, "a", "-c", "4", "-d", "5s").result()["answers_per_s"]
    for times in 2, 5, 10:
        health, askers = ask_health(server), [ask_calls(server, "a") for _ in range(2)]
        result = Bench(server, tmp_path, "a", "-c", "256", "-d", "6s", "--warmup=2s",
                       f"--rate={times * CAPACITY}").result()
        seen = [each for asker in askers for each in asker.end()]
        refused = [took for status, took in seen if status != 200]
        # Calls that the askers made were taken from the load's share.
        more = (len(seen) - len(refused)) / askers[0].took_s
        answers = result["answers_per_s"] + more
        late = result["latency"]["p99_ns"] / 1e9
        slow = p99([took for _, took in health.end()])
        print(f"{times}x: {answers:.1f}/s of {peak:.1f}/s, p99 {late:.3f} s, "
              f"health p99 {slow * 1000:.1f} ms, errors {result['errors']}; "
              f"{len(refused)} of {len(seen)} asked beside were refused, "
              f"p99 {p99(refused) * 1000:.1f} ms, longest {max(refused) * 1000:.1f} ms")
        assert answers >= 0.9 * peak
        assert late <= 1.0
        assert slow <= 0.05
        assert {status for status, _ in seen} <= {200, 429, 503}
        # Refusals come at once. An accepted call waits for at most three quarters of
        # its second.
        assert len(refused) >= 20 and p99(refused) <= 0.1
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
