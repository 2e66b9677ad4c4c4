# SPDX-License-Identifier: Apache-2.0
"""Shared by test_iree_tensors*.py: compiles the programs of iree_programs.py in several
ways, serves them with one farcalld, and calls them there and in IREE's own runtime.
Machine code must give the same bits, VMVX the same numbers up to one unit in the
last place."""
import base64
import contextlib
import json
import math
import os
import pathlib
import re
from concurrent.futures import ThreadPoolExecutor

import numpy

from conftest import Server, end_servers
from iree_programs import DTYPES, Tensor, themes

LOCAL = ["--iree-hal-target-device=local"]
NATIVE = [*LOCAL, "--iree-hal-local-target-device-backends=llvm-cpu"]
VARIANTS = {
    "generic": [*NATIVE, "--iree-llvmcpu-target-cpu=generic"],
    "host": [*NATIVE, "--iree-llvmcpu-target-cpu=host"],
    "vmvx": [*LOCAL, "--iree-hal-local-target-device-backends=vmvx"],
}
THEMES = {theme.name: theme for theme in themes()}
EXACT = (numpy.bool_, numpy.int8, numpy.int16, numpy.int32, numpy.int64, numpy.uint8)


def pairs(*variants):
    """All pairs of variant and theme for which there is a module."""
    return [(variant, name) for variant in variants
            for name, theme in THEMES.items() if variant != "vmvx" or theme.vmvx]


def count_programs(variant):
    """The number of functions; each computes something different."""
    return sum(len(THEMES[name].programs) for _, name in pairs(variant))


def compiled(iree, variant, theme):
    """The compiled module. For `host`, its text names the processor's features, so that
    another machine compiles it again."""
    source = theme.source
    if variant == "host":
        features = pathlib.Path("/proc/cpuinfo").read_text()
        source += "// " + re.search("flags.*|$", features)[0]
    return iree.compile_text(f"{theme.name}-{variant}", source,
                             *VARIANTS[variant], *theme.flags)


@contextlib.contextmanager
def serving(iree, *variants, options=()):
    """One server of all modules, and the file of each."""
    names = pairs(*variants)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        files = dict(zip(names, pool.map(
            lambda pair: compiled(iree, pair[0], THEMES[pair[1]]), names)))
    running = Server(*options, *files.values())
    yield running, files
    end_servers([running])


def plain(value):
    """An argument as JSON for farcall."""
    if not isinstance(value, Tensor):
        return value
    if 0 in value.values.shape:
        return {"dtype": value.dtype, "shape": value.values.shape, "data": []}
    return leaves(value.values.tolist())


def leaves(value):
    if isinstance(value, list):
        return [leaves(each) for each in value]
    if isinstance(value, complex):
        return [leaves(value.real), leaves(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    return value


def raw(value):
    """An argument for the reference."""
    if not isinstance(value, Tensor):
        return value
    return {"dtype": value.dtype, "shape": list(value.values.shape),
            "b64": base64.b64encode(value.bytes).decode()}


def ours(result):
    """A typed result of farcall."""
    if not isinstance(result, dict):
        return float(result) if isinstance(result, str) else result
    kind = DTYPES[result["dtype"]]
    if result["dtype"].startswith("complex"):
        values = numpy.array(result["data"], numpy.float64).astype(numpy.float32)
        values = values.view(kind)
    else:  # the words for what is not finite are those of Python
        values = numpy.array(result["data"], numpy.float64 if kind not in EXACT else kind)
    return Tensor(result["dtype"], values.reshape(result["shape"]))


def theirs(result):
    """A result of the reference."""
    if not isinstance(result, dict):
        return result
    data = base64.b64decode(result["b64"])
    if result["dtype"] == "bf16":
        bits = numpy.frombuffer(data, "<u2").astype(numpy.uint32) << 16
        values = bits.view(numpy.float32)
    else:
        values = numpy.frombuffer(data, DTYPES[result["dtype"]])
    return Tensor(result["dtype"], values.reshape(result["shape"]))


def equal(got, wanted, exact):
    if not isinstance(wanted, Tensor):
        return type(got) is type(wanted) and \
            numpy.float32(got).tobytes() == numpy.float32(wanted).tobytes()
    if got.dtype != wanted.dtype or got.values.shape != wanted.values.shape:
        return False
    if got.bytes == wanted.bytes:
        return True
    if exact or got.values.dtype.kind != "f":
        return False
    try:
        numpy.testing.assert_array_max_ulp(got.values, wanted.values, 1)
        return True
    except AssertionError:
        return False


def reference(iree, module, calls):
    """The answers of IREE's runtime: a list of results for each call."""
    document = json.dumps([[function, list(map(raw, arguments))]
                           for function, arguments in calls])
    done = iree.run("python", pathlib.Path(__file__).with_name("iree_calls.py"),
                    module, "--tensors", input=document)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert None not in answers, done.stderr
    return [list(map(theirs, each)) for each in answers]


def differences(server, iree, module, variant, theme):
    """Calls all programs of the module. Returns those whose answers differ."""
    calls = [(program.name, arguments) for program in theme.programs
             for arguments in program.calls]
    for (function, arguments), wanted in zip(calls, reference(iree, module, calls)):
        reply = server.call(f"{module.stem}/{function}", {
            "args": list(map(plain, arguments)), "options": {"results": "typed"}})
        if reply.status != 200:
            yield f"{function}: {reply.body}"
            continue
        got = list(map(ours, reply.json["results"]))
        if len(got) != len(wanted) or \
                not all(equal(*pair, variant != "vmvx") for pair in zip(got, wanted)):
            yield f"{function}{arguments}:\n{got}\nis not\n{wanted}"
