# SPDX-License-Identifier: Apache-2.0
"""farcall bench: what it counts, compares, finds and refuses, with farcalld and with
servers that misbehave. No test here asserts how fast anything is."""
import contextlib
import hashlib
import html.parser
import json
import os
import re
import resource
import signal
import socket
import subprocess
import threading
import time
import xml.etree.ElementTree

import pytest

from conftest import BIN, Server

SHORT = ("--warmup=0", "--duration=300ms", "--concurrency=4")
QUESTION = "--json=[[[1,2],[3,4]],[[1,2],[3,4]]]"
MS = 10**6


@contextlib.contextmanager
def answering(answer, asked=None, path=None):
    """A server whose answer to request number n is answer(n): bytes, an iterator of
    bytes, or None to close the connection. It serves one connection at a time.
    Yields its URL. The list `asked` gets the requests as (head, body). With the Unix
    socket `path`, clients must wait to connect."""
    if path:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(path))
        listener.listen(1)
    else:
        listener = socket.create_server(("127.0.0.1", 0))
    turn, count = threading.Lock(), [0]

    def take(connection):
        with connection, contextlib.suppress(OSError):
            data = b""
            while True:
                while b"\r\n\r\n" not in data:
                    more = connection.recv(65536)
                    if not more:
                        return
                    data += more
                head, _, data = data.partition(b"\r\n\r\n")
                length = re.search(rb"(?i)content-length: (\d+)", head)
                size = int(length[1]) if length else 0
                while len(data) < size:
                    data += connection.recv(65536)
                if asked is not None:
                    asked.append((head, data[:size]))
                data = data[size:]
                with turn:
                    count[0] += 1
                    said = answer(count[0])
                if not isinstance(said, bytes) and not hasattr(said, "send"):
                    return
                for piece in [said] if isinstance(said, bytes) else said:
                    connection.sendall(piece)
                    if b"Connection: close" in piece:
                        return

    def accept():
        with contextlib.suppress(OSError):
            while True:
                time.sleep(0.02 if path else 0)
                connection, _ = listener.accept()
                threading.Thread(target=take, args=(connection,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    yield f"unix:{path}" if path else "http://%s:%d" % listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def message(body, status="200 OK", fields=""):
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{fields}"
            f"Content-Length: {len(body)}\r\n\r\n{body}").encode()


@pytest.fixture
def bench(farcall, tmp_path):
    """Runs `farcall bench`. Returns the process, with the saved result as `.result`."""
    def run(url, *arguments, name="tensor/matmul", question=(QUESTION,)):
        path = tmp_path / "result.json"
        path.unlink(missing_ok=True)
        done = farcall("bench", name, f"--server={url}", f"--save={path}", *question,
                       *SHORT, *arguments)
        done.result = json.loads(path.read_text()) if path.exists() else None
        return done
    return run


def calls_of(server):
    (stats,) = server.get("/v2/models/tensor.matmul/stats").json["model_stats"]
    return stats["inference_count"]


def above(latency, ns):
    return sum(count for upper, count in latency["buckets"] if upper > ns)


def is_consistent(result):
    for each in (result["latency"], result["service"]):
        assert sum(count for _, count in each["buckets"]) == each["count"]
        assert each["p50_ns"] <= each["p99_ns"] <= each["p99.9_ns"] <= each["max_ns"]
    assert result["service"]["max_ns"] <= result["latency"]["max_ns"]
    return True


def test_a_closed_loop(bench, server):
    before = calls_of(server)
    done = bench(server.url)
    made = calls_of(server) - before
    assert done.returncode == 0, done.stdout + done.stderr
    result = done.result
    assert is_consistent(result)
    assert result["loop"] == "closed" and result["connections"] == 4
    assert result["target"] == "/api/v1/functions/tensor/matmul"
    # Each request of the load was answered and compared. One request was made before
    # the load.
    assert made == result["latency"]["count"] + 1 == result["compared"] + 1
    assert 0 <= result["latency"]["count"] - result["answers"] <= 4
    assert set(result["errors"].values()) == {0}
    assert 1 <= len(result["slices"]) <= 3
    assert "closed loop" in done.stdout and "0 different" in done.stdout
    assert done.stderr == ""


def test_an_open_loop_has_each_request_that_was_due(bench, server):
    result = bench(server.url, "--rate=500", "--duration=1s").result
    assert is_consistent(result)
    # Requests that were due count, answered or not.
    assert result["latency"]["count"] == 500
    assert result["loop"] == "open" and result["rate"] == 500


def test_an_open_loop_shows_a_stall_that_a_closed_one_hides(serve, corpus, tmp_path):
    """The server stands still for 100 ms. In the closed loop only one request waits. At
    most 40 requests of 50 ms and more fit into two seconds, however slow this
    machine is. In the open loop all requests that are due meanwhile wait, too: 50 of
    them for 50 ms and more."""
    server = serve(corpus)

    def load(*arguments):
        path = tmp_path / "stall.json"
        before = calls_of(server)
        process = subprocess.Popen(
            [BIN / "farcall", "bench", "tensor/matmul", f"--server={server.url}",
             QUESTION, "--warmup=0", "--duration=2s", "--concurrency=1",
             f"--save={path}", *arguments], stdout=subprocess.DEVNULL)
        while calls_of(server) < before + 5:
            assert process.poll() is None
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(0.1)
        os.kill(server.pid, signal.SIGCONT)
        process.wait(timeout=60)
        return json.loads(path.read_text())

    closed, opened = load(), load("--rate=1000")
    assert 1 <= above(closed["latency"], 50 * MS) <= 41
    assert above(opened["service"], 50 * MS) <= 41
    assert above(opened["latency"], 50 * MS) >= 49


def test_arguments_are_made_from_the_signature(bench, server):
    done = bench(server.url, question=())
    assert done.returncode == 0, done.stdout + done.stderr
    done = bench(server.url, question=["--input=2x2xf32=1", "--input=2x2xf32=1"])
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_open_inference_protocol(bench, server, tmp_path):
    done = bench(server.url, "--oip", name="tensor.matmul", question=())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.result["target"] == "/v2/models/tensor.matmul/infer"
    assert done.result["protocol"] == "oip"
    one = {"shape": [1, 1], "datatype": "FP32", "data": [3]}
    document = tmp_path / "oip.json"
    document.write_text(json.dumps({"inputs": [{"name": "a", **one},
                                               {"name": "b", **one}]}))
    expected = server.request("POST", "/v2/models/tensor.matmul/infer",
                              document.read_text(),
                              {"Content-Type": "application/json"})
    assert expected.status == 200, expected.body
    (tmp_path / "expected.json").write_bytes(expected.body)
    done = bench(server.url, "--oip", f"--expected={tmp_path}/expected.json",
                 name="tensor.matmul", question=[f"--json=@{document}"])
    assert done.returncode == 0, done.stdout + done.stderr
    done = bench(server.url, "--oip", name="tensor.matmul", question=["--input=1"])
    assert done.returncode == 64 and "--json=@FILE" in done.stderr


@pytest.mark.once
def test_metadata_of_other_servers(bench):
    """Inputs of any datatype. A dim without a fixed size is 1."""
    asked = []
    metadata = json.dumps({"name": "m", "inputs": [
        {"name": "x", "datatype": "FP32", "shape": [-1, 3]},
        {"name": "on", "datatype": "BOOL", "shape": [1]},
        {"name": "text", "datatype": "BYTES", "shape": [-1]}]})
    with answering(lambda n: message(metadata if n == 1 else '{"outputs":[]}'),
                   asked) as url:
        bench(url, "--oip", name="m", question=())
    assert asked[0][0].startswith(b"GET /v2/models/m HTTP/1.1")
    assert asked[1][0].startswith(b"POST /v2/models/m/infer HTTP/1.1")
    assert len({body for _, body in asked[1:]}) == 1
    assert json.loads(asked[1][1]) == {"inputs": [
        {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [0, 0, 0]},
        {"name": "on", "datatype": "BOOL", "shape": [1], "data": [False]},
        {"name": "text", "datatype": "BYTES", "shape": [1], "data": [""]}]}


@pytest.mark.once
def test_answers_that_differ_are_found(bench):
    with answering(lambda n: message("[1]" if n % 10 else "[2]")) as url:
        done = bench(url)
    assert done.returncode == 1
    result = done.result
    assert result["compared"] == result["latency"]["count"]
    assert 0 < result["errors"]["different"] <= result["compared"] / 10 + 1
    assert "answers not as expected" in done.stdout


@pytest.mark.once
@pytest.mark.parametrize("wrong", ["[1", "[1]]", "", "[7]"])
def test_each_way_to_differ(bench, wrong):
    with answering(lambda n: message("[1]" if n == 1 else wrong)) as url:
        result = bench(url).result
    assert result["errors"]["different"] == result["compared"] > 0


@pytest.mark.parametrize("which, share", [("first", 0), ("sampled", 0.01)])
def test_fewer_are_compared(bench, server, which, share):
    result = bench(server.url, f"--verify={which}").result
    wanted = 4 + share * result["latency"]["count"]
    assert 0 < result["compared"] <= wanted


@pytest.mark.once
def test_an_answer_in_chunks_is_compared(bench):
    whole = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
             b"Transfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n")
    with answering(lambda n: whole) as url:
        done = bench(url)
    assert done.returncode == 0, done.stdout + done.stderr


def test_more_connections_than_descriptors_are_usual(farcall, server, tmp_path):
    def few():
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, most))
    path = tmp_path / "result.json"
    done = farcall("bench", "tensor/matmul", f"--server={server.url}", QUESTION,
                   "--warmup=0", "--duration=300ms", "--concurrency=100",
                   f"--save={path}", preexec_fn=few)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(path.read_text())["connections"] == 100


def test_too_few_descriptors_are_an_error(farcall, server):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    done = farcall("bench", "tensor/matmul", f"--server={server.url}", QUESTION,
                   "--concurrency=200", preexec_fn=few)
    assert done.returncode == 69 and "Too many open files" in done.stderr


def test_over_a_unix_socket(bench, corpus, tmp_path):
    path = tmp_path / "socket"
    server = Server(corpus, listen=("--listen=127.0.0.1:0", f"--listen=unix:{path}"))
    try:
        done = bench(f"unix:{path}")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        assert server.stop() == 0


@pytest.mark.once
def test_refusals_are_counted_and_shown(bench):
    with answering(lambda n: message("[1]") if n % 2 else
                   message("too\x1bbusy", "503 Service Unavailable")) as url:
        done = bench(url)
    assert done.returncode == 1
    assert done.result["errors"]["refused"] > 0
    assert done.result["latency"]["count"] > 0
    assert "the first refused: 503 too\\u001bbusy" in done.stdout


@pytest.mark.once
def test_a_server_that_closes_after_each_answer(bench):
    with answering(lambda n: message("[1]", fields="Connection: close\r\n")) as url:
        done = bench(url, "--rate=100")
    assert done.result["latency"]["count"] == 30
    errors = done.result["errors"]
    assert (errors["broken"], errors["refused"], errors["different"]) == (0, 0, 0)


@pytest.mark.once
def test_who_waits_for_a_unix_socket_is_not_broken(bench, tmp_path):
    with answering(lambda n: message("[1]", fields="Connection: close\r\n"),
                   path=tmp_path / "slow") as url:
        done = bench(url, "--concurrency=8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.result["errors"]["broken"] == 0 < done.result["answers"]


@pytest.mark.once
def test_connections_that_break_are_counted_and_opened_again(bench):
    with answering(lambda n: message("[1]") if n % 5 else None) as url:
        done = bench(url)
    assert done.returncode == 1
    assert done.result["errors"]["broken"] > 1
    assert done.result["latency"]["count"] > done.result["errors"]["broken"]


@pytest.mark.once
@pytest.mark.parametrize("arguments, due", [
    (["--rate=100"], 30), (["--rate=10000000"], 3000000), ([], 4)])
def test_who_is_not_answered_counts_with_the_time_that_was_waited(bench, arguments, due):
    """After the first call the server answers nothing. The load ends a second after the
    last request was due."""
    held = threading.Event()
    with answering(lambda n: message("[1]") if n == 1 else held.wait()) as url:
        done = bench(url, "--timeout=1", *arguments)
    held.set()
    assert done.returncode == 1
    assert done.result["errors"]["unanswered"] == done.result["latency"]["count"] == due
    assert done.result["answers"] == 0
    assert done.result["latency"]["max_ns"] >= 1000 * MS
    assert is_consistent(done.result)
    assert "unanswered in time" in done.stdout


@pytest.mark.once
def test_an_endless_answer_does_not_hold_the_end_up(bench):
    def endless():
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        while True:
            yield block
    block = b"1\r\n1\r\n" * 500000  # sent faster than it is parsed
    with answering(lambda n: message("[1]") if n == 1 else endless()) as url:
        done = bench(url, "--timeout=1", "--concurrency=1")
    assert done.result["errors"]["unanswered"] == 1


@pytest.mark.once
def test_nonsense_is_no_answer(bench):
    with answering(lambda n: message("[1]") if n == 1 else b"SSH-2.0\r\n") as url:
        done = bench(url)
    assert done.returncode == 1
    assert done.result["latency"]["count"] == 0 < done.result["errors"]["broken"]


def test_goals(bench, server):
    done = bench(server.url, "--slo=p50<60s,errors<1", "--slo", "rate>0.1")
    assert done.returncode == 0, done.stdout
    assert [each["met"] for each in done.result["goals"]] == [True] * 3
    done = bench(server.url, "--slo=p99.9999<60s")
    assert done.returncode == 1, done.stdout
    assert "p99.9999<60s: not known, 10000000 requests are needed" in done.stdout
    assert [(each["known"], each["met"]) for each in done.result["goals"]] == [(False, False)]
    done = bench(server.url, "--slo=p50<1ns")
    assert done.returncode == 1
    assert "p50<1ns: missed" in done.stdout


@pytest.mark.once
def test_steps_search_the_highest_rate(bench):
    """A server that takes 5 ms for each request, one at a time, cannot answer more than
    200 in a second."""
    def answer(_):
        time.sleep(0.005)
        return message("[1]")
    with answering(answer) as url:
        done = bench(url, "--steps=6", "--slo=p50<60s", "--duration=500ms")
    steps = done.result["steps"]
    assert len(steps) == 6 and steps[0]["rate"] == 0
    kept = [each["rate"] for each in steps[1:] if each["met"]]
    assert max(kept, default=0) <= 210
    if kept:
        assert done.result["rate"] == pytest.approx(max(kept))
        said = f"the highest rate that keeps the goals: {max(kept):.0f}/s"
    else:  # on a machine that is busy with something else
        said = "no rate that was tried keeps the goals"
    assert said in done.stdout


def test_no_rate_keeps_the_goal(bench, server):
    done = bench(server.url, "--steps=2", "--slo=p50<1ns")
    assert done.returncode == 1
    assert "no rate that was tried keeps the goals" in done.stdout


def test_a_step_of_too_few_answers_is_not_known(bench, server):
    done = bench(server.url, "--steps=3", "--slo=p99.99999<60s")
    first, *steps = done.result["steps"]
    assert done.returncode == 1 and not first["known"] and not first["met"], done.stdout
    assert "  not known\n" in done.stdout and "the highest rate" not in done.stdout
    # If one answer is late, because the machine is busy, the goal is missed.
    if not any(each["known"] for each in steps):
        assert first["rate"] == 0 < steps[0]["rate"] < steps[1]["rate"]
        assert "is known to keep the goals: run longer" in done.stdout


def test_an_interrupt_ends_it_with_a_report(server, tmp_path):
    path = tmp_path / "result.json"
    process = subprocess.Popen(
        [BIN / "farcall", "bench", "tensor/matmul", f"--server={server.url}",
         QUESTION, "--warmup=0", "--duration=10m", f"--save={path}"],
        stdout=subprocess.PIPE, text=True)
    before = calls_of(server)
    while calls_of(server) < before + 100:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "(interrupted)" in said
    assert json.loads(path.read_text())["interrupted"] is True


@pytest.mark.once
def test_an_interrupt_ends_the_wait_for_connections(tmp_path):
    """The server answers the first call and then accepts no connection."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        process = subprocess.Popen(
            [BIN / "farcall", "bench", "m/f", "--server=http://%s:%d" %
             listener.getsockname(), QUESTION, "--concurrency=8", "--timeout=30"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        connection, _ = listener.accept()
        with connection:
            while not connection.recv(65536).endswith(b"]"):
                pass
            connection.sendall(message("[1]", fields="Connection: close\r\n"))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=25) == -signal.SIGINT
        finally:
            process.kill()
            process.wait()


class Page(html.parser.HTMLParser):
    """The contents of a report, and what a browser would load for it."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.loads = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [value for name, value in attributes
                       if name in ("src", "href", "srcset", "data", "action")]

    def handle_data(self, data):
        self.texts.append(data)


def plots(text):
    """The plots of a report, by title. Each is well-formed XML, except for the quotes
    that HTML does not need."""
    found = {}
    for plot in re.findall(r"<svg.*?</svg>", text, re.S):
        quoted = re.sub(r"=([\w.#-]+)", r"='\1'", plot)
        root = xml.etree.ElementTree.fromstring(quoted)
        found[root.get("aria-label")] = root
    return found


def inside(root):
    for line in root.iter("polyline"):
        for point in line.get("points").split():
            x, y = map(float, point.split(","))
            assert 80 <= x <= 708 and 28 <= y <= 220
    return True


def test_the_page_needs_nothing_else(bench, server, tmp_path):
    done = bench(server.url, "--steps=4", "--slo=p50<60s", f"--html={tmp_path}/r.html")
    text = (tmp_path / "r.html").read_text()
    page = Page(text)
    assert page.loads == [] and not {"script", "link", "img"} & set(page.tags)
    assert "url(" not in text and "@import" not in text
    drawn = plots(text)
    assert set(drawn) == {"Latency by percentile", "Answers a second",
                          "p99 latency over time",
                          "Rates that were tried: p99 latency"}
    assert all(inside(each) for each in drawn.values())
    assert len(list(drawn["Latency by percentile"].iter("polyline"))) == 1
    tried = drawn["Rates that were tried: p99 latency"]
    assert len(list(tried.iter("circle"))) == 3  # and a closed loop
    shown = " ".join(page.texts)
    assert f"{done.result['answers_per_s']:.8g}" in shown
    assert "/api/v1/functions/tensor/matmul" in shown


def result_of(name, path, rate, *latencies):
    """A file like one of --save: a thousand requests of each latency in ns."""
    buckets = [[ns, 1000] for ns in latencies]
    path.write_text(json.dumps({
        "farcall_bench": 1, "target": name, "server": "s", "connections": 4, "rate": 0,
        "answers_per_s": rate, "latency": {"count": 1000 * len(latencies),
                                           "max_ns": max(latencies), "buckets": buckets},
        "slices": [{"end_s": i, "answers_per_s": rate + i % 2, "p99_ns": latencies[-1]}
                   for i in range(10)]}))
    return path


def test_two_results_are_compared(farcall, tmp_path):
    old = result_of("<b>f</b>", tmp_path / "old.json", 1000, 10**5, 2 * 10**5, 10**6)
    new = result_of("f", tmp_path / "new.json", 1100, 10**5, 10**5, 3 * 10**6)
    done = farcall("bench", "--compare", old, new, f"--html={tmp_path}/both.html")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert rows["answers/s"][1:] == ["1000", "1100", "+10.0", "%", "better"]
    assert rows["p50"][1:] == ["200", "us", "100", "us", "-50.0", "%", "better"]
    assert rows["p99"][1:] == ["1", "ms", "3", "ms", "+200.0", "%", "worse"]
    text = (tmp_path / "both.html").read_text()
    assert "<b>" not in text and "&lt;b&gt;f&lt;/b&gt;" in text
    drawn = plots(text)
    assert all(len(list(each.iter("polyline"))) == 2 and inside(each)
               for each in drawn.values())
    same = farcall("bench", "--compare", old, old).stdout
    # Only three of 3,000 answers lie beyond p99.9, so it is not judged.
    assert same.count("no difference that can be told") == 4 and "p99.9" not in same


@pytest.mark.parametrize("change, said", [
    ({"connections": 8}, "'connections' was 4 and is 8"),
    ({"rate": 50}, "'rate' was 0 and is 50"),
    ({"loop": "open"}, "'loop' was 'closed' and is 'open'"),
    ({"input_sha256": "b" * 64, "example": "a seven"},
     "their arguments differ ('given' and 'a seven')"),
    ({"input_sha256": "b" * 64},
     "their arguments differ ('given' of SHA-256 aaaaaaaa… and bbbbbbbb…)"),
    ({"protocol": "oip", "input_sha256": "b" * 64}, None),
    ({"server": "t", "target": "m@2/f", "version": "2"}, None),
])
def test_unlike_runs_are_not_compared(farcall, tmp_path, change, said):
    old = result_of("f", tmp_path / "old.json", 1000, 10**5)
    known = {**json.loads(old.read_text()), "loop": "closed", "protocol": "native",
             "input_sha256": "a" * 64, "input": "given"}
    old.write_text(json.dumps(known))
    new = tmp_path / "new.json"
    new.write_text(json.dumps({**known, **change}))
    done = farcall("bench", "--compare", old, new, f"--html={tmp_path}/both.html")
    assert done.returncode == (65 if said else 0), done.stderr
    assert (said or "") in done.stderr
    assert (tmp_path / "both.html").exists() == (said is None)


def test_a_curve_over_concurrency(bench, server, farcall, tmp_path):
    before = calls_of(server)
    done = bench(server.url, "--concurrency=1,3,2", f"--html={tmp_path}/r.html")
    made = calls_of(server) - before
    assert done.returncode == 0, done.stdout + done.stderr
    result = done.result
    assert [each["connections"] for each in result["curve"]] == [1, 2, 3]
    best = max(result["curve"], key=lambda each: each["answers_per_s"])
    assert result["connections"] == best["connections"] and is_consistent(result)
    assert result["answers_per_s"] == best["answers_per_s"]
    assert result["latency"]["max_ns"] == best["max_ns"]
    answered = sum(each["answers_per_s"] for each in result["curve"]) * result["duration_s"]
    assert made >= answered * 0.99
    drawn = plots((tmp_path / "r.html").read_text())["Answers a second by connections"]
    (line,) = drawn.iter("polyline")
    assert inside(drawn) and len(line.get("points").split()) == 3
    assert [f"{dot.get('cx')},{dot.get('cy')}" for dot in drawn.iter("circle")] == \
        line.get("points").split()
    words = "1 connection" if result["connections"] == 1 else \
        f"{result['connections']} connections"
    assert f" over {words}, half of them" in (tmp_path / "r.html").read_text()
    (tmp_path / "one.json").write_text(json.dumps(result))
    (tmp_path / "other.json").write_text(json.dumps({**result, "connections": 7}))
    assert farcall("bench", "--compare", tmp_path / "one.json",
                   tmp_path / "other.json").returncode == 0


BUSY = message('"busy"', "503 Service Unavailable")


@pytest.mark.once
@pytest.mark.parametrize("bad, kind, said", [
    (message("[2]"), "different", "answers not as expected"), (BUSY, "refused", "refused"),
    (None, "broken", "connections broken")], ids=["different", "refused", "broken"])
def test_errors_of_each_load_of_a_curve_count(bench, tmp_path, bad, kind, said):
    """Errors of a load that is not the best one count, too. Status, JSON, page and text
    agree."""
    with answering(lambda n: message("[1]") if n == 1 else bad) as url:
        done = bench(url, "--concurrency=1,2,3", f"--html={tmp_path}/r.html")
    points = [each["errors"] for each in done.result["curve"]]
    errors = done.result["errors"]
    assert done.returncode == 1 and all(points) and sum(points) == sum(errors.values())
    assert errors[kind] >= sum(points) - 3 * 3  # the end may find some on their way
    assert re.search(r"^  2 +answered .*  errors \d+$", done.stdout, re.M), done.stdout
    assert f"  errors    {errors[kind]} {said}\n" in done.stdout
    assert ('the first refused: 503 "busy"' in done.stdout) == (bad == BUSY)
    assert f"<b>{sum(points)} went wrong</b>" in (tmp_path / "r.html").read_text()


@pytest.mark.once
@pytest.mark.parametrize("loads, good", [
    (["--concurrency=" + ",".join(map(str, range(1, 32)))], r"  1 +answered"),
    (["--slo=p50<60s", "--steps=32"], r"  \d+/s +answered .* met$")], ids=["curve", "steps"])
def test_an_interrupt_of_one_of_several_loads_is_told(tmp_path, loads, good):
    """The interrupt is reported although the report is about an earlier load, because
    no good answers come any more. A load has begun once it makes a request; before
    that an interrupt just ends the program."""
    path, refuse, interrupt = tmp_path / "result.json", threading.Event(), threading.Event()

    def answer(_):
        if interrupt.is_set():
            interrupt.clear()
            process.send_signal(signal.SIGINT)
        return BUSY if refuse.is_set() else message("[1]")

    with answering(answer) as url:
        process = subprocess.Popen(
            [BIN / "farcall", "bench", "m/f", f"--server={url}", QUESTION, "--warmup=0",
             "--duration=300ms", f"--save={path}", *loads], stdout=subprocess.PIPE,
            text=True)
        for pattern, event in (good, refuse), (r"  \S+ +answered 0/s", interrupt):
            while not re.match(pattern, process.stdout.readline()):
                assert process.poll() is None
            event.set()
        said, _ = process.communicate(timeout=60)
    assert "(interrupted)" in said
    assert json.loads(path.read_text())["interrupted"] is True


def test_a_search_finds_the_rate(farcall, tmp_path):
    old = result_of("f", tmp_path / "old.json", 1000, 10**5)
    steps = {"steps": [{"rate": 5, "p99_ns": 7, "met": True}]}
    known = {**json.loads(old.read_text()), **steps}
    old.write_text(json.dumps({**known, "rate": 50}))
    (tmp_path / "new.json").write_text(json.dumps({**known, "rate": 70}))
    assert farcall("bench", "--compare", old, tmp_path / "new.json").returncode == 0


def test_what_was_measured_is_said(bench, server, tmp_path):
    begin = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    done = bench(server.url, question=())
    result = done.result
    example = server.get("/api/v1/functions/tensor/matmul/example").body
    assert result["input"] == "example" and result["input_size"] == len(example)
    assert result["input_sha256"] == hashlib.sha256(example).hexdigest()
    assert f"made up from the function's example, {len(example)} bytes" in done.stdout
    assert result["processors"] == os.cpu_count() and result["same_machine"]
    assert result["kernel"] == f"{os.uname().sysname} {os.uname().release}"
    assert begin <= result["date"] <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    given = bench(server.url, "--verify=first", f"--html={tmp_path}/r.html")
    assert given.result["input"] == "given" and "made up" not in given.stdout
    page = " ".join(Page((tmp_path / "r.html").read_text()).texts)
    assert f"{given.result['answers_per_s']:.6g} answers a second over 4 connections" in page
    assert "none went wrong" in page and given.result["date"] in page
    assert "shared the processors of one machine" in page
    assert "Only the first answer of each connection was compared" in page
    assert "function's example" not in page
    bench(server.url, f"--html={tmp_path}/r.html", question=())
    page = " ".join(Page((tmp_path / "r.html").read_text()).texts)
    assert "The arguments are the function's example" in page


@pytest.mark.parametrize("content", [
    '{"farcall_bench":1}',
    '{"farcall_bench":1,"latency":{"count":-5,"buckets":[[1]],"max_ns":"x"},'
    '"slices":[1,{}],"steps":[{"rate":1e300,"p99_ns":1e308},{"rate":-1}]}',
    '{"farcall_bench":1,"latency":{"count":1e300,"max_ns":1e308,'
    '"buckets":[[1e308,1e300],[-1,-1]]},"slices":[{"end_s":-1e308,"p99_ns":1e308,'
    '"answers_per_s":1e308},{"end_s":1e308,"p99_ns":-1,"answers_per_s":-1e308}]}'])
def test_strange_files_make_no_strange_page(farcall, tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    done = farcall("bench", "--compare", tmp_path / "a.json", tmp_path / "a.json",
                   f"--html={tmp_path}/a.html")
    assert done.returncode == 0, done.stderr
    assert all(inside(each) for each in plots((tmp_path / "a.html").read_text()).values())


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"farcall_bench":2}'])
def test_other_files_are_not_compared(farcall, tmp_path, content):
    (tmp_path / "a.json").write_text(content)
    done = farcall("bench", "--compare", tmp_path / "a.json", tmp_path / "a.json")
    assert done.returncode == 65 and "no result of farcall bench" in done.stderr
    assert farcall("bench", "--compare", tmp_path / "a.json").returncode == 64
    assert farcall("bench", "--compare", "x", "/nonexistent/y").returncode == 65


def test_the_result_on_standard_output(farcall, server):
    done = farcall("bench", "tensor/matmul", f"--server={server.url}", QUESTION, *SHORT,
                   "--save=-")
    assert json.loads(done.stdout)["farcall_bench"] == 1
    assert "closed loop" in done.stderr
    done = farcall("bench", "tensor/matmul", f"--server={server.url}", QUESTION, *SHORT,
                   "--save=-", "--steps=2", "--slo=p50<60s")
    assert len(json.loads(done.stdout)["steps"]) == 2
    assert "the goals" in done.stderr


@pytest.mark.parametrize("arguments, status, said", [
    (["--rate=0"], 64, "--rate=0 is no number from 1 to"),
    (["--rate=fast"], 64, "--rate=fast is no number"),
    (["--concurrency=10001"], 64, "from 1 to 10000"),
    (["--concurrency=1,0"], 64, "--concurrency=1,0 is no list of up to 32 numbers from 1 to"),
    (["--concurrency=1,,2"], 64, "--concurrency=1,,2 is no list"),
    (["--concurrency=" + "1," * 32 + "1"], 64, "is no list of up to 32 numbers"),
    (["--concurrency=1,2", "--rate=5"], 64, "leave out --rate and --steps"),
    (["--duration=1h"], 64, "--duration=1h is no time such as 10s"),
    (["--duration=0"], 64, "--duration=0 is no time"),
    (["--verify=some"], 64, "--verify=some is none of first, sampled and all"),
    (["--slo=p99"], 64, "--slo=p99 is no goal; goals are p99<5ms"),
    (["--steps=3"], 64, "--steps searches the highest rate that keeps a goal"),
    (["--steps=3", "--slo=max<1s", "--rate=5"], 64, "leave out --rate"),
    (["--expected=/nonexistent"], 65, "/nonexistent"),
    (["--input=1", "--input=2"], 1, "422 shape_mismatch"),
])
def test_what_is_refused(farcall, server, arguments, status, said):
    done = farcall("bench", "tensor/matmul", f"--server={server.url}", *arguments)
    assert (done.returncode, said in done.stderr) == (status, True), done.stderr


def test_who_is_not_there(farcall, server):
    done = farcall("bench", "tensor/matmull", f"--server={server.url}")
    assert done.returncode == 1 and "function_not_found" in done.stderr
    done = farcall("bench", "m/f", "--server=http://127.0.0.1:1")
    assert done.returncode == 69
    assert farcall("bench").returncode == 64
