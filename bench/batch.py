# SPDX-License-Identifier: Apache-2.0
"""batch.py WORK MODELS NAME…: makes the measurements of bench/batch, and prints the
ratios beside their goals. MODELS has the models and their correct results, WORK is a
folder of this run.
"""
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy

import clients
import triton
from conftest import Peer, Server

WORK, MODELS = map(pathlib.Path, sys.argv[1:3])
NAMES = sys.argv[3:]
CLIENTS = [int(each) for each in os.environ.get("CLIENTS", "1,2,4,8,16,32").split(",")]
PEERS = os.environ.get("PEERS", "off,triton,mlserver,fastapi").split(",")
FORMS = os.environ.get("FORMS", "raw,JSON").split(",")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
ANALYZED = os.environ.get("LOAD") == "perf_analyzer"
LARGEST = 8  # bucket of ours, batch of the peers
BENCH = pathlib.Path(__file__).parent
PYTHON = pathlib.Path(os.environ["PEER_PYTHON"])
TYPES = {"<f4": "FP32", "<i8": "INT64"}
WAIT_US = 1000  # that MLServer waits for others: it needs a number


class Case:
    """A model, a row to send and the correct result."""

    def __init__(self, name):
        self.name, self.inputs = name, dict(numpy.load(MODELS / f"{name}.npz"))
        (answer,) = [each for each in self.inputs if each.startswith("answer ")]
        self.output, self.answer = answer[7:], self.inputs.pop(answer)

    def config(self):
        rows = "".join(
            f'input {{ name: "{name}" data_type: TYPE_{TYPES[value.dtype.str]} '
            f'dims: {list(value.shape[1:])} }}\n' for name, value in self.inputs.items())
        return (f'name: "{self.name}" backend: "python" max_batch_size: {LARGEST}\n{rows}'
                f'output {{ name: "{self.output}" data_type: TYPE_FP32 dims: '
                f'{list(self.answer.shape[1:])} }}\ndynamic_batching {{ }}\n')

    def oip(self, raw):
        rows = [{"name": name, "shape": value.shape, "datatype": TYPES[value.dtype.str],
                 **({"parameters": {"binary_data_size": value.nbytes}} if raw
                    else {"data": value.ravel().tolist()})}
                for name, value in self.inputs.items()]
        document = {"inputs": rows}
        if not raw:
            return f"/v2/models/{self.name}/infer", json.dumps(document).encode(), {}
        document["parameters"] = {"binary_data_output": True}
        head = json.dumps(document).encode()
        return (f"/v2/models/{self.name}/infer", head + self.bytes(),
                {clients.LENGTH: str(len(head))})

    def fastapi(self, raw):
        if raw:
            return f"/raw/{self.name}", self.bytes(), {}
        return (f"/json/{self.name}", json.dumps(
            {name: value.tolist() for name, value in self.inputs.items()}).encode(),
            {"Content-Type": "application/json"})

    def bytes(self):
        return b"".join(value.tobytes() for value in self.inputs.values())

    def right(self, reply):
        """Reads the numbers of the only result, whatever the form of the answer."""
        size = {key.lower(): value for key, value in reply.headers.items()}.get(
            clients.LENGTH.lower())
        if size or not reply.body.startswith(b"{"):
            found = numpy.frombuffer(reply.body[int(size or 0):], "<f4")
        else:
            outputs = reply.json.get("outputs")
            found = outputs[0].get("data", []) if outputs else reply.json[self.output]
        return numpy.size(found) == self.answer.size and numpy.allclose(
            numpy.ravel(found), self.answer.ravel(), 1e-3, 1e-4)


class Other(Peer):
    """A Python server on the first core."""

    def __init__(self, arguments, ready, **variables):
        self.host, self.port = "127.0.0.1", triton.free_port()
        ports = {f"MLSERVER_{each}_PORT": str(triton.free_port())
                 for each in ("GRPC", "METRICS")}
        self.process = subprocess.Popen(
            [*clients.FIRST, *map(str, arguments), *([] if variables else [str(self.port)])],
            stdin=subprocess.DEVNULL, stdout=open(WORK / "other.log", "a"),
            stderr=subprocess.STDOUT, cwd=WORK,
            env={**os.environ, "PYTHONPATH": str(BENCH), "MLSERVER_HTTP_PORT":
                 str(self.port), **ports, **variables})
        while self.process.poll() is None:
            with contextlib.suppress(OSError):
                if self.get(ready).status == 200:
                    return
            time.sleep(0.1)
        raise RuntimeError((WORK / "other.log").read_text()[-2000:])

    def stop(self):
        self.process.terminate()
        self.process.wait()


def start_triton(cases):
    # The system's NumPy must be found first: with NumPy 2, Triton's Python backend sends
    # tensors without bytes.
    (packages,) = PYTHON.parents[1].glob("lib/python*/site-packages")
    for case in cases:
        (WORK / "repository" / case.name / "1").mkdir(parents=True)
        (WORK / "repository" / case.name / "1/model.py").write_text(
            f"import sys\nsys.path += {[str(BENCH), str(packages)]}\n"
            "from batch_peer import TritonPythonModel  # noqa\n")
        (WORK / "repository" / case.name / "config.pbtxt").write_text(case.config())
    return triton.Triton(
        WORK / "triton", [], [f"--model-repository={WORK / 'repository'}"],
        ["env", f"MODELS={MODELS}", f"BATCH={LARGEST}", *clients.FIRST])


def start_mlserver(cases):
    for case in cases:
        (WORK / "mlserver" / case.name).mkdir(parents=True)
        (WORK / "mlserver" / case.name / "model-settings.json").write_text(json.dumps({
            "name": case.name, "implementation": "batch_mlserver.MLModel",
            "max_batch_size": LARGEST, "max_batch_time": WAIT_US / 1e6}))
    return Other([PYTHON.with_name("mlserver"), "start", WORK / "mlserver"],
                 "/v2/health/ready", MLSERVER_HOST="127.0.0.1", MLSERVER_PARALLEL_WORKERS="0")


def start_ours(cases, *options):
    return Server("--workers=1", *options, *(MODELS / f"{case.name}.vmfb" for case in cases),
                  under=clients.FIRST)


STARTS = {
    "farcalld": start_ours,
    "off": lambda cases: start_ours(cases, "--batch=off"),
    "triton": start_triton,
    "mlserver": start_mlserver,
    "fastapi": lambda cases: Other([PYTHON, BENCH / "batch_peer.py"], "/docs"),
}


def request_of(peer, case, form):
    return (case.fastapi if peer == "fastapi" else case.oip)(form == "raw")


def why_not(peer, server, case, form):
    """The reason why this combination cannot be measured; None if it can."""
    if ANALYZED and peer in ("mlserver", "fastapi"):
        return "perf_analyzer does not ask it"
    path, body, fields = request_of(peer, case, form)
    reply = server.request("POST", path, body, fields)
    if reply.status != 200:
        return f"answers {reply.status} {reply.body[:60].decode(errors='replace')}"
    return None if case.right(reply) else "answers other numbers"


def analyze(server, case, form, connections):
    config = server.get(f"/v2/models/{case.name}/config").json
    data = WORK / f"{case.name}.json"
    data.write_text(json.dumps({"data": [
        {name: value.ravel().tolist() for name, value in case.inputs.items()}]}))
    options = ["--input-data", data, *([] if form == "raw" else clients.JSON)]
    if not config["max_batch_size"]:
        options = [*options, *(word for name, value in case.inputs.items() for word in (
            "--shape", f"{name}:{','.join(map(str, value.shape))}"))]
    return clients.analyze(server, "http", case.name, options, connections)


def measure_one(peer, server, case, form, count):
    """Makes one measurement: a row; [] if it failed, so that one round is missing."""
    try:
        if ANALYZED:
            return analyze(server, case, form, count)
        return clients.wrk(server, *request_of(peer, case, form), connections=count)
    except (AssertionError, subprocess.CalledProcessError) as problem:
        print(f"{case.name}, {form}, {count} clients, {peer}: {problem}", file=sys.stderr)
        return []


def measure(servers, cases):
    """({(model, form, clients, server): rows of calls/s, p50, p99, CPU}, what was left
    out)"""
    found, left_out = {}, {}
    for case in cases:
        for form in FORMS:
            for peer, server in servers.items():
                if reason := why_not(peer, server, case, form):
                    left_out[case.name, form, peer] = reason
    order = list(servers)
    for _ in range(ROUNDS):
        for case in cases:
            for form in FORMS:
                for count in CLIENTS:
                    for peer in order:
                        if (case.name, form, peer) in left_out:
                            continue
                        row = measure_one(peer, servers[peer], case, form, count)
                        found.setdefault((case.name, form, count, peer), []).append(row)
        order = [*order[1:], order[0]]  # the next round begins with another
    return found, left_out


def median(found, key, at):
    rows = [row[at] for row in found.get(key, []) if row]
    return statistics.median(rows) if rows else None


def ratio(found, case, form, count, peer, at=0):
    """The median ratio over the rounds in which both were measured."""
    pairs = zip(found.get((case, form, count, "farcalld"), []),
                found.get((case, form, count, peer), []))
    rows = [a[at] / b[at] for a, b in pairs if a and b]
    return statistics.median(rows) if rows else None


def batched(server, case):
    attrs = server.get(f"/api/v1/functions/{case.name}/{case.name}").json["raw"]["attrs"]
    return attrs.get("batch", "no rows")


def print_table(found, left_out, case, form, servers):
    sent = len(case.oip(form == "raw")[1])
    print(f"\n{case.name}, {form}: {sent} bytes a row; rows: "
          f"{batched(servers['farcalld'], case)}")
    print(f"  {'rows/s, p99 ms':14}" + "".join(f"{count:>9} {'':7}" for count in CLIENTS))
    for peer in servers:
        if reason := left_out.get((case.name, form, peer)):
            print(f"  {peer:14} {reason}")
            continue
        cells = [(median(found, (case.name, form, count, peer), 0),
                  median(found, (case.name, form, count, peer), 2)) for count in CLIENTS]
        print(f"  {peer:14}" + "".join(
            f"{rate:9.0f} {late:7.2f}" if rate else f"{'none':>9} {'':7}"
            for rate, late in cells))
    for peer in servers:
        rates, costs = ([ratio(found, case.name, form, count, peer, at)
                         for count in CLIENTS] for at in (0, 3))
        if peer != "farcalld" and any(rates):
            print(f"  {'times ' + peer:14}" + "".join(
                f"{rate or 0:9.2f} {1 / cost if cost else 0:7.2f}"
                for rate, cost in zip(rates, costs)))


# For a model and a form: how many times the rows per second of --batch=off are required
# at 16 clients.
GOALS = {("mlp", "raw"): 4, ("mlp2048", "raw"): 4, ("mlp512", "JSON"): 3}


def judge(found, case, form):
    def goal(text, value, wanted, least):
        if value is not None:
            clients.goal(f"{case}, {form}: {text}", value, wanted, least)
    wanted = GOALS.get((case, form))
    others = [ratio(found, case, form, 16, peer) for peer in PEERS if peer != "off"]
    best = min((each for each in others if each), default=None)
    if wanted:
        goal("16 clients, times off", ratio(found, case, form, 16, "off"), wanted, True)
        goal("16 clients, times the best peer", best, 3, True)
    goal("1 client, times off", ratio(found, case, form, 1, "off"), 0.97, True)
    goal("p99 of 16 clients, times off", ratio(found, case, form, 16, "off", 2), 1, False)


def main():
    cases = [Case(name) for name in NAMES]
    servers, missing = {}, {}
    with contextlib.ExitStack() as stack:
        for peer in ["farcalld", *PEERS]:
            try:
                servers[peer] = STARTS[peer](cases)
                stack.callback(servers[peer].stop)
            except (RuntimeError, OSError) as problem:
                if peer in ("farcalld", "off"):
                    raise
                missing[peer] = str(problem)
        found, left_out = measure(servers, cases)
        for case in cases:
            for form in FORMS:
                print_table(found, left_out, case, form, servers)
    for peer, reason in missing.items():
        print(f"\n{peer} did not start: {reason}")
    print()
    for case in [] if ANALYZED else cases:  # which sends less than they answer
        for form in FORMS:
            judge(found, case.name, form)


if __name__ == "__main__":
    main()
