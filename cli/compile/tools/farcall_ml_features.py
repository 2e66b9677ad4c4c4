# SPDX-License-Identifier: Apache-2.0
"""Converts the operators before and after an estimator, and nearest neighbours. Each
function of (g, node, attributes) writes the replacement of one operator; farcall_ml.py
has the table."""
import numpy
from onnx import TensorProto, numpy_helper

from farcall_ml_graph import ML, STRING, class_names, read, refused, text

SMALLEST = 1e-30  # the least norm


def scaler(g, node, attributes):
    x, dtype = g.float_of(node.input[0])
    x = g.Sub(x, g.constant(attributes["offset"], dtype))
    g.Mul(x, g.constant(attributes["scale"], dtype), to=node.output[0])


def normalizer(g, node, attributes):
    x, dtype = g.float_of(node.input[0])
    kind = text(attributes.get("norm", "MAX"))
    if kind == "L2":
        squares = g.reduce("ReduceSum", g.Mul(x, x), 1, keep=True)
        norm = g.Sqrt(squares)
    elif kind == "L1":
        norm = g.reduce("ReduceSum", g.Abs(x), 1, keep=True)
    else:
        norm = g.reduce("ReduceMax", g.Abs(x), 1, keep=True)
    norm = g.Max(norm, g.constant(SMALLEST, dtype))
    g.Div(x, norm, to=node.output[0])


def imputer(g, node, attributes):
    x = node.input[0]
    if attributes.get("imputed_value_int64s"):
        values = g.constant(attributes["imputed_value_int64s"], "i8")
        missing = g.Equal(x, g.constant(attributes["replaced_value_int64"], "i8"))
    else:
        x, dtype = g.float_of(x)
        values = g.constant(attributes["imputed_value_floats"], dtype)
        absent = attributes.get("replaced_value_float", 0.0)
        missing = g.IsNaN(x) if absent != absent else g.Equal(
            x, g.constant(absent, dtype))
    g.Where(missing, values, x, to=node.output[0])


def binarizer(g, node, attributes):
    x, dtype = g.float_of(node.input[0])
    above = g.Greater(x, g.constant(attributes.get("threshold", 0.0), dtype))
    g.Cast(above, dtype=g.types.get(node.input[0], TensorProto.FLOAT),
           to=node.output[0])


def numbers_only(g, node, name):
    if g.types.get(name) == STRING and name not in g.numbers:
        raise refused(node, f"'{name}' is text, which compilers have no type for",
                      "encode text as numbers before the call, and train on those")


def one_hot_encoder(g, node, attributes):
    x = node.input[0]
    numbers_only(g, node, x)
    if attributes.get("cats_strings"):
        raise refused(node, "its categories are text",
                      "encode text as numbers before the call, and train on those")
    wanted = g.constant(attributes["cats_int64s"], "i8")
    whole = g.Cast(x, dtype=TensorProto.INT64)
    rows = g.Unsqueeze(whole, g.constant([-1], "i8"))
    g.Cast(g.Equal(rows, wanted), dtype=TensorProto.FLOAT, to=node.output[0])


TABLE_MAX = 1 << 20  # rows of a table that is read by its key


def table_of(keys, values, otherwise):
    """A list with a value for each whole number from the least key to the largest, and at
    the end the value for all other numbers."""
    made = [otherwise] * (max(keys) - min(keys) + 2)
    for key, value in zip(keys[::-1], values[::-1]):  # the first of equal keys counts
        made[key - min(keys)] = value
    return made


def look_up(g, x, keys, table, output):
    """Looks x up in a table. One comparison for each key would take compilers hours."""
    known = g.And(g.GreaterOrEqual(x, g.constant(min(keys), "i8")),
                  g.LessOrEqual(x, g.constant(max(keys), "i8")))
    place = g.Where(known, g.Sub(x, g.constant(min(keys), "i8")),
                    g.constant(max(keys) - min(keys) + 1, "i8"))
    g.Gather(table, place, axis=0, to=output)


def default_of(attributes, values):
    """The value for all other keys. In newer models it is a tensor."""
    if "default_tensor" in attributes:
        return text(numpy_helper.to_array(attributes["default_tensor"]).item())
    name, otherwise = {str: ("default_string", "_Unused"), int: ("default_int64", -1),
                       float: ("default_float", -0.0)}[type(values[0])]
    return text(attributes.get(name, otherwise))


def is_key(g, x, key, dtype):
    """Compares x with a key. Before version 4, NaN cannot be a key."""
    return g.IsNaN(x) if key != key and g.version(ML) >= 4 else g.Equal(
        x, g.constant(key, dtype))


def label_encoder(g, node, attributes):
    x, output = node.input[0], node.output[0]
    keys, values = ([text(each) for each in found] for found in (
        next((attributes[f"{kind}_{name}"] for name in ("int64s", "floats", "strings")
              if attributes.get(f"{kind}_{name}")), []) for kind in ("keys", "values")))
    if not keys or isinstance(keys[0], str) or len(keys) != len(values):
        raise refused(node, "its keys are text, or a tensor",
                      "encode text as numbers before the call, and train on those")
    otherwise = default_of(attributes, values)
    if isinstance(values[0], str):
        if otherwise not in values and sorted(keys) != list(range(len(keys))):
            g.notes.append(f"'{output}' is -1, for '{otherwise}', where its encoder has no "
                           "such key")
        g.numbers[output] = values
        otherwise = values.index(otherwise) if otherwise in values else -1
        values = list(range(len(values)))
    key_type = "i8" if isinstance(keys[0], int) else "f4"
    value_type = "i8" if isinstance(values[0], int) else "f4"
    if key_type == "i8" and max(keys) - min(keys) < TABLE_MAX:
        return look_up(g, x, keys, g.constant(
            table_of(keys, values, otherwise), value_type), output)
    result = g.constant(otherwise, value_type)
    for key, value in zip(keys[::-1], values[::-1]):
        result = g.Where(is_key(g, x, key, key_type), g.constant(value, value_type), result)
    g.Identity(result, to=output)


def feature_vectorizer(g, node, attributes):
    parts = [g.float_of(each)[0] for each in node.input]
    g.Concat(*parts, axis=1, to=node.output[0])


def array_feature_extractor(g, node, attributes):
    data, index = node.input
    names = g.constants.get(data)
    flat = g.Reshape(index, g.constant([-1], "i8"))
    if names is not None and names.data_type == STRING:
        g.numbers[node.output[0]] = [text(each) for each in names.string_data]
        flat = g.Cast(flat, dtype=TensorProto.INT64)
        g.Reshape(flat, g.constant([1, -1], "i8"), to=node.output[0])
        return
    one = names is not None and len(names.dims) == 1
    if one:
        data = g.Reshape(data, g.constant([1, -1], "i8"))
    flat = g.Cast(flat, dtype=TensorProto.INT64)
    g.Gather(data, flat, axis=-1, to=node.output[0])


def cast(g, node, attributes):
    """Converts a cast of texts that are numbers now."""
    to = attributes["to"]
    g.Cast(node.input[0], dtype=TensorProto.INT64 if to == STRING else to,
           to=node.output[0])
    g.numbers[node.output[0]] = g.numbers[node.input[0]]


def zip_map(g, node, attributes):
    names = class_names(attributes, "classlabels_int64s", "classlabels_strings")
    g.notes.append(f"'{node.output[0]}' is a tensor with a column for each of the "
                   f"classes {', '.join(map(str, names))}, not a list of dicts")
    # ZipMap gives floats, even if the export's result has doubles.
    g.Cast(node.input[0], dtype=TensorProto.FLOAT, to=node.output[0])


def distances(g, node, attributes):
    x, dtype = g.float_of(node.input[0])
    apart = g.Sub(g.Unsqueeze(x, g.constant([1], "i8")),
                  g.Unsqueeze(node.input[1], g.constant([0], "i8")))
    sums = g.reduce("ReduceSum", g.Mul(apart, apart), 2)
    if text(attributes.get("metric", "sqeuclidean")) == "euclidean":
        sums = g.Sqrt(sums)
    g.Identity(sums, to=node.output[0])


def is_distances(node):
    """Are these skl2onnx's distances: a Scan over rows that sums the squares of
    differences? If the number of rows is dynamic, IREE 3.13 computes it for one row
    only."""
    if node.op_type != "Scan":
        return False
    body = read(node)["body"]
    return [each.op_type for each in body.node] == [
        "Identity", "Sub", "ReduceSumSquare", "Identity"]


def scanned_distances(g, node, attributes):
    x, rows = node.input
    apart = g.Sub(g.Unsqueeze(x, g.constant([0], "i8")),
                  g.Unsqueeze(rows, g.constant([1], "i8")))
    sums = g.reduce("ReduceSum", g.Mul(apart, apart), 2)
    g.Identity(x, to=node.output[0])
    g.Identity(sums, to=node.output[1])


NEIGHBORS_MAX = 32


def neighbors_of(g, node):
    """(how many neighbours a TopK of distances finds, among how many rows); None for any
    other node."""
    count = g.constants.get(node.input[1]) if node.op_type == "TopK" else None
    made = {output: each for each in g.model.graph.node for output in each.output}
    source = made.get(node.input[0]) if count is not None else None
    while source is not None and source.op_type in ("Sqrt", "Transpose", "Pow"):
        source = made.get(source.input[0])
    if source is None or not (is_distances(source) or source.op_type == "CDist"):
        return None
    rows = g.constants.get(source.input[1])
    count = int(numpy_helper.to_array(count).ravel()[0])
    return (count, rows.dims[0]) if rows and count <= NEIGHBORS_MAX else None


def nearest(g, node, attributes):
    """Finds the smallest values one after the other. IREE 3.13 sorts whole rows for TopK,
    on the stack, which is too small for a few hundred values."""
    count, width = neighbors_of(g, node)
    rows, dtype = g.float_of(node.input[0])
    left = g.Neg(rows) if attributes.get("largest", 1) else rows
    columns = g.constant(numpy.arange(width), "i8")
    values, indices = [], []
    for _ in range(count):
        index = g.ArgMin(left, axis=1, keepdims=1)
        indices.append(index)
        values.append(g.GatherElements(rows, index, axis=1))
        left = g.Where(g.Equal(columns, index), g.constant(numpy.inf, dtype), left)
    g.Concat(*values, axis=1, to=node.output[0])
    g.Concat(*indices, axis=1, to=node.output[1])
