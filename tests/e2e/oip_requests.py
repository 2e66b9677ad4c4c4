# SPDX-License-Identifier: Apache-2.0
"""Requests of the Open Inference Protocol, good and bad, and the answers of a real
Triton. Run as a program, with FARCALL_PEERS set to the folder that scripts/peers
prints, it makes the requests to Triton again and writes triton/requests.json. Review
what has changed in it."""
import base64
import gzip
import json
import pathlib
import struct
import sys
import tempfile
import zlib

import numpy

from oip_calls import TYPES, split

FOLDER = pathlib.Path(__file__).parent / "triton"
RECORD = FOLDER / "requests.json"
LENGTH = "Inference-Header-Content-Length"
SIXTEEN = list(range(16))


class Requests:
    """The list of requests while it is built. Each has a unique name."""

    def __init__(self):
        self.all = {}

    def add(self, name, method, path, body=None, headers=None):
        assert name not in self.all, name
        if isinstance(body, str):
            body = body.encode()
        self.all[name] = {"method": method, "path": path, "headers": headers or {},
                          "body": body}

    def get(self, name, path):
        self.add(name, "GET", path)

    def infer(self, name, model, document, raw=b"", headers=None, length=None):
        """`length`: the value of the length field, in place of the true one."""
        if not isinstance(document, (str, bytes)):
            document = json.dumps(document)
        if isinstance(document, str):
            document = document.encode()
        headers = dict(headers or {})
        if length is None and raw:
            length = len(document)
        if length is not None:
            headers[LENGTH] = str(length)
        self.add(name, "POST", f"/v2/models/{model}/infer", document + raw, headers)


def tensor(data, name="INPUT0", datatype="INT32", shape=(1, 16), **more):
    return {"name": name, "shape": list(shape), "datatype": datatype, "data": data, **more}


def raw_tensor(size, name="INPUT0", datatype="INT32", shape=(1, 16), **more):
    return {"name": name, "shape": list(shape), "datatype": datatype,
            "parameters": {"binary_data_size": size}, **more}


def simple(left=None, right=None, **more):
    return {"inputs": [tensor(SIXTEEN if left is None else left),
                       tensor(SIXTEEN if right is None else right, "INPUT1")], **more}


def one(datatype, data, shape=None, **more):
    shape = [len(data)] if shape is None else shape
    return {"inputs": [tensor(data, datatype=datatype, shape=shape)], **more}


def documents(add):
    for name, path in (
            ("live", "/v2/health/live"), ("ready", "/v2/health/ready"), ("server", "/v2"),
            ("server slash", "/v2/"), ("query", "/v2/models/simple?test_1=1&a=b"),
            ("models", "/v2/models"), ("all stats", "/v2/models/stats"),
            ("trace", "/v2/trace/setting"), ("logging", "/v2/logging"),
            ("repository", "/v2/repository"), ("root", "/"), ("outside", "/v3/models"),
            ("below", "/v2/models/simple/infer/more"), ("double slash", "/v2//models/simple"),
            ("case", "/V2/models/simple"), ("no model", "/v2/models/"),
            ("shared memory", "/v2/systemsharedmemory/status")):
        add.get(f"get/{name}", path)
    for model in ("simple", "identity.fp32", "identity.matrix", "echo", "none"):
        for version in ("", "/versions/1", "/versions/7", "/versions/x", "/versions/"):
            for part in ("", "/ready", "/config", "/stats", "/trace/setting"):
                if model in ("simple", "none") or (version == "" and part != "/stats"):
                    add.get(f"get/{model}{version}{part}",
                            f"/v2/models/{model}{version}{part}")
    for datatype in TYPES:
        add.get(f"get/type {datatype}", f"/v2/models/identity.{datatype.lower()}")
    for name, body in (("all", ""), ("object", "{}"), ("ready", '{"ready":true}'),
                       ("all of them", '{"ready":false}'), ("other", '{"a":[1]}'),
                       ("number", '{"ready":1}'), ("broken", "{"), ("list", "[]")):
        add.add(f"index/{name}", "POST", "/v2/repository/index", body)
    add.add("index/GET", "GET", "/v2/repository/index")
    for act in ("load", "unload"):
        for name in ("simple", "none"):
            add.add(f"repository/{act} {name}", "POST",
                    f"/v2/repository/models/{name}/{act}", "{}")
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "POST"):
        for name, path in (("live", "/v2/health/live"), ("server", "/v2"),
                           ("model", "/v2/models/simple")):
            add.add(f"method/{method} {name}", method, path)
    for method in ("GET", "PUT", "DELETE", "HEAD"):
        add.add(f"method/{method} infer", method, "/v2/models/simple/infer")


def good_calls(add):
    add.infer("json/plain", "simple", simple())
    add.infer("json/nested", "simple", simple([SIXTEEN], [SIXTEEN]))
    add.infer("json/version", "simple/versions/1", simple())
    add.add("json/query", "POST", "/v2/models/simple/infer?a=1&b", json.dumps(simple()))
    add.infer("json/id", "simple", simple(id="my own"))
    add.infer("json/id empty", "simple", simple(id=""))
    add.infer("json/id unicode", "simple", simple(id="h\u00e9\u4e16\u754c"))
    add.infer("json/id escaped", "simple", simple(id='a"b\\c\n'))
    add.infer("json/others", "simple", simple(model_name="other", more={"a": [1, {}]}))
    add.infer("json/spaces", "simple", json.dumps(simple(), indent=4))
    add.infer("json/order", "simple", {"inputs": simple()["inputs"][::-1]})
    add.infer("json/data first", "simple", {"inputs": [
        dict(reversed(each.items())) for each in simple()["inputs"]]})
    add.infer("json/unicode escapes", "simple",
              json.dumps(simple()).replace("INPUT0", "\\u0049NPUT0"))
    for name, outputs in (("one", ["OUTPUT1"]), ("both", ["OUTPUT0", "OUTPUT1"]),
                          ("other order", ["OUTPUT1", "OUTPUT0"]), ("none", [])):
        add.infer(f"json/outputs {name}", "simple",
                  simple(outputs=[{"name": each} for each in outputs]))
        add.infer(f"json/outputs {name}, raw", "simple", simple(
            outputs=[{"name": each, "parameters": {"binary_data": True}}
                     for each in outputs]))
    add.infer("json/one raw", "simple", simple(outputs=[
        {"name": "OUTPUT0", "parameters": {"binary_data": True}}, {"name": "OUTPUT1"}]))
    add.infer("json/all raw but one", "simple", simple(
        parameters={"binary_data_output": True},
        outputs=[{"name": "OUTPUT0", "parameters": {"binary_data": False}},
                 {"name": "OUTPUT1"}]))
    for value in (True, False):
        add.infer(f"json/binary_data_output {value}", "simple",
                  simple(parameters={"binary_data_output": value}))
    for name, value in (("text", "a"), ("whole", 7), ("bool", True), ("fraction", 1.5)):
        add.infer(f"json/parameter {name}", "simple", simple(parameters={"mine": value}))
    add.infer("json/parameter empty", "simple", simple(parameters={}))
    for name, value in (("priority", 1), ("timeout", 1000000)):
        add.infer(f"json/{name}", "simple", simple(parameters={name: value}))
    for name, kind in (("urlencoded", "application/x-www-form-urlencoded"),
                       ("JSON", "application/json"), ("raw", "application/octet-stream"),
                       ("text", "text/plain"), ("wrong", "image/png")):
        add.infer(f"json/as {name}", "simple", simple(), headers={"Content-Type": kind})
    for name, kind in (("any", "*/*"), ("JSON", "application/json"), ("html", "text/html")):
        add.infer(f"json/accepts {name}", "simple", simple(), headers={"Accept": kind})
    add.infer("json/says its length", "simple", simple(),
              length=len(json.dumps(simple())))


LIMITS = {"BOOL": [True, False], "UINT8": [0, 255], "UINT16": [0, 65535],
          "UINT32": [0, 2**32 - 1], "UINT64": [0, 2**64 - 1], "INT8": [-128, 127],
          "INT16": [-2**15, 2**15 - 1], "INT32": [-2**31, 2**31 - 1],
          "INT64": [-2**63, 2**63 - 1], "FP16": [0.5, -65504],
          "FP32": [0.1, -3.4028235e38, 1e-45, 0, -0.0, 16777217],
          "FP64": [0.1, 1.7976931348623157e308, 5e-324, -0.0]}


def types(add):
    for datatype, values in LIMITS.items():
        model = f"identity.{datatype.lower()}"
        raw = numpy.array(values, TYPES[datatype]).tobytes()
        head = {"inputs": [raw_tensor(len(raw), datatype=datatype, shape=[len(values)])]}
        add.infer(f"types/{datatype} JSON", model, one(datatype, values))
        add.infer(f"types/{datatype} empty", model, one(datatype, []))
        add.infer(f"types/{datatype} raw in", model, head, raw)
        add.infer(f"types/{datatype} raw", model,
                  {**head, "parameters": {"binary_data_output": True}}, raw)
        add.infer(f"types/{datatype} body alone", model, b"", raw, length=0)
        add.infer(f"types/{datatype} of another", model,
                  one("INT32" if datatype != "INT32" else "FP32", [1, 2]))
        add.infer(f"types/{datatype} as text", model, one(datatype, ["1"]))
        add.infer(f"types/{datatype} null", model, one(datatype, [None]))
    for datatype in ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64",
                     "INT64"):
        model, (low, high) = f"identity.{datatype.lower()}", LIMITS[datatype]
        for name, value in (("above", high + 1), ("below", low - 1), ("fraction", 1.5)):
            add.infer(f"numbers/{datatype} {name}", model, one(datatype, [value]))
    for name, text in (("1e2", "1e2"), ("1.0", "1.0"), ("plus", "+1"), ("zeros", "007"),
                       ("hex", "0x10"), ("true", "true"), ("minus", "-"), ("point", "1.")):
        for datatype in ("INT32", "FP32"):
            add.infer(f"numbers/{datatype} {name}", f"identity.{datatype.lower()}",
                      json.dumps(one(datatype, [0])).replace("[0]", f"[{text}]"))
    for text in ("NaN", "Infinity", "-Infinity", "1e39", "-1e400"):
        for datatype in ("FP32", "FP64"):
            add.infer(f"numbers/{datatype} {text}", f"identity.{datatype.lower()}",
                      json.dumps(one(datatype, [0])).replace("[0]", f"[{text}]"))
    values = numpy.array([numpy.nan, numpy.inf, -numpy.inf], "<f4").tobytes()
    head = {"inputs": [raw_tensor(12, datatype="FP32", shape=[3])]}
    add.infer("numbers/not finite, raw in", "identity.fp32", head, values)
    add.infer("numbers/not finite, raw", "identity.fp32",
              {**head, "parameters": {"binary_data_output": True}}, values)
    add.infer("numbers/BOOL of 2", "identity.bool", one("BOOL", [2]))
    add.infer("numbers/BOOL of 2, raw", "identity.bool",
              {"inputs": [raw_tensor(1, datatype="BOOL", shape=[1])]}, b"\x02")


def texts(add):
    for name, text in (("plain", "hello"), ("empty", ""), ("unicode", "h\u00e9\u4e16"),
                       ("escapes", 'a"\\/\b\f\n\r\t\x01'), ("astral", "\U0001f600"),
                       ("zero", "a\0b")):
        add.infer(f"text/{name}", "echo", one("BYTES", [text]))
        raw = struct.pack("<I", len(text.encode())) + text.encode()
        head = {"inputs": [raw_tensor(len(raw), datatype="BYTES", shape=[1])],
                "parameters": {"binary_data_output": True}}
        add.infer(f"text/{name}, raw", "echo", head, raw)
    head = {"inputs": [raw_tensor(6, datatype="BYTES", shape=[1])],
            "parameters": {"binary_data_output": True}}
    for name, raw in (("no UTF-8", b"\2\0\0\0\xff\xfe"), ("longer than it is", b"\7\0\0\0ab"),
                      ("shorter", b"\1\0\0\0ab"), ("no size", b"abcdef"),
                      ("huge", b"\xff\xff\xff\xffab")):
        add.infer(f"text/{name}", "echo", head, raw)
    add.infer("text/two", "echo", one("BYTES", ["a", "b"]))
    add.infer("text/none", "echo", one("BYTES", [], [1]))
    add.infer("text/number", "echo", one("BYTES", [1]))
    add.infer("text/body alone", "echo", b"", b"hello", length=0)
    add.infer("text/body alone, empty", "echo", b"", b"", length=0)
    add.infer("text/half a surrogate", "echo",
              json.dumps(one("BYTES", ["?"])).replace("?", "\\ud800"))


def raw_calls(add):
    value = numpy.array(SIXTEEN, "<i4").tobytes()
    both = {"inputs": [raw_tensor(64), raw_tensor(64, "INPUT1")]}
    out = {"parameters": {"binary_data_output": True}}
    mixed = {"inputs": [raw_tensor(64), tensor(SIXTEEN, "INPUT1")]}
    add.infer("raw/both", "simple", {**both, **out}, value * 2)
    add.infer("raw/in", "simple", both, value * 2)
    add.infer("raw/out", "simple", simple(**out))
    add.infer("raw/mixed", "simple", mixed, value)
    add.infer("raw/padded", "simple", json.dumps(both).encode().ljust(256), value * 2)
    add.infer("raw/id", "simple", {**both, **out, "id": "7"}, value * 2)
    add.infer("raw/one out", "simple", {**both, "outputs": [
        {"name": "OUTPUT1", "parameters": {"binary_data": True}}]}, value * 2)
    head = json.dumps(both)
    size = len(head)
    for name, length in (
            ("beyond the body", 99999), ("negative", -1), ("2^64", 2**64), ("2^63", 2**63),
            ("2^32", 2**32), ("text", "abc"), ("empty", ""), ("a fraction", "1.5"),
            ("too short", size - 1), ("too long", size + 1), ("hex", hex(size)),
            ("with a plus", f"+{size}"), ("with blanks", f" {size} "), ("0", 0)):
        add.infer(f"raw/length {name}", "simple", both, value * 2, length=length)
    add.add("raw/no length", "POST", "/v2/models/simple/infer", head.encode() + value * 2)
    add.infer("raw/short", "simple", both, value * 2 + b"")
    add.infer("raw/one byte short", "simple", both, (value * 2)[:-1])
    add.infer("raw/one byte more", "simple", both, value * 2 + b"x")
    add.infer("raw/nothing", "simple", both, b"", length=size)
    for name, wrong in (("more than there is", 65), ("less", 60), ("negative", -4),
                        ("text", "64"), ("fraction", 64.5), ("2^64", 2**64), ("null", None),
                        ("0", 0), ("not whole", 63)):
        add.infer(f"raw/size {name}", "simple", {"inputs": [
            raw_tensor(wrong), raw_tensor(64, "INPUT1")]}, value * 2)
    add.infer("raw/beside data", "simple", {"inputs": [
        {**tensor(SIXTEEN), **raw_tensor(64)}, raw_tensor(64, "INPUT1")]}, value * 2)
    add.infer("raw/without a length, JSON", "simple", {"inputs": [
        raw_tensor(64), tensor(SIXTEEN, "INPUT1")]})
    add.infer("raw/body alone, two inputs", "simple", b"", value, length=0)
    add.infer("raw/body alone, half an element", "identity.fp32", b"", b"abc", length=0)
    add.infer("raw/body alone, nothing", "identity.fp32", b"", b"", length=0)
    add.infer("raw/body alone, two open dims", "identity.matrix", b"", bytes(16), length=0)
    for name, wrong in (("text", "yes"), ("number", 1), ("null", None)):
        add.infer(f"raw/binary_data {name}", "simple", simple(outputs=[
            {"name": "OUTPUT0", "parameters": {"binary_data": wrong}}]))
        add.infer(f"raw/binary_data_output {name}", "simple",
                  simple(parameters={"binary_data_output": wrong}))


def codings(add):
    document = json.dumps(simple()).encode()
    for name, coding, body in (
            ("gzip", "gzip", gzip.compress(document, mtime=0)),
            ("deflate", "deflate", zlib.compress(document)),
            ("deflate without zlib's head", "deflate", zlib.compress(document)[2:-4]),
            ("gzip, two parts", "gzip", gzip.compress(document[:50], mtime=0)
             + gzip.compress(document[50:], mtime=0)),
            ("gzip, half", "gzip", gzip.compress(document, mtime=0)[:-12]),
            ("gzip, garbage", "gzip", document), ("br", "br", document),
            ("identity", "identity", document), ("unknown", "zip", document),
            ("GZIP", "GZIP", gzip.compress(document, mtime=0)), ("empty", "gzip", b"")):
        add.infer(f"coding/{name}", "simple", body, headers={"Content-Encoding": coding})
    value = numpy.array(SIXTEEN, "<i4").tobytes() * 2
    head = json.dumps({"inputs": [raw_tensor(64), raw_tensor(64, "INPUT1")]}).encode()
    for name, compress in (("gzip", lambda each: gzip.compress(each, mtime=0)),
                           ("deflate", zlib.compress)):
        add.infer(f"coding/raw {name}", "simple", compress(head + value),
                  headers={"Content-Encoding": name}, length=len(head))
    for wanted in ("gzip", "deflate", "gzip, deflate", "br", "identity", "*", "gzip;q=0",
                   "", "gzip;q=0.1, deflate;q=0.9"):
        add.infer(f"coding/accepts {wanted}", "simple", simple(),
                  headers={"Accept-Encoding": wanted})


def mistakes(add):
    good = json.dumps(simple())
    for name, body in (
            ("nothing", ""), ("blank", " "), ("half", good[:-1]), ("list", "[]"),
            ("number", "1"), ("text", '"a"'), ("null", "null"), ("no JSON", "abc"),
            ("behind it", good + "x"), ("two", good + good), ("comma", good[:-1] + ",}"),
            ("single quotes", good.replace('"', "'")), ("comment", "/* a */" + good),
            ("BOM", "\ufeff" + good), ("no UTF-8", good.encode() + b"\xff"),
            ("UTF-16", good.encode("utf-16")), ("deep", "[" * 2000),
            ("object", "{}"), ("zero byte", good + "\0")):
        add.infer(f"document/{name}", "simple", body)
    for name, inputs in (
            ("missing", simple()["inputs"][:1]), ("none", []), ("null", None),
            ("an object", {}), ("of a number", [1]), ("text", "a"),
            ("unknown", [*simple()["inputs"], tensor(SIXTEEN, "INPUT2")]),
            ("unknown alone", [tensor(SIXTEEN, "X"), tensor(SIXTEEN, "INPUT1")]),
            ("twice", [*simple()["inputs"], tensor(SIXTEEN)])):
        add.infer(f"inputs/{name}", "simple", {"inputs": inputs})
    add.infer("inputs/given twice", "simple",
              '{"inputs":[],' + json.dumps(simple())[1:])
    for member in ("name", "shape", "datatype", "data"):
        for name, wrong in (("missing", ...), ("null", None), ("number", 1),
                            ("object", {}), ("empty text", "")):
            first = tensor(SIXTEEN)
            if wrong is ...:
                del first[member]
            else:
                first[member] = wrong
            add.infer(f"input/{member} {name}", "simple",
                      {"inputs": [first, tensor(SIXTEEN, "INPUT1")]})
    for name, shape in (
            ("of text", ["1", "16"]), ("negative", [-1, 16]), ("fraction", [1.0, 16]),
            ("2^63", [2**63]), ("2^64", [2**64]), ("wraps", [2**32, 2**32, 16]),
            ("flat", [16]), ("turned", [16, 1]), ("short", [1, 15]), ("long", [1, 17]),
            ("zero", [0, 16]), ("deep", [1, 1, 16]), ("null", [None, 16])):
        add.infer(f"shape/{name}", "simple", {"inputs": [
            tensor(SIXTEEN, shape=shape), tensor(SIXTEEN, "INPUT1")]})
    for name, data in (
            ("short", SIXTEEN[:-1]), ("long", SIXTEEN + [16]), ("empty", []),
            ("one number", 1), ("text", ["a"] * 16), ("of texts", [str(i) for i in SIXTEEN]),
            ("null in it", SIXTEEN[:-1] + [None]), ("bool", [True] * 16),
            ("of objects", [{}] * 16), ("ragged", [SIXTEEN[:7], SIXTEEN[7:]]),
            ("other nesting", [[each] for each in SIXTEEN]), ("deeper", [[SIXTEEN]]),
            ("mixed nesting", [SIXTEEN[:15], 15]), ("fractions", [0.5] * 16)):
        add.infer(f"data/{name}", "simple", simple(data))
    for name, data in (("nested", [[1, 2], [3, 4]]), ("flat", [1, 2, 3, 4]),
                       ("ragged", [[1], [2, 3, 4]]), ("turned", [[1, 2, 3, 4]]),
                       ("half flat", [[1, 2], 3, 4])):
        add.infer(f"matrix/{name}", "identity.matrix", one("FP32", data, [2, 2]))
    for shape in ([0, 3], [3, 0], [0, 0]):
        add.infer(f"matrix/empty {shape[0]}x{shape[1]}", "identity.matrix", one("FP32", [], shape))
        add.infer(f"matrix/empty {shape[0]}x{shape[1]}, null", "identity.matrix",
                  {"inputs": [
                      {**tensor(None, datatype="FP32", shape=shape)}]})
    for name in ("INT33", "int32", "FP32", "STRING", "BYTES", "TYPE_INT32", ""):
        add.infer(f"datatype/{name}", "simple", {"inputs": [
            tensor(SIXTEEN, datatype=name), tensor(SIXTEEN, "INPUT1")]})
    for name, outputs in (
            ("unknown", [{"name": "OUTPUT9"}]), ("twice", [{"name": "OUTPUT0"}] * 2),
            ("no name", [{}]), ("text", "OUTPUT0"), ("of texts", ["OUTPUT0"]),
            ("null", None), ("name null", [{"name": None}]),
            ("classified", [{"name": "OUTPUT0", "parameters": {"classification": 2}}]),
            ("shared", [{"name": "OUTPUT0", "parameters": {
                "shared_memory_region": "a", "shared_memory_byte_size": 64}}]),
            ("parameters null", [{"name": "OUTPUT0", "parameters": None}])):
        add.infer(f"outputs/{name}", "simple", simple(outputs=outputs))
    for name, more in (
            ("id number", {"id": 1}), ("id null", {"id": None}),
            ("parameters list", {"parameters": []}), ("parameters null", {"parameters": None}),
            ("parameter list", {"parameters": {"a": [1]}}),
            ("parameter object", {"parameters": {"a": {}}}),
            ("parameter null", {"parameters": {"a": None}}),
            ("triton_", {"parameters": {"triton_enable_empty_final_response": True}}),
            ("priority text", {"parameters": {"priority": "a"}}),
            ("sequence", {"parameters": {"sequence_id": 1, "sequence_start": True}})):
        add.infer(f"member/{name}", "simple", simple(**more))
    add.infer("member/shared input", "simple", {"inputs": [
        {"name": "INPUT0", "shape": [1, 16], "datatype": "INT32", "parameters": {
            "shared_memory_region": "a", "shared_memory_byte_size": 64}},
        tensor(SIXTEEN, "INPUT1")]})
    for name, model in (("unknown", "none"), ("unknown version", "simple/versions/7"),
                        ("text as version", "simple/versions/x"), ("of no name", ""),
                        ("escaped", "sim%70le")):
        add.infer(f"model/{name}", model, simple())
    for part in ("generate", "generate_stream", "embed", "classify"):
        add.add(f"model/{part}", "POST", f"/v2/models/simple/{part}", json.dumps(simple()))


def make():
    add = Requests()
    for each in (documents, good_calls, types, texts, raw_calls, codings, mistakes):
        each(add)
    return add.all


# ---------------------------------------------------------------------------
# What is compared of an answer

def data_of(output):
    """Values by their bits: how a number is spelled does not matter, only which number
    it is."""
    dtype = TYPES.get(output["datatype"])
    if not dtype or not all(isinstance(each, (int, float)) for each in output["data"]):
        return output["data"]
    return numpy.array(output["data"], dtype).tobytes().hex()


def decoded(reply):
    coding = reply.headers.get("Content-Encoding")
    return {"gzip": gzip.decompress, "deflate": zlib.decompress}.get(coding, bytes)(reply.body)


def essence(reply):
    """The status. Of a success also the whole answer; of an error, whether it has a
    text as its clients expect."""
    if reply.status != 200:
        try:
            told = isinstance(json.loads(reply.body)["error"], str)
        except (ValueError, KeyError, TypeError):
            told = False
        return {"status": reply.status, "told": told}
    reply.body = decoded(reply)
    found = {"status": 200, "type": reply.headers.get("Content-Type"),
             "coding": reply.headers.get("Content-Encoding")}
    try:
        document, rest = split(reply)
    except ValueError:
        return {**found, "text": reply.body.decode("latin-1")}
    if isinstance(document, dict) and "model_name" in document:
        for each in document["outputs"]:
            if "data" in each:
                each["data"] = data_of(each)
    for listed in (document, isinstance(document, dict) and document.get("model_stats")):
        if isinstance(listed, list):  # models, in any order
            listed.sort(key=lambda each: each["name"])
    return {**found, "document": document, "raw": rest.hex()}


def packed(body):
    if body is None:
        return None
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}


def unpacked(body):
    if body is None:
        return None
    return base64.b64decode(body["base64"]) if "base64" in body else body["text"].encode()


def paths(left, right, at=""):
    """Where two answers differ."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted({*left, *right}):
            yield from paths(left.get(key), right.get(key), f"{at}.{key}" if at else key)
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for pair in zip(left, right):
            yield from paths(*pair, at + "[]")
    elif left != right:
        yield at


def difference(theirs, ours):
    """The difference, as triton/differences.json writes it. None: the answers are
    equal."""
    if theirs == ours:
        return None
    if theirs["status"] != ours["status"]:
        return f"{theirs['status']} -> {ours['status']}"
    return ", ".join(dict.fromkeys(paths(theirs, ours)))


def ask(server, request):
    return essence(server.request(request["method"], request["path"], request["body"],
                                  request["headers"]))


def record(triton):
    lines = []
    for name, request in make().items():
        try:
            answer = ask(triton, request)
        except OSError as error:
            answer = {"status": type(error).__name__, "told": False}
        row = {"name": name, **request, "body": packed(request["body"]), "triton": answer}
        lines.append(json.dumps(row, ensure_ascii=True))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read():
    """Each request by name, with Triton's answer."""
    rows = json.loads(RECORD.read_text())
    return {row["name"]: {**row, "body": unpacked(row["body"])} for row in rows}


if __name__ == "__main__":
    from triton import Triton
    with tempfile.TemporaryDirectory() as work:
        running = Triton(pathlib.Path(work))
        try:
            FOLDER.mkdir(exist_ok=True)
            RECORD.write_text(record(running))
        finally:
            running.stop()
    print(f"{len(read())} requests", file=sys.stderr)
