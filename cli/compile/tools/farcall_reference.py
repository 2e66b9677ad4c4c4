# SPDX-License-Identifier: Apache-2.0
"""Computes the results of a reference: farcall_reference.py FILE DOCUMENT OUTPUT [given]

FILE is an ONNX model, which onnxruntime runs or, without it, onnx's own evaluator; or an
.npz with arguments and results. DOCUMENT is {"function": the signature, "call": a call
document}: the call gives the shapes of the arguments, and with `given` also their values.
OUTPUT becomes {"call": a call document, "results": [...], "by": the reference's name}.
"""
import base64
import json
import sys
import zipfile

import numpy

from farcall_import import Refused, one_line, run

INSTALL = "pip install onnxruntime numpy"


def plain(array):
    """The array as nested lists, as farcall writes them."""
    array = numpy.asarray(array)
    if array.dtype.kind == "c":
        array = numpy.stack([array.real, array.imag], -1)
    if array.dtype.kind not in "fV" and array.dtype.name != "bfloat16":
        return array.tolist()
    array = array.astype("f8")
    if numpy.isfinite(array).all():
        return array.tolist()
    words = array.astype(object)
    words[numpy.isnan(array)] = "NaN"
    words[numpy.isposinf(array)] = "Infinity"
    words[numpy.isneginf(array)] = "-Infinity"
    return words.tolist()


def values_of(call, names):
    """The arguments of a call document, in the order of `names`."""
    if isinstance(call, list):
        return call
    if not {"args", "kwargs"} & set(call):
        return [call[name] for name in names]
    given = list(call.get("args", []))
    return given + [call["kwargs"][name] for name in names[len(given):]]


def drawn(shape, dtype, random):
    """Random values that every model accepts: an integer may be an index, so it is 0 or
    1."""
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.integers(0, 2, shape).astype(dtype)
    return random.normal(size=shape).astype(dtype)


# ---------------------------------------------------------------------------
# An ONNX model

def arguments_of(model, document, given):
    from onnx import helper
    weights = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in weights]
    names = [each.name for each in inputs]
    values = values_of(document["call"], names)
    if len(values) != len(names):
        raise Refused(f"the model takes {len(names)} arguments ({', '.join(names)}), the "
                      f"function {len(values)}")
    random = numpy.random.default_rng(0)
    made = {}
    for each, value in zip(inputs, values):
        dtype = helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type)
        array = array_of(value, dtype)
        made[each.name] = array if given else drawn(array.shape, dtype, random)
    return made


def array_of(value, dtype):
    """An array from a value of a call: nested lists, or an object with a shape."""
    if not isinstance(value, dict):
        return numpy.array(value, dtype)
    flat = (numpy.frombuffer(base64.b64decode(value["b64"]), dtype) if "b64" in value
            else numpy.array(value["data"], dtype))
    return flat.reshape(value.get("shape", ()))


def run_model(path, arguments):
    """(results, the name of the runtime). If onnxruntime is missing or fails, onnx's own
    evaluator is used: onnxruntime does not have all operators of ONNX."""
    import onnx
    try:
        import onnxruntime
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        return session.run(None, arguments), "onnxruntime"
    except ImportError:
        pass
    except Exception as failure:
        print(f"onnxruntime: {one_line(failure)}", file=sys.stderr)
    from onnx.reference import ReferenceEvaluator
    results = ReferenceEvaluator(onnx.load(path)).run(None, arguments)
    return results, "onnx's reference evaluator"


def label_numbers(results, model):
    """The results as farcall gives them: labels that are texts become the numbers of
    their classes, and lists of dicts become rows."""
    from onnx import helper
    names = []
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "classlabels_strings":
                names = [each.decode() for each in helper.get_attribute_value(attribute)]
    made = []
    for result in results:
        if isinstance(result, list) and result and isinstance(result[0], dict):
            result = numpy.array([list(row.values()) for row in result], "f4")
        result = numpy.asarray(result)
        if result.dtype.kind in "OU":
            result = numpy.array([names.index(each) for each in result.ravel()])
        made.append(result)
    return made


def of_model(path, document, given):
    import onnx
    model = onnx.load(path)
    arguments = arguments_of(model, document, given)
    results, by = run_model(path, arguments)
    results = label_numbers(results, model)
    return [plain(each) for each in arguments.values()], results, by


# ---------------------------------------------------------------------------
# An .npz

def pick(arrays, names, prefixes, count, what):
    """The arrays with these names; if not all exist, those named PREFIX0, PREFIX1 and so
    on."""
    if names and all(name in arrays for name in names):
        return [arrays[name] for name in names]
    for prefix in prefixes:
        found = [f"{prefix}{place}" for place in range(count)]
        if all(name in arrays for name in found):
            return [arrays[name] for name in found]
    wanted = names if all(names) and names else [f"{prefixes[0]}{i}" for i in range(count)]
    raise Refused(f"it has no {what} {', '.join(wanted)}; it has "
                  f"{', '.join(sorted(arrays))}",
                  "name them as the signature does, or " +
                  " or ".join(f"{prefix}0, {prefix}1" for prefix in prefixes))


def of_arrays(path, document, given):
    try:
        arrays = dict(numpy.load(path, allow_pickle=False))
    except (ValueError, OSError, zipfile.BadZipFile) as failure:
        raise Refused(f"not an .npz: {one_line(failure)}")
    function = document["function"]
    taken = [each.get("name") or "" for each in function["arguments"]
             if each.get("role", "in") in ("in", "inout")]
    given_back = [each.get("name") or "" for each in function["results"]]
    arguments = pick(arrays, taken, ("arg", "x", "arr_"), len(taken), "arguments")
    results = pick(arrays, given_back, ("result", "y"), len(given_back), "results")
    return [plain(each) for each in arguments], results, "the file"


def main(path, document, output, given, _):
    with open(document, encoding="utf-8") as file:
        document = json.load(file)
    made = of_arrays if zipfile.is_zipfile(path) else of_model
    arguments, results, by = made(path, document, given == "given")
    with open(output, "w", encoding="utf-8") as file:
        json.dump({"call": arguments, "results": [plain(each) for each in results],
                   "by": by}, file)


if __name__ == "__main__":
    run(main, INSTALL)
