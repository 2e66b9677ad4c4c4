# SPDX-License-Identifier: Apache-2.0
"""64 connections call compiled models at the same time, in thread and process workers,
and every answer is verified. A stateless model answers what IREE's own runtime
answers for the same values; a model with state loses and repeats nothing. Also run
with the thread sanitizer, whose findings change the server's exit status."""
import http.client
import itertools
import json
import random
import threading

import numpy
import pytest

import iree_tensors
from conftest import Server
from iree_programs import Tensor

CLIENTS = 64
ROUNDS = 4
# A function of the theme `linear`, and the shapes of its arguments.
STATELESS = [("layers", ["5x4", "4x8", "8", "8x3", "3"]),
             ("matmul_any", ["9x7", "7x5"]), ("softmax", ["3x5"])]
HOSTS = {
    "threads": ["--isolation=thread", "--lane=never", "--workers=8"],
    "lanes": ["--isolation=thread", "--lane=always"],
    "processes": ["--isolation=process"],
}


class Client:
    """One connection, which is kept."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection(server.host, server.port,
                                                     timeout=120)

    def results(self, function, arguments):
        self.connection.request("POST", "/api/v1/functions/" + function, json.dumps(
            {"args": arguments, "options": {"results": "typed"}}))
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, f"{function}: {answer.status} {body}"
        return [iree_tensors.ours(each) for each in json.loads(body)["results"]]


def at_once(server, work):
    """Runs work(client, number) for 64 clients at once. Raises the first failure."""
    failures = []
    start = threading.Barrier(CLIENTS)

    def run(number):
        client = Client(server)
        try:
            start.wait()
            work(client, number)
        except Exception as failure:
            failures.append(failure)
        finally:
            client.connection.close()
    threads = [threading.Thread(target=run, args=[n]) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@pytest.fixture(scope="module")
def files(iree):
    return {(name, variant): iree_tensors.compiled(
        iree, variant, iree_tensors.THEMES[name])
        for name in ("linear", "control") for variant in ("generic", "vmvx")}


@pytest.fixture(scope="module", params=HOSTS)
def server(request, files):
    running = Server(*HOSTS[request.param], "--queue=4096", *files.values())
    yield running
    status = running.stop()
    log = "".join(running.lines)
    assert status == 0, f"exit status {status}:\n{log}"
    assert "Sanitizer" not in log, log  # of a worker process


@pytest.fixture(scope="module")
def inputs():
    """The arguments for each client and function."""
    generator = numpy.random.default_rng(64)
    return {function: [[Tensor("f32", generator.uniform(
        -2, 2, [int(d) for d in shape.split("x")])) for shape in shapes]
        for _ in range(CLIENTS)] for function, shapes in STATELESS}


@pytest.mark.parametrize("variant", ["generic", "vmvx"])
def test_a_stateless_model_answers_each_as_if_alone(
        server, iree, files, inputs, variant):
    module = files["linear", variant]
    calls = [(function, arguments) for function, rows in inputs.items()
             for arguments in rows]
    answers = dict(zip(
        ((function, n) for function in inputs for n in range(CLIENTS)),
        iree_tensors.reference(iree, module, calls)))
    texts = {key: list(map(iree_tensors.plain, row)) for key, row in zip(
        answers, (arguments for _, arguments in calls))}

    def work(client, number):
        for round_, function in itertools.product(range(ROUNDS), inputs):
            key = function, (number + round_ * 7) % CLIENTS
            got = client.results(f"{module.stem}/{function}", texts[key])
            assert len(got) == 1
            assert iree_tensors.equal(got[0], answers[key][0], variant == "generic"), key
    at_once(server, work)


@pytest.mark.parametrize("variant", ["generic", "vmvx"])
def test_state_counts_every_call_once(server, files, variant):
    """A counter in a buffer and a sum of integers. Each count is returned once, the sum
    includes every call, and no call sees a half-written value of another."""
    name = files["control", variant].stem
    one = Client(server)
    before = int(one.results(f"{name}/next", [])[0].values)
    seen, kept = [], []

    def work(client, number):
        order = random.Random(number)
        for turn in range(ROUNDS):
            seen.append(int(client.results(f"{name}/next", [])[0].values))
            client.results(f"{name}/add_scalar", [number + 1])
            client.results(f"{name}/accumulate", [[1, 2, 3, 4]])
            size = order.randrange(1, 40)
            client.results(f"{name}/keep", [[number] * size])
            kept.append(client.results(f"{name}/kept", [])[0].values)
    scalar = one.results(f"{name}/add_scalar", [0])[0]
    total = one.results(f"{name}/total_so_far", [])[0].values
    at_once(server, work)

    calls = CLIENTS * ROUNDS
    assert sorted(seen) == list(range(before + 1, before + calls + 1))
    assert one.results(f"{name}/add_scalar", [0])[0] - scalar == \
        ROUNDS * CLIENTS * (CLIENTS + 1) // 2
    assert (one.results(f"{name}/total_so_far", [])[0].values - total ==
            calls * numpy.arange(1, 5)).all()
    assert len(kept) == calls
    for values in kept:
        assert values.size and (values == values[0]).all(), values
