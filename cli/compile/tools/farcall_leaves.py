# SPDX-License-Identifier: Apache-2.0
"""fold(model) writes a forest that an export has spread over many operators as one
operator. farcall_onnx.py calls this before farcall_ml.convert.

skl2onnx writes an IsolationForest as one estimator for each tree, which gives the number
of a leaf, followed by two dozen operators that compute a depth from that number. There
are few such numbers, so the depth of each is computed here, and the tree gives the depth
itself. The sum of such trees is a forest. Without this, compilers take minutes for
thousands of operators.
"""
import heapq

import numpy
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

FOREST = "TreeEnsembleRegressor"
# Operators that compute each row of the result from the same row of their input.
BY_ROW = set("Add Cast Div Equal Exp Greater Identity LabelEncoder Less Log Max Min Mul Neg "
             "Pow Reshape Sub Where".split())


def read(node):
    """The node's attributes, without empty lists, which have no type."""
    given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    return {name: value for name, value in given.items() if value != []}


def names_in(node):
    """The names of the values that the node uses, also those that its bodies use."""
    bodies = [each.g for each in node.attribute if each.HasField("g")]
    return [*node.input, *(name for body in bodies for inner in body.node
                           for name in names_in(inner)),
            *(each.name for body in bodies for each in body.output)]


def is_plain(node):
    """Is the node a single tree that gives the number at its leaf unchanged?"""
    if node.domain != "ai.onnx.ml" or node.op_type != FOREST:
        return False
    given = read(node)
    leaves = {place for place, mode in zip(given.get("nodes_nodeids", ()),
                                           given.get("nodes_modes", ())) if mode == b"LEAF"}
    return given.get("n_targets", 1) == 1 and not given.get("base_values") and \
        len(set(given.get("nodes_treeids", ()))) == 1 and \
        given.get("post_transform", b"NONE") == b"NONE" and \
        given.get("aggregate_function", b"SUM") == b"SUM" and \
        sorted(given.get("target_nodeids", ())) == sorted(leaves) and \
        not any(name.endswith("_as_tensor") for name in given)


class Graph:
    def __init__(self, graph):
        self.nodes = list(graph.node)  # kept: they are told apart by their ids
        self.constants = {each.name: each for each in graph.initializer}
        self.uses = {}  # of a value: the places of nodes, which are sorted
        for place, node in enumerate(self.nodes):
            for name in names_in(node):
                self.uses.setdefault(name, []).append(place)
        self.answers = {each.name for each in graph.output}

    def behind(self, root):
        """The nodes that compute something from `root` and constants alone, in order, and
        the value of these that other nodes use; None instead of it, if there are
        several."""
        known, places, todo = {root}, [], list(self.uses.get(root, []))
        while todo:
            place = heapq.heappop(todo)
            node = self.nodes[place]
            if place in places[-1:] or node.op_type not in BY_ROW or not all(
                    name in known or name in self.constants for name in node.input):
                continue
            places.append(place)
            known.update(node.output)
            for name in node.output:
                for use in self.uses.get(name, []):
                    heapq.heappush(todo, use)
        left = [name for name in known if name in self.answers or
                not set(places).issuperset(self.uses.get(name, []))]
        return [self.nodes[place] for place in places], \
            left[0] if len(left) == 1 else None


def computed(model, graph, root, nodes, last, values):
    """What `nodes` compute from each of `values`, as values of `root`."""
    kinds = onnx.TensorProto.FLOAT, [None, 1]
    used = {name for node in nodes for name in node.input}
    part = helper.make_model(helper.make_graph(
        nodes, "part", [helper.make_tensor_value_info(root, *kinds)],
        [helper.make_tensor_value_info(last, *kinds)],
        [graph.constants[name] for name in used if name in graph.constants]),
        opset_imports=model.opset_import, ir_version=model.ir_version)
    column = numpy.array([*values, *values], "f4").reshape(-1, 1)  # more than one row
    made = ReferenceEvaluator(part).run(None, {root: column})[0]
    alike = made.shape == column.shape and made.dtype == column.dtype
    return made.ravel()[:len(values)].tolist() if alike else None


def fold_leaves(model, graph, node):
    """(the node with final values at its leaves, the nodes that it replaces), or None."""
    nodes, last = graph.behind(node.output[0])
    if not nodes or last is None:
        return None
    given = read(node)
    try:
        made = computed(model, graph, node.output[0], nodes, last,
                        given["target_weights"])
    except Exception:  # an operator that the evaluator does not know: it stays
        return None
    if made is None:
        return None
    given["target_weights"] = made
    return helper.make_node(FOREST, node.input, [last], node.name, domain=node.domain,
                            **given), nodes


def same_columns(nodes):
    """For each value, the first value that is computed in the same way. Every tree of an
    IsolationForest selects its columns itself, usually all."""
    first, names = {}, {}
    for node in nodes:
        if node.op_type in ("Gather", "Identity", "Cast") and len(node.output) == 1:
            key = (node.op_type, *(names.get(name, name) for name in node.input),
                   *sorted(each.SerializeToString() for each in node.attribute))
            names[node.output[0]] = first.setdefault(key, node.output[0])
    return names


def joined(node, trees):
    """One forest that gives the sum of the trees."""
    made = {}
    for number, tree in enumerate(trees):
        given = read(tree)
        for key, values in given.items():
            if isinstance(values, (list, tuple)):
                fresh = [number] * len(values) if key.endswith("_treeids") else list(values)
                made.setdefault(key, []).extend(fresh)
    return helper.make_node(FOREST, trees[0].input[:1], node.output, node.name,
                            domain="ai.onnx.ml", n_targets=1, **made)


def join(nodes, graph):
    """Replaces sums of trees of the same columns by forests."""
    same = same_columns(graph.nodes)
    trees = {node.output[0]: node for node in nodes if is_plain(node)}
    result, gone = [], set()
    for node in nodes:
        mine = [trees.get(name) for name in node.input]
        alone = all(len(graph.uses.get(name, [])) == 1 and name not in graph.answers
                    for name in node.input)
        if node.op_type == "Sum" and len(mine) > 1 and all(mine) and alone and len(
                {same.get(each.input[0], each.input[0]) for each in mine}) == 1 and len(
                {tuple(sorted(read(each))) for each in mine}) == 1:
            gone.update(id(each) for each in mine)
            node = joined(node, mine)
        result.append(node)
    return [node for node in result if id(node) not in gone]


def fold(model):
    """The model with forests folded; the same model, if there is nothing to fold."""
    graph = Graph(model.graph)
    folded, gone = {}, set()
    for node in graph.nodes:
        found = fold_leaves(model, graph, node) if is_plain(node) else None
        if found:
            folded[id(node)] = found[0]
            gone.update(id(each) for each in found[1])
    nodes = [folded.get(id(node), node) for node in graph.nodes if id(node) not in gone]
    nodes = join(nodes, graph)
    if len(nodes) == len(graph.nodes):
        return model
    used = {name for node in nodes for name in names_in(node)} | graph.answers
    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    del result.graph.value_info[:]
    result.graph.node.extend(node for node in nodes if used.intersection(node.output))
    return result
