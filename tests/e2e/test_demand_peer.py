# SPDX-License-Identifier: Apache-2.0
"""Ten thousand modules: the cost of a start on demand and of a module's first call, and
load on all of them with memory for five hundred. FARCALL_DEMAND_SECONDS is the
duration of each load; the default is ten minutes."""
import os
import random
import threading
import time

import pytest

from demanding import Many, farm, metric
from reloading import taken

COUNT = 10000
SECONDS = int(os.environ.get("FARCALL_DEMAND_SECONDS", "600"))
ROOM = "230M"  # 500 modules of 100 KB and a process


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    work = tmp_path_factory.mktemp("many")
    return Many(farm(work, COUNT, 100, 85000), COUNT, 100)


def files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_the_start(serve, many):
    began = time.monotonic()
    server = serve("--load=demand", many.folder)
    took = time.monotonic() - began
    assert server.get("/readyz").json["modules"] == COUNT
    resident, _, _, processes = taken(server.pid)
    print(f"start: {took:.3f} s, {resident / 1024:.1f} MB, {processes} processes")


def test_first_calls(serve, many):
    server = serve("--load=demand", f"--module-memory={ROOM}", many.folder)
    times = []
    for number in random.Random(1).sample(range(COUNT), 2000):
        began = time.monotonic()
        assert server.results(*many.call(number)) == many.answer(number)
        times.append(1000 * (time.monotonic() - began))
    times.sort()
    print(f"first calls: p50 {times[1000]:.1f} ms, p99 {times[1980]:.1f} ms, "
          f"worst {times[-1]:.1f} ms")


class Load:
    """Calls at a rate, made by a few threads; each takes the next point in time in
    turn."""

    def __init__(self, server, many, rate, draw, threads=32):
        self.server, self.many, self.rate, self.draw = server, many, rate, draw
        self.lock, self.next, self.wrong, self.times = threading.Lock(), 0, [], []
        self.began = time.monotonic()
        self.threads = [threading.Thread(target=self.run) for _ in range(threads)]

    def run(self):
        while True:
            with self.lock:
                due = self.began + self.next / self.rate
                self.next += 1
                number = self.draw()
            if due - self.began > SECONDS:
                return
            time.sleep(max(0, due - time.monotonic()))
            reply = self.server.call(*self.many.call(number))
            self.times.append(time.monotonic() - due)
            if reply.status != 200 or reply.json["results"] != self.many.answer(number):
                self.wrong.append((number, reply.status, reply.body))


def check_load(serve, many, rate, draw):
    server = serve("--load=demand", f"--module-memory={ROOM}", many.folder)
    load = Load(server, many, rate, draw)
    most = [0, 0, 0, 0]
    for each in load.threads:
        each.start()
    while any(each.is_alive() for each in load.threads):
        now = taken(server.pid)
        seen = [metric(server, "module_bytes"), now[0] // 1024, now[1], now[3]]
        most = [max(pair) for pair in zip(most, seen)]
        time.sleep(0.5)
    times = sorted(load.times)
    print(f"{len(times)} calls in {SECONDS} s at {rate}/s: {len(load.wrong)} wrong, "
          f"p50 {1000 * times[len(times) // 2]:.1f} ms, "
          f"p99 {1000 * times[len(times) * 99 // 100]:.1f} ms; most: modules "
          f"{most[0]} of {metric(server, 'module_bytes_limit')} bytes, server {most[1]} "
          f"MB, {most[2]} descriptors, {most[3]} processes; "
          f"{metric(server, 'module_unloads_total')} unloaded")
    assert load.wrong == []
    assert most[0] <= metric(server, "module_bytes_limit")
    assert most[3] < 700


def test_uniform_load(serve, many):
    draw = random.Random(2)
    check_load(serve, many, 50, lambda: draw.randrange(COUNT))


def test_zipf_load(serve, many):
    draw = random.Random(3)
    weights, total = [], 0
    for rank in range(1, COUNT + 1):
        total += rank ** -1.3
        weights.append(total)
    order = list(range(COUNT))
    draw.shuffle(order)
    check_load(serve, many, 1000,
               lambda: draw.choices(order, cum_weights=weights)[0])
