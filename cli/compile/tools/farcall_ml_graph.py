# SPDX-License-Identifier: Apache-2.0
"""The graph that farcall_ml.py writes, and functions that read attributes."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from farcall_import import Refused

ML = "ai.onnx.ml"
OF_FLOATS = {"FeatureVectorizer", "LinearClassifier", "LinearRegressor", "Normalizer",
             "SVMClassifier", "SVMRegressor", "Scaler"}
STRING = TensorProto.STRING


def refused(node, text, hint):
    place = f" '{node.name}'" if node.name else ""
    return Refused(f"{node.op_type}{place}: {text}", hint)


class Graph:
    """The nodes that replace one node, in order. Each ONNX operator is a method, which
    adds a node and returns the name of its result."""

    def __init__(self, model):
        self.model = model
        self.opset = self.version("", "ai.onnx")
        graph = model.graph
        self.taken = {name for node in graph.node for name in node.output}
        self.taken |= {each.name for each in (*graph.input, *graph.initializer)}
        self.constants = {each.name: each for each in graph.initializer}
        self.types = self.read_types()
        self.numbers = {}  # results that are numbers of texts: which texts
        self.nodes, self.added, self.notes = [], [], []
        self.learnt = 0  # of how many nodes the types are known

    def version(self, *domains):
        return next(each.version for each in self.model.opset_import
                    if each.domain in domains)

    def read_types(self):
        try:
            graph = onnx.shape_inference.infer_shapes(self.model).graph
        except Exception:  # of an operator that it does not know
            graph = self.model.graph
        types = {each.name: each.type.tensor_type.elem_type for each in
                 (*graph.input, *graph.value_info, *graph.output)
                 if each.type.HasField("tensor_type")}
        return types | {each.name: each.data_type for each in graph.initializer}

    def fresh(self, name):
        unique, number = name, 0
        while unique in self.taken:
            number += 1
            unique = f"{name}_{number}"
        self.taken.add(unique)
        return unique

    def constant(self, values, dtype):
        name = self.fresh("constant")
        array = numpy.asarray(values).astype(dtype)
        self.added.append(numpy_helper.from_array(array, name))
        self.types[name] = self.added[-1].data_type
        return name

    def __getattr__(self, operator):
        def node(*inputs, to=None, **attributes):
            output = to if isinstance(to, str) else self.fresh(operator)
            if operator == "Cast":
                attributes["to"] = attributes.pop("dtype")
            self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))
            return output
        return node

    def reduce(self, operator, x, axis, keep=False):
        """The axis is an attribute or an input, depending on the opset."""
        if self.opset >= (13 if operator == "ReduceSum" else 18):
            axes = self.constant([axis], "i8")
            return getattr(self, operator)(x, axes, keepdims=int(keep))
        return getattr(self, operator)(x, axes=[axis], keepdims=int(keep))

    def learn(self):
        """Infers and keeps the types of the new nodes' results."""
        imports = [helper.make_opsetid("", self.opset)]
        for node in self.nodes[self.learnt:]:
            known = {name: helper.make_tensor_type_proto(self.types[name], None)
                     for name in node.input if self.types.get(name)}
            try:
                schema = onnx.defs.get_schema(node.op_type, self.opset, node.domain)
                made = onnx.shape_inference.infer_node_outputs(
                    schema, node, known, opset_imports=imports)
            except Exception:  # of an operator that it does not know, or of unknown types
                continue
            self.types |= {name: each.tensor_type.elem_type for name, each in made.items()
                           if each.HasField("tensor_type")}
        self.learnt = len(self.nodes)

    def cast_to(self, name, dtype):
        """Changes the type of the value `name`, which one of the nodes computes."""
        for node in self.nodes:
            for place, output in enumerate(node.output):
                if output == name:
                    node.output[place] = made = self.fresh(name)
                    self.types[made], self.types[name] = self.types.get(name, 0), dtype
                    for reader in self.nodes:
                        read_as(reader, name, made)
                    self.Cast(made, dtype=dtype, to=name)
                    return

    def yield_floats(self, node):
        """Casts results from double to float. These operators give floats even for
        doubles, and the exporter's later operators expect that."""
        if node.domain != ML or node.op_type not in OF_FLOATS:
            return
        for name in node.output:
            if self.types.get(name) == TensorProto.DOUBLE:
                self.cast_to(name, TensorProto.FLOAT)

    def yield_declared(self, outputs):
        """Casts results to the types that the model declares: exports with doubles may
        declare doubles where floats are computed."""
        reals = TensorProto.FLOAT, TensorProto.DOUBLE
        for each in outputs:
            declared = each.type.tensor_type.elem_type
            made = self.types.get(each.name)
            if made != declared and made in reals and declared in reals:
                self.cast_to(each.name, declared)

    def float_of(self, x):
        """(x as a float or double, NumPy's name of that type)."""
        if self.types.get(x) == TensorProto.DOUBLE:
            return x, "f8"
        if self.types.get(x, TensorProto.FLOAT) != TensorProto.FLOAT:
            x = self.Cast(x, dtype=TensorProto.FLOAT)
        return x, "f4"


def read_as(node, name, other):
    """Makes the node and its bodies read `other` instead of `name`."""
    for place, each in enumerate(node.input):
        if each == name:
            node.input[place] = other
    for each in node.attribute:
        for inner in each.g.node if each.HasField("g") else []:
            read_as(inner, name, other)


def read(node):
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def floats(attributes, name):
    """An attribute as an array. For doubles the attribute is a tensor, NAME_as_tensor."""
    tensor = attributes.get(f"{name}_as_tensor")
    if tensor is not None:
        return numpy_helper.to_array(tensor).ravel()
    return numpy.array(attributes.get(name, ()), "f4")


def class_names(attributes, *names):
    for name in names:
        if attributes.get(name):
            return [text(each) for each in attributes[name]]
    return []
