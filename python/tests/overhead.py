# SPDX-License-Identifier: Apache-2.0
"""Run by test_peer.py, not by pytest. Measures a call of a 4xf32 multiply here and in
iree.runtime, in turns in one process. Reads the module's path and the folder of IREE's
packages; writes the microseconds of both as JSON.
"""
import json
import sys
import time

import numpy

import farcall

sys.path.append(sys.argv[2])
from iree import runtime  # noqa: E402  (found by the line above)

COUNT, TURNS = 2000, 15
x, y = numpy.arange(4, dtype="f4"), numpy.full(4, 3, "f4")
ours = farcall.load(sys.argv[1]).mul4
config = runtime.Config("local-sync")
theirs = runtime.load_vm_module(
    runtime.VmModule.mmap(config.vm_instance, sys.argv[1]), config)["mul4"]


def call_ours():
    return ours(x, y)


def call_theirs():
    return theirs(x, y).to_host()


def measure(call):
    assert (call() == x * 3).all()
    start = time.perf_counter()
    for _ in range(COUNT):
        call()
    return (time.perf_counter() - start) / COUNT * 1e6


times = [(measure(call_ours), measure(call_theirs)) for _ in range(TURNS)]
json.dump([min(each) for each in zip(*times)], sys.stdout)
