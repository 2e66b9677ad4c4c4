# SPDX-License-Identifier: Apache-2.0
"""Makes the measurements of bench/drivers, and prints the ratios beside their goals."""
import collections
import csv
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from conftest import BIN, ROOT, Server

ROUNDS = int(os.environ.get("ROUNDS", "9"))
SECONDS = float(os.environ.get("SECONDS_EACH", "3"))
RATE = int(os.environ.get("RATE", "100"))
PEERS = os.environ.get("FARCALL_PEERS")
FIRST, LAST = ["taskset", "-c", "0"], ["taskset", "-c", str(os.cpu_count() - 1)]
GOALS = (("calls/s", 0.05), ("p50 us", 0.10), ("p99 us", 0.25))
# A call of some milliseconds, because perf_analyzer's latencies include its own work.
SIGNAL = {"signal": 512, "taps": 64}
FUNCTION = "/api/v1/functions/matmul/matmul"


class Failed(Exception):
    """A driver has measured nothing; one round is missing."""


def run(*command):
    done = subprocess.run([*LAST, *map(str, command)], capture_output=True, text=True)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines() or [""]
        raise Failed(f"{pathlib.Path(command[0]).name} ends with {done.returncode}: "
                     f"{lines[-1]}")
    return done.stdout


def quantile(buckets, share):
    """The quantile `share` in us, from {us: count}."""
    rank, seen = share * sum(buckets.values()), 0
    for value in sorted(buckets):
        seen += buckets[value]
        if seen >= rank:
            return value


def corrected(result):
    """The latencies as wrk counts them. In a closed loop, requests are missing that were
    not sent during a wait. wrk adds them, one for each mean time between two requests
    of a connection."""
    latency = result["latency"]
    expected = round(1e6 * result["connections"] / result["answers_per_s"])
    buckets = collections.Counter()
    for upper, count in latency["buckets"]:
        value = round(min(upper, latency["max_ns"]) / 1000)
        buckets[value] += count
        if value < 2 * expected:
            continue
        for less in range(value - expected, expected, -expected):
            buckets[less] += count
    return quantile(buckets, 0.5), quantile(buckets, 0.99)


def bench(server, work, latency, *arguments):
    path = work / "bench.json"
    run(BIN / "farcall", "bench", f"--server={server.url}", f"--save={path}",
        f"--duration={SECONDS}s", "--warmup=300ms", *arguments)
    result = json.loads(path.read_text())
    if latency == "corrected":
        return result["answers_per_s"], *corrected(result)
    return (result["answers_per_s"], result[latency]["p50_ns"] / 1000,
            result[latency]["p99_ns"] / 1000)


def wrk(server, work):
    script = work / "post.lua"
    body = server.get(FUNCTION + "/example").body.decode()
    script.write_text('wrk.method = "POST"\n'
                      'wrk.headers["Content-Type"] = "application/json"\n'
                      f"wrk.body = [==[{body}]==]\n")
    said = run("wrk", "-t1", "-c16", f"-d{max(1, round(SECONDS))}s", "--latency",
               "-s", script, server.url + FUNCTION)
    if "Non-2xx" in said:
        raise Failed(f"wrk: {said.strip().splitlines()[-1]}")
    units = {"us": 1, "ms": 1000, "s": 1e6}
    late = {share: float(value) * units[unit] for share, value, unit in re.findall(
        r"(\d+)%\s+([\d.]+)(us|ms|s)", said)}
    return float(re.search(r"Requests/sec: +([\d.]+)", said)[1]), late["50"], late["99"]


def perf_analyzer(server, work):
    table = work / "table.csv"
    run(f"{PEERS}/perf_analyzer", "-i", "http", "-m", "filter.fir", "-u",
        f"{server.host}:{server.port}", f"--request-rate-range={RATE}",
        "--request-distribution=constant",
        *(f"--shape={name}:{size}" for name, size in SIGNAL.items()),
        f"--measurement-interval={int(1000 * SECONDS)}", "--stability-percentage=999",
        "-f", table)
    (row,) = csv.DictReader(table.open())
    return (float(row["Inferences/Second"]), float(row["p50 latency"]),
            float(row["p99 latency"]))


def measured(name, ours, theirs):
    """Yields the figures of both drivers for each round in which both have measured."""
    for number in range(1, ROUNDS + 1):
        try:
            yield ours(), theirs()
        except Failed as error:
            print(f"{name:14} round {number} of {ROUNDS} is left out: {error}", flush=True)


def compare(name, ours, theirs):
    """Prints the medians of both, and returns whether all are within their goals."""
    rounds = list(measured(name, ours, theirs))
    if not rounds:
        print(f"{name:14} is not compared: no round is left", flush=True)
        return False
    fine = True
    for index, (what, goal) in enumerate(GOALS):
        a, b = (statistics.median(each[who][index] for each in rounds)
                for who in (0, 1))
        off = a / b - 1
        fine &= abs(off) <= goal
        print(f"{name:14} {what:8} farcall bench {a:10.1f}  {name} {b:10.1f}  "
              f"{off:+7.1%}  goal {goal:.0%}{'' if abs(off) <= goal else '  MISSED'}",
              flush=True)
    return fine


def main():
    server = Server("--workers=1", ROOT / "examples/iree/matmul.vmfb",
                    ROOT / "examples/iree/filter.vmfb", under=FIRST)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        fine = compare("wrk",
                       lambda: bench(server, work, "corrected", "matmul/matmul",
                                     "--concurrency=16"),
                       lambda: wrk(server, work))
        document = work / "fir.json"
        document.write_text(json.dumps({"inputs": [
            {"name": name, "shape": [size], "datatype": "FP32", "data": [0.5] * size}
            for name, size in SIGNAL.items()]}))
        if PEERS:
            fine &= compare("perf_analyzer",
                            lambda: bench(server, work, "service", "filter.fir", "--oip",
                                          f"--rate={RATE}", f"--json=@{document}"),
                            lambda: perf_analyzer(server, work))
        else:
            print("perf_analyzer is not installed: scripts/peers does that")
    server.stop()
    return fine


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
