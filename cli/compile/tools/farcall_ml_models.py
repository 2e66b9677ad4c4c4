# SPDX-License-Identifier: Apache-2.0
"""Converts estimators: linear models, support vectors and trees, and their scores. Each
function of (g, node, attributes) writes the replacement of one operator of ai.onnx.ml;
farcall_ml.py has the table."""
import numpy
from onnx import TensorProto

from farcall_ml_graph import class_names, floats, refused, text


def put_labels(g, node, index, names):
    """Writes the first result: the label of the class with the number `index`."""
    output = node.output[0]
    if not names or isinstance(names[0], str):
        g.numbers[output] = names
        g.Identity(index, to=output)
    else:
        g.Gather(g.constant(names, "i8"), index, axis=0, to=output)


def argmax(g, scores):
    return g.ArgMax(scores, axis=1, keepdims=0)


# ---------------------------------------------------------------------------
# Transforms of scores, a row of numbers for each input row

def logistic(g, node, scores):
    return g.Sigmoid(scores)


def softmax(g, node, scores):
    """Written as single steps, because IREE 3.13 fails at Softmax with a dynamic number
    of rows if it is fused with the sum of a row and a matrix."""
    largest = g.reduce("ReduceMax", scores, 1, keep=True)
    powers = g.Exp(g.Sub(scores, largest))
    return g.Div(powers, g.reduce("ReduceSum", powers, 1, keep=True))


def softmax_zero(g, node, scores):
    """Like softmax, but scores near zero stay zero."""
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
    """Weights with a column for each pair of classes: the kernel's values times a column
    give the sum that decides between the two."""
    starts = numpy.concatenate([[0], numpy.cumsum(counts)])
    pairs = [(i, j) for i in range(len(counts)) for j in range(i + 1, len(counts))]
    weights = numpy.zeros((starts[-1], len(pairs)), coefficients.dtype)
    for column, (i, j) in enumerate(pairs):
        of_i, of_j = slice(*starts[i:i + 2]), slice(*starts[j:j + 2])
        weights[of_i, column] = coefficients[j - 1, of_i]
        weights[of_j, column] = coefficients[i, of_j]
    return weights, pairs


def svm_probabilities(g, node, attributes, sums, dtype):
    """The probabilities of two classes: a sigmoid of the sum that decides between them
    (svm_classifier)."""
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
        # With a linear kernel, the products with all vectors would cancel each other out.
        # So the vectors are summed here, exactly.
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
    children, and from a leaf to the leaf itself."""

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
        """The number of steps from the roots to the lowest leaf."""
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
        """The leaf that each row of x reaches in each tree."""
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
    # The operator gives floats, but exports with doubles declare doubles.
    g.Cast(transform(g, node, attributes, scores),
           dtype=g.types.get(node.output[0], TensorProto.FLOAT), to=node.output[0])


def tree_classifier(g, node, attributes):
    names = class_names(attributes, "classlabels_int64s", "classlabels_strings")
    ids = set(attributes["class_ids"])
    if len(ids) > 1 or len(names) > 2:
        raw = forest_scores(g, node, attributes, "class", len(names))
        scores = transform(g, node, attributes, raw)
    else:
        # Two classes with one column of weights.
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
