# SPDX-License-Identifier: Apache-2.0
"""A real Triton, and its load generator. FARCALL_PEERS_SECONDS is the duration of each
load."""
import json
import re
import subprocess

import pytest

import oip_requests
import triton


def test_triton_answers_what_is_recorded(tmp_path):
    """test_triton.py compares us with this record, without a Triton."""
    server = triton.Triton(tmp_path)
    try:
        changed = [name for name, request in oip_requests.read().items()
                   if oip_requests.ask(server, request) != request["triton"]]
    finally:
        server.stop()
    assert changed == []
    made = oip_requests.make()
    assert len(made) > 500
    assert {name: (each["path"], each["body"]) for name, each in made.items()} == {
        name: (each["path"], each["body"]) for name, each in oip_requests.read().items()}


JSON = ["--input-tensor-format", "json", "--output-tensor-format", "json"]


@pytest.mark.parametrize("form", [[], JSON], ids=["binary", "JSON"])
@pytest.mark.parametrize("load", [["--concurrency-range", "1:3"],
                                  ["--request-rate-range", "50:100:50"],
                                  ["--concurrency-range", "2", "--async"]])
def test_perf_analyzer(serve, load, form):
    """perf_analyzer succeeds, and its report includes server-side statistics with the
    same counts. Its verdict on stability depends on the machine, so it is ignored."""
    server = serve(*triton.SERVED)
    done = subprocess.run(
        [triton.peers() / "perf_analyzer", "-i", "http", "-m", "simple", "-u",
         f"{server.host}:{server.port}", "--verbose", "--stability-percentage", "999",
         "--measurement-interval", "1000", *load, *form],
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rror" not in done.stdout + done.stderr, done.stdout
    windows = re.findall(r"Request count: (\d+).*?Server:.*?Inference count: (\d+)"
                         r".*?Successful request count: (\d+).*?"
                         r"compute infer (\d+) usec", done.stdout, re.DOTALL)
    assert windows, done.stdout
    assert all(int(each) > 0 for row in windows for each in row[:3]), windows
    (stats,) = server.get("/v2/models/simple/stats").json["model_stats"]
    assert stats["inference_stats"]["fail"]["count"] == 0


@pytest.mark.parametrize("load", [[], ["--rate=50"]], ids=["closed", "open"])
def test_farcall_bench_drives_both(serve, farcall, tmp_path, load):
    """The same command makes arguments from either server's metadata."""
    ours, theirs = serve(*triton.SERVED), triton.Triton(tmp_path, only=["simple"])
    try:
        for each in (ours, theirs):
            path = tmp_path / "result.json"
            done = farcall("bench", "simple", "--oip", f"--server={each.host}:{each.port}",
                           "--concurrency=4", "--duration=1s", "--warmup=200ms",
                           f"--save={path}", *load)
            result = json.loads(path.read_text())
            assert set(result["errors"].values()) == {0}, done.stdout
            assert result["compared"] >= result["latency"]["count"] > 0
    finally:
        theirs.stop()
