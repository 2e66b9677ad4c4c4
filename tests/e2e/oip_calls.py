# SPDX-License-Identifier: Apache-2.0
"""Calls of the Open Inference Protocol, byte by byte, and arrays for them."""
import json

import numpy

RANDOM = numpy.random.default_rng(7)
# NumPy's type for each datatype of the protocol.
TYPES = {"INT8": "<i1", "UINT8": "<u1", "INT16": "<i2", "UINT16": "<u2", "INT32": "<i4",
         "UINT32": "<u4", "INT64": "<i8", "UINT64": "<u8", "FP16": "<f2", "FP32": "<f4",
         "FP64": "<f8", "BOOL": "|b1"}


def split(reply):
    """The document of an answer, and the bytes after it."""
    size = int(reply.headers.get("Inference-Header-Content-Length", len(reply.body)))
    return json.loads(reply.body[:size]), reply.body[size:]


def infer(server, model, inputs, binary, outputs, code=None):
    """Sends arrays and returns those of the answer. `binary`: they are sent as bytes.
    `outputs`: results are requested as bytes. `code`: the Python module that
    compresses the body; its name is the name of the content coding."""
    listed, raw = [], b""
    for name, (datatype, value) in inputs.items():
        entry = {"name": name, "shape": value.shape, "datatype": datatype}
        if binary:
            entry["parameters"] = {"binary_data_size": value.nbytes}
            raw += value.tobytes()
        else:
            entry["data"] = value.ravel().tolist()
        listed.append(entry)
    head = json.dumps({"inputs": listed, "parameters": {"binary_data_output": outputs}})
    body = head.encode() + raw
    headers = {"Inference-Header-Content-Length": str(len(head))} if raw else {}
    if code:
        headers["Content-Encoding"] = code.__name__
        body = code.compress(body)
    reply = server.request("POST", f"/v2/models/{model}/infer", body, headers)
    assert reply.status == 200, reply.body
    document, rest = split(reply)
    found = {}
    for each in document["outputs"]:
        dtype = TYPES[each["datatype"]]
        if outputs:
            count = each["parameters"]["binary_data_size"]
            value, rest = numpy.frombuffer(rest[:count], dtype), rest[count:]
        else:
            value = numpy.array(each["data"], dtype)
        found[each["name"]] = value.reshape(each["shape"])
    assert not rest
    return found


def values_of(datatype, shape):
    """Random values of all bit patterns except infinities and NaNs, because JSON has
    only one NaN."""
    dtype = numpy.dtype(TYPES[datatype])
    if datatype == "BOOL":
        return RANDOM.integers(0, 2, shape).astype(dtype)
    bits = RANDOM.bytes(int(numpy.prod(shape)) * dtype.itemsize)
    value = numpy.frombuffer(bits, dtype).reshape(shape).copy()
    if dtype.kind == "f":
        value[~numpy.isfinite(value)] = 1.5
    return value


def same_bits(left, right):
    return (left.dtype == right.dtype and left.shape == right.shape
            and left.tobytes() == right.tobytes())
