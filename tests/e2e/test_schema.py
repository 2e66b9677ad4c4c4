# SPDX-License-Identifier: Apache-2.0
"""?format=jsonschema: a function's schema accepts what the function accepts, in every
form of every argument and with every mix of positions and names, and its answers
match "$defs/answer". The jsonschema package judges the schemas."""
import base64
import json
import random
import re

import jsonschema
import numpy
import pytest

from conftest import ROOT, Server
from vmfb import Code, module

VMFB = [ROOT / "tests/corpus/iree/releases" / name for name in (
    "versions-3.13.0-llvm-cpu.vmfb", "scalars-3.13.0.vmfb")]
VALIDATOR = jsonschema.Draft202012Validator
# The names for element types that a client may send: ours, NumPy's, and the protocol's.
NAMES = {"i1": ["i1", "bool", "BOOL"], "index": ["index", "i64", "int64"],
         "f32": ["f32", "float32", "FP32"], "f64": ["f64", "float64", "FP64"],
         "f16": ["f16", "float16", "FP16"], "bf16": ["bf16", "bfloat16", "BF16"],
         "complex<f32>": ["complex<f32>", "complex64"],
         "complex<f64>": ["complex<f64>", "complex128"],
         "i8": ["i8", "si8", "int8", "INT8"], "i4": ["i4", "si4", "int4"],
         "i16": ["i16", "int16"], "i32": ["i32", "si32", "int32", "INT32"],
         "i64": ["i64", "int64"], "si16": ["si16", "int16"],
         "ui8": ["ui8", "uint8", "u8", "UINT8"]}
BYTES = {text: int(size) for text, size in re.findall(
    r'^FC_DTYPE\(\w+, "([^"]+)", \w+, \d+, (\d+),',
    (ROOT / "include/farcall/dtype.def").read_text(), re.M)}
# Integers of other widths: the bytes are the next power of two.
BYTES |= {f"{sign}{bits}": max(1, (1 << (bits - 1).bit_length()) // 8)
          for sign in ("i", "si", "ui") for bits in range(1, 65)}
UNSIGNED = {"i8": ["ui8", "uint8", "u8"], "i32": ["ui32", "UINT32"]}
GREATEST = {"f16": 65519.0, "bf16": 3.396e38, "f32": 3.4028235e38,
            "f64": 1.7976931348623157e308, "f8E4M3FN": 464.0}


@pytest.fixture(scope="module")
def asked(tmp_path_factory, farcall):
    """Modules of every kind of signature: native ones, IREE's, SIP's."""
    folder = tmp_path_factory.mktemp("schema")
    for name in "abi", "dtypes", "outparam", "ranks", "tensor":
        done = farcall("compile", ROOT / f"tests/modules/mlir/{name}.mlir",
                       "-o", folder / f"{name}.so")
        assert done.returncode == 0, done.stderr
    raw = "I11!S3!t6S3!t6R6!S3!t6"  # (si32, si32) -> si32
    trees = {"dict": "I17!D13!K2!x_0K2!y_1", "list": "I12!S9!k0_0k1_1"}
    functions = [Code().give(0).function(
        "0ii_i", 4, attrs=[("abi", "sip"), ("sip", tree + "R3!_0"), ("f", raw)])
        for tree in trees.values()]
    (folder / "trees.vmfb").write_bytes(
        module(functions, [(name, i) for i, name in enumerate(trees)]))
    server = Server("--isolation=thread", folder, *VMFB)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def functions(asked):
    """[(path, signature, schema)] of all functions that can be called."""
    modules = asked.get("/api/v1/modules?signatures=1").json["modules"]
    found = []
    for signature in [f for m in modules for f in m["functions"]]:
        path = f"/api/v1/functions/{signature['module']}/{signature['name']}"
        if signature["callable"]:
            schema = asked.get(path + "?format=jsonschema").json
            VALIDATOR.check_schema(schema)
            found.append((path, signature, schema))
    assert len(found) > 60
    assert {"dict", "list"} < {signature["name"] for _, signature, _ in found}
    return found


# ---------------------------------------------------------------------------
# Random documents

class Maker:
    """Makes random documents that a function accepts."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.dims = {}

    def either(self):
        return self.rng.random() < 0.5

    def element(self, dtype):
        rng = self.rng
        if dtype == "i1":
            return rng.choice([True, False, 0, 1])
        if dtype.startswith("complex"):
            return [self.element(dtype[8:-1]), self.element(dtype[8:-1])]
        if dtype.startswith(("f", "bf")):
            limit = GREATEST.get(dtype, 1.0)
            special = [] if dtype.startswith(("f4", "f6")) else ["NaN"]
            return rng.choice([0, -1, 1.5, limit, -limit, *special])
        bits = 64 if dtype == "index" else int(dtype.lstrip("isu"))
        low = 0 if dtype.startswith("u") else -(1 << bits - 1)
        value = rng.choice([low, low + (1 << bits) - 1, rng.randint(0, 1)])
        if bits == 64 and self.either():
            return str(value)
        return float(value) if bits < 50 and self.either() else value

    def nested(self, dtype, shape):
        if not shape:
            return self.element(dtype)
        return [self.nested(dtype, shape[1:]) for _ in range(shape[0])]

    def shape(self, type):
        if type["shape"] is None:
            return [self.rng.randint(1, 3) for _ in range(self.rng.randint(0, 3))]
        names = type.get("dims") or [None] * len(type["shape"])
        return [self.dims.setdefault(name or len(self.dims), self.rng.randint(1, 3))
                if size is None else size
                for size, name in zip(type["shape"], names)]

    def tensor(self, type):
        dtype, shape = type["dtype"], self.shape(type)
        if self.either():
            return self.nested(dtype, shape)
        typed = {"shape": shape}
        if dtype in UNSIGNED and self.either():
            typed["dtype"] = self.rng.choice(UNSIGNED[dtype])
            dtype = "u" + dtype
        elif self.either():
            typed["dtype"] = self.rng.choice(NAMES.get(dtype, [dtype]))
        count = int(numpy.prod(shape))
        if self.either():
            typed["b64"] = base64.b64encode(bytes(count * BYTES[dtype])).decode()
        elif self.either():
            typed["data"] = [self.element(dtype) for _ in range(count)]
        else:
            typed["data"] = self.nested(dtype, shape)
        return typed

    def value(self, type):
        kind = type["kind"]
        if kind in ("tensor", "vector"):
            return self.tensor(type)
        if kind == "scalar":
            return self.element(type["dtype"])
        if kind == "dict":
            return {f["name"]: self.value(f["type"]) for f in type["fields"]}
        if kind == "tuple":
            return [self.value(item) for item in type["items"]]
        raise AssertionError(kind)

    def document(self, signature):
        sent = [a for a in signature["arguments"] if a["role"] in ("in", "inout")]
        values = [self.value(a["type"]) for a in sent]
        named = [a.get("name") if a["keyword"] else None for a in sent]
        if signature["name"] == "dict":
            keys = dict(zip(named, values))
            return self.rng.choice([[keys], {"args": [keys]}, {"kwargs": keys},
                                    {"args": [], "kwargs": keys}])
        least = max([i + 1 for i, name in enumerate(named) if not name], default=0)
        places = self.rng.randint(least, len(sent))
        if places == len(sent) and self.either():
            return values
        document = {}
        if places or self.either():
            document["args"] = values[:places]
        if places < len(sent) or self.either():
            document["kwargs"] = dict(zip(named[places:], values[places:]))
        if self.either():
            document["options"] = self.options()
        return document

    def options(self):
        options = {}
        if self.either():
            options["int64"] = "string"
        if self.either():
            options["results"] = self.rng.choice(["typed", "b64"])
        return options


def test_what_is_accepted_fits(asked, functions):
    forms = {"typed": 0, "b64": 0, "mixed": 0}
    for path, signature, schema in functions:
        validator = VALIDATOR(schema)
        for seed in range(12):
            document = Maker(seed).document(signature)
            reply = asked.request("POST", path + "?validate=only",
                                  json.dumps(document),
                                  {"Content-Type": "application/json"})
            assert reply.status == 204, (path, document, reply.body)
            error = jsonschema.exceptions.best_match(
                validator.iter_errors(document))
            assert error is None, (path, document, error.message)
            text = json.dumps(document)
            forms["typed"] += '"data"' in text
            forms["b64"] += '"b64": ' in text
            forms["mixed"] += isinstance(document, dict) and bool(
                document.get("args") and document.get("kwargs"))
    assert min(forms.values()) > 10, forms


WRONG = [
    ("tensor/matmul", [{"shape": [1, 1], "data": [1], "b64": ""}, [[1]]]),
    ("tensor/matmul", [{"shape": [1, 1]}, [[1]]]),
    ("tensor/matmul", [{"shape": [1], "data": [1]}, [[1]]]),
    ("tensor/matmul", [{"shape": [1, -1], "data": []}, [[1]]]),
    ("tensor/matmul", [{"dtype": "f64", "shape": [1, 1], "data": [1]}, [[1]]]),
    ("tensor/matmul", [{"dtype": "float", "shape": [1, 1], "data": [1]}, [[1]]]),
    ("tensor/matmul", [{"shape": [1, 1], "data": ["1"]}, [[1]]]),
    ("tensor/matmul", [{"shape": [1, 1], "data": [1], "x": 1}, [[1]]]),
    ("tensor/matmul", [[[1]], [[1]], [[1]]]),
    ("tensor/matmul", [[[3.41e38]], [[1]]]),
    ("tensor/matmul", {"args": [[[1]]]}),
    ("tensor/matmul", {"kwargs": {"a": [[1]]}}),
    ("tensor/matmul", {"args": [[[1]]], "kwargs": {"a": [[1]], "b": [[1]]}}),
    ("tensor/matmul", {"args": [[[1]]], "kwargs": {"b": [[1]], "c": 1}}),
    ("tensor/matmul", {"args": [[[1]], [[1]]], "options": {"results": "raw"}}),
    ("tensor/matmul", {"args": [[[1]], [[1]]], "option": {}}),
    ("abi/s_i8", [300]),
    ("abi/s_i8", [{"shape": [], "data": 1}]),
    ("abi/s_i64", ["1.0"]),
    ("abi/s_i32", ["1"]),
    ("dtypes/t_f8", [[464.5]]),
    ("dtypes/t_f16", [[65520]]),
    ("dtypes/t_f8", [["Infinity"]]),
    ("trees/dict", []),
    ("trees/dict", [{"x": 1}]),
    ("trees/dict", [{"x": 1, "y": 2, "z": 3}]),
    ("trees/dict", [1, 2]),
    ("trees/dict", {"kwargs": {"x": 1}}),
    ("trees/dict", {"args": [{"x": 1, "y": 2}], "kwargs": {"x": 1}}),
    ("trees/list", {"kwargs": {"x": 1, "y": 2}}),
]


@pytest.mark.parametrize("name, document", WRONG, ids=str)
def test_what_is_refused_does_not_fit(asked, functions, name, document):
    schema = {path: schema for path, _, schema in functions}[
        "/api/v1/functions/" + name]
    assert asked.call(name, document).status in (400, 422)
    assert not VALIDATOR(schema).is_valid(document)


def test_answers_fit(asked, functions):
    seen = 0
    for path, signature, schema in functions:
        answer = VALIDATOR({"$ref": "#/$defs/answer", "$defs": schema["$defs"]})
        example = asked.get(path + "/example").json
        for seed in range(4):
            document = {**example, "options": Maker(seed).options()}
            reply = asked.request("POST", path, json.dumps(document),
                                  {"Content-Type": "application/json"})
            if reply.status != 200:
                continue  # some refuse zeros
            seen += 1
            error = jsonschema.exceptions.best_match(
                answer.iter_errors(reply.json))
            assert error is None, (path, document, reply.json, error.message)
        for wrong in [{"results": 1}, {}, {"results": [{}] * 9},
                      {"results": [], "error": ""}]:
            if wrong != {"results": []} or signature["results"]:
                assert not answer.is_valid(wrong), (path, wrong)
    assert seen > 200
