# SPDX-License-Identifier: Apache-2.0
"""convert(model) replaces the estimators of ONNX (domain ai.onnx.ml) by operators of
ONNX's default domain, which compilers know. farcall_onnx.py calls this.

Some types change, because compilers do not have them: a label that is a text becomes the
number of its class, and the dicts of ZipMap become a row of probabilities. A note tells
the user.
"""
import onnx
from onnx import TensorProto, helper

import farcall_ml_features as features
import farcall_ml_models as models
from farcall_ml_graph import ML, Graph, class_names, read, refused

DOMAINS = (ML, "com.microsoft")
LABELS_MAX, LABEL_MAX = 1000, 200  # of a result, and bytes of one


CONVERTERS = {
    (ML, "ArrayFeatureExtractor"): features.array_feature_extractor,
    (ML, "Binarizer"): features.binarizer,
    (ML, "FeatureVectorizer"): features.feature_vectorizer,
    (ML, "Imputer"): features.imputer,
    (ML, "LabelEncoder"): features.label_encoder,
    (ML, "LinearClassifier"): models.linear_classifier,
    (ML, "LinearRegressor"): models.linear_regressor,
    (ML, "Normalizer"): features.normalizer,
    (ML, "OneHotEncoder"): features.one_hot_encoder,
    (ML, "SVMClassifier"): models.svm_classifier,
    (ML, "SVMRegressor"): models.svm_regressor,
    (ML, "Scaler"): features.scaler,
    (ML, "TreeEnsembleClassifier"): models.tree_classifier,
    (ML, "TreeEnsembleRegressor"): models.tree_regressor,
    (ML, "ZipMap"): features.zip_map,
    ("com.microsoft", "CDist"): features.distances,
}


def converter_of(g, node):
    if (node.domain, node.op_type) in CONVERTERS:
        return CONVERTERS[node.domain, node.op_type]
    if features.is_distances(node):
        return features.scanned_distances
    if features.neighbors_of(g, node):
        return features.nearest
    texts = [name for name in node.input if name in g.numbers]
    if texts and node.op_type == "Cast":
        return features.cast
    for name in texts:  # Reshape, Identity and the like
        for output in node.output:
            g.numbers[output] = g.numbers[name]
    if node.domain == ML:
        raise refused(node, "it is not converted to operators that compilers know",
                      "leave it out of the exported pipeline, and do it before the "
                      "call")
    return None


def put_types(g, graph):
    """Updates the types of results that have changed."""
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
    """The names of all values that are computed from scores of classes, and of the
    scores."""
    found = {name for node in graph.node for name in (
        node.input if node.op_type == "ArgMax" else
        node.output[1:] if node.op_type.endswith("Classifier") else ())}
    for node in graph.node:
        if not found.isdisjoint(node.input):
            found.update(node.output)
    return found


def labels_of(g, graph, scores):
    """The names of the classes, for each result that is a class's number, or scores with
    a column for each class."""
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
    """(the model without operators of ai.onnx.ml, notes for callers, the names of classes
    by result). The same model, if it has no such operators."""
    graph = model.graph
    if not any((node.domain, node.op_type) in CONVERTERS or node.domain == ML
               or features.is_distances(node) for node in graph.node):
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
