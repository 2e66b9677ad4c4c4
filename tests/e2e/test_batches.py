# SPDX-License-Identifier: Apache-2.0
"""Waiting calls are computed together, and every answer is the same as if the call was
made alone. The same load is made with and without batches, over every dialect,
together with calls that fail, crash, are late or are dropped."""
import json
import os
import re
import shutil
import struct
import subprocess
import time

import pytest

from conftest import BIN
from reloading import wait_until
from test_faces import FACES, Model
from test_rows import BACKENDS, MODULES, SIZES, folder, inputs  # noqa: F401

BODY, BEGIN, LEAVE, LATE = range(4)
# With only one worker, calls have to wait.
BUSY = ["--batch=auto", "--workers=1", "--lane=never", "--crash-limit=0"]


class Recorder:
    """Records requests to a server, and its answers."""

    def __init__(self, server):
        self.server = server
        self.cases = []

    def request(self, method, path, body=None, headers=None):
        reply = self.server.request(method, path, body, headers)
        self.note(BODY, reply.status, path, body, headers, reply.body)
        return reply

    def get(self, path):
        return self.server.get(path)

    def call(self, function, document, what=BODY, headers=None):
        body = document if isinstance(document, str) else json.dumps(document)
        path = f"/api/v1/functions/{function}"
        headers = {"Content-Type": "application/json", **(headers or {})}
        if what == LEAVE:
            self.note(LEAVE, None, path, body, headers, b"")
            return
        reply = self.server.request("POST", path, body, headers)
        if what == LATE:
            headers["Farcall-Timeout-Ms"] = "1"
        self.note(what, reply.status, path, body, headers, reply.body)

    def note(self, what, status, path, body, headers, answer):
        if status and status >= 400:
            what, answer = BEGIN, answer.split(b'"detail"')[0]
        body = body.encode() if isinstance(body, str) else body or b""
        lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}",
                 *(f"{name}: {value}" for name, value in (headers or {}).items())]
        request = "\r\n".join(lines).encode() + b"\r\n\r\n" + body
        self.cases.append(struct.pack("=4I", what, status or 0, len(request), len(answer))
                          + request + answer)


def record(server, function, recorder):
    """Records calls of one row and of more in every form, and calls that are refused."""
    model = Model(function.replace("/", "."),
                  server.get(f"/v2/models/{function.replace('/', '.')}").json)
    names = list(model.inputs)
    for count in [1, 1, 2, 1, 3, 9]:
        x, y = inputs(len(recorder.cases) * 10 + count)
        x, y = x[:count], y[:count]
        model.inputs[names[0]], model.inputs[names[1]] = x, y
        for call in FACES.values():
            call(recorder, model)
    recorder.call(function, "[[[1,2,3,4]],[1]")
    recorder.call(function, [[[1, 2, 3]], [1]])
    recorder.call(function, [[[1, 2, 3, "x"]], [1]])


def load(server, recorder, path, count, connections=24, seed="1", timeout=1200):
    path.write_bytes(b"".join(recorder.cases))
    done = subprocess.run(
        [BIN.parent / "tests/batches", str(server.port), path, str(count), str(connections),
         seed], capture_output=True, text=True, timeout=timeout)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def number(server, name, function):
    """The value of a counter of a function."""
    module, function = function.split("/")
    text = server.get("/metrics").body.decode()
    labels = rf'{{module="{module}",function="{function}"}}'
    found = re.search(rf"^{name}{re.escape(labels)} (\S+)$", text, re.M)
    return float(found[1])


def executions(server, function):
    """For each number of calls computed together: how often that happened."""
    module, function = function.split("/")
    labels = rf'{{module="{module}",function="{function}",calls="(\d+)"}}'
    return {int(calls): int(count) for calls, count in re.findall(
        rf"^farcall_executions_total{labels} (\d+)$",
        server.get("/metrics").body.decode(), re.M)}


def counted_as_triton(server, model):
    """Requests, inferences (a request has as many as its batch has rows) and executions."""
    text = server.get("/metrics").body.decode()
    labels = rf'{{model="{re.escape(model)}",version="1"}}'
    return tuple(int(re.search(rf"^nv_inference_{name}{labels} (\d+)$", text, re.M)[1])
                 for name in ("request_success", "count", "exec_count"))


def test_answers_are_what_they_are_alone(serve, folder, tmp_path):  # noqa: F811
    alone = serve(*BUSY[1:], "--batch=off", folder)
    recorder = Recorder(alone)
    for name in MODULES:
        record(alone, f"{name}/good", recorder)
    load(alone, recorder, tmp_path / "cases", 2000)
    server = serve(*BUSY, "--metrics-triton", folder)
    load(server, recorder, tmp_path / "cases", 10000)
    batched = {name: number(server, "farcall_batched_calls_total", f"{name}/good")
               for name in MODULES}
    assert all(batched[name] > 0 for name in BACKENDS)
    # In threads, a .so is not called in batches.
    assert (batched["mlir"] > 0) == (os.environ["FARCALL_ISOLATION"] == "process")
    executed = executions(server, "bytecode/good")
    assert set(executed) <= {1, 2, 4, 8, 16} and max(executed) > 1
    calls, _, executions_ = counted_as_triton(server, "bytecode.good")
    assert 0 <= executions_ - sum(executed.values()) < len(executed) and executions_ < calls
    assert executions(alone, "bytecode/good").keys() == {1}
    assert sum(number(alone, "farcall_batched_calls_total", f"{name}/good")
               for name in MODULES) == 0


# A function with rows, and with an argument that all rows share.
PLAIN = """
func.func @plain_bs{n}(%x: tensor<{n}x2xf32>, %w: tensor<{n}x2xf32>, %s: f32)
    -> tensor<{n}x2xf32> {{
  %y = arith.addf %x, %w : tensor<{n}x2xf32>
  return %y : tensor<{n}x2xf32>
}}
func.func @rows_bs{n}(%x: tensor<{n}x2xf32>, %w: tensor<{n}xi32>)
    -> (tensor<{n}x2xf32>, tensor<{n}xi32>) {{
  return %x, %w : tensor<{n}x2xf32>, tensor<{n}xi32>
}}
"""


@pytest.mark.parametrize("batch", ["off", "auto"])
def test_clients_of_triton_see_batches(serve, iree, tmp_path, batch):
    """As Triton does: if everything has rows, dims are those of one row."""
    text = "".join(PLAIN.format(n=n) for n in SIZES)
    shutil.copy(iree.compile_text("plain", f"module {{{text}}}", *BACKENDS["bytecode"]),
                tmp_path / "m.vmfb")
    server = serve(f"--batch={batch}", "--metrics-triton", tmp_path)

    def config(model):
        document = server.get(f"/v2/models/{model}/config").json
        return (document["max_batch_size"], document.get("dynamic_batching"),
                *([each["dims"] for each in document[which]] for which in ("input", "output")))
    batching = {"preferred_batch_size": SIZES, "max_queue_delay_microseconds": 0}
    assert config("m.rows") == (8, batching if batch == "auto" else None, [[2], []], [[2], []])
    assert config("m.rows_bs4") == (0, None, [[4, 2], [4]], [[4, 2], [4]])
    assert config("m.plain") == (0, None, [[-1, 2], [-1, 2], []], [[-1, 2]])
    for count in 3, 1, 3, *range(20, 40):
        body = {"inputs": [
            {"name": "input0", "shape": [count, 2], "datatype": "FP32", "data": [1] * 2 * count},
            {"name": "input1", "shape": [count], "datatype": "INT32", "data": [1] * count}]}
        assert server.request("POST", "/v2/models/m.rows/infer", json.dumps(body)).status == 200
    (stats,) = server.get("/v2/models/m.rows/stats").json["model_stats"]
    assert (stats["inference_count"], stats["execution_count"]) == (7 + sum(range(20, 40)), 23)
    # The first calls are listed apart from the others.
    assert [(each["batch_size"], each["compute_infer"]["count"])
            for each in stats["batch_stats"]] == [
        (1, 1), (3, 2), *((count, 1) for count in range(20, 34))]
    assert stats["inference_stats"]["success"]["count"] == 23
    assert counted_as_triton(server, "m.rows") == (23, 7 + sum(range(20, 40)), 23)


def test_who_leaves_or_is_late_takes_nobody_along(serve, folder, tmp_path):  # noqa: F811
    server = serve(*BUSY, folder)
    recorder = Recorder(server)
    for count in range(60):
        x, y = inputs(1000 + count)
        what = [BODY, BODY, LEAVE, LATE][count % 4]
        recorder.call("bytecode/good", [x[:1].tolist(), y[:1].tolist()], what)
    done = load(server, recorder, tmp_path / "cases", 6000)
    assert done["left"] > 1000
    assert number(server, "farcall_batched_calls_total", "bytecode/good") > 0
    # Calls that nobody waits for have ended, too.
    wait_until(lambda: set(re.findall(r"^farcall_calls_running{.*} (.*)$",
                                      server.get("/metrics").body.decode(), re.M)) == {"0"})


# A row that has a 13 is refused by a check in the code.
CHECKED = """
func.func @f_bs{n}(%x: tensor<{n}x2xf32>) -> tensor<{n}x2xf32> {{
  %c0 = arith.constant 0 : index
  %bad = arith.constant 13.0 : f32
{checks}
  %y = arith.addf %x, %x : tensor<{n}x2xf32>
  return %y : tensor<{n}x2xf32>
}}
"""
CHECK = """
  %i{i} = arith.constant {i} : index
  %v{i} = tensor.extract %x[%i{i}, %c0] : tensor<{n}x2xf32>
  %ok{i} = arith.cmpf une, %v{i}, %bad : f32
  cf.assert %ok{i}, "thirteen"
"""


def test_only_the_refused_row_fails(serve, iree, tmp_path):
    text = "".join(CHECKED.format(n=n, checks="".join(CHECK.format(i=i, n=n) for i in range(n)))
                   for n in SIZES)
    shutil.copy(iree.compile_text("checked", f"module {{{text}}}", *BACKENDS["bytecode"]),
                tmp_path / "m.vmfb")
    server = serve(*BUSY, tmp_path)
    recorder = Recorder(server)
    for first in range(30):
        recorder.call("m/f", [[[first, 1.5]]])
    reply = server.call("m/f", [[[13, 0]]])
    assert reply.status == 422 and "thirteen" in reply.json["detail"], reply.json
    load(server, recorder, tmp_path / "cases", 4000)
    assert number(server, "farcall_batched_calls_total", "m/f") > 0


# A row whose first number is special crashes, is refused, hangs or is late.
ROWS = r"""
#include <stdint.h>
#include <stdlib.h>
typedef struct { float *a, *b; int64_t offset, sizes[2], strides[2]; } rows_t;
void _mlir_ciface_f(rows_t *out, rows_t *x) {
  const int64_t rows = x->sizes[0], width = x->sizes[1];
  float *y = malloc(sizeof(float) * rows * width);
  for (int64_t i = 0; i < rows; i++) {
    const float *at = x->b + x->offset + i * width;
    if (at[0] == 13) __builtin_trap();
    if (at[0] == 17) abort();
    if (at[0] == 19) for (volatile int on = 1; on;) {}
    for (int64_t k = 0; k < width; k++) y[i * width + k] = 3 * at[k] + at[0];
  }
  *out = (rows_t){y, y, 0, {rows, width}, {width, 1}};
}
"""


# This variant writes its result into the memory of its argument.
IN_PLACE = ROWS.replace("const float *at", "float *at").replace(
    "float *y = malloc(sizeof(float) * rows * width)", "float *y = x->b + x->offset").replace(
    "y[i * width + k] = 3 * at[k] + at[0]", "at[k] += 2 * at[k] + 1").replace(
    "*out = (rows_t){y, y, 0,", "*out = (rows_t){x->a, y, 0,")

# Each call takes as long, whatever the number of its rows.
STEADY = ROWS.replace(
    "float *y", "for (volatile int i = 0; i < 100000; i++) {}\n  float *y")


def compile_rows(path, sizes=(1, 4, 8), text=ROWS):
    (path / "m.c").write_text(text)
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", path / "m.so", path / "m.c"],
                   check=True)
    (path / "m.c").unlink()
    (path / "m.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": f"f_bs{n}", "symbol": "_mlir_ciface_f", "cc": "ciface",
             "args": [{"type": f"memref<{n}x3xf32>"}],
             "results": [{"type": f"memref<{n}x3xf32>"}]} for n in sizes]}))


def row(first):
    return [[[first, 1.5, -2]]]


def long_row(first, size):
    """A body of so many bytes."""
    text = json.dumps(row(first))
    return text[0] + " " * (size - len(text)) + text[1:]


@pytest.mark.parametrize("size, cases, count", [(20, 300, 4000), (40 << 10, 50, 1000)])
@pytest.mark.parametrize("what, status, code", [
    (13, 502, "worker_crashed"), (17, 422, "call_failed")])
def test_only_the_guilty_row_fails(process_server, tmp_path, what, status, code, size, cases,
                                   count):
    """Whatever one row does, the other rows of its batch are answered."""
    compile_rows(tmp_path)
    server = process_server(*BUSY, tmp_path)
    recorder = Recorder(server)
    for first in range(cases):
        recorder.call("m/f", long_row(first if first not in (13, 17, 19) else 0.5, size))
    reply = server.call("m/f", row(what))
    assert (reply.status, reply.json["code"]) == (status, code), reply.json
    recorder.call("m/f", long_row(what, size))
    # For a second after a crash there are no batches, and a load may take less.
    for _ in range(60):
        load(server, recorder, tmp_path / "cases", count)
        if number(server, "farcall_batched_calls_total", "m/f"):
            return
        time.sleep(1)
    pytest.fail("no batches")


@pytest.mark.parametrize("size, together", [
    (16 << 10, True), ((16 << 10) + 1, True), (256 << 10, True), ((256 << 10) + 1, False)])
def test_bodies_that_are_copied_at_once_are_batched(process_server, tmp_path, size, together):
    compile_rows(tmp_path, text=STEADY)
    server = process_server(*BUSY, tmp_path)
    recorder = Recorder(server)
    for first in range(20, 50):
        recorder.call("m/f", long_row(first, size))
    load(server, recorder, tmp_path / "cases", 300)
    assert (number(server, "farcall_batched_calls_total", "m/f") > 0) == together
    # At most 1 MiB of such bodies is copied in a turn.
    most = max([*executions(server, "m/f"), 1])
    assert most <= 4 or size < 256 << 10


def test_only_the_row_that_hangs_is_late(process_server, tmp_path):
    """The other calls of the batch are made again, also by the other worker."""
    compile_rows(tmp_path)
    server = process_server(*BUSY, "--workers=2", tmp_path)
    recorder = Recorder(server)
    for first in range(300):
        recorder.call("m/f", row(first if first not in (13, 17, 19) else 0.5))
    recorder.call("m/f", row(19), headers={"Farcall-Timeout-Ms": "2000"})
    assert recorder.cases[-1].startswith(struct.pack("=2I", BEGIN, 504))
    for _ in range(20):
        load(server, recorder, tmp_path / "cases", 600)
        if any("its calls take too long together" in line for line in server.lines):
            break
    else:
        raise AssertionError("no batch was given up")
    text = server.get("/metrics").body.decode()
    assert 'farcall_worker_crashes_total{module="m"} 0\n' in text


def test_a_result_in_the_memory_of_its_argument(process_server, tmp_path):
    """To compare results, one call is also made alone. Its arguments are still
    unchanged for the batch."""
    compile_rows(tmp_path, text=IN_PLACE)
    server = process_server(*BUSY, tmp_path)
    recorder = Recorder(server)
    for first in range(20, 320):
        recorder.call("m/f", row(first))
    load(server, recorder, tmp_path / "cases", 4000)
    assert number(server, "farcall_batched_calls_total", "m/f") > 0
    assert 'farcall_batches_unlike_total{module="m"} 0\n' in server.get("/metrics").body.decode()


# Rows with a 23 have another result beside other rows, which the server has not noticed
# yet; batches also take longer.
UNLIKE = ROWS.replace("19", "1e9").replace("3 * at[k] + at[0];", """3 * at[k] + at[0]
      + (rows > 1 && at[0] == 23);
  for (volatile int i = 0; rows > 1 && i < 50000; i++) {}""")


def test_a_batch_that_differs_is_the_last(process_server, tmp_path):
    compile_rows(tmp_path, text=UNLIKE)
    server = process_server(*BUSY, tmp_path)
    recorder = Recorder(server)
    recorder.call("m/f", row(23))
    assert server.get("/api/v1/functions/m/f").json["raw"]["attrs"]["batch"] == "exact"
    load(server, recorder, tmp_path / "cases", 1000)
    wait_until(lambda: any("no longer computed together" in line for line in server.lines))
    text = server.get("/metrics").body.decode()
    assert 'farcall_batches_unlike_total{module="m"} 1\n' in text
    before = number(server, "farcall_batched_calls_total", "m/f")
    load(server, recorder, tmp_path / "cases", 1000)
    assert number(server, "farcall_batched_calls_total", "m/f") == before
    # Now the rows of a single call are computed one by one, too.
    alone = [server.call("m/f", row(first)).json["results"][0][0] for first in (23, 1, 2, 3)]
    rows = [row(first)[0][0] for first in (23, 1, 2, 3)]
    assert server.call("m/f", [rows]).json["results"] == [alone]


def test_a_module_may_have_calls_wait_for_others(process_server, tmp_path):
    compile_rows(tmp_path, sizes=(1, 4))
    sidecar = tmp_path / "m.farcall.json"
    document = json.loads(sidecar.read_text())
    document["sizes"] = [{"name": "f", "max_queue_delay_microseconds": 2000}]
    sidecar.write_text(json.dumps(document))
    server = process_server(*BUSY, tmp_path)
    config = server.get("/v2/models/m.f/config").json["dynamic_batching"]
    assert config == {"preferred_batch_size": [1, 4], "max_queue_delay_microseconds": 2000}
    recorder = Recorder(server)
    for first in range(20, 60):
        recorder.call("m/f", row(first))
    load(server, recorder, tmp_path / "cases", 1000)
    assert number(server, "farcall_batched_calls_total", "m/f") > 0


@pytest.mark.parametrize("all_of_them, one", [("off", "auto"), ("auto", "off")])
def test_a_module_has_a_word_of_its_own(process_server, tmp_path, all_of_them, one):
    folder = tmp_path / "modules"
    for name in ("m", "n"):
        (folder / name).mkdir(parents=True)
        compile_rows(folder / name)
        for each in list((folder / name).iterdir()):
            each.rename(folder / (name + each.name[1:]))
        (folder / name).rmdir()
    (tmp_path / "c.json").write_text(json.dumps({"modules": {"m": {"batch": one}}}))
    server = process_server(*BUSY[1:], f"--batch={all_of_them}", "-c", tmp_path / "c.json", folder)
    recorder = Recorder(server)
    for name in ("m", "n"):
        for first in range(8):
            recorder.call(f"{name}/f", row(first))
    load(server, recorder, tmp_path / "cases", 2000)
    batched = {name: number(server, "farcall_batched_calls_total", f"{name}/f") > 0
               for name in ("m", "n")}
    assert batched == {"m": one == "auto", "n": all_of_them == "auto"}
