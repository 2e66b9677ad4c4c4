# SPDX-License-Identifier: Apache-2.0
"""Makes the measurements of bench/clients, and prints the ratios beside their goals."""
import csv
import http.client
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

import triton
from conftest import Server

ROUNDS = int(os.environ.get("ROUNDS", "5"))
UNSTABLE = "Failed to obtain stable measurement"  # perf_analyzer's words
SECONDS = float(os.environ.get("SECONDS_EACH", "3"))
WORK = pathlib.Path(sys.argv[1])
FIRST, LAST = ["taskset", "-c", "0"], ["taskset", "-c", str(os.cpu_count() - 1)]
JSON = ["--input-tensor-format", "json", "--output-tensor-format", "json"]
LENGTH = "Inference-Header-Content-Length"
MB = 1 << 20

# For each case: the model, options of perf_analyzer, connections, bytes of its tensor.
# Cases over gRPC have no goal.
CALLS = {
    "add_sub, binary": ("simple", [], 8, 0),
    "add_sub, JSON": ("simple", JSON, 8, 0),
    "1 MB, binary": ("identity.fp32", ["--shape", f"INPUT0:{MB // 4}"], 2, MB),
    "16 MB, binary": ("identity.fp32", ["--shape", f"INPUT0:{4 * MB}"], 2, 16 * MB),
    "add_sub, gRPC": ("simple", [], 8, 0),
    "1 MB, gRPC": ("identity.fp32", ["--shape", f"INPUT0:{MB // 4}"], 2, MB),
    "16 MB, gRPC": ("identity.fp32", ["--shape", f"INPUT0:{4 * MB}"], 2, 16 * MB),
}


def tree(pid):
    """A process and all its descendants."""
    found = [pid]
    for each in found:
        try:
            for task in pathlib.Path(f"/proc/{each}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            pass
    return found


def times(pid):
    """The CPU time in seconds of a process and its descendants, in user mode and in the
    kernel."""
    ticks = [0, 0]
    for each in tree(pid):
        try:
            fields = pathlib.Path(f"/proc/{each}/stat").read_text().rsplit(") ", 1)[1]
            ticks = [sum(pair) for pair in zip(ticks, map(int, fields.split()[11:13]))]
        except OSError:
            pass
    return [each / os.sysconf("SC_CLK_TCK") for each in ticks]


def processor(pid):
    return sum(times(pid))


def spent_on_each(server, before, calls):
    """The CPU time in ms of a call since `before`, in user mode and in the kernel."""
    after = times(server.process.pid)
    return [1000 * (end - begin) / calls for begin, end in zip(before, after)]


def whole(row):
    """The CPU time in ms of a call."""
    return row[3] + row[4]


def memory(pid):
    """The memory in MB of a process and its descendants. Each shared page counts in
    parts."""
    total = 0
    for each in tree(pid):
        try:
            text = pathlib.Path(f"/proc/{each}/smaps_rollup").read_text()
            total += int(re.search(r"^Pss: +(\d+)", text, re.MULTILINE)[1])
        except OSError:
            pass
    return total / 1024


def answered(server, model):
    """The number of calls that the server reports as answered."""
    (stats,) = server.get(f"/v2/models/{model}/stats").json["model_stats"]
    return stats["inference_stats"]["success"]["count"]


def grpc_port(server):
    return getattr(server, "grpc_port", server.port)  # farcalld has one port for both


def analyzed(server, protocol, model, options, connections, table):
    port = grpc_port(server) if protocol == "grpc" else server.port
    return subprocess.run(
        [*LAST, triton.peers() / "perf_analyzer", "-i", protocol, "-m", model, "-u",
         f"{server.host}:{port}", "--concurrency-range", str(connections),
         "--async", "--measurement-interval", str(int(1000 * SECONDS)),
         "--stability-percentage", "999", "-f", table, *options],
        capture_output=True, text=True)


def analyze(server, protocol, model, options, connections):
    """(calls/s, p50 and p99 in ms, CPU time of a call in user mode and in the kernel in
    ms). [] if perf_analyzer reports that its measurement was not stable; then one round is
    missing."""
    table = WORK / "table.csv"
    before, calls = times(server.process.pid), answered(server, model)
    done = analyzed(server, protocol, model, options, connections, table)
    if done.returncode and UNSTABLE in done.stdout + done.stderr:
        print(f"{model}, {connections} connections: perf_analyzer found no stable window",
              file=sys.stderr)
        return []
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    spent = spent_on_each(server, before, answered(server, model) - calls)
    (row,) = csv.DictReader(table.open())
    return (float(row["Inferences/Second"]), float(row["p50 latency"]) / 1000,
            float(row["p99 latency"]) / 1000, *spent)


def small(raw):
    """A call of add_sub for wrk, which can send more than perf_analyzer."""
    values = list(range(16))
    if raw:
        rows = [{"name": name, "shape": [1, 16], "datatype": "INT32", "parameters": {
            "binary_data_size": 64}} for name in ("INPUT0", "INPUT1")]
        head = json.dumps({"inputs": rows, "parameters": {"binary_data_output": True}})
        return head.encode() + bytes(128), {LENGTH: str(len(head))}
    rows = [{"name": name, "shape": [1, 16], "datatype": "INT32", "data": values}
            for name in ("INPUT0", "INPUT1")]
    return json.dumps({"inputs": rows}).encode(), {}


def wrk(server, path, body=None, fields=None, connections=16):
    script = []
    if body:
        text = "".join(f"\\{each:03d}" for each in body)
        lines = [f'wrk.method = "POST"\nwrk.body = "{text}"\n']
        lines += [f'wrk.headers["{name}"] = "{value}"\n' for name, value in fields.items()]
        (WORK / "post.lua").write_text("".join(lines))
        script = ["-s", WORK / "post.lua"]
    before = times(server.process.pid)
    done = subprocess.run(
        [*LAST, "wrk", "-t1", f"-c{connections}", f"-d{max(1, round(SECONDS))}s", "--latency",
         *script, f"http://{server.host}:{server.port}{path}"],
        capture_output=True, text=True, check=True).stdout
    spent = spent_on_each(server, before, int(re.search(r"(\d+) requests in", done)[1]))
    units = {"us": 0.001, "ms": 1, "s": 1000}
    late = {share: float(value) * units[unit] for share, value, unit in re.findall(
        r"(\d+)%\s+([\d.]+)(us|ms|s)", done)}
    assert "Non-2xx" not in done, done
    return (float(re.search(r"Requests/sec: +([\d.]+)", done)[1]), late["50"],
            late["99"], *spent)


def text(number, value):
    """A field of a message: text, bytes or a message of less than 128 bytes."""
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value


INPUTS = b"".join(text(5, text(1, name) + text(2, "INT32") + text(3, b"\1\x10"))
                  for name in ("INPUT0", "INPUT1"))
# (method, message, the goal)
METHODS = {"ServerLive": ("ServerLive", b"", 5),
           "metadata": ("ModelMetadata", text(1, "simple"), 5),
           "add_sub": ("ModelInfer", text(1, "simple") + INPUTS + 2 * text(7, bytes(64)),
                       None)}
# Connections, calls at a time on each, whether there is a goal. A channel of gRPC is one
# connection for all calls of a program, so many at a time are what a server gets. With one
# at a time each call needs a read and a write of its own, of the client, too. What the
# kernel takes for them is more than a fifth of what Triton takes in all, so no server
# could be five times as fast.
FORMS = ((16, 1, False), (16, 16, True))
PROTOCOL = {f"{name}, gRPC, {connections} x {calls}":
            (method, message, connections, calls, goal if has_goal else None)
            for name, (method, message, goal) in METHODS.items()
            for connections, calls, has_goal in FORMS}


def h2load(server, method, message, connections, at_a_time):
    (WORK / "message").write_bytes(b"\0" + len(message).to_bytes(4, "big") + message)
    log = WORK / "times"
    log.unlink(missing_ok=True)
    before = times(server.process.pid)
    done = subprocess.run(
        [*LAST, "h2load", "-t1", f"-c{connections}", f"-m{at_a_time}",
         f"-D{max(1, round(SECONDS))}", "-d", WORK / "message",
         "-H", "content-type: application/grpc", "-H", "te: trailers",
         f"--log-file={log}", f"http://{server.host}:{grpc_port(server)}"
         f"/inference.GRPCInferenceService/{method}"],
        capture_output=True, text=True, check=True).stdout
    calls = int(re.search(r"(\d+) succeeded, 0 failed, 0 errored", done)[1])
    # An error has status 200 too, but no message.
    data = int(re.search(r"\((\d+)\) data", done)[1])
    assert data >= 7 * calls > 0, done
    spent = spent_on_each(server, before, calls)
    late = sorted(int(line.split()[2]) for line in log.open())
    return (float(re.search(r"finished in .*?, ([\d.]+) req/s", done)[1]),
            late[len(late) // 2] / 1000, late[len(late) * 99 // 100] / 1000, *spent)


def million(server, raw):
    """The CPU time in ms of a call whose tensor has a million f32."""
    head = {"name": "INPUT0", "shape": [MB], "datatype": "FP32"}
    connection = http.client.HTTPConnection(server.host, server.port)
    if raw:
        document = json.dumps({"inputs": [{**head, "parameters": {
            "binary_data_size": 4 * MB}}], "parameters": {"binary_data_output": True}})
        document = document.encode().ljust(256)
        body = document + os.urandom(4 * MB).replace(b"\x7f", b"\x00")
        fields = {LENGTH: str(len(document))}
    else:
        values = [(i * 2654435761 % 2**32) / 2**32 for i in range(MB)]
        values = [float(f"{each:.8g}") for each in values]
        body, fields = json.dumps({"inputs": [{**head, "data": values}]}), {}
    before, count = processor(server.process.pid), 0
    ends = time.monotonic() + max(SECONDS, 1)
    while time.monotonic() < ends or count < 3:
        connection.request("POST", "/v2/models/identity.fp32/infer", body, fields)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        count += 1
    connection.close()
    return 1000 * (processor(server.process.pid) - before) / count


def copying(size):
    """The CPU time in ms of copying `size` bytes once, between memory that is not in a
    cache."""
    pairs = [(memoryview(bytearray(os.urandom(size))), memoryview(bytearray(size)))
             for _ in range(max(2, 64 * MB // size))]
    count, began = 0, time.process_time()
    while time.process_time() - began < 0.3:
        for source, dest in pairs:
            dest[:] = source
        count += len(pairs)
    return 1000 * (time.process_time() - began) / count


def echoing(size):
    """The CPU time in ms of a server that reads `size` bytes from a socket and sends them
    back: every server needs at least this for a call."""
    server = subprocess.Popen([*FIRST, WORK / "echo", str(size)], stdout=subprocess.PIPE)
    port = int(server.stdout.readline())
    sent, back = os.urandom(size), bytearray(size)
    count = 0
    with socket.create_connection(("127.0.0.1", port)) as client:
        before, ends = processor(server.pid), time.monotonic() + max(SECONDS, 1)
        while time.monotonic() < ends:
            client.sendall(sent)
            got = 0
            while got < size:
                got += client.recv_into(memoryview(back)[got:])
            count += 1
        spent = processor(server.pid) - before
    server.kill()
    server.wait()
    assert back == sent
    return 1000 * spent / count


OURS = ["farcalld", "in a thread"]
INFER = "/v2/models/simple/infer"
ASKED = {"metadata GET": lambda: ("/v2/models/simple",),
         "binary, wrk": lambda: (INFER, *small(True)),
         "JSON, wrk": lambda: (INFER, *small(False))}


def middle(rows):
    return [statistics.median(column) for column in zip(*rows)]


def goal(text, value, wanted, least):
    met = value >= wanted if least else value <= wanted
    print(f"{text:54} {value:8.2f}   goal {'>=' if least else '<='} {wanted:5.2f}"
          f"   {'met' if met else 'NOT MET'}")


def compared(case, faster):
    label = f"{case}: calls/s, times Triton's"
    print(f"{label:54} {faster:8.2f}")


def measure(servers):
    found = {}
    for _ in range(ROUNDS):
        for case, (model, options, connections, _) in CALLS.items():
            for name, server in servers.items():
                rows = found.setdefault((case, name), [])
                protocol = "grpc" if "gRPC" in case else "http"
                rows += filter(None, [analyze(server, protocol, model, options,
                                              connections)])
        for case, asked in ASKED.items():
            for name, server in servers.items():
                found.setdefault((case, name), []).append(wrk(server, *asked()))
        for case, (*asked, _) in PROTOCOL.items():
            for name, server in servers.items():
                found.setdefault((case, name), []).append(h2load(server, *asked))
        for raw in (True, False):
            for name in OURS:
                found.setdefault(("million", raw, name), []).append(
                    (million(servers[name], raw),))
        for size in (MB, 16 * MB):
            found.setdefault(("copy", size), []).append((copying(size),))
        for size in (MB, 4 * MB, 16 * MB):
            found.setdefault(("echo", size), []).append((echoing(size),))
    if none := [key for key, rows in found.items() if not rows]:
        raise SystemExit(f"no round of these was measured: {none}")
    return {key: middle(rows) for key, rows in found.items()}


def main():
    beside = triton.Triton(WORK / "triton", ["simple", "identity.fp32"], under=FIRST)
    ours = Server("--max-body=64M", WORK / "simple.so", WORK / "identity.so", under=FIRST)
    # By default modules are served in processes. `thread` serves them in threads of the
    # server.
    thread = Server("--isolation=thread", WORK / "simple.so", WORK / "identity.so",
                    under=FIRST)
    servers = {"farcalld": ours, "in a thread": thread, "Triton": beside}
    try:
        report(servers, measure(servers))
    finally:
        statuses = [each.stop() for each in (ours, thread, beside)]
    assert statuses[:2] == [0, 0]


def report(servers, found):
    print(f"{'':26} {'':11} {'calls/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'user ms':>8} "
          f"{'kernel':>8}")
    for case in [*CALLS, *ASKED, *PROTOCOL]:
        for name in servers:
            row = found[case, name]
            print(f"{case:26} {name:11} {row[0]:9.0f} {row[1]:8.2f} {row[2]:8.2f} "
                  f"{row[3]:8.4f} {row[4]:8.4f}")
    for name, server in servers.items():
        print(f"memory afterwards, {name}: {memory(server.process.pid):.0f} MB")
    for size in (MB, 4 * MB, 16 * MB):
        print(f"echo of {size // MB} MB: {found['echo', size][0]:.3f} ms CPU, no server "
              "pays less")
    for name in OURS:
        judge(found, name)


def judge(found, name):
    print(f"{name}:")
    for case, (_, _, _, size) in CALLS.items():
        faster = found[case, name][0] / found[case, "Triton"][0]
        if "gRPC" in case:
            compared(case, faster)
        else:
            goal(f"{case}: calls/s, times Triton's", faster, 1 if size else 8, True)
    for case in ASKED:
        faster = found[case, name][0] / found[case, "Triton"][0]
        goal(f"{case}: calls/s, times Triton's", faster, 1.1 if "GET" in case else 8, True)
    for case, (*_, wanted) in PROTOCOL.items():
        faster = found[case, name][0] / found[case, "Triton"][0]
        if wanted:
            goal(f"{case}: calls/s, times Triton's", faster, wanted, True)
        else:
            compared(case, faster)
    for case, (_, _, _, size) in CALLS.items():
        if size and "gRPC" not in case:
            goal(f"{case}: CPU, times copying twice",
                 whole(found[case, name]) / (2 * found["copy", size][0]), 1.3, False)
            print(f"{f'{case}: CPU, times an echo':54} "
                  f"{whole(found[case, name]) / found['echo', size][0]:8.2f}")
    goal("1M f32, binary: CPU ms", found["million", True, name][0], 1.5, False)
    goal("1M f32, JSON: CPU ms", found["million", False, name][0], 28, False)


if __name__ == "__main__":
    main()
