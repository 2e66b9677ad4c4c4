# SPDX-License-Identifier: Apache-2.0
"""One call in every form that it may have: each form gives the same bits. Forms and
models are tables. The forms are described in docs/http.md, docs/oip.md and
docs/grpc.md."""
import base64
import contextlib
import gzip
import io
import json
import os
import pathlib
import struct
import subprocess
import zlib

import numpy
import pytest

from conftest import BIN, HTTP2, ROOT
from oip_calls import RANDOM, TYPES, infer, same_bits, split, values_of

MODULES = BIN.parent / "tests/modules/native"
SERVED = [*(MODULES / each for each in ("scalars.so", "conventions.so", "simple.so")),
          ROOT / "tests/corpus/iree/storage/storage-vmvx.vmfb",
          ROOT / "tests/corpus/iree/roles/roles.vmfb"]
SAFE = {"|b1": "BOOL", "|u1": "U8", "|i1": "I8", "<u2": "U16", "<i2": "I16", "<u4": "U32",
        "<i4": "I32", "<u8": "U64", "<i8": "I64", "<f2": "F16", "<f4": "F32", "<f8": "F64"}


class Model:
    """A function, arrays for it, and its outputs."""

    def __init__(self, name, document):
        self.name = name
        self.path = "/api/v1/functions/" + (
            name.replace(".", "/", 1) if "." in name else f"{name}/add_sub")
        self.outputs = {each["name"]: TYPES[each["datatype"]]
                        for each in document["outputs"]}
        self.inputs = {each["name"]: arrays_of(name, each) for each in document["inputs"]}
        self.rowless = any(not each["shape"] for each in document["outputs"])
        self.datatypes = {each["name"]: each["datatype"] for each in document["inputs"]}
        self.answered = {each["name"]: each["datatype"] for each in document["outputs"]}


def arrays_of(model, each):
    shape = [3 if dim < 0 else dim for dim in each["shape"]]
    if model.endswith("rank_of"):  # of any rank
        shape = [2, 3]
    return values_of(each["datatype"], shape)


def post(server, path, body, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = server.request("POST", path, body, named)
    assert reply.status == 200, reply.body
    return reply


def as_lists(model, listed):
    return {name: numpy.array(value, dtype) for (name, dtype), value
            in zip(model.outputs.items(), listed, strict=True)}


def native_json(server, model):
    body = json.dumps([each.tolist() for each in model.inputs.values()])
    return as_lists(model, post(server, model.path, body).json["results"])


def native_binary(server, model):
    values, raw = [], b""
    for each in model.inputs.values():
        if each.shape:
            values.append({"shape": each.shape, "binary_data_size": each.nbytes})
            raw += each.tobytes()
        else:
            values.append(each.item())
    head = json.dumps({"args": values}).encode()
    document, rest = split(post(
        server, model.path, head + raw, Content_Type="application/octet-stream",
        Accept="application/octet-stream",
        Inference_Header_Content_Length=str(len(head))))
    found = {}
    for (name, dtype), value in zip(model.outputs.items(), document["results"],
                                    strict=True):
        if isinstance(value, dict):
            size = value["binary_data_size"]
            found[name] = numpy.frombuffer(rest[:size], dtype).reshape(value["shape"])
            rest = rest[size:]
        else:
            found[name] = numpy.array(value, dtype)
    assert not rest
    return found


def saved(array, version=None):
    file = io.BytesIO()
    numpy.lib.format.write_array(file, array, version)
    return file.getvalue()


def npy_of(arrange, version=None):
    def npy(server, model):
        if len(model.inputs) != 1 or len(model.outputs) != 1:
            return None
        (value,) = model.inputs.values()
        reply = post(server, model.path, saved(arrange(value), version),
                     Content_Type="application/x-npy", Accept="application/x-npy")
        assert reply.headers["Content-Type"] == "application/x-npy"
        return dict(zip(model.outputs, [numpy.load(io.BytesIO(reply.body))]))
    return npy


def other_order(value):
    return value.astype(value.dtype.newbyteorder(">"))


def npz_body(*arrays, **named):
    file = io.BytesIO()
    numpy.savez(file, *arrays, **named)
    return file.getvalue()


def npz_of(save):
    def npz(server, model):
        file = io.BytesIO()
        save(file, model.inputs)
        reply = post(server, model.path, file.getvalue(),
                     Content_Type="application/x-npz", Accept="application/x-npz")
        return dict(numpy.load(io.BytesIO(reply.body)))
    return npz


def safe_body(arrays):
    head, data = {"__metadata__": {"format": "np"}}, b""
    for name, value in arrays.items():
        head[name] = {"dtype": SAFE[value.dtype.str], "shape": value.shape,
                      "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors(server, model):
    body = post(server, model.path, safe_body(model.inputs),
                Content_Type="application/x-safetensors",
                Accept="application/x-safetensors").body
    (size,) = struct.unpack("<Q", body[:8])
    data, found = body[8 + size:], {}
    for name, each in json.loads(body[8:8 + size]).items():
        begin, end = each["data_offsets"]
        assert each["dtype"] == SAFE[numpy.dtype(model.outputs[name]).str]
        found[name] = numpy.frombuffer(data[begin:end], model.outputs[name]).reshape(
            each["shape"])
    return found


def oip_of(binary, outputs, code=None):
    def oip(server, model):
        inputs = {name: (model.datatypes[name], value)
                  for name, value in model.inputs.items()}
        return infer(server, model.name, inputs, binary, outputs, code)
    return oip


def tf_columns(server, model):
    inputs = {name: value.tolist() for name, value in model.inputs.items()}
    found = post(server, f"/v1/models/{model.name}:predict",
                 json.dumps({"inputs": inputs})).json["outputs"]
    if len(model.outputs) == 1:
        found = dict(zip(model.outputs, [found]))
    return {name: numpy.array(found[name], dtype)
            for name, dtype in model.outputs.items()}


def tf_rows_of(named):
    def tf_rows(server, model):
        inputs, several = model.inputs, len(model.inputs) > 1 or named
        if len({each.shape[:1] or None for each in inputs.values()}) > 1 or not all(
                each.shape for each in inputs.values()) or model.rowless:
            return None
        rows = [{name: value[i].tolist() for name, value in inputs.items()}
                for i in range(len(next(iter(inputs.values()))))]
        if not several:
            rows = [next(iter(row.values())) for row in rows]
        found = post(server, f"/v1/models/{model.name}:predict", json.dumps(
            {"signature_name": "serving_default", "instances": rows})).json["predictions"]
        if len(model.outputs) == 1:
            found = [dict(zip(model.outputs, [row])) for row in found]
        return {name: numpy.array([row[name] for row in found], dtype)
                for name, dtype in model.outputs.items()}
    return tf_rows


class deflate:
    compress = staticmethod(zlib.compress)


FACES = {
    "native JSON": native_json,
    "native binary": native_binary,
    "npy": npy_of(lambda value: value),
    "npy, version 2": npy_of(lambda value: value, (2, 0)),
    "npy, version 3": npy_of(lambda value: value, (3, 0)),
    "npy, Fortran order": npy_of(numpy.asfortranarray),
    "npy, big-endian": npy_of(other_order),
    "npz": npz_of(lambda file, inputs: numpy.savez(file, **inputs)),
    "npz, deflated": npz_of(lambda file, inputs: numpy.savez_compressed(file, **inputs)),
    "npz, by position": npz_of(lambda file, inputs: numpy.savez(file, *inputs.values())),
    "safetensors": safetensors,
    "OIP JSON": oip_of(False, False),
    "OIP binary": oip_of(True, True),
    "OIP binary in": oip_of(True, False),
    "OIP binary out": oip_of(False, True),
    "TF by column": tf_columns,
    "TF by row": tf_rows_of(False),
    "TF by named row": tf_rows_of(True),
    "OIP JSON, gzip": oip_of(False, False, gzip),
    "OIP binary, deflate": oip_of(True, True, deflate),
}


# These need FARCALL_CLIENTS, and a farcalld with HTTP/2.
GRPC_FACES = ["gRPC raw", "gRPC fields", "gRPC raw, gzip", "TF over gRPC", "TF over gRPC, fields"]


@contextlib.contextmanager
def grpc_faces(server):
    """The forms of gRPC, all called by one program."""
    folder = os.environ.get("FARCALL_CLIENTS")
    if not (folder and HTTP2):
        yield {}
        return
    with subprocess.Popen(
            [pathlib.Path(folder) / "python", ROOT / "tests/e2e/grpc_faces.py",
             f"{server.host}:{server.port}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        def face_of(face):
            def ask(_, model):
                # The fields of a message have none for half precision.
                if face == "gRPC fields" and "FP16" in model.datatypes.values():
                    return None
                inputs = [(name, model.datatypes[name], value.shape,
                           base64.b64encode(value.tobytes()).decode())
                          for name, value in model.inputs.items()]
                print(json.dumps((face, model.name, inputs, model.answered)),
                      file=program.stdin, flush=True)
                found = json.loads(program.stdout.readline())
                return {name: numpy.frombuffer(base64.b64decode(raw), model.outputs[name])
                        .reshape(shape) for name, (shape, raw) in found.items()}
            return ask
        yield {face: face_of(face) for face in GRPC_FACES}
        program.stdin.close()


@pytest.fixture
def models(serve):
    server = serve(*SERVED)
    found = []
    for name in server.get("/v2/models").json["models"]:
        document = server.get(f"/v2/models/{name}").json
        parts = document["inputs"] + document["outputs"]
        # Skipped: the argument is a number of repetitions, products overflow to NaN, or
        # the argument is an index. Random numbers would not do.
        if name.endswith((".repeat", ".fixed", ".both", "roles.put")):
            continue
        if document["inputs"] and all(each["datatype"] in TYPES for each in parts):
            found.append(Model(name, document))
    return server, found


def test_every_face_gives_the_same_bits(models):
    server, models = models
    with grpc_faces(server) as more:
        faces = {**FACES, **more}
        asked = dict.fromkeys(faces, 0)
        for model in models:
            expected = native_json(server, model)
            for face, call in faces.items():
                found = call(server, model)
                if found is None:  # it has no such form
                    continue
                asked[face] += 1
                assert found.keys() == expected.keys(), (model.name, face)
                for name, value in found.items():
                    assert same_bits(value, expected[name]), (model.name, face, name)
    assert all(count >= 3 for count in asked.values()), asked
    assert asked["OIP JSON"] >= 20


@pytest.mark.parametrize("wanted,coding", [
    ("gzip", "gzip"), ("deflate", "deflate"), ("gzip;q=0.1, deflate", "deflate"),
    ("x-gzip", "gzip"), ("*", "gzip"), ("gzip;q=0, *;q=0.5", "deflate"),
    ("br", None), ("identity, gzip;q=0.9", None), ("gzip;q=0", None), ("", None)])
def test_answers_are_compressed_as_asked(serve, wanted, coding):
    server = serve(MODULES / "conventions.so")
    value = RANDOM.standard_normal(5000).astype("<f4")
    reply = post(server, "/v2/models/conventions.swap/infer", json.dumps({"inputs": [
        {"name": str(i), "shape": [5000], "datatype": "FP32", "data": value.tolist()}
        for i in range(2)]}), Accept_Encoding=wanted)
    assert reply.headers.get("Content-Encoding") == coding
    body = {"gzip": gzip.decompress, "deflate": zlib.decompress,
            None: bytes}[coding](reply.body)
    assert same_bits(numpy.array(json.loads(body)["outputs"][0]["data"], "<f4"), value)


def test_small_and_raw_answers_are_not_compressed(serve):
    server = serve(MODULES / "conventions.so")
    small = json.dumps([[1.0], [2.0]])
    path = "/api/v1/functions/conventions/swap"
    reply = post(server, path, small, Accept_Encoding="gzip")
    assert "Content-Encoding" not in reply.headers and reply.json["results"]
    large = json.dumps([[1.0] * 9000, [2.0] * 9000])
    reply = post(server, path, large, Accept_Encoding="gzip",
                 Accept="application/x-npz")
    assert "Content-Encoding" not in reply.headers
    assert numpy.load(io.BytesIO(reply.body))["0"].tolist() == [2.0] * 9000
    reply = post(server, path, large, Accept_Encoding="gzip")
    assert gzip.decompress(reply.body) == post(server, path, large).body


def refused(server, body, status, code, says="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    reply = server.request("POST", "/api/v1/functions/conventions/swap", body, named)
    assert (reply.status, reply.json["code"]) == (status, code), reply.body
    assert says in reply.json["detail"], reply.body


def test_bad_bodies_are_refused(serve):
    server = serve("--max-body=8M", MODULES / "conventions.so")
    value = numpy.ones(4, "<f4")
    good, npz = npz_body(value, value), {"Content_Type": "application/x-npz"}
    refused(server, good[:-1], 400, "binary_framing", **npz)
    inside = good.index(b"\x93NUMPY") + 130
    refused(server, good[:inside] + b"?" + good[inside + 1:], 400, "binary_framing",
            "damaged", **npz)
    refused(server, saved(value), 400, "binary_framing", "one input",
            Content_Type="application/x-npy")
    refused(server, b"", 400, "binary_framing", **npz)
    refused(server, npz_body(value), 422, "missing_argument", "input '1'", **npz)
    refused(server, npz_body(**{"0": value, "one": value}), 422, "unknown_argument", "'one'", **npz)
    refused(server, npz_body(value, value.astype("<i4")), 422, "dtype_mismatch", "input '1'", **npz)
    refused(server, b"[[1],[2]]", 406, "not_acceptable", "2", Accept="application/x-npy")
    refused(server, gzip.compress(b"[[1],[2]]")[:-1], 400, "content_coding",
            Content_Encoding="gzip")
    refused(server, b"[[1],[2]]", 400, "content_coding", Content_Encoding="deflate")
    refused(server, b"[[1],[2]]", 415, "unsupported_media_type", Content_Encoding="br")
    second = good.rindex(b"PK\x01\x02") + 42  # its place; now that of the first
    refused(server, good[:second] + bytes(4) + good[second + 4:], 400, "binary_framing",
            "share bytes", **npz)
    # Each array is smaller than --max-body, both together are larger.
    half = numpy.tile(RANDOM.standard_normal(64).astype("<f4"), 20000)
    file = io.BytesIO()
    numpy.savez_compressed(file, half, half)
    refused(server, file.getvalue(), 413, "body_too_large", "an entry has", **npz)
    bomb = gzip.compress(bytes(64 << 20))
    assert len(bomb) < 100000
    refused(server, bomb, 413, "body_too_large", Content_Encoding="gzip")
    refused(server, bomb * 2, 413, "body_too_large", Content_Encoding="gzip")
    assert server.results("conventions/swap", [[1.0], [2.0]]) == [[2.0], [1.0]]


def test_an_error_has_the_id_of_a_compressed_request(serve):
    server = serve(MODULES / "simple.so")
    reply = server.request("POST", "/v2/models/simple/infer", gzip.compress(
        b'{"id":"my own","inputs":[]}'), {"Content-Encoding": "gzip"})
    assert (reply.status, reply.json["id"]) == (400, "my own")


def oip_body(arrays):
    datatypes = {numpy_type: name for name, numpy_type in TYPES.items()}
    return json.dumps({"inputs": [
        {"name": name, "shape": value.shape, "datatype": datatypes[value.dtype.str],
         "data": value.ravel().tolist()} for name, value in arrays.items()]})


def lists_of(arrays):
    return {name: value.tolist() for name, value in arrays.items()}


def raw_body(arrays):
    """The document and the bytes of an OIP request, and the document's length."""
    datatypes = {numpy_type: name for name, numpy_type in TYPES.items()}
    head = json.dumps({"inputs": [
        {"name": name, "shape": value.shape, "datatype": datatypes[value.dtype.str],
         "parameters": {"binary_data_size": value.nbytes}}
        for name, value in arrays.items()]}).encode()
    body = head + b"".join(value.tobytes() for value in arrays.values())
    return body, {"Inference-Header-Content-Length": str(len(head))}


def typed(make, kind):
    return lambda arrays: (make(arrays), {"Content-Type": kind})


NATIVE, OIP = "/api/v1/functions/conventions/%s", "/v2/models/conventions.%s/infer"
TF = "/v1/models/conventions.%s:predict"
WRONG = {  # the form: its path, its body and fields, the status of what is 422
    "native": (NATIVE, typed(lambda arrays: json.dumps(list(lists_of(arrays).values())),
                             "application/json"), 422),
    "npz": (NATIVE, typed(lambda arrays: npz_body(**arrays), "application/x-npz"), 422),
    "safetensors": (NATIVE, typed(safe_body, "application/x-safetensors"), 422),
    "oip": (OIP, lambda arrays: (oip_body(arrays), {}), 400),
    "oip raw": (OIP, raw_body, 400),
    "tf": (TF, lambda arrays: (json.dumps({"inputs": lists_of(arrays)}), {}), 400),
}
GOOD, FOUR = numpy.ones(3, "<f4"), numpy.ones(4, "<f4")
MISTAKES = {  # function, arguments, the code, and the forms that cannot make the mistake
    "missing": ("swap", {"0": GOOD}, "missing_argument", ()),
    "none at all": ("swap", {}, "missing_argument", ("npz", "safetensors")),
    "unknown": ("swap", {"0": GOOD, "1": GOOD, "x": GOOD}, "unknown_argument", ("native",)),
    "unknown alone": ("swap", {"0": GOOD, "x": GOOD}, "unknown_argument", ("native",)),
    "too deep": ("swap", {"0": GOOD, "1": GOOD.reshape(1, 3)}, None, ()),
    "too flat": ("swap", {"0": GOOD, "1": numpy.float32(1).reshape(())}, None, ()),
    "another rank": ("sum2", {"0": GOOD}, None, ()),
    "too short": ("bp_add", {"0": FOUR, "1": GOOD}, "shape_mismatch", ()),
    "too long": ("bp_add", {"0": numpy.ones(5, "<f4"), "1": FOUR}, "shape_mismatch", ()),
    "empty": ("bp_add", {"0": FOUR[:0], "1": FOUR}, "shape_mismatch", ()),
    "of another type": ("swap", {"0": GOOD, "1": GOOD.astype("<i4")}, "dtype_mismatch",
                        ("native", "tf")),
    "of another width": ("swap", {"0": GOOD, "1": GOOD.astype("<f8")}, "dtype_mismatch",
                         ("native", "tf")),
    "of no function": ("none", {"0": GOOD}, 404, ()),
}


def refused_alike(reply, form, status, codes):
    """The error has this status and one of these codes, in the words for each client."""
    found = reply.json
    assert reply.status == found["status"] == status, (form, found)
    assert found["code"] in codes, (form, found)
    assert found["error"] == found["detail"], form
    if form in ("oip", "oip raw", "tf"):
        assert reply.headers["Farcall-Error-Code"] == found["code"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_has_one_code(serve, mistake):
    function, arrays, code, without = MISTAKES[mistake]
    server = serve(MODULES / "conventions.so")
    codes = {None: ["shape_mismatch", "type_mismatch"],
             404: ["function_not_found", "module_not_found"]}.get(code, [code])
    for form, (path, make, status) in WRONG.items():
        if form in without:
            continue
        body, headers = make(arrays)
        reply = server.request("POST", path % function, body, headers)
        refused_alike(reply, form, 404 if code == 404 else status, codes)


WRITTEN = {  # the form: its path, a document around the text of an array, the status
    "native": (NATIVE, '[%s,[1]]', 422),
    "oip": (OIP, '{"inputs":[{"name":"0","shape":[2],"datatype":"FP32","data":%s},'
            '{"name":"1","shape":[1],"datatype":"FP32","data":[1]}]}', 400),
    "tf": (TF, '{"inputs":{"0":%s,"1":[1]}}', 400),
}
TEXTS = {  # an array, and the code
    "bracket": ("[1,2)", "json_syntax"), "NaN": ("[1,NaN]", "json_syntax"),
    "Infinity": ("[1,-Infinity]", "json_syntax"), "plus": ("[1,+2]", "json_syntax"),
    "zeros": ("[1,02]", "json_syntax"), "hex": ("[1,0x2]", "json_syntax"),
    "comma": ("[1,2,]", "json_syntax"), "no UTF-8": ('[1,"\xff"]', "json_syntax"),
    "quotes": ("[1,'2']", "json_syntax"), "null": ("[1,null]", "type_mismatch"),
    "text": ('[1,"two"]', "type_mismatch"), "object": ("[1,{}]", "type_mismatch"),
    "too large": ("[1,1e39]", "out_of_range"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_written_wrong_has_one_code(serve, text):
    written, code = TEXTS[text]
    server = serve(MODULES / "conventions.so")
    for form, (path, document, status) in WRITTEN.items():
        body = (document % written).encode("latin-1")
        reply = server.request("POST", path % "swap", body)
        refused_alike(reply, form, 400 if code == "json_syntax" else status, [code])
