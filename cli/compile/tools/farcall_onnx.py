# SPDX-License-Identifier: Apache-2.0
"""Converts ONNX to the torch dialect with the importer of IREE's compiler. The report
gets what that importer drops: names, types with their signs, names of dims, doc
strings.
"""
import json
import os
import re

from farcall_import import (Refused, one_line, plain, read_sizes, run, sized_name,
                            tensor, varying, write_report)

INSTALL = "pip install 'iree-base-compiler[onnx]'"
SHOWN_MAX, SHOWN_SIZE = 64, 1 << 20  # labels of how many results, and their bytes, load
LARGE = 2_000_000_000  # bytes that protobuf always writes
OPSET = 17  # older operators are lifted to those of this version, which IREE knows best

DTYPES = {"FLOAT": "f32", "UINT8": "ui8", "INT8": "i8", "UINT16": "ui16",
          "INT16": "i16", "INT32": "i32", "INT64": "i64", "BOOL": "i1",
          "FLOAT16": "f16", "DOUBLE": "f64", "UINT32": "ui32", "UINT64": "ui64",
          "COMPLEX64": "complex<f32>", "COMPLEX128": "complex<f64>",
          "BFLOAT16": "bf16", "FLOAT8E4M3FN": "f8E4M3FN",
          "FLOAT8E4M3FNUZ": "f8E4M3FNUZ", "FLOAT8E5M2": "f8E5M2",
          "FLOAT8E5M2FNUZ": "f8E5M2FNUZ"}


# Names that tools give to graphs: torch, tf2onnx, skl2onnx and onnxmltools (32 random
# digits if the user gives none), paddle2onnx, and tutorials.
EXPORTED = re.compile(r"main|main_graph|graph|torch[-_]jit([-_]export)?|tf2onnx|"
                      r"ONNX\(.*\)|[0-9a-f]{32}|Model from PaddlePaddle\.?|")


def function_name(graph):
    """The name that callers see: the graph's, if a person has chosen it."""
    return plain("predict" if EXPORTED.fullmatch(graph.name) else graph.name)


def load(source, original):
    import onnx
    try:
        model = onnx.load(source, load_external_data=False)
    except Exception as failure:
        raise Refused(f"not an ONNX model: {one_line(failure)}")
    if any(each.data_location == onnx.TensorProto.EXTERNAL
           for each in model.graph.initializer):
        if not original:
            raise Refused("its weights are in other files, which standard input "
                          "does not name", "give the file's path")
        onnx.load_external_data_for_model(model, os.path.dirname(original))
    return model


def is_large(model):
    """Is the model too large for protobuf to write? Then onnx can neither check it nor
    infer types, and only the exporter's types are known."""
    from google.protobuf.message import EncodeError
    try:
        return model.ByteSize() > LARGE
    except EncodeError:
        return True


def check(model):
    import onnx
    if is_large(model):
        return
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as failure:
        raise Refused(f"not a valid model: {one_line(failure)}")


def lift(model, notes):
    """The model, converted to a newer opset if its own is old."""
    from onnx import version_converter
    versions = [each.version for each in model.opset_import
                if each.domain in ("", "ai.onnx")]
    if not versions or versions[0] >= OPSET:
        return model
    try:
        lifted = version_converter.convert_version(model, OPSET)
        check(lifted)
    except Exception as failure:  # some operators cannot be lifted; IREE may know them
        notes.append(f"opset {versions[0]} could not be lifted to {OPSET}: "
                     f"{one_line(failure)}")
        return model
    notes.append(f"opset {versions[0]} was lifted to {OPSET}")
    return lifted


def forget_names(model):
    """Removes dim_param texts that are not names. Exporters write "?", "" or a number if
    they do not know a size; two such dims need not be equal."""
    graph = model.graph
    for value in [*graph.input, *graph.output, *graph.value_info]:
        for dim in dims_of(value):
            if not dim.HasField("dim_param"):
                continue
            name = dim.dim_param.strip()
            if name in ("", "?", "None") or name.lstrip("+-").isdigit():
                dim.ClearField("dim_param")


def inputs_of(model):
    weights = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in weights]


def dims_of(value):
    return value.type.tensor_type.shape.dim


def symbolic(model):
    """The names of the arguments' dims, and the name of the batch's dim: the first dim of
    an argument if it has a name, else the first name."""
    names, first = [], None
    for value in inputs_of(model):
        for place, dim in enumerate(dims_of(value)):
            if dim.dim_param and dim.dim_param not in names:
                names.append(dim.dim_param)
            if dim.dim_param and place == 0:
                first = first or dim.dim_param
    return names, first or (names[0] if names else None)


def is_nameless(dims):
    return bool(dims) and not dims[0].HasField("dim_value") and not dims[0].dim_param


def are_rows(model):
    """Is the first dim of all arguments the same, although it has no name? It is for
    skl2onnx, which makes an argument of each column of a table. For other models
    nothing says so: two matrices may have different numbers of rows."""
    inputs = inputs_of(model)
    return model.producer_name == "skl2onnx" and len(inputs) > 1 and all(
        is_nameless(dims_of(each)) and len(dims_of(each)) == 2 for each in inputs)


def name_batch(model, wanted, notes):
    """Names the arguments' first dims "batch" if they have no names. Then all arguments
    of a call must have the same number of rows, and --batch, if it is `wanted`, can
    give it sizes."""
    names, rows = symbolic(model)[0], are_rows(model)
    if "batch" in names or not (rows or wanted and not names):
        return
    for value in inputs_of(model):
        if is_nameless(dims_of(value)):
            dims_of(value)[0].dim_param = "batch"
    if rows:
        notes.append("its arguments have as many rows each: their first dims have no names and "
                     "are taken as one, 'batch'; names in the file (dim_param) keep them apart")


def with_sizes(model, row):
    import onnx
    sized = onnx.ModelProto()
    sized.CopyFrom(model)
    del sized.graph.value_info[:]
    for value in [*sized.graph.input, *sized.graph.output]:
        for dim in dims_of(value):
            if dim.dim_param in row:
                dim.dim_value = row[dim.dim_param]
            elif value in sized.graph.output and not dim.HasField("dim_value"):
                dim.ClearField("dim_param")  # inferred again
    return sized


def described(value, known):
    """The name and type of an argument or result."""
    import onnx
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise Refused(f"'{value.name}' is {kind.removesuffix('_type')}: functions "
                      "take and return tensors")
    spelled = onnx.TensorProto.DataType.Name(value.type.tensor_type.elem_type)
    if spelled not in DTYPES:
        raise Refused(f"'{value.name}' has elements of {spelled}, which no call can "
                      "carry")
    if not value.type.tensor_type.HasField("shape"):
        return {"name": value.name, "type": tensor(DTYPES[spelled], None)}
    shape, names = [], []
    for dim in dims_of(value):
        fixed = dim.HasField("dim_value") and dim.dim_value >= 0
        shape.append(dim.dim_value if fixed else None)
        name = dim.dim_param if dim.HasField("dim_param") else ""
        names.append(name if name in known and 0 < len(name.encode()) <= 64 else None)
    return {"name": value.name, "type": tensor(DTYPES[spelled], shape, names)}


def documentation(model):
    graph = model.graph
    said = [graph.doc_string or model.doc_string]
    said += [f"{each.name}: {each.doc_string}"
             for each in [*inputs_of(model), *graph.output] if each.doc_string]
    return "\n".join(filter(None, said))[:4000]


def shown(entries):
    """As many entries as a module can have that a server loads."""
    size, kept = 2, []
    for each in entries[:SHOWN_MAX]:
        size += len(json.dumps(each, ensure_ascii=False).encode())
        if size > SHOWN_SIZE:
            break
        kept.append(each)
    return kept


def function_of(model, name, labels):
    known = symbolic(model)[0]
    made = {"name": name,
            "arguments": [{**described(each, known), "keyword": True}
                          for each in inputs_of(model)],
            "results": [described(each, known) for each in model.graph.output]}
    show = shown([{"at": f"/{place}", "labels": labels[each.name]} for place, each in
                  enumerate(model.graph.output) if each.name in labels])
    doc = documentation(model)
    return {**made, **({"doc": doc} if doc else {}), **({"show": show} if show else {})}


def inferred(model, source):
    import onnx
    if is_large(model):
        return model
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError as failure:
        raise Refused(f"its shapes contradict each other: {one_line(failure)}")


def uneven(node, known):
    """The pads of a MaxPool of floats, if they differ at the two sides of a dim; else
    None. None also with ceil_mode: no window begins in the pads at the end, but after
    a Pad one would. And with auto_pad, where the node computes its pads itself."""
    from onnx import helper
    if node.op_type != "MaxPool" or len(node.output) > 1:
        return None
    if known.get(node.input[0]) not in ("FLOAT", "FLOAT16", "DOUBLE"):
        return None
    given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if given.get("ceil_mode") or given.get("auto_pad", b"NOTSET") != b"NOTSET":
        return None
    pads = given.get("pads", [])
    half = len(pads) // 2
    return pads if pads[:half] != pads[half:] else None


def spell_pads(model, source):
    """The model with such pads as a Pad before the MaxPool. IREE 3.13 converts the
    padding value to a double, and then cannot lower the MaxPool."""
    import numpy
    from onnx import TensorProto, helper, numpy_helper
    if is_large(model):
        return model
    graph, nodes = model.graph, []
    known = {each.name: TensorProto.DataType.Name(each.type.tensor_type.elem_type)
             for each in [*graph.input, *graph.value_info]}
    for node in graph.node:
        pads = uneven(node, known)
        nodes.append(node)
        if pads is None:
            continue
        half, name = len(pads) // 2, f"{node.output[0]}/padded"
        dtype = helper.tensor_dtype_to_np_dtype(
            getattr(TensorProto, known[node.input[0]]))
        graph.initializer.extend([
            numpy_helper.from_array(numpy.array(
                [0, 0, *pads[:half], 0, 0, *pads[half:]], "i8"), f"{name}/pads"),
            numpy_helper.from_array(numpy.array(-numpy.inf, dtype), f"{name}/with")])
        nodes.insert(-1, helper.make_node(
            "Pad", [node.input[0], f"{name}/pads", f"{name}/with"], [name]))
        node.input[0] = name
        kept = [each for each in node.attribute if each.name != "pads"]
        del node.attribute[:]
        node.attribute.extend(kept)
    if len(nodes) == len(graph.node):
        return model
    del graph.node[:]
    graph.node.extend(nodes)
    return inferred(model, source)


GROUPS = 8  # more would make too many operations


def parts_of(node, weights):
    """The number of groups of a convolution that is to be replaced by one convolution for
    each group; else 0. A convolution whose groups have one channel each stays: IREE
    lowers it well."""
    from onnx import helper
    given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    count = given.get("group", 1)
    known = all(name in weights for name in node.input[1:])
    if node.op_type != "Conv" or not known or not 1 < count <= GROUPS:
        return 0
    return count if weights[node.input[1]].dims[1] > 1 else 0


def ungroup(model):
    """The model with each convolution of several groups replaced by one convolution for
    each group. IREE 3.13 makes matrix products only of these, which take a fortieth of
    the time."""
    import numpy
    from onnx import helper, numpy_helper
    graph, nodes = model.graph, []
    weights = {each.name: each for each in graph.initializer}
    for node in graph.node:
        count = parts_of(node, weights)
        if not count:
            nodes.append(node)
            continue
        name = node.output[0]
        channels = weights[node.input[1]].dims[1]
        inputs = [[f"{name}/part {i}"] for i in range(count)]
        for weight in node.input[1:]:
            pieces = numpy.split(numpy_helper.to_array(weights[weight]), count)
            for i, piece in enumerate(pieces):
                inputs[i].append(f"{name}/{weight} {i}")
                graph.initializer.append(numpy_helper.from_array(piece, inputs[i][-1]))
        graph.initializer.append(numpy_helper.from_array(
            numpy.full(count, channels, "i8"), f"{name}/channels"))
        nodes.append(helper.make_node("Split", [node.input[0], f"{name}/channels"],
                                      [each[0] for each in inputs], axis=1))
        kept = [each for each in node.attribute if each.name != "group"]
        for i, each in enumerate(inputs):
            nodes.append(helper.make_node("Conv", each, [f"{name}/made {i}"]))
            nodes[-1].attribute.extend(kept)
        nodes.append(helper.make_node(
            "Concat", [f"{name}/made {i}" for i in range(count)], [name], axis=1))
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def is_of_one_dim(node, weights):
    """Is the node a convolution along one dim, with known weights?"""
    return node.op_type == "Conv" and node.input[1] in weights and \
        len(weights[node.input[1]].dims) == 3


def widened(attributes):
    """The attributes, changed for a convolution of images that are one row high."""
    from onnx import helper
    fills = {"kernel_shape": [1], "strides": [1], "dilations": [1]}
    for each in attributes:
        value = helper.get_attribute_value(each)
        if each.name == "pads":
            value = [0, value[0], 0, value[1]]
        yield helper.make_attribute(each.name, fills.get(each.name, []) + list(value)
                                    if each.name in fills else value)


def widen(model):
    """The model with convolutions along one dim written as convolutions of images with
    one row. IREE 3.13 makes matrix products only of these."""
    import numpy
    from onnx import helper, numpy_helper
    graph, nodes = model.graph, []
    weights = {each.name: each for each in graph.initializer}
    for node in graph.node:
        if not is_of_one_dim(node, weights):
            nodes.append(node)
            continue
        name = node.output[0]
        row, axis, wide = (f"{name}/{each}" for each in ("row", "axis", "wide"))
        kernel = f"{name}/{node.input[1]}"
        graph.initializer.append(numpy_helper.from_array(numpy.full(1, 2, "i8"), axis))
        graph.initializer.append(numpy_helper.from_array(
            numpy_helper.to_array(weights[node.input[1]])[:, :, None], kernel))
        nodes.append(helper.make_node("Unsqueeze", [node.input[0], axis], [row]))
        nodes.append(helper.make_node("Conv", [row, kernel, *node.input[2:]], [wide]))
        nodes[-1].attribute.extend(widened(node.attribute))
        nodes.append(helper.make_node("Squeeze", [wide, axis], [name]))
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def spell_convolutions(model):
    """The model with convolutions in forms that IREE lowers well."""
    old = any(each.domain in ("", "ai.onnx") and each.version < 13  # axes are no input yet
              for each in model.opset_import)
    return model if old or is_large(model) else widen(ungroup(model))


def import_all(models, mlir):
    """One module of MLIR, with a function for each model."""
    from iree.compiler.extras import onnx_importer
    from iree.compiler.ir import Context
    module = None
    for model in models:
        info = onnx_importer.ModelInfo(model)
        module = module or info.create_module(context=Context()).operation
        try:
            onnx_importer.NodeImporter.define_function(
                info.main_graph, module).import_all()
        except onnx_importer.OnnxImportError as failure:
            raise Refused(f"IREE's importer refuses it: {one_line(failure)}")
    module.verify()
    with open(mlir, "w", encoding="utf-8") as file:
        print(module.get_asm(assume_verified=True), file=file)


def main(source, original, mlir, report, sizes):
    import onnx  # noqa: F401 (its absence is said before anything else)
    import iree.compiler.extras.onnx_importer  # noqa: F401
    import farcall_leaves
    import farcall_ml
    notes = []
    model = load(source, original)
    check(model)
    forget_names(model)
    model = lift(model, notes)  # operators that take the place of others are newer
    name_batch(model, sizes, notes)
    model, said, labels = farcall_ml.convert(farcall_leaves.fold(model))
    notes += said
    model = spell_convolutions(model)
    names, default = symbolic(model)
    if default and not sizes and any(each.op_type == "Conv" for each in model.graph.node):
        notes.append(f"convolutions are slow where a size is free, as '{default}': "
                     "--batch=1,8 has IREE make products of matrices of them")
    rows = read_sizes(sizes, names, default) if sizes else [{}]
    name = function_name(model.graph)
    models, functions = [], []
    for row in rows:
        sized = inferred(with_sizes(model, row) if row else model, source)
        sized = spell_pads(sized, source)
        sized.graph.name = sized_name(name, row) if len(rows) > 1 else name
        models.append(sized)
        functions.append(function_of(sized, sized.graph.name, labels))
    import_all(models, mlir)
    free = varying(rows)
    dims = [{"dims": [dim.dim_param if dim.dim_param in free else None
                      for dim in dims_of(each)]} for each in inputs_of(model)]
    write_report(report, functions, {
        "name": name, "functions": [each["name"] for each in functions],
        "args": dims}, notes)


if __name__ == "__main__":
    run(main, INSTALL)
