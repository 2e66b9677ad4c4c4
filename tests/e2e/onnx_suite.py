# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests of its operators as calls over HTTP: what is sent, what must be
answered, and what the recovered signature may be. onnx_cases.py, run by the Python
that has ONNX, makes and compiles them."""
import json
import os

import numpy

from conftest import ROOT

# For each type of ONNX: the type of a typed argument, which is also the type in a
# signature. IREE's integers have no sign.
TYPES = {
    "FLOAT": "f32", "DOUBLE": "f64", "FLOAT16": "f16", "BFLOAT16": "bf16",
    "BOOL": "i1", "INT4": "i4", "INT8": "i8", "INT16": "i16", "INT32": "i32",
    "INT64": "i64", "UINT4": "i4", "UINT8": "i8", "UINT16": "i16",
    "UINT32": "i32", "UINT64": "i64", "COMPLEX64": "complex<f32>",
    "COMPLEX128": "complex<f64>", "FLOAT8E4M3FN": "f8E4M3FN",
    "FLOAT8E4M3FNUZ": "f8E4M3FNUZ", "FLOAT8E5M2": "f8E5M2",
    "FLOAT8E5M2FNUZ": "f8E5M2FNUZ", "FLOAT8E8M0": "f8E8M0FNU",
}

# For these, IREE sorts in the memory of the argument and returns a part of it.
SORTS = "test_top_k"


class Suite:
    """The named cases, or every step-th one. They are compiled once and kept in a
    folder. `index` has all cases."""

    def __init__(self, onnx, names=None, step=1, kept="onnx", flags=()):
        self.onnx = onnx
        self.folder = onnx.compiled / kept
        self.folder.mkdir(exist_ok=True)
        if not (self.folder / "index.json").exists():
            self.make("generate")
        self.index = json.loads((self.folder / "index.json").read_text())
        self.tensors = [name for name in self.index if self.index[name]["tensors"]]
        self.names = self.tensors[::step] if names is None else names
        self.make("compile", self.names, flags)
        for name in self.compiled():
            if name.startswith(SORTS):
                self.write_sidecar(name)

    def write_sidecar(self, name):
        """Writes the sidecar. Several runs may share the folder."""
        mine = self.folder / f"{name}.{os.getpid()}"
        mine.write_text(json.dumps({"farcall": 1, "functions": [
            {"name": name, "args": [{"role": "scratch"}, {}]}]}))
        mine.rename(self.folder / f"{name}.farcall.json")

    def make(self, verb, names=(), flags=(), timeout=7200):
        done = self.onnx.run("python", ROOT / "tests/e2e/onnx_cases.py", verb, self.folder,
                             *flags, input="\n".join(names), timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def module(self, name):
        return self.folder / f"{name}.vmfb"

    def refusal(self, name):
        """(what refused the case, the first words of its message). None: it compiled."""
        path = self.folder / f"{name}.refused"
        if not path.exists():
            return None
        stage, _, text = path.read_text(errors="replace").partition(": ")
        return stage, text[:200]

    def compiled(self):
        return [name for name in self.names if self.module(name).exists()]

    def data(self, name):
        return numpy.load(self.folder / f"{name}.npz")

    def narrow(self, kind):
        """The values of a float type that numpy lacks. None: numpy has it."""
        return numpy.load(self.folder / "narrow.npz").get(kind)


def plain(value):
    """A float array as nested lists for JSON."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not numpy.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value


def arguments(entry, data, signature):
    """The arguments by position. An argument of unknown type is sent with its own type."""
    values = []
    for i, argument in enumerate(signature["arguments"]):
        array = data[f"in{i}"]
        value = plain(array.tolist())
        if argument["type"]["kind"] == "unknown":
            value = {"dtype": TYPES[entry["inputs"][i][0]],
                     "shape": list(array.shape),
                     "data": plain(array.ravel().tolist())}
        values.append(value)
    return values


def pull(value, like, narrow):
    """Makes an array like `like` of a result. Integers need only the same width, not
    the same sign. `narrow`: the values of the type, if numpy lacks it."""
    if like.dtype.kind in "iu":
        whole = numpy.array(value, object) & (1 << 8 * like.dtype.itemsize) - 1
        unsigned = f"u{like.dtype.itemsize}"
        return numpy.asarray(whole, unsigned).view(like.dtype)
    if like.dtype.kind == "c":
        return numpy.array(value, "f8").view("c16").squeeze(-1)
    # The text is the shortest that reads back as the value in its own type.
    got = numpy.array(value, "f8")
    if narrow is not None:
        after = numpy.clip(numpy.searchsorted(narrow, got), 1, len(narrow) - 1)
        low, high = narrow[after - 1], narrow[after]
        # In the middle between two values, take the one with an even mantissa: every
        # second one from 0 on.
        odd = (after - numpy.searchsorted(narrow, 0)) % 2
        down, up = got - low, high - got
        near = numpy.where((down < up) | (down == up) & (odd == 1), low, high)
        got = numpy.where(numpy.isfinite(got), near, got)
    return got.astype(like.dtype)


def difference(suite, name, results):
    """What is wrong with the results, by the test's own tolerances. None: nothing."""
    entry, data = suite.index[name], suite.data(name)
    if len(results) != len(entry["outputs"]):
        return f"{len(results)} results, not {len(entry['outputs'])}"
    for i, value in enumerate(results):
        want = data[f"out{i}"]
        got = pull(value, want, suite.narrow(entry["outputs"][i][0]))
        # In JSON an array without rows does not tell the length of its rows.
        same = got.size == 0 if want.size == 0 else got.shape == want.shape
        if not same:
            return f"result {i}: shape {got.shape}, not {want.shape}"
        try:
            numpy.testing.assert_allclose(got.reshape(want.shape), want,
                                          entry["rtol"], entry["atol"])
        except AssertionError as error:
            return f"result {i}: " + " ".join(str(error).split())[:300]
    return None


def unlike(suite, name, results):
    """What differs from the answer of IREE's own runtime, to the bit. None: nothing.
    Any NaN equals any other."""
    path = suite.folder / f"{name}.iree"
    if not path.exists():
        return "IREE's runtime fails"
    wanted = numpy.load(path)
    if len(results) != len(wanted.files):
        return f"{len(results)} results, not {len(wanted.files)}"
    for i, value in enumerate(results):
        want = wanted[f"out{i}"]
        kind = suite.index[name]["outputs"][i][0]
        got = pull(value, want, suite.narrow(kind))
        if want.size == got.size == 0:
            continue
        if got.shape != want.shape:
            return f"result {i}: shape {got.shape}, not {want.shape}"
        if not numpy.array_equal(got, want, equal_nan=want.dtype.kind in "fc"):
            return f"result {i}: other numbers"
    return None


def call(server, suite, name, judge=difference):
    """Why the answer is not the test's own, or None; and the signature."""
    entry, data = suite.index[name], suite.data(name)
    reply = server.get(f"/api/v1/functions/{name}/{name}")
    if reply.status != 200:
        return f"signature: {reply.status} {reply.body}", None
    signature = reply.json
    reply = server.call(f"{name}/{name}", arguments(entry, data, signature))
    if reply.status != 200:
        return f"{reply.status} {reply.json['code']}: {reply.json['detail']}", signature
    return judge(suite, name, reply.json["results"]), signature


def judge(type_, declared, shape):
    """Compares a recovered type with the model's declaration and the test's data.
    `exact`, `open` (one dim less is known), `unknown`, or what is wrong."""
    if type_["kind"] == "unknown":
        return "unknown"
    name, dims = declared
    dims = dims if dims is not None else [None] * len(shape)
    if type_["kind"] != "tensor" or type_["dtype"] != TYPES.get(name):
        return f"{type_} for {name}"
    if len(type_["shape"]) != len(dims):
        return f"rank {len(type_['shape'])}, declared {len(dims)}"
    verdict = "exact"
    for got, said, real in zip(type_["shape"], dims, shape):
        if got is None and said is not None:
            verdict = "open"
        # farcall may infer a dim that the model does not declare: it must then be the
        # data's.
        if got is not None and got != (real if said is None else said):
            return f"dims {type_['shape']}, declared {dims}"
    return verdict


def verdicts(suite, name, signature):
    """(argument or result, verdict) for each argument and result."""
    entry, data = suite.index[name], suite.data(name)
    for what, short, said in (("arguments", "in", "inputs"),
                              ("results", "out", "outputs")):
        assert len(signature[what]) == len(entry[said])
        for i, each in enumerate(signature[what]):
            yield what, judge(each["type"], entry[said][i],
                              data[f"{short}{i}"].shape)


# The datatypes of the Open Inference Protocol for ONNX's types.
DATATYPES = {
    "FLOAT": "FP32", "DOUBLE": "FP64", "FLOAT16": "FP16", "BFLOAT16": "BF16",
    **{name: name for name in ("BOOL", "INT8", "INT16", "INT32", "INT64", "UINT8",
                               "UINT16", "UINT32", "UINT64")}}


def call_by_oip(server, suite, name):
    """Why the model cannot be called by the Open Inference Protocol, or what is wrong
    with its answer. None: nothing."""
    entry, data = suite.index[name], suite.data(name)
    lacks = {kind for kind, _ in entry["inputs"] + entry["outputs"]} - DATATYPES.keys()
    if lacks:
        return f"the protocol has no {', '.join(sorted(lacks))}"
    reply = server.get(f"/v2/models/{name}.{name}")
    if reply.status != 200:
        return f"metadata: {reply.status} {reply.body}"
    inputs = [{"name": each["name"], "datatype": DATATYPES[entry["inputs"][i][0]],
               "shape": list(data[f"in{i}"].shape),
               "data": plain(data[f"in{i}"].ravel().tolist())}
              for i, each in enumerate(reply.json["inputs"])]
    reply = server.request("POST", f"/v2/models/{name}.{name}/infer",
                           json.dumps({"inputs": inputs}).encode())
    if reply.status != 200:
        return f"{reply.status} {reply.json['error']}"
    return difference(suite, name, [
        numpy.array(each["data"], object).reshape(each["shape"]).tolist()
        for each in reply.json["outputs"]])
