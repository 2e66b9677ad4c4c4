# SPDX-License-Identifier: Apache-2.0
"""Loads a fleet and verifies every answer. test_balancers_peer.py runs it in the
network of the load balancer.

    fleet_load.py HOST PORT FOLDER THREADS

Makes calls until FOLDER/stop exists. FOLDER/progress has the number of good answers of
each thread. At the end it prints one document: the failures, the longest call, and how
often a kept connection had been closed before an answer came, after which an HTTP
client connects again.
"""
import http.client
import json
import os
import pathlib
import random
import sys
import threading
import time

import numpy


def native(function):
    def make(a, b):
        return f"/api/v1/functions/{function}", [a.tolist(), b.tolist()]

    def read(answer):
        return numpy.array(answer["results"][0])
    return make, read


def infer(a, b):
    return "/v2/models/matmul/infer", {"inputs": [
        {"name": name, "shape": each.shape, "datatype": "FP32",
         "data": each.ravel().tolist()} for name, each in (("a", a), ("b", b))]}


def inferred(answer):
    (output,) = answer["outputs"]
    return numpy.array(output["data"]).reshape(output["shape"])


def predict(a, b):
    return "/v1/models/matmul:predict", {"inputs": {"a": a.tolist(), "b": b.tolist()}}


def predicted(answer):
    return numpy.array(answer["outputs"])


# The first two are bytecode and machine code, so they run in threads and in processes.
KINDS = [native("matmul/matmul"), native("tensor/matmul"), (infer, inferred),
         (predict, predicted)]


class Caller(threading.Thread):
    def __init__(self, seed, host, port, stop):
        super().__init__()
        self.random, self.stop = random.Random(seed), stop
        self.numbers = numpy.random.default_rng(seed)
        self.connection = http.client.HTTPConnection(host, port, timeout=60)
        self.good, self.failed, self.longest, self.closed = 0, [], 0.0, 0

    def ask(self, *request):
        """If the connection was kept and has been closed since, no answer comes."""
        kept = self.connection.sock is not None
        try:
            self.connection.request(*request)
            return self.connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.connection.close()
            if not kept:
                raise
        self.closed += 1
        self.connection.request(*request)
        return self.connection.getresponse()

    def call(self):
        if self.random.random() < 0.1:
            answer = self.ask("GET", "/api/v1/functions/matmul/matmul")
            body = answer.read()
            assert answer.status == 200, (answer.status, body[:300])
            assert json.loads(body)["name"] == "matmul"
            return
        make, read = self.random.choice(KINDS)
        rows, inner, columns = self.numbers.integers(1, 24, 3)
        a = self.numbers.integers(-99, 99, (rows, inner)).astype("f4")
        b = self.numbers.integers(-99, 99, (inner, columns)).astype("f4")
        path, document = make(a, b)
        answer = self.ask("POST", path, json.dumps(document))
        body = answer.read()
        assert answer.status == 200, (answer.status, body[:300])
        assert (read(json.loads(body)) == a @ b).all(), (path, body[:300])

    def run(self):
        while not self.stop.exists():
            began = time.monotonic()
            try:
                self.call()
                self.good += 1
            except Exception as error:
                self.failed.append(f"{type(error).__name__}: {error}")
                self.connection.close()
            self.longest = max(self.longest, time.monotonic() - began)
            time.sleep(0.002)


def main():
    host, port, folder, count = sys.argv[1:]
    folder, parent = pathlib.Path(folder), os.getppid()
    stop = folder / "stop"
    callers = [Caller(seed, host, int(port), stop) for seed in range(int(count))]
    for each in callers:
        each.start()
    while any(each.is_alive() for each in callers):
        (folder / "next").write_text(json.dumps([each.good for each in callers]))
        (folder / "next").rename(folder / "progress")
        if os.getppid() != parent:  # the test has gone
            stop.touch()
        time.sleep(0.05)
    json.dump({"calls": sum(each.good for each in callers),
               "failed": [why for each in callers for why in each.failed],
               "longest": max(each.longest for each in callers),
               "closed": sum(each.closed for each in callers)}, sys.stdout)


if __name__ == "__main__":
    main()
