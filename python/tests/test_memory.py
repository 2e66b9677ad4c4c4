# SPDX-License-Identifier: Apache-2.0
"""Calls of every kind leave no memory behind. test_peer.py makes a million."""
import gc
import os

import farcall
import numpy

from conftest import CALLS, EXAMPLES, HALF, SANITIZED, SCALARS, VERSIONS

COUNT = CALLS or (10_000 if SANITIZED else 100_000)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def refused(call, *args):
    try:
        call(*args)
    except farcall.Error:
        return
    raise AssertionError("the call was not refused")


def test_calls_leave_nothing_behind():
    scalars, versions = farcall.load(SCALARS), farcall.load(VERSIONS)
    half, product = farcall.load(HALF), farcall.load(EXAMPLES / "matmul.vmfb").matmul
    x, h = numpy.ones(4, "f4"), numpy.ones(2, "f2")
    a, b = numpy.ones((2, 3), "f4"), numpy.ones((3, 2), "f4")
    column, row = numpy.ones((80, 1), "f4"), numpy.ones((1, 80), "f4")
    steps = [
        (20, lambda: versions.mul4(x, x)),
        (5, lambda: versions.mul4([1, 2, 3, 4], x[::-1])),
        (5, lambda: versions.matmul(a, b)),
        (5, lambda: versions.mixed([1, 2, 3], [1, 2], 3, 4.0)),
        (5, lambda: scalars.pair(3, b=2.5)),
        (5, lambda: scalars.swap({"p": 1.5, "q": 3})),
        (3, lambda: half.twice(h, [1, 2])),
        (1, lambda: product(column, row)),
        (2, lambda: refused(scalars.divide, 1, 0)),
        (2, lambda: refused(versions.mul4, x, a)),
        (2, lambda: refused(scalars.swap, {"p": 1})),
        (2, lambda: refused(versions.mul4, x)),
    ]

    def calls(count):
        for _ in range(count // sum(times for times, _ in steps)):
            for times, step in steps:
                for _ in range(times):
                    step()
        gc.collect()
    calls(COUNT // 5)
    before = resident()
    calls(COUNT)
    grown = resident() - before
    print(f"{COUNT} calls: {grown} bytes")
    # The sanitizer keeps freed memory for a while.
    assert grown < (64 << 20 if SANITIZED else 1 << 20), grown


def test_modules_leave_nothing_behind():
    def cycle(count):
        for _ in range(count):
            m = farcall.load(SCALARS)
            m.fact(3)
            m.pair(1, 2)
        gc.collect()
    files = len(os.listdir("/proc/self/fd"))
    cycle(50)
    before = resident()
    cycle(300)
    # The sanitizer keeps 256 MiB of freed memory, and a list of it.
    assert resident() - before < (288 << 20 if SANITIZED else 2 << 20)
    assert len(os.listdir("/proc/self/fd")) == files
