# SPDX-License-Identifier: Apache-2.0
"""ml_models.py TOOLS FOLDER [NAME…]: random estimators as ONNX has them, and what
farcall compile converts them to. onnxruntime runs both. Prints the differences, and
writes FOLDER/NAME.onnx. TOOLS is cli/compile/tools."""
import pathlib
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper

sys.path.insert(0, sys.argv[1])
import farcall_import  # noqa: E402
import farcall_leaves  # noqa: E402
import farcall_ml  # noqa: E402

RANDOM = numpy.random.default_rng(0)
ROWS = RANDOM.normal(size=(50, 4)).astype("f4")
ML, ORT = "ai.onnx.ml", "com.microsoft"
NAMES = [b"low", b"mid", b"high"]


def numbers(*shape):
    return RANDOM.normal(size=shape).astype("f4").ravel().tolist()


def tree(mode, missing=False, trees=3, targets="target", columns=1):
    """Full trees of three levels. The thresholds occur in the data, so that `<` and
    `<=` differ."""
    made = {f"nodes_{key}": [] for key in (
        "treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
        "falsenodeids", "missing_value_tracks_true")}
    leaves = {f"{targets}_{key}": [] for key in ("treeids", "nodeids", "ids", "weights")}
    for number in range(trees):
        for place in range(15):
            leaf = place >= 7
            for key, value in zip(made, (
                    number, place, place % 4,
                    0.0 if leaf else float(RANDOM.choice(ROWS[:, place % 4])),
                    "LEAF" if leaf else mode, 0 if leaf else 2 * place + 1,
                    0 if leaf else 2 * place + 2, int(missing and place % 2))):
                made[key].append(value)
            for column in range(columns if leaf else 0):
                for key, value in zip(leaves, (number, place, column, numbers(1)[0])):
                    leaves[key].append(value)
    return made | leaves


def node(operator, inputs=("x",), outputs=("y",), domain=ML, **attributes):
    return helper.make_node(operator, list(inputs), list(outputs), domain=domain,
                            **attributes)


def classifier(operator, **attributes):
    return [node(operator, outputs=["label", "y"], **attributes)]


def vectors(kernel, classes):
    counts = [3, 4, 2][:classes]
    total = sum(counts)
    return {"kernel_type": kernel, "kernel_params": [0.3, 0.1, 2.0],
            "vectors_per_class": counts, "support_vectors": numbers(total, 4),
            "coefficients": numbers(classes - 1, total),
            "rho": numbers(classes * (classes - 1) // 2),
            "classlabels_ints": [3, 5, 9][:classes]}


def isolation(trees=5):
    """An IsolationForest as skl2onnx writes it: the number of a leaf of each tree, and
    operators that compute a depth from it."""
    nodes, depths = [], []
    for each in range(trees):
        of = [f"{name}{each}" for name in ("x", "leaf", "whole", "samples", "column", "many",
                                           "depth")]
        given = tree("BRANCH_LEQ", trees=1)
        given["target_weights"] = [float(place) for place in given["target_nodeids"]]
        nodes += [
            helper.make_node("Identity", ["x"], of[:1]),
            node("TreeEnsembleRegressor", of[:1], of[1:2], n_targets=1, **given),
            helper.make_node("Cast", of[1:2], of[2:3], to=TensorProto.INT64),
            node("LabelEncoder", of[2:3], of[3:4], keys_int64s=list(range(7, 15)),
                 values_floats=[float(3 * number) for number in range(8)]),
            helper.make_node("Reshape", [of[3], "shape"], of[4:5]),
            helper.make_node("Max", [of[4], "one"], of[5:6]),
            helper.make_node("Log", of[5:6], of[6:7])]
        depths.append(of[6])
    return [*nodes, helper.make_node("Sum", depths, ["y"])]


def stump(*rest, weights=(1.5, 2.5), **more):
    """A tree with two leaves, one of which may have no weight, and the nodes after it."""
    made = node("TreeEnsembleRegressor", outputs=["leaf"], n_targets=1,
                nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3,
                nodes_values=[0.1, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0],
                target_treeids=[0] * len(weights), target_ids=[0] * len(weights),
                target_nodeids=[1, 2][:len(weights)], target_weights=weights, **more)
    return [made, *rest]


def with_no_bases(nodes):
    nodes[0].attribute.add(name="base_values", type=onnx.AttributeProto.FLOATS)
    return nodes


def branch(name):
    """A body that returns the leaf."""
    return helper.make_graph(
        [helper.make_node("Identity", ["leaf"], [name])], "body", [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1])])


def encoder(x="i", **attributes):
    return [helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
            node("LabelEncoder", [x], **attributes)]


EXP = helper.make_node("Exp", ["leaf"], ["y"])
SHARED = [helper.make_tensor("shape", TensorProto.INT64, [2], [-1, 1]),
          helper.make_tensor("yes", TensorProto.BOOL, [], [True]),
          helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
          helper.make_tensor("mean", TensorProto.DOUBLE, [4], [0.5, -0.5, 0.25, 1.0])]
DOUBLES = helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE)
GAPS = ROWS.copy()
GAPS[::7, 1] = numpy.nan
CASES = {  # the nodes, then other data than ROWS
    "linear_regressor": [[node("LinearRegressor", coefficients=numbers(2, 4),
                               intercepts=numbers(2), targets=2)]],
    "linear_classifier": [classifier(
        "LinearClassifier", coefficients=numbers(3, 4), intercepts=numbers(3),
        classlabels_strings=NAMES, post_transform="SOFTMAX")],
    "linear_binary": [classifier(
        "LinearClassifier", coefficients=[*numbers(4), *numbers(4)],
        intercepts=numbers(2), classlabels_ints=[7, 3], post_transform="LOGISTIC")],
    "svm_linear": [classifier("SVMClassifier", **vectors("LINEAR", 3))],
    "svm_rbf": [classifier("SVMClassifier", **vectors("RBF", 3))],
    "svm_poly": [classifier("SVMClassifier", **vectors("POLY", 2))],
    "svm_sigmoid": [classifier("SVMClassifier", **vectors("SIGMOID", 3))],
    "svm_regressor": [[node("SVMRegressor", kernel_type="RBF", n_supports=5, rho=[0.5],
                            kernel_params=[0.3, 0.0, 3.0], coefficients=numbers(5),
                            support_vectors=numbers(5, 4))]],
    "one_class": [[node("SVMRegressor", kernel_type="RBF", n_supports=5, rho=[-0.1],
                        kernel_params=[0.3, 0.0, 3.0], coefficients=numbers(5),
                        support_vectors=numbers(5, 4), one_class=1)]],
    "trees_leq": [[node("TreeEnsembleRegressor", n_targets=2, base_values=[1.0, 2.0],
                        **tree("BRANCH_LEQ", columns=2))]],
    "trees_lt": [[node("TreeEnsembleRegressor", n_targets=1, **tree("BRANCH_LT"))]],
    "trees_gte": [[node("TreeEnsembleRegressor", n_targets=1, **tree("BRANCH_GTE"))]],
    "trees_gt": [[node("TreeEnsembleRegressor", n_targets=1, aggregate_function="AVERAGE",
                       **tree("BRANCH_GT"))]],
    "trees_max": [[node("TreeEnsembleRegressor", n_targets=1, aggregate_function="MAX",
                        **tree("BRANCH_LEQ"))]],
    "trees_missing": [[node("TreeEnsembleRegressor", n_targets=1,
                            **tree("BRANCH_LEQ", missing=True))], GAPS],
    "trees_gt_missing": [[node("TreeEnsembleRegressor", n_targets=1,
                               **tree("BRANCH_GT", missing=True))], GAPS],
    "forest": [classifier("TreeEnsembleClassifier", classlabels_strings=NAMES,
                          post_transform="SOFTMAX",
                          **tree("BRANCH_LEQ", targets="class", columns=3))],
    "boosting": [classifier("TreeEnsembleClassifier", classlabels_int64s=[0, 1],
                            post_transform="LOGISTIC", base_values=[0.2],
                            **tree("BRANCH_LEQ", targets="class"))],
    "scaler": [[node("Scaler", offset=numbers(4), scale=numbers(4))]],
    **{f"normalizer_{kind.lower()}": [[node("Normalizer", norm=kind)]]
       for kind in ("L1", "L2")},
    "imputer": [[node("Imputer", imputed_value_floats=numbers(4),
                      replaced_value_float=numpy.nan)], GAPS],
    "binarizer": [[node("Binarizer", threshold=0.25)]],
    "one_hot": [[helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64),
                 node("OneHotEncoder", ["i"], cats_int64s=[0, 1, -1], zeros=1)]],
    "label_encoder": [encoder(keys_int64s=[0, 1, -1], values_floats=[0.5, 1.5, 2.5],
                              default_float=9.0)],
    "label_encoder_of_keys_twice": [encoder(
        keys_int64s=[0, 1, 0, 1], values_floats=[0.5, 1.5, 2.5, 3.5],
        default_tensor=helper.make_tensor("of", TensorProto.FLOAT, [1], [9.0]))],
    "label_encoder_of_gaps": [encoder(
        "x", keys_floats=[numpy.nan, numpy.nan, ROWS[3, 3], ROWS[3, 3]],
        values_floats=[0.5, 1.5, 2.5, 3.5], default_float=9.0), GAPS],
    "label_encoder_of_floats": [[
        node("Binarizer", outputs=["b"], threshold=0.25),
        node("LabelEncoder", ["b"], keys_floats=[1.0], values_floats=[2.5],
             default_float=9.0)]],
    "scaled_doubles": [[
        DOUBLES, node("Scaler", ["d"], ["s"], offset=numbers(4), scale=numbers(4)),
        node("LinearRegressor", ["s"], coefficients=numbers(4), intercepts=numbers(1))]],
    "isolation": [isolation()],
    "leaf_without_weight": [stump(EXP, weights=[1.5])],
    "leaf_with_empty_list": [with_no_bases(stump(EXP))],
    "leaf_in_bodies": [stump(
        helper.make_node("Exp", ["leaf"], ["power"]),
        helper.make_node("If", ["yes"], ["z"], then_branch=branch("t"),
                         else_branch=branch("e")),
        helper.make_node("Add", ["power", "z"], ["y"]))],
    "vectorizer": [[node("FeatureVectorizer", ["x", "x"], inputdimensions=[4, 4])]],
}
FOREST = tree("BRANCH_LEQ")
FILLED = numbers(4)


def boosted(x="x", to="y", classes=tree("BRANCH_LEQ", targets="class")):
    return node("TreeEnsembleClassifier", [x], ["label", to], classlabels_int64s=[0, 1],
                post_transform="LOGISTIC", **classes)


# Cases in which onnxruntime deviates from ONNX and scikit-learn, or is less exact.
OWN = {
    "normalizer_max": ([node("Normalizer", norm="MAX")],
                       lambda x: x / numpy.abs(x).max(1, keepdims=True)),
    "distances": ([node("CDist", ["x", "x"], domain=ORT, metric="euclidean")],
                  lambda x: numpy.sqrt(((x[:, None] - x[None]) ** 2).sum(2))),
    # skl2onnx writes these for a model of doubles, and onnxruntime refuses them.
    "zip_map_of_doubles": ([helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE),
                            node("ZipMap", ["d"], classlabels_int64s=[0, 1, 2, 3])],
                           lambda x: x),
    "forest_of_doubles": ([helper.make_node("Cast", ["x"], ["d"], to=TensorProto.DOUBLE),
                           node("TreeEnsembleRegressor", ["d"], n_targets=1, **FOREST)],
                          lambda x: answers(build([node(
                              "TreeEnsembleRegressor", n_targets=1, **FOREST)]), x)[0],
                          TensorProto.DOUBLE),
    "read_as_floats": ([node("LinearRegressor", coefficients=[1.0, 2.0, 3.0, 4.0]),
                        helper.make_node("Neg", ["y"], ["z"])],
                       lambda x: x @ numpy.float64([[1], [2], [3], [4]]), TensorProto.DOUBLE),
    "label_encoder_of_texts": (
        encoder(keys_int64s=[0, 1, 2], values_strings=NAMES, default_string="mid"),
        lambda x: numpy.where((x > -1) & (x < 1), 0, numpy.where((x >= 2) & (x < 3), 2, 1)),
        TensorProto.STRING),
    # A column with gaps, a scaler, and probabilities that the export declares as
    # doubles.
    "boosting_of_doubles": ([
        DOUBLES, node("Imputer", ["d"], ["i"], imputed_value_floats=FILLED,
                      replaced_value_float=numpy.nan),
        helper.make_node("Sub", ["i", "mean"], ["s"]), boosted("s", "p"),
        helper.make_node("Identity", ["p"], ["y"])],
        lambda x: answers(build([boosted()]), x - numpy.float32([0.5, -0.5, 0.25, 1.0]))[1],
        TensorProto.DOUBLE),
}
REFUSED = {
    "probabilities": [classifier("SVMClassifier", **vectors("RBF", 3),
                                 prob_a=numbers(3), prob_b=numbers(3))],
    "equal": [[node("TreeEnsembleRegressor", n_targets=1, **tree("BRANCH_EQ"))]],
    "texts": [[node("OneHotEncoder", cats_strings=NAMES)]],
    "dictionary": [[node("CategoryMapper", cats_int64s=[0], cats_strings=["a"])]],
}


def build(nodes, answered=TensorProto.FLOAT):
    outputs = [helper.make_tensor_value_info("y", answered, [None, None])]
    if nodes[-1].output[0] == "label":
        kind = TensorProto.STRING if any(
            each.name == "classlabels_strings" for each in nodes[-1].attribute
        ) else TensorProto.INT64
        outputs.insert(0, helper.make_tensor_value_info("label", kind, [None]))
    graph = helper.make_graph(nodes, "g", [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 4])], outputs,
        [each for each in SHARED if any(each.name in node.input for node in nodes)])
    return helper.make_model(graph, ir_version=9, opset_imports=[
        helper.make_opsetid("", 18), helper.make_opsetid(ML, 4),
        helper.make_opsetid(ORT, 1)])


def answers(model, data):
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return session.run(None, {"x": data})


def difference(model, data, wanted=None):
    """Where the converted model's answers differ. None: nowhere."""
    converted, *_ = farcall_ml.convert(farcall_leaves.fold(model))
    if any(each.op_type == "Log" for each in converted.graph.node):
        return "leaves are not folded"
    onnx.checker.check_model(converted)
    left = {each.domain for each in converted.graph.node}
    if left != {""}:
        return f"operators of {left} are left"
    for place, (want, got) in enumerate(zip(wanted or answers(model, data),
                                            answers(converted, data))):
        if want.dtype.kind in "OU":
            want = numpy.array([NAMES.index(each.encode()) for each in want])
        if want.shape != got.shape:
            return f"result {place}: shape {got.shape}, not {want.shape}"
        declared = helper.tensor_dtype_to_np_dtype(
            converted.graph.output[place].type.tensor_type.elem_type)
        if got.dtype != declared:
            return f"result {place}: {got.dtype}, declared {declared}"
        if not numpy.allclose(want, got, rtol=1e-5, atol=1e-5, equal_nan=True):
            return f"result {place}: {got.ravel()[:4]}, not {want.ravel()[:4]}"
    return None


def said():
    """What is wrong with labels and notes. None: nothing."""
    model = build([node("Scaler", outputs=["s"], offset=[0.0], scale=[1.0]), *classifier(
        "LinearClassifier", coefficients=numbers(16), intercepts=numbers(4),
        classlabels_strings=[b"a", b"b", b"c", "\u20ac".encode() * 100])])
    model.graph.output[1].type.tensor_type.shape.dim[1].dim_value = 4
    model.graph.output.append(helper.make_tensor_value_info("s", TensorProto.FLOAT, [None, 4]))
    wanted = ["a", "b", "c", "\u20ac" * 66]
    *_, labels = farcall_ml.convert(model)
    if labels != {"label": wanted, "y": wanted}:
        return f"labels are {labels}"
    _, (note, _), _ = farcall_ml.convert(build(
        encoder(keys_int64s=[3], values_strings=NAMES[:1]), TensorProto.STRING))
    return None if "'y' is -1, for '_Unused'" in note else note


def main():
    folder, names = pathlib.Path(sys.argv[2]), sys.argv[3:]
    for name, (nodes, *data) in CASES.items():
        model = build(nodes)
        if name in names:
            onnx.save(model, folder / f"{name}.onnx")
        wrong = difference(model, data[0] if data else ROWS)
        print(f"{name}: {wrong or 'ok'}")
    for name, (nodes, oracle, *answered) in OWN.items():
        wrong = difference(build(nodes, *answered), ROWS, [oracle(ROWS)])
        print(f"{name}: {wrong or 'ok'}")
    print(f"said: {said() or 'ok'}")
    for name, (nodes,) in REFUSED.items():
        try:
            farcall_ml.convert(build(nodes))
            print(f"{name}: not refused")
        except farcall_import.Refused as refused:
            print(f"{name}: refused: {refused}; {refused.hint}")


if __name__ == "__main__":
    main()
