# SPDX-License-Identifier: Apache-2.0
"""The scenarios in which torture.py causes faults (at the end of this file): servers
that run, servers that start, commands. A step gets a `Client` and makes requests
with it; it raises if an answer is wrong."""
import contextlib
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading

from certificates import Authority
from otlp import Collector
from reloading import FUNCTION, MARK, SIDECAR, Numbered
from kinds import Command, Running, Starting
from loops import loop, loop_afresh, loop_of_events, loops_left
from sessions import session
from traced import PATIENCE, Defect, Torn

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPUS = ROOT / "tests/corpus"
SCALARS = CORPUS / "vmfb/scalars-3.13.0.vmfb"
HALF = CORPUS / "iree/releases/half-3.13.0-llvm-cpu.vmfb"
ROLES = CORPUS / "iree/roles/roles.vmfb"
WEIGHTS = CORPUS / "iree/parameters/parameters-llvm-cpu.vmfb"
ARCHIVE = CORPUS / "irpa/data.irpa"
MATMUL = [[[1, 2], [3, 4]], [[1, 0], [0, 2]]]
PRODUCT = [[[1.0, 4.0], [3.0, 8.0]]]
PROCESS, THREAD = "--isolation=process", "--isolation=thread"
SECRET = "s" * 43
BYTES = {"Content-Type": "application/octet-stream", "Accept": "application/octet-stream"}


def prepare(bench):
    """Makes modules, certificates and files, and starts the server that commands use.
    That server is not traced."""
    top = bench.folder
    bench.modules, bench.faults = top / "modules", top / "faults"
    for each in bench.modules, bench.faults, top / "s", top / "w":
        each.mkdir()
    for name, folder in ("tensor", bench.modules), ("faults", bench.faults):
        subprocess.run([bench.bin / "farcall", "compile",
                        ROOT / f"tests/modules/mlir/{name}.mlir", "-o",
                        folder / f"{name}.so"], check=True, timeout=120)
    bench.tensor = bench.modules / "tensor.so"
    shutil.copy(SCALARS, top / "s/s.vmfb")
    shutil.copy(WEIGHTS, top / "w/w.vmfb")
    bench.scalars, bench.weights = top / "s/s.vmfb", top / "w/w.vmfb"
    bench.three = top / "three"
    bench.three.mkdir()
    for name in "abc":
        shutil.copy(SCALARS, bench.three / f"{name}.vmfb")
    native = ROOT / "tests/modules/native"
    bench.crash = top / "crash.so"
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", bench.crash, native / "crash.c"],
                   check=True)
    shutil.copy(native / "crash.farcall.json", top)
    bench.numbered = top / "numbered"
    bench.numbered.mkdir()
    bench.number = Numbered(bench.numbered, top)
    bench.number.put(0)
    (top / "calls.jsonl").write_text(json.dumps(
        {"function": "fact", "args": [5], "results": [120]}) + "\n")
    bench.calls = top / "calls.jsonl"
    (top / "wrong.jsonl").write_text(json.dumps(
        {"function": "fact", "args": [5], "results": [121]}) + "\n")
    bench.npy = top / "two.npy"
    bench.npy.write_bytes(npy(2, 4, [1.0] * 8))
    bench.wrong_source = top / "wrong.mlir"
    bench.wrong_source.write_text("func.func @f() { nonsense }\n")
    bench.broken = top / "broken.so"
    bench.broken.write_bytes(b"\x7fELFnonsense" * 10)
    bench.authority = Authority(top)
    bench.certificate = bench.authority.sign("server")
    bench.tokens = top / "tokens"
    bench.tokens.write_text(
        f"all call,read,admin,metrics {hashlib.sha256(SECRET.encode()).hexdigest()}\n")
    bench.tokens.chmod(0o600)
    bench.config = top / "farcalld.conf"
    bench.config.write_text(json.dumps(
        {"paths": [str(bench.tensor)], "timeout": "20s", "modules": {"tensor": {
            "isolation": "process"}}}))
    bench.client = bench.authority.sign("client")
    bench.hostile = top / "hostile"
    bench.hostile.mkdir()
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", bench.hostile / "peek.so",
                    HERE / "peek.c"], check=True)
    (bench.hostile / "peek.farcall.json").write_text(sidecar("peek"))
    shutil.copy(bench.tools / "modules/hostile/others.so", bench.hostile)
    (bench.hostile / "others.farcall.json").write_text(sidecar("parent_priority", "fine"))
    bench.trusted = top / "trusted"
    bench.trusted.write_text("".join(
        f"{hashlib.sha256(each.read_bytes()).hexdigest()}  {each.name}\n"
        for each in bench.modules.iterdir()))
    bench.ranged = top / "ranged"
    bench.ranged.write_text(bench.tokens.read_text().strip() + " priority=-2..3\n")
    bench.ranged.chmod(0o600)
    bench.collector = Collector()
    bench.asked = subprocess.Popen(
        [bench.bin / "farcalld", "--listen=127.0.0.1:0", "--access-log=off",
         "--admin=loopback", bench.tensor, bench.scalars], env=bench.environment(),
        stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    for line in bench.asked.stderr:
        if "listening on " in line:
            bench.url = line.split("listening on ")[1].split('"')[0].split()[0]
            break
    threading.Thread(target=bench.asked.stderr.read, daemon=True).start()


def finish(bench):
    for each in (getattr(bench, "asked", None),):
        if each:
            each.terminate()
            each.wait(PATIENCE)
    if hasattr(bench, "collector"):
        bench.collector.close()


def sidecar(*kinds):
    return json.dumps({"farcall": 1, "abi": "mlir-memref", "functions": [
        {"name": name, "symbol": "_mlir_ciface_" + name, "cc": "ciface",
         "args": [{"type": "i32"}], "results": [{"type": "i32"}]} for name in kinds]})


def npy(rows, columns, numbers):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (rows, columns)
    head = head.ljust(117) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
            + struct.pack(f"<{rows * columns}f", *numbers))


# ---------------------------------------------------------------------------
# Steps

def matmul(client):
    client.call("tensor/matmul", MATMUL, PRODUCT)


def fact(client):
    client.call("s/fact", [5], [120])


def dense(client):
    client.call("w/dense", [[[1, 2, 3, 4]]], [[[22.0, 37.0]]])


def twice(client):
    client.call("half-3.13.0-llvm-cpu/twice", [[1, 2], [1, 2]], [[2.0, 4.0], [2.0, 4.0]])


def in_bytes(client):
    document = json.dumps({"args": [{"shape": [2, 2], "binary_data_size": 16}] * 2})
    body = document.encode() + struct.pack("<8f", 1, 2, 3, 4, 1, 0, 0, 2)
    client.ask("POST", "/api/v1/functions/tensor/matmul", body,
               {**BYTES, "Inference-Header-Content-Length": str(len(document))},
               want=lambda got: got.body.endswith(struct.pack("<4f", 1, 4, 3, 8)))


def in_npy(client, rows=2):
    """Calls mlp, from ?x4 to ?x2, with NPY files."""
    client.ask("POST", "/api/v1/functions/tensor/mlp", npy(rows, 4, [1.0] * 4 * rows),
               {"Content-Type": "application/x-npy", "Accept": "application/x-npy"},
               want=lambda got: len(got.body) == 128 + 8 * rows and is_row(got.body[-8:]))


def is_row(data):
    """True for the result of mlp for a row of ones. It depends on the processor's fused
    operations."""
    return all(abs(a - b) < 1e-3 for a, b in zip(struct.unpack("<2f", data), (0.0625, 1.8125)))


def gzipped(client):
    client.ask("POST", "/api/v1/functions/tensor/matmul",
               gzip.compress(json.dumps(MATMUL).encode()),
               {"Content-Encoding": "gzip", "Content-Type": "application/json"},
               want={"results": PRODUCT})


def compressed_answer(client):
    rows = 300
    client.ask("POST", "/api/v1/functions/tensor/softmax", json.dumps([[[1.0]] * rows]),
               {"Accept-Encoding": "gzip", "Content-Type": "application/json"},
               want=lambda got: json.loads(gzip.decompress(got.body))
               == {"results": [[[1.0]] * rows]})


def large(client):
    """A body and an answer of 1 MiB, which the worker gets in files."""
    rows = 1 << 16
    client.ask("POST", "/api/v1/functions/tensor/mlp", npy(rows, 4, [1.0] * 4 * rows),
               {"Content-Type": "application/x-npy", "Accept": "application/x-npy"},
               want=lambda got: len(got.body) == 128 + 8 * rows
               and got.body[128:] == got.body[-8:] * rows)


def large_json(client):
    rows = 1 << 15
    client.ask("POST", "/api/v1/functions/tensor/softmax", json.dumps([[[1.0]] * rows]),
               {"Content-Type": "application/json"}, want={"results": [[[1.0]] * rows]})


def chunked(client):
    parts = [json.dumps(MATMUL)[i:i + 7].encode() for i in range(0, 40, 7)]
    client.ask("POST", "/api/v1/functions/tensor/matmul", iter(parts),
               {"Content-Type": "application/json"}, want={"results": PRODUCT},
               encode_chunked=False)


def describe(client):
    client.ask("GET", "/api/v1", want=lambda got: got.json["version"])
    client.ask("GET", "/api/v1/modules",
               want=lambda got: got.json["modules"][0]["state"] == "ready")
    client.ask("GET", "/api/v1/modules/tensor?memory=1",
               want=lambda got: got.json["name"] == "tensor")
    client.ask("GET", "/api/v1/functions/tensor/matmul",
               want=lambda got: got.json["name"].endswith("matmul"))
    client.ask("GET", "/api/v1/functions/tensor/matmul/example")


def signatures(client):
    for form in "text", "mlir", "v1", "jsonschema":
        client.ask("GET", f"/api/v1/functions/tensor/matmul?format={form}",
                   want=lambda got: got.body)
    client.ask("GET", "/api/v1/modules?signatures=1",
               want=lambda got: got.json["modules"][0]["functions"])


def openapi(client):
    client.ask("GET", "/openapi.json", want=lambda got: got.json["openapi"] == "3.1.0")


def explorer(client):
    client.ask("GET", "/", fields={"Accept": "text/html"},
               want=lambda got: b"<html" in got.body)
    client.ask("GET", "/explorer.js", want=lambda got: got.body)


def metrics(client):
    client.ask("GET", "/metrics", want=lambda got: b"farcall_" in got.body)


def health(client):
    for path in "/livez", "/readyz", "/startupz", "/v2/health/live", "/v2/health/ready":
        client.ask("GET", path, clear=False)


def oip(client):
    client.ask("GET", "/v2", want=lambda got: got.json["name"])
    client.ask("GET", "/v2/models/s.fact", want=lambda got: got.json["name"])
    client.ask("POST", "/v2/models/s.fact/infer", json.dumps({"inputs": [
        {"name": "0", "shape": [], "datatype": "INT64", "data": [5]}]}),
        want=lambda got: got.json["outputs"][0]["data"] == [120])
    client.ask("GET", "/v2/models/s.fact/stats",
               want=lambda got: got.json["model_stats"])


def oip_bytes(client):
    inputs = [{"name": name, "shape": [2, 2], "datatype": "FP32",
               "parameters": {"binary_data_size": 16}} for name in ("0", "1")]
    document = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}})
    client.ask("POST", "/v2/models/tensor.matmul/infer",
               document.encode() + struct.pack("<8f", 1, 2, 3, 4, 1, 0, 0, 2),
               {"Inference-Header-Content-Length": str(len(document))},
               want=lambda got: got.body.endswith(struct.pack("<4f", 1, 4, 3, 8)))


def oip_repository(client):
    client.ask("POST", "/v2/repository/index", "{}", want=lambda got: got.json)


def tf(client):
    client.ask("POST", "/v1/models/s.fact:predict", json.dumps({"inputs": 5}),
               want={"outputs": 120})
    client.ask("GET", "/v1/models/s.fact/metadata", want=lambda got: got.json)


def mistakes(client):
    """Wrong requests are answered with the right status."""
    for path, body, status in (
            ("/api/v1/functions/tensor/matmul", "[[", 400),
            ("/api/v1/functions/tensor/matmul", "[[1]]", 422),
            ("/api/v1/functions/tensor/none", "[]", 404),
            ("/api/v1/functions/none/none", "[]", 404)):
        client.ask("POST", path, body, {"Content-Type": "application/json"},
                   status=status, want=lambda got: got.json["code"])
    client.ask("GET", "/nowhere", status=404)
    client.ask("DELETE", "/api/v1", status=405)


@contextlib.contextmanager
def connected(client):
    """A connection, and a buffer for the bytes that it receives."""
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    got = bytearray()
    try:
        connection.connect(client.server.address)
        yield connection, got
    except TimeoutError:
        raise Defect(f"no answer; so far {bytes(got[-200:])!r}") from None
    except OSError as error:
        if not client.calm:
            client.outcomes["closed"] += 1
        raise Torn(repr(error)) from None
    finally:
        connection.close()


def gather(connection, got):
    """Receives until the server closes the connection."""
    while part := connection.recv(65536):
        got += part


def raw(client, data, ends):
    """Sends bytes over a connection, and receives until the answer ends in `ends`."""
    with connected(client) as (connection, got):
        connection.sendall(data)
        while not got.endswith(ends):
            part = connection.recv(65536)
            if not part:
                raise OSError("closed after %r" % bytes(got[-80:]))
            got += part
    return bytes(got)


def pipelined(client):
    body = json.dumps(MATMUL).encode()
    one = (b"POST /api/v1/functions/tensor/matmul HTTP/1.1\r\nHost: localhost\r\n"
           b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    last = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with connected(client) as (connection, got):
        connection.sendall(one * 5 + last)
        gather(connection, got)
    seen = got.count(b"HTTP/1.1 200")
    if seen != 6:
        client.outcomes["refused" if b'"error"' in got else "closed"] += 1
        raise Torn(f"{seen} answers of 6: {bytes(got[-200:])!r}")
    if got.count(b"[[[1.0,4.0],[3.0,8.0]]]") != 5:
        raise Defect(f"wrong answers: {bytes(got)!r}")


def expecting(client):
    body = json.dumps(MATMUL).encode()
    with connected(client) as (connection, got):
        connection.sendall(
            b"POST /api/v1/functions/tensor/matmul HTTP/1.1\r\nHost: localhost\r\n"
            b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
            % len(body))
        got += connection.recv(1000)
        if got.startswith(b"HTTP/1.1 100"):
            connection.sendall(body)
        gather(connection, got)
    if b"[[[1.0,4.0],[3.0,8.0]]]" not in got:
        client.outcomes["refused" if b'"error"' in got else "closed"] += 1
        raise Torn(f"refused: {bytes(got)!r}")


def gone(client):
    """A client leaves during its call; the next call is answered."""
    try:
        connection = socket.create_connection(client.server.address, timeout=PATIENCE)
        connection.sendall(b"POST /api/v1/functions/faults/spin HTTP/1.1\r\nHost: localhost"
                           b"\r\nContent-Length: 10\r\n\r\n[30000000]")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    except OSError as error:
        client.outcomes["closed"] += 1
        raise Torn(repr(error)) from None
    client.call("faults/spin", [1], [0x5851F42D4C957F2D + 0x14057B7EF767814F])


def late(client):
    """A call exceeds its deadline: its process is ended, and another one is started."""
    client.ask("POST", "/api/v1/functions/faults/spin", "[3000000000]",
               {"Content-Type": "application/json", "Farcall-Timeout-Ms": "30"},
               status=504)
    client.call("faults/spin", [0], [1])


def crash(client):
    """A function ends its process. Another process is started and answers."""
    client.ask("POST", "/api/v1/functions/crash/stop", "[11]",
               {"Content-Type": "application/json"}, status=502)
    client.call("crash/add", [6, 3], [9])


def reload_by_signal(client):
    """Writes a new file and sends SIGHUP. `number` counts the files."""
    number = client.number = getattr(client, "number", 0) + 1
    client.server.bench.number.put(number)
    client.server.signal(signal.SIGHUP)

    def there():
        try:
            return number_of(client) == number
        except Torn:
            return False
    client.until(there, f"number {number}")
    client.ask("POST", FUNCTION, "[2]",
               want=lambda got: got.json["results"][0] // 1000000 == 2)


def number_of(client):
    return client.ask("POST", FUNCTION, "[0]").json["results"][0]


def watched(client):
    """Writes a new file, which the server notices by itself."""
    number = client.number = getattr(client, "number", 0) + 1
    client.server.bench.number.put(number)

    def there():
        try:
            return number_of(client) >= number
        except Torn:
            return False
    client.until(there, f"number {number}")


def acts(client):
    """Reloads, unloads and loads a module by HTTP."""
    for verb, state in ("reload", "ready"), ("unload", "unloaded"), ("load", "ready"):
        if verb == "reload":
            number = client.number = getattr(client, "number", 0) + 1
            client.server.bench.number.put(number)
        try:
            client.ask("POST", f"/api/v1/modules/numbered/{verb}", b"",
                       want=lambda got: got.json["state"] == state)
        except Torn:
            client.attempt("POST", "/api/v1/modules/numbered/load", b"")
            raise
    client.ask("POST", FUNCTION, "[2]",
               want=lambda got: got.json["results"][0] // 1000000 == 2)


def promoted(client):
    """Moves an alias, and the move is saved."""
    for version in 1, 2:
        client.ask("POST", f"/api/v1/modules/m@{version}/promote", b"")
        client.ask("POST", "/api/v1/functions/m/number", "[0]",
                   want=lambda got: got.json["results"][0] == version)


def on_demand(client):
    """The first calls of three modules, while only one of them fits into memory."""
    for name in "abc":
        client.call(f"{name}/fact", [5], [120])


def with_share(client):
    client.call("tensor/matmul", MATMUL, PRODUCT,
                fields={"Authorization": f"Bearer {SECRET}", "Farcall-Priority": "1"})


def with_token(client):
    bearer = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}
    client.ask("POST", "/api/v1/functions/s/fact", "[5]", status=401)
    client.call("s/fact", [5], [120], fields=bearer)


def tokens_again(client):
    client.server.signal(signal.SIGHUP)
    with_token(client)


def keys_again(client):
    client.server.signal(signal.SIGHUP)
    fact(client)


def traced(client):
    client.call("s/fact", [5], [120], fields={
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})


def preflight(client):
    client.ask("OPTIONS", "/api/v1/functions/s/fact", None, {
        "Origin": "https://a.example", "Access-Control-Request-Method": "POST"}, status=204)
    client.call("s/fact", [5], [120], fields={"Origin": "https://a.example"})


def profiled(client):
    client.ask("POST", "/api/v1/functions/s/fact?profile=1", "[5]",
               {"Content-Type": "application/json"},
               want=lambda got: got.json["results"] == [120])


def validated(client):
    client.ask("POST", "/api/v1/functions/tensor/matmul?validate=only",
               json.dumps(MATMUL), {"Content-Type": "application/json"}, status=204)


def many(client):
    """Makes eight calls at once."""
    ends = []

    def one():
        try:
            matmul(client)
            ends.append(None)
        except (Torn, Defect) as end:
            ends.append(end)
    threads = [threading.Thread(target=one) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for kind in Defect, Torn:
        for each in ends:
            if isinstance(each, kind):
                raise each


# This must hold whatever fails: a process that answers is in its jail.

def jailed(client):
    """The module opens a file and must get an error. 0 would mean that it could open
    the file."""
    for _ in range(2):
        client.ask("POST", "/api/v1/functions/peek/peek", "[0]",
                   {"Content-Type": "application/json"},
                   want=lambda got: got.json["results"][0] != 0)


def confined(client):
    """The module reaches for the server and gets EPERM, even in the basic jail."""
    client.call("others/parent_priority", [0], [1])
    client.call("others/fine", [41], [42])


def distrusted(client):
    """A file that --trust does not list is never served, also after the list is read
    again."""
    client.server.signal(signal.SIGHUP)
    refused(client, "s/fact", "[5]")
    matmul(client)


def refused(client, function, body):
    try:
        got = client.ask("POST", f"/api/v1/functions/{function}", body,
                         {"Content-Type": "application/json"}, want=lambda got: True)
    except Torn:
        return
    raise Defect(f"{function} is served: {got.body[:100]}")


def shared(client, fields=()):
    """Four calls of a client that may have only one. Each is answered, or gets a 429
    that says when to come again. Afterwards the client may still have one."""
    ends = []

    def one():
        try:
            ends.append(client.ask(
                "POST", "/api/v1/functions/tensor/matmul", json.dumps(MATMUL),
                {"Content-Type": "application/json", "Farcall-Priority": "1", **dict(fields)},
                want=lambda got: got.json == {"results": PRODUCT}))
        except Torn as torn:
            if not (client.calm and ": 429 " in str(torn)):
                ends.append(torn)
        except Defect as defect:
            ends.append(defect)
    threads = [threading.Thread(target=one) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for kind in Defect, Torn:
        for each in ends:
            if isinstance(each, kind):
                raise each
    client.call("tensor/matmul", MATMUL, PRODUCT, fields=dict(fields))


def shared_by_token(client):
    shared(client, {"Authorization": f"Bearer {SECRET}"})


# ---------------------------------------------------------------------------
# Command lines of servers

def words(*options, of=("tensor",)):
    return lambda bench: [*(each.format(**vars(bench)) for each in options),
                          *(getattr(bench, each) for each in of)]


def hostile(name, *options):
    return lambda bench: [*options, bench.hostile / f"{name}.so"]


def versions(bench):
    (bench.folder / "state").mkdir(exist_ok=True)
    folder = bench.folder / "versions"
    for version in 1, 2:
        place = folder / "m" / str(version)
        place.mkdir(parents=True, exist_ok=True)
        (place / "model.so").write_bytes(bench.number.bytes.replace(
            struct.pack("<q", MARK), struct.pack("<q", version)))
        (place / "model.farcall.json").write_text(json.dumps(SIDECAR))
    return ["--admin=loopback", f"--state-dir={bench.folder / 'state'}", PROCESS, folder]


def tls(bench):
    file, key = bench.certificate
    return [f"--tls-cert={file}", f"--tls-key={key}", bench.scalars]


def by_tls(server, bench):
    server.tls = ssl.create_default_context(cafile=str(bench.authority.file))


def mutual(bench):
    return [*tls(bench), f"--client-ca={bench.authority.file}"]


def by_certificate(server, bench):
    by_tls(server, bench)
    server.tls.load_cert_chain(*bench.client)


def by_token(server, bench):
    server.fields = {"Authorization": f"Bearer {SECRET}"}


def unix(bench):
    return [f"--listen=unix:{bench.folder / 'socket'}", bench.scalars]


def traces(bench):
    return [f"--otlp={bench.collector.url}", "--trace-sample=1", bench.scalars]


def asked(*line):
    """A command line of farcall that uses the server which is not traced."""
    return lambda bench: [*line, f"--server={bench.url}"]


def of_files(*line):
    """A command line of farcall in which {name} is a file of the bench."""
    return lambda bench: [each.format(**vars(bench)) for each in line]


JAILS = [("strict", ["--sandbox=strict"], "peek", jailed),
         ("basic", ["--sandbox=basic"], "others", confined)]
if os.geteuid() == 0:
    JAILS += [("user", ["--worker-user=65534:65534"], "others", confined)]
SHARE = ("--client-calls=1", "--client-connections=16", "--client-memory=1M",
         "--priority=-2..3")
BOTH = [("process", PROCESS), ("thread", THREAD)]

SCENARIOS = [
    *(Running(f"{step.__name__}@{name}", words(host), step)
      for step in (matmul, in_bytes, in_npy, gzipped, compressed_answer, large,
                   large_json, many)
      for name, host in BOTH),
    *(Running(f"{step.__name__}@{name}", words(host, "--write-timeout=600s",
                                               of=("scalars",)), step)
      for step in (loop, loops_left) for name, host in BOTH),
    *(Running(f"session@{name}", lambda bench, host=host: [host, "--workers=1",
                                                           "--crash-limit=0", ROLES], session)
      for name, host in BOTH),
    Running("loop_of_events", words(PROCESS, of=("scalars",)), loop_of_events),
    Running("loop_afresh", words("--fresh=call"), loop_afresh),
    Running("chunked", words(PROCESS), chunked),
    Running("pipelined", words(PROCESS), pipelined),
    Running("expecting", words(PROCESS), expecting),
    Running("validated", words(PROCESS), validated),
    Running("fact", words(of=("scalars",)), fact),
    Running("fact@process", words(PROCESS, of=("scalars",)), fact),
    Running("twice@thread", lambda bench: [THREAD, HALF], twice),
    Running("twice@tiles", lambda bench: [PROCESS, "--tiles=2", HALF], twice),
    Running("describe", words(PROCESS), describe),
    Running("signatures", words(THREAD), signatures),
    Running("openapi", words(PROCESS, of=("tensor", "scalars")), openapi),
    Running("explorer", words(PROCESS), explorer),
    Running("metrics", words(PROCESS, "--metrics-triton"), metrics),
    Running("health", words(PROCESS), health),
    Running("oip", words(of=("scalars",)), oip),
    Running("oip_bytes", words(PROCESS), oip_bytes),
    Running("oip_repository", words("--admin=loopback"), oip_repository),
    Running("tf", words(of=("scalars",)), tf),
    Running("mistakes", words(PROCESS), mistakes),
    Running("access_log", words("--access-log=on", "--log-format=json"), matmul),
    Running("weights", lambda bench: [f"--parameters=model={ARCHIVE}", THREAD,
                                      bench.weights], dense),
    Running("profiled", words("--admin=loopback", of=("scalars",)), profiled),
    Running("gone", words(PROCESS, "--cancel=kill", "--workers=1", of=("faults",)), gone),
    Running("late", words(PROCESS, "--workers=1", "--crash-limit=0", of=("faults",)),
            late),
    Running("crash", words(PROCESS, "--workers=1", "--crash-limit=0", of=("crash",)),
            crash, signals=(signal.SIGSEGV,)),
    Running("reload_by_signal@process", words(PROCESS, of=("numbered",)), reload_by_signal),
    Running("reload_by_signal@thread", words(THREAD, of=("numbered",)), reload_by_signal),
    Running("watched", words(PROCESS, "--watch", of=("numbered",)), watched),
    Running("acts@process", words(PROCESS, "--admin=loopback", of=("numbered",)), acts),
    Running("acts@thread", words(THREAD, "--admin=loopback", of=("numbered",)), acts),
    Running("promoted", versions, promoted),
    Running("on_demand", words(THREAD, "--load=demand", "--module-memory=1500K",
                               of=("three",)), on_demand),
    Running("unix", unix, fact),
    Running("tls", tls, fact, prepare=by_tls),
    Running("keys_again", tls, keys_again, prepare=by_tls),
    Running("with_token", lambda bench: [f"--token-file={bench.tokens}", bench.scalars],
            with_token),
    Running("tokens_again", lambda bench: [f"--token-file={bench.tokens}", bench.scalars],
            tokens_again),
    Running("mutual", mutual, fact, prepare=by_certificate),
    *(Running(f"{step.__name__}@{name}", hostile(file, PROCESS, "--workers=1", "--crash-limit=0",
                                              *options), step)
      for name, options, file, step in JAILS),
    *(Running(f"late@{name}", words(PROCESS, "--workers=1", "--crash-limit=0", *options,
                                    of=("faults",)), late)
      for name, options, _, _ in JAILS),
    Running("fresh", words("--fresh=call"), matmul),
    Running("jailed@fresh", hostile("peek", "--fresh=call", "--sandbox=strict",
                                    "--workers=1", "--crash-limit=0"), jailed),
    Running("distrusted", words("--trust={trusted}", PROCESS, of=("tensor", "scalars")),
            distrusted),
    Running("shared", words(PROCESS, *SHARE), shared),
    Running("shared_by_token", words("--token-file={ranged}", THREAD, *SHARE),
            shared_by_token),
    Running("traced", traces, traced),
    Running("preflight", words("--allow-origin=https://a.example", of=("scalars",)),
            preflight),
    Running("config", lambda bench: [f"--config={bench.config}"], matmul),

    Starting("start@process", words(PROCESS), matmul),
    Starting("start@thread", words(THREAD), matmul),
    Starting("start_bytecode", words(of=("scalars",)), fact),
    Starting("start_weights", lambda bench: [f"--parameters=model={ARCHIVE}",
                                             bench.weights], dense),
    Starting("start_config", lambda bench: [f"--config={bench.config}"], matmul),
    Starting("start_watching", words("--watch", "--admin=loopback", of=("modules",)), matmul),
    Starting("start_demand", words("--load=demand", of=("modules",)), matmul),
    Starting("start_state", versions, lambda client: client.ask(
        "POST", "/api/v1/functions/m/number", "[0]",
        want=lambda got: got.json["results"][0] in (1, 2))),
    Starting("start_tls", tls, fact, prepare=by_tls),
    Starting("start_tokens", lambda bench: [f"--token-file={bench.tokens}", bench.scalars],
             with_token, prepare=by_token),
    Starting("start_unix", unix, fact),
    Starting("start_traces", traces, fact),
    # The client certificates are younger than the hour by which the clock goes back.
    Starting("start_mutual", mutual, fact, prepare=by_certificate, skips=("clock_back",)),
    *(Starting(f"start@{name}", hostile(file, PROCESS, "--workers=1", "--crash-limit=0",
                                              *options), step)
      for name, options, file, step in JAILS),
    Starting("start_fresh", words("--fresh=call"), matmul),
    Starting("start_trusted", words("--trust={trusted}", PROCESS), matmul),
    Starting("start_shares", words("--token-file={ranged}", THREAD, *SHARE), with_share,
             prepare=by_token),

    Command("check", of_files("-t", "--config={config}"), program="farcalld"),
    Command("print", of_files("-T", "--config={config}"), program="farcalld"),
    Command("check_tls", lambda bench: ["-t", *tls(bench)[:2]], program="farcalld"),
    Command("sig_native", of_files("sig", "{tensor}")),
    Command("sig_bytecode", of_files("sig", "--json", "{scalars}")),
    Command("sig_broken", of_files("sig", "{broken}"), status=65),
    Command("sig_absent", of_files("sig", "{folder}/none.so"), status=65),
    Command("run_native", of_files("run", "{tensor}", "--function=matmul",
                                   "--json=[[[2]],[[3]]]")),
    Command("run_bytecode", of_files("run", "{scalars}", "--function=fact", "--input=5")),
    Command("run_npy", of_files("run", "{tensor}", "--function=mlp", "--input=@{npy}",
                                "--output=@out.npy"), made=("out.npy",)),
    Command("run_weights", of_files("run", "{weights}", f"--parameters=model={ARCHIVE}",
                                    "--input=[[1,2,3,4]]")),
    Command("test", of_files("test", "{scalars}", "{calls}")),
    Command("test_wrong", of_files("test", "{scalars}", "{folder}/wrong.jsonl"), status=1),
    Command("diff", of_files("diff", "{scalars}", "{scalars}", "{calls}"),
            alike=lambda printed: printed),
    Command("dump", of_files("dump", "{scalars}")),
    Command("abi", of_files("abi", "parse", "sip", "-"), given="I1!R1!"),
    Command("profile", of_files("profile", "{scalars}", "fact", "--input=5"),
            alike=lambda printed: "fact" in printed),
    Command("explain", of_files("explain")),
    Command("token", of_files("token", "new", "ci", "--scope=call"),
            alike=lambda printed: "ci" in printed),
    Command("completion", of_files("completion", "bash")),
    Command("compile", lambda bench: ["compile", ROOT / "examples/add.mlir", "-o",
                                      "add.so"], made=("add.so", "add.farcall.json"),
            alike=lambda printed: True),
    Command("compile_wrong", of_files("compile", "{wrong_source}", "-o", "wrong.so"),
            status=65),
    Command("call", asked("call", "tensor/matmul", "--json=[[[2]],[[3]]]")),
    Command("call_npy", lambda bench: [
        "call", "tensor/mlp", f"--input=@{bench.npy}", "--output=@out.npy",
        f"--server={bench.url}"], made=("out.npy",)),
    Command("call_grpc", lambda bench: ["call", "tensor/matmul", "--json=[[[2]],[[3]]]",
                                        f"--server=grpc{bench.url[4:]}"]),
    Command("call_wrong", asked("call", "tensor/none", "--json=[]"), status=1),
    # The session ends by itself before there are too many of them.
    Command("session", asked("session", "new", "s", "--ttl=1"),
            alike=lambda printed: len(printed) == 33),
    Command("session_wrong", asked("session", "show", "s", "none"), status=1),
    Command("ls", asked("ls"), alike=lambda printed: "tensor" in printed),
    Command("sig_server", asked("sig", "tensor/matmul")),
    Command("health_server", asked("health")),
    Command("reload_server", asked("reload", "tensor"), alike=lambda printed: True),
    Command("top", asked("top", "--once"), alike=lambda printed: "tensor" in printed),
    Command("bench", lambda bench: [
        "bench", "s/fact", f"--server={bench.url}", "--json=[5]", "--duration=50ms",
        "--warmup=10ms", "--concurrency=2", "--save=saved"], made=("saved",),
        alike=lambda printed: printed),
    Command("doctor_onnx", of_files("doctor", f"{CORPUS}/doctor/relu.onnx")),
    Command("doctor_unfit", of_files("doctor", "--json", f"{CORPUS}/doctor/unknown.onnx"),
            status=1),
    Command("doctor_mlir", of_files("doctor", f"{CORPUS}/doctor/gpu.mlir"), status=1),
    Command("doctor_module", of_files("doctor", "{scalars}")),
    Command("compile_unfit", of_files("compile", f"{CORPUS}/doctor/unknown.onnx", "-o",
                                      "unfit.vmfb"), status=65),
    Command("embed_native", of_files("{tensor}", "matmul", "f32"),
            program="farcall_embed"),
    Command("embed_bytecode", of_files("{scalars}", "fact", "i64"),
            program="farcall_embed"),
    *(Command(f"embed_again_{name}", of_files(*line, "again"), program="farcall_embed",
              alike=lambda printed, want=want: printed.endswith(want))
      for name, line, want in (("native", ("{tensor}", "matmul", "f32"), "22\n"),
                               ("bytecode", ("{scalars}", "fact", "i64"), "120\n"))),
]
