# SPDX-License-Identifier: Apache-2.0
"""Estimators as ONNX has them (the domain ai.onnx.ml), written by operators of ONNX's
default domain, which compilers know: convert(model). farcall_onnx.py calls this.

Types change where compilers have none: the label of a class that has a text as its name
becomes the number of the class, and ZipMap's dicts become a row of probabilities. A note
says so.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from farcall_import import Refused

ML = "ai.onnx.ml"
DOMAINS = (ML, "com.microsoft")
OF_FLOATS = {"FeatureVectorizer", "LinearClassifier", "LinearRegressor", "Normalizer",
             "SVMClassifier", "SVMRegressor", "Scaler"}
LABELS_MAX, LABEL_MAX = 1000, 200  # of a result, and bytes of one
SMALLEST = 1e-30  # what a norm is at least
STRING = TensorProto.STRING


def refused(node, text, hint):
    place = f" '{node.name}'" if node.name else ""
    return Refused(f"{node.op_type}{place}: {text}", hint)


class Graph:
    """The nodes that take the place of one node, in order. Each operator is a method
    that returns the name of its result."""

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
        """Where the axis stands has changed with the opset."""
        if self.opset >= (13 if operator == "ReduceSum" else 18):
            axes = self.constant([axis], "i8")
            return getattr(self, operator)(x, axes, keepdims=int(keep))
        return getattr(self, operator)(x, axes=[axis], keepdims=int(keep))

    def learn(self):
        """Takes down the types of what the new nodes make."""
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
        """Has `name`, which a node makes, be of another type."""
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
        """Of doubles these make floats, as those know that wrote the operators behind."""
        if node.domain != ML or node.op_type not in OF_FLOATS:
            return
        for name in node.output:
            if self.types.get(name) == TensorProto.DOUBLE:
                self.cast_to(name, TensorProto.FLOAT)

    def yield_declared(self, outputs):
        """Exports with doubles may call doubles what are floats: results are what the
        model says of them."""
        reals = TensorProto.FLOAT, TensorProto.DOUBLE
        for each in outputs:
            declared = each.type.tensor_type.elem_type
            made = self.types.get(each.name)
            if made != declared and made in reals and declared in reals:
                self.cast_to(each.name, declared)

    def float_of(self, x):
        """(x as a float, NumPy's type of that)."""
        if self.types.get(x) == TensorProto.DOUBLE:
            return x, "f8"
        if self.types.get(x, TensorProto.FLOAT) != TensorProto.FLOAT:
            x = self.Cast(x, dtype=TensorProto.FLOAT)
        return x, "f4"


def read_as(node, name, other):
    """Has the node and its bodies read `other` in place of `name`."""
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
    """An attribute that may also be a tensor, for doubles."""
    tensor = attributes.get(f"{name}_as_tensor")
    if tensor is not None:
        return numpy_helper.to_array(tensor).ravel()
    return numpy.array(attributes.get(name, ()), "f4")


def class_names(attributes, *names):
    for name in names:
        if attributes.get(name):
            return [text(each) for each in attributes[name]]
    return []


def put_labels(g, node, index, names):
    """The first result: the label of the class number `index`."""
    output = node.output[0]
    if not names or isinstance(names[0], str):
        g.numbers[output] = names
        g.Identity(index, to=output)
    else:
        g.Gather(g.constant(names, "i8"), index, axis=0, to=output)


def argmax(g, scores):
    return g.ArgMax(scores, axis=1, keepdims=0)


# ---------------------------------------------------------------------------
# What is done with scores, a row of numbers each

def logistic(g, node, scores):
    return g.Sigmoid(scores)


def softmax(g, node, scores):
    """Step by step: IREE 3.13 fails at Softmax of an open number of rows, if a sum with
    a row of numbers is fused with it."""
    largest = g.reduce("ReduceMax", scores, 1, keep=True)
    powers = g.Exp(g.Sub(scores, largest))
    return g.Div(powers, g.reduce("ReduceSum", powers, 1, keep=True))


def softmax_zero(g, node, scores):
    """Scores that are about zero stay zero."""
    zero = g.LessOrEqual(g.Abs(scores), g.constant(1e-7, "f4"))
    largest = g.reduce("ReduceMax", scores, 1, keep=True)
    powers = g.Exp(g.Sub(scores, largest))
    small = g.Mul(scores, g.Exp(g.Neg(largest)))
    parts = g.Where(zero, small, powers)
    return g.Div(parts, g.reduce("ReduceSum", parts, 1, keep=True))


TRANSFORMS = {"NONE": lambda g, node, scores: scores, "LOGISTIC": logistic,
              "SOFTMAX": softmax, "SOFTMAX_ZERO": softmax_zero}


def transform(g, node, attributes, scores):
    name = text(attributes.get("post_transform", "NONE"))
    if name not in TRANSFORMS:
        raise refused(node, f"post_transform {name} is not converted",
                      "leave it out, and transform the scores after the call")
    return TRANSFORMS[name](g, node, scores)


def both(g, first, second):
    return g.Concat(first, second, axis=1)


# ---------------------------------------------------------------------------
# Linear models

def linear(g, x, coefficients, intercepts, rows):
    x, dtype = g.float_of(x)
    weights = numpy.asarray(coefficients, dtype).reshape(rows, -1).T
    sums = g.MatMul(x, g.constant(weights, dtype))
    if not len(intercepts):
        return sums
    return g.Add(sums, g.constant(intercepts, dtype))


def linear_regressor(g, node, attributes):
    scores = linear(g, node.input[0], attributes["coefficients"],
                    attributes.get("intercepts", ()), attributes.get("targets", 1))
    g.Identity(transform(g, node, attributes, scores), to=node.output[0])


def linear_classifier(g, node, attributes):
    names = class_names(attributes, "classlabels_ints", "classlabels_strings")
    intercepts = attributes.get("intercepts", ())
    rows = max(len(intercepts), 1) if intercepts else max(len(names), 1)
    scores = linear(g, node.input[0], attributes["coefficients"], intercepts, rows)
    if rows == 1 and len(names) == 2:
        scores = both(g, g.Neg(scores), scores)
    elif rows == 1:
        raise refused(node, "it has one class", "train it with two classes or more")
    put_labels(g, node, argmax(g, scores), names)
    if len(node.output) > 1:
        scores = transform(g, node, attributes, scores)
        g.Identity(scores, to=node.output[1])


# ---------------------------------------------------------------------------
# Support vectors

def kernel_of(g, node, attributes, x, vectors, dtype):
    """How near each row of x is to each vector."""
    kind = text(attributes.get("kernel_type", "LINEAR"))
    gamma, constant, degree = [*attributes.get("kernel_params", ()), 0, 0, 0][:3]
    if kind == "RBF":
        rows = g.Unsqueeze(x, g.constant([1], "i8"))
        apart = g.Sub(rows, g.constant(vectors[None], dtype))
        squares = g.reduce("ReduceSum", g.Mul(apart, apart), 2)
        return g.Exp(g.Mul(squares, g.constant(-gamma, dtype)))
    products = g.MatMul(x, g.constant(vectors.T, dtype))
    if kind == "LINEAR":
        return products
    sums = g.Add(g.Mul(products, g.constant(gamma, dtype)),
                 g.constant(constant, dtype))
    if kind == "POLY":
        return g.Pow(sums, g.constant(int(degree), dtype))
    return g.Tanh(sums)


def svm_regressor(g, node, attributes):
    x, dtype = g.float_of(node.input[0])
    weights = numpy.array(attributes["coefficients"], dtype)
    count = attributes.get("n_supports", 0)
    if count:
        vectors = numpy.array(attributes["support_vectors"], dtype).reshape(count, -1)
        x = kernel_of(g, node, attributes, x, vectors, dtype)
    sums = g.Add(g.MatMul(x, g.constant(weights.reshape(-1, 1), dtype)),
                 g.constant(attributes["rho"][0], dtype))
    if attributes.get("one_class"):
        inside = g.Greater(sums, g.constant(0, dtype))
        sums = g.Where(inside, g.constant(1, dtype), g.constant(-1, dtype))
    g.Identity(transform(g, node, attributes, sums), to=node.output[0])


def pair_weights(coefficients, counts):
    """A column for each pair of classes, by which the kernel's values become the sum
    that decides between the two."""
    starts = numpy.concatenate([[0], numpy.cumsum(counts)])
    pairs = [(i, j) for i in range(len(counts)) for j in range(i + 1, len(counts))]
    weights = numpy.zeros((starts[-1], len(pairs)), coefficients.dtype)
    for column, (i, j) in enumerate(pairs):
        of_i, of_j = slice(*starts[i:i + 2]), slice(*starts[j:j + 2])
        weights[of_i, column] = coefficients[j - 1, of_i]
        weights[of_j, column] = coefficients[i, of_j]
    return weights, pairs


def svm_probabilities(g, node, attributes, sums, dtype):
    """Of two classes: a sigmoid of the sum that decides between them."""
    if len(attributes["prob_a"]) != 1:
        raise refused(
            node, "probabilities of three classes or more are found by iteration",
            "train with probability=False, or wrap the estimator in "
            "CalibratedClassifierCV")
    a, b = (g.constant(attributes[name], dtype) for name in ("prob_a", "prob_b"))
    first = g.Sigmoid(g.Neg(g.Add(g.Mul(sums, a), b)))
    return both(g, first, g.Sub(g.constant(1, dtype), first))


def svm_classifier(g, node, attributes):
    names = class_names(attributes, "classlabels_ints", "classlabels_strings")
    counts = attributes.get("vectors_per_class", ())
    if not counts:
        raise refused(node, "it has no support vectors", "use LinearSVC")
    x, dtype = g.float_of(node.input[0])
    total = sum(counts)
    vectors = numpy.array(attributes["support_vectors"], dtype).reshape(total, -1)
    coefficients = numpy.array(attributes["coefficients"], dtype).reshape(-1, total)
    weights, pairs = pair_weights(coefficients, counts)
    if text(attributes.get("kernel_type", "LINEAR")) == "LINEAR":
        # The products with all vectors would cancel each other: summed here, exactly.
        weights = vectors.astype("f8").T @ weights
    else:
        x = kernel_of(g, node, attributes, x, vectors, dtype)
    sums = g.Add(g.MatMul(x, g.constant(weights, dtype)),
                 g.constant(attributes["rho"], dtype))
    won = g.Cast(g.Greater(sums, g.constant(0, dtype)), dtype=TensorProto.FLOAT)
    lost = g.Sub(g.constant(1, "f4"), won)
    for_first, for_second = numpy.zeros((2, len(pairs), len(counts)))
    for row, (i, j) in enumerate(pairs):
        for_first[row, i] = for_second[row, j] = 1
    votes = g.Add(g.MatMul(won, g.constant(for_first, "f4")),
                  g.MatMul(lost, g.constant(for_second, "f4")))
    scores = sums
    if attributes.get("prob_a"):
        scores = svm_probabilities(g, node, attributes, sums, dtype)
        index = argmax(g, scores if len(pairs) == 1 else votes)
    else:
        index = argmax(g, votes)
        if len(pairs) == 1:
            scores = both(g, g.Neg(sums), sums)
    put_labels(g, node, index, names)
    if len(node.output) > 1:
        g.Identity(transform(g, node, attributes, scores), to=node.output[1])


# ---------------------------------------------------------------------------
# Trees

class Forest:
    """The nodes of all trees in one table. A step leads from a node to one of its
    children, from a leaf to itself."""

    MODES = {"BRANCH_LEQ": (False, False), "BRANCH_LT": (True, False),
             "BRANCH_GTE": (True, True), "BRANCH_GT": (False, True)}

    def __init__(self, node, attributes, dtype):
        self.node = node
        trees, ids = attributes["nodes_treeids"], attributes["nodes_nodeids"]
        self.rows = {key: row for row, key in enumerate(zip(trees, ids))}
        self.features = numpy.array(attributes["nodes_featureids"], "i8")
        self.thresholds = floats(attributes, "nodes_values").astype(dtype)
        self.nan_is_true = numpy.array(
            attributes.get("nodes_missing_value_tracks_true") or [0] * len(ids), bool)
        self.read_children(attributes, trees)
        inner = self.inner
        children = {*self.yes[inner].tolist(), *self.no[inner].tolist()}
        self.roots = numpy.array([row for row in range(len(ids))
                                  if row not in children], "i8")
        self.depth = self.measure()

    def read_children(self, attributes, trees):
        """Every test becomes `value <= threshold`."""
        count = len(trees)
        self.yes, self.no, self.nan = (numpy.arange(count) for _ in range(3))
        modes = [text(each) for each in attributes["nodes_modes"]]
        self.inner = numpy.array([mode != "LEAF" for mode in modes], bool)
        for row, mode in enumerate(modes):
            if mode == "LEAF":
                continue
            if mode not in self.MODES:
                raise refused(self.node, f"nodes of mode {mode} are not converted",
                              "split by <=, as scikit-learn does")
            try:
                yes = self.rows[trees[row], attributes["nodes_truenodeids"][row]]
                no = self.rows[trees[row], attributes["nodes_falsenodeids"][row]]
            except KeyError as missing:
                raise refused(self.node, f"tree {trees[row]} has no node "
                              f"{missing.args[0][1]}", "export the model again")
            below, swapped = self.MODES[mode]
            if below:
                lowest = numpy.array(-numpy.inf, self.thresholds.dtype)
                self.thresholds[row] = numpy.nextafter(self.thresholds[row], lowest)
            self.nan[row] = yes if self.nan_is_true[row] else no
            self.yes[row], self.no[row] = (no, yes) if swapped else (yes, no)

    def measure(self):
        """Steps from the roots to the lowest leaf."""
        level, depth = self.roots, 0
        while True:
            below = numpy.concatenate([self.yes[level], self.no[level]])
            inner = below[self.inner[below]]
            depth += 1
            if not len(inner):
                return depth
            if depth > len(self.yes):
                raise refused(self.node, "a tree has a loop", "export the model again")
            level = numpy.unique(inner)

    def leaves(self, g, x, dtype):
        """The leaf that each row of x comes to in each tree."""
        node = self.roots
        value = g.Gather(x, g.constant(self.features[node], "i8"), axis=1)
        at = {name: g.constant(getattr(self, name)[node], kind)
              for name, kind in self.columns(dtype)}
        where = self.step(g, value, at)
        tables = {name: g.constant(getattr(self, name), kind)
                  for name, kind in self.columns(dtype)}
        features = g.constant(self.features, "i8")
        for _ in range(self.depth - 1):
            value = g.GatherElements(x, g.Gather(features, where, axis=0), axis=1)
            at = {name: g.Gather(table, where, axis=0)
                  for name, table in tables.items()}
            where = self.step(g, value, at)
        return where

    def columns(self, dtype):
        columns = [("thresholds", dtype), ("yes", "i8"), ("no", "i8")]
        nan_differs = bool((self.nan != self.no).any())
        return columns + [("nan", "i8")] if nan_differs else columns

    @staticmethod
    def step(g, value, at):
        below = g.LessOrEqual(value, at["thresholds"])
        child = g.Where(below, at["yes"], at["no"])
        return g.Where(g.IsNaN(value), at["nan"], child) if "nan" in at else child


def forest_scores(g, node, attributes, kind, columns, aggregate="SUM"):
    x, dtype = g.float_of(node.input[0])
    forest = Forest(node, attributes, dtype)
    weights = numpy.zeros((len(forest.rows), columns), dtype)
    ids = attributes[f"{kind}_ids"]
    keys = zip(attributes[f"{kind}_treeids"], attributes[f"{kind}_nodeids"])
    for key, column, weight in zip(keys, ids, floats(attributes, f"{kind}_weights")):
        weights[forest.rows[key], column] += weight
    each = g.Gather(g.constant(weights, dtype), forest.leaves(g, x, dtype), axis=0)
    reduce = {"MIN": "ReduceMin", "MAX": "ReduceMax"}.get(aggregate, "ReduceSum")
    scores = g.reduce(reduce, each, 1)
    if aggregate == "AVERAGE":
        scores = g.Div(scores, g.constant(len(forest.roots), dtype))
    base = floats(attributes, "base_values")
    if len(base):
        scores = g.Add(scores, g.constant(base, dtype))
    if dtype == "f8":
        scores = g.Cast(scores, dtype=TensorProto.FLOAT)
    return scores


def tree_regressor(g, node, attributes):
    aggregate = text(attributes.get("aggregate_function", "SUM"))
    scores = forest_scores(g, node, attributes, "target",
                           attributes.get("n_targets", 1), aggregate)
    # It answers floats; exports with doubles say that it answers these.
    g.Cast(transform(g, node, attributes, scores),
           dtype=g.types.get(node.output[0], TensorProto.FLOAT), to=node.output[0])


def tree_classifier(g, node, attributes):
    names = class_names(attributes, "classlabels_int64s", "classlabels_strings")
    ids = set(attributes["class_ids"])
    if len(ids) > 1 or len(names) > 2:
        raw = forest_scores(g, node, attributes, "class", len(names))
        scores = transform(g, node, attributes, raw)
    else:
        # One column of weights, for two classes.
        alone = dict(attributes, class_ids=[0] * len(attributes["class_ids"]))
        raw = forest_scores(g, node, alone, "class", 1)
        if min(floats(attributes, "class_weights")) >= 0:
            raw = scores = both(g, g.Sub(g.constant(1, "f4"), raw), raw)
        else:
            raw = both(g, g.Neg(raw), raw)
            scores = transform(g, node, attributes, raw)
    put_labels(g, node, argmax(g, raw), names)
    if len(node.output) > 1:
        g.Identity(scores, to=node.output[1])


# ---------------------------------------------------------------------------
# What comes before and after an estimator

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
    """A value for each whole number from the least key to the largest, then that of all
    others."""
    made = [otherwise] * (max(keys) - min(keys) + 2)
    for key, value in zip(keys[::-1], values[::-1]):  # the first of equal keys counts
        made[key - min(keys)] = value
    return made


def look_up(g, x, keys, table, output):
    """A comparison for each key would take compilers hours."""
    known = g.And(g.GreaterOrEqual(x, g.constant(min(keys), "i8")),
                  g.LessOrEqual(x, g.constant(max(keys), "i8")))
    place = g.Where(known, g.Sub(x, g.constant(min(keys), "i8")),
                    g.constant(max(keys) - min(keys) + 1, "i8"))
    g.Gather(table, place, axis=0, to=output)


def default_of(attributes, values):
    """What all other keys are; a tensor in newer models."""
    if "default_tensor" in attributes:
        return text(numpy_helper.to_array(attributes["default_tensor"]).item())
    name, otherwise = {str: ("default_string", "_Unused"), int: ("default_int64", -1),
                       float: ("default_float", -0.0)}[type(values[0])]
    return text(attributes.get(name, otherwise))


def is_key(g, x, key, dtype):
    """Before version 4 NaN is no key."""
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
    """Casts of what is no text any more."""
    to = attributes["to"]
    g.Cast(node.input[0], dtype=TensorProto.INT64 if to == STRING else to,
           to=node.output[0])
    g.numbers[node.output[0]] = g.numbers[node.input[0]]


def zip_map(g, node, attributes):
    names = class_names(attributes, "classlabels_int64s", "classlabels_strings")
    g.notes.append(f"'{node.output[0]}' is a tensor with a column for each of the "
                   f"classes {', '.join(map(str, names))}, not a list of dicts")
    # Its maps have floats, also where the export gives it doubles.
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
    """skl2onnx's neighbours: a Scan over rows, which sums the squares of differences.
    IREE 3.13 answers for one row only, where their number is open."""
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
    """(how many neighbours a TopK of distances finds, among how many rows), or None."""
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
    """The smallest, found one after the other: IREE 3.13 sorts whole rows for TopK, on
    the stack, which is too small for a few hundred."""
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


CONVERTERS = {
    ("ai.onnx.ml", "ArrayFeatureExtractor"): array_feature_extractor,
    ("ai.onnx.ml", "Binarizer"): binarizer,
    ("ai.onnx.ml", "FeatureVectorizer"): feature_vectorizer,
    ("ai.onnx.ml", "Imputer"): imputer,
    ("ai.onnx.ml", "LabelEncoder"): label_encoder,
    ("ai.onnx.ml", "LinearClassifier"): linear_classifier,
    ("ai.onnx.ml", "LinearRegressor"): linear_regressor,
    ("ai.onnx.ml", "Normalizer"): normalizer,
    ("ai.onnx.ml", "OneHotEncoder"): one_hot_encoder,
    ("ai.onnx.ml", "SVMClassifier"): svm_classifier,
    ("ai.onnx.ml", "SVMRegressor"): svm_regressor,
    ("ai.onnx.ml", "Scaler"): scaler,
    ("ai.onnx.ml", "TreeEnsembleClassifier"): tree_classifier,
    ("ai.onnx.ml", "TreeEnsembleRegressor"): tree_regressor,
    ("ai.onnx.ml", "ZipMap"): zip_map,
    ("com.microsoft", "CDist"): distances,
}


# ---------------------------------------------------------------------------

def converter_of(g, node):
    if (node.domain, node.op_type) in CONVERTERS:
        return CONVERTERS[node.domain, node.op_type]
    if is_distances(node):
        return scanned_distances
    if neighbors_of(g, node):
        return nearest
    texts = [name for name in node.input if name in g.numbers]
    if texts and node.op_type == "Cast":
        return cast
    for name in texts:  # Reshape, Identity and the like
        for output in node.output:
            g.numbers[output] = g.numbers[name]
    if node.domain == "ai.onnx.ml":
        raise refused(node, "it is not converted to operators that compilers know",
                      "leave it out of the exported pipeline, and do it before the "
                      "call")
    return None


def put_types(g, graph):
    """Results whose type has changed."""
    maps = {node.output[0]: read(node) for node in graph.node
            if node.op_type == "ZipMap"}
    for output in graph.output:
        if output.name in maps:
            names = class_names(maps[output.name], "classlabels_int64s",
                                "classlabels_strings")
            output.CopyFrom(helper.make_tensor_value_info(
                output.name, TensorProto.FLOAT, [None, len(names)]))
        elif (names := g.numbers.get(output.name)) is not None:
            output.type.tensor_type.elem_type = TensorProto.INT64
            g.notes.append(f"'{output.name}' is the number of a class, from 0: "
                           f"{', '.join(map(str, names))}")


def scores_of(graph):
    """The values that are computed of scores of classes, and these."""
    found = {name for node in graph.node for name in (
        node.input if node.op_type == "ArgMax" else
        node.output[1:] if node.op_type.endswith("Classifier") else ())}
    for node in graph.node:
        if not found.isdisjoint(node.input):
            found.update(node.output)
    return found


def labels_of(g, graph, scores):
    """The names of the classes, of each result that is the number of one or has a column for
    each, of its scores."""
    maps = {node.output[0]: class_names(read(node), "classlabels_int64s",
                                        "classlabels_strings")
            for node in graph.node if node.op_type == "ZipMap"}
    found = maps | g.numbers
    mine = {each.name: found[each.name] for each in graph.output if found.get(each.name)}
    all_names = {tuple(names) for names in mine.values()}
    for output in graph.output if len(all_names) == 1 else []:
        width = [each.dim_value for each in output.type.tensor_type.shape.dim][1:][-1:]
        if output.name in scores and width == [len(min(all_names))]:
            mine.setdefault(output.name, min(all_names))
    return {name: [str(each).encode()[:LABEL_MAX].decode(errors="ignore") for each in names]
            for name, names in mine.items() if len(names) <= LABELS_MAX}


def convert(model):
    """(the model without operators of ai.onnx.ml, what callers should know, the names of
    classes by result). The model itself, if it has none."""
    graph = model.graph
    if not any((node.domain, node.op_type) in CONVERTERS or node.domain == "ai.onnx.ml"
               or is_distances(node) for node in graph.node):
        return model, [], {}
    g, scores = Graph(model), scores_of(graph)
    for node in graph.node:
        convert_node = converter_of(g, node)
        if convert_node:
            convert_node(g, node, read(node))
        else:
            g.nodes.append(node)
        g.learn()
        g.yield_floats(node)
    g.yield_declared(graph.output)
    result = onnx.ModelProto()
    result.CopyFrom(model)
    put_types(g, result.graph)
    del result.graph.node[:]
    del result.graph.value_info[:]
    result.graph.node.extend(g.nodes)
    result.graph.initializer.extend(g.added)
    used = {name for node in g.nodes for name in node.input}
    kept = [each for each in result.graph.initializer if each.name in used]
    del result.graph.initializer[:]
    result.graph.initializer.extend(kept)
    kept = [each for each in result.opset_import
            if each.domain not in DOMAINS or
            any(node.domain == each.domain for node in g.nodes)]
    del result.opset_import[:]
    result.opset_import.extend(kept)
    return result, g.notes, labels_of(g, graph, scores)
