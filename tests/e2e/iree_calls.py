# SPDX-License-Identifier: Apache-2.0
"""Calls functions of one module in IREE's own runtime. Run by the Python beside IREE's
programs, never by pytest. The module's path is an argument. Reads [[function,
arguments], ...] as JSON from standard input. Writes the results, or null where the
runtime failed. With --tensors after the path, results are always a list, and tensors
are {"dtype", "shape", "b64"} in both directions."""
import base64
import json
import math
import sys

import numpy
from iree import runtime

TYPES = {
    "f16": "FLOAT_16", "bf16": "BFLOAT_16", "f32": "FLOAT_32", "f64": "FLOAT_64",
    "i1": "BOOL_8", "i8": "INT_8", "i16": "INT_16", "i32": "INT_32",
    "i64": "INT_64", "ui8": "UINT_8", "complex<f32>": "COMPLEX_64",
}
TYPES = {name: int(getattr(runtime.HalElementType, each))
         for name, each in TYPES.items()}

config = runtime.Config("local-sync")
module = runtime.load_vm_module(
    runtime.VmModule.mmap(config.vm_instance, sys.argv[1]), config)


def plain(value):
    return list(map(plain, value)) if isinstance(value, (list, tuple)) else value


def view(tensor):
    """Makes a buffer view of a tensor. The binding gets numbers of the right size;
    `element_type` tells their real type."""
    data, shape = base64.b64decode(tensor["b64"]), tensor["shape"]
    size = (TYPES[tensor["dtype"]] & 0xff) // 8
    elements = numpy.frombuffer(data, f"V{size}").reshape(shape)
    return config.device.allocator.allocate_buffer_copy(
        memory_type=runtime.MemoryType.DEVICE_LOCAL,
        allowed_usage=runtime.BufferUsage.DEFAULT | runtime.BufferUsage.MAPPING,
        device=config.device, buffer=elements.view(f"u{size}" if size <= 8 else "c16"),
        element_type=TYPES[tensor["dtype"]])


def tensor(view):
    names = {number: name for name, number in TYPES.items()}
    size = view.element_type % 256 // 8 * math.prod(view.shape)
    data = view.map().asarray([size], numpy.dtype("u1")).tobytes() if size else b""
    return {"dtype": names[view.element_type], "shape": list(view.shape),
            "b64": base64.b64encode(data).decode()}


def push(target, value):
    if isinstance(value, dict):
        target.push_ref(view(value))
    elif isinstance(value, list):
        inner = runtime.VmVariantList(len(value))
        for each in value:
            push(inner, each)
        target.push_list(inner)
    elif isinstance(value, float):
        target.push_float(value)
    else:
        target.push_int(value)


def pull(source):
    return [pulled(source.get_variant(i)) for i in range(len(source))]


def pulled(value):
    if not isinstance(value, runtime.VmRef):
        return value
    if value.isinstance(runtime.HalBufferView):
        return tensor(value.deref(runtime.HalBufferView))
    return pull(value.deref(runtime.VmVariantList))


def below(function, arguments):
    """Calls the function without the binding's conversion of structures: that would
    merge several results into one list, and does not know bf16."""
    given = runtime.VmVariantList(len(arguments))
    for each in arguments:
        push(given, each)
    taken = runtime.VmVariantList(1)
    module._context.vm_context.invoke(
        module.vm_module.lookup_function(function), given, taken)
    return pull(taken)


tensors = "--tensors" in sys.argv
answers = []
for function, arguments in json.load(sys.stdin):
    try:
        if tensors or any(isinstance(each, list) for each in arguments):
            answers.append(below(function, arguments))
        else:
            answers.append([plain(module[function](*arguments))])
    except Exception as error:
        print(function, arguments, error, file=sys.stderr)
        answers.append(None)
json.dump(answers, sys.stdout)
