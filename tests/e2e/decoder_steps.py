# SPDX-License-Identifier: Apache-2.0
"""Greedy steps of a decoder with iree.runtime, run by IREE's Python. Writes the results
of each call, and the cache after the last one, as arrays of a .npz file.

    decoder_steps.py MODULE.vmfb WEIGHTS CONFIG.json STEPS OUT.npz ID…
"""
import json
import sys

import iree.runtime as rt
import numpy as np

module, weights, config, steps, out, *ids = sys.argv[1:]
cache = json.load(open(config))["paged_kv_cache"]
stride, ids, steps = cache["block_seq_stride"], [int(each) for each in ids], int(steps)
index = rt.ParameterIndex()
index.load(weights)
instance, device = rt.VmInstance(), rt.get_device("local-sync")
loaded = rt.load_vm_modules(
    rt.create_io_parameters_module(instance, index.create_provider("model")),
    rt.create_hal_module(instance, devices=[device]),
    rt.VmModule.mmap(instance, module), config=rt.Config(device=device))[-1]


def i64(value):
    return np.array(value, np.int64)


pages = -(-(len(ids) + steps + 1) // stride)
kv = rt.asdevicearray(device, np.zeros(
    (pages, cache["paged_kv_block_size_elements_per_device"][0]), np.float16))
count = len(ids)
size = -(-count // stride) * stride
given = [i64([ids + [0] * (size - count)]), i64([0]), i64([count]),
         i64([list(range(size // stride))])]
found = {}
for step in range(steps + 1):
    function = loaded.decode_bs1 if step else loaded.prefill_bs1
    logits = np.asarray(function(*given, kv).to_host())
    found[f"logits{step}"], found[f"cache{step}"] = logits, np.array(kv.to_host())
    count += 1
    given = [i64([[int(logits[0, -1].argmax())]]), i64([count]), i64([count - 1]),
             i64([list(range(-(-count // stride)))])]
np.savez(out, **found)
