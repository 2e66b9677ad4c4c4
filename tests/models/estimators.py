# SPDX-License-Identifier: Apache-2.0
"""Estimators of scikit-learn, trained on its own data, written as ONNX:

    estimators.py FOLDER [NAME…]

FOLDER/NAME.onnx is the model. FOLDER/NAME.npz has its argument x and scikit-learn's
results: label and probabilities, or value. Run it in the environment of
tests/requirements-models.txt.
"""
import pathlib
import sys
import warnings

import numpy
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
from sklearn import datasets, decomposition, ensemble, linear_model, naive_bayes
from sklearn import neighbors, neural_network, pipeline, preprocessing, svm, tree
from sklearn.base import is_classifier, is_regressor

ROWS = 16  # that are answered; the others are for training
CLASSIFIERS = {
    "logistic": lambda: linear_model.LogisticRegression(max_iter=2000),
    "linear_svc": lambda: svm.LinearSVC(max_iter=5000),
    "svc_linear": lambda: pipeline.make_pipeline(
        preprocessing.StandardScaler(), svm.SVC(kernel="linear")),
    "svc_rbf": lambda: svm.SVC(gamma=0.01),
    "tree_classifier": lambda: tree.DecisionTreeClassifier(random_state=0),
    "forest_classifier": lambda: ensemble.RandomForestClassifier(
        20, max_depth=8, random_state=0),
    "boosting_classifier": lambda: ensemble.GradientBoostingClassifier(
        n_estimators=20, random_state=0),
    "neighbors": lambda: neighbors.KNeighborsClassifier(5),
    "naive_bayes": lambda: naive_bayes.GaussianNB(),
    "perceptron": lambda: neural_network.MLPClassifier((16,), random_state=0,
                                                       max_iter=400),
    "scaled_logistic": lambda: pipeline.make_pipeline(
        preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    "pca_logistic": lambda: pipeline.make_pipeline(
        preprocessing.MinMaxScaler(), decomposition.PCA(3),
        linear_model.LogisticRegression()),
}
REGRESSORS = {
    "linear": lambda: linear_model.LinearRegression(),
    "ridge": lambda: linear_model.Ridge(),
    "svr": lambda: svm.SVR(),
    "tree_regressor": lambda: tree.DecisionTreeRegressor(max_depth=6, random_state=0),
    "forest_regressor": lambda: ensemble.RandomForestRegressor(
        20, max_depth=8, random_state=0),
    "boosting_regressor": lambda: ensemble.GradientBoostingRegressor(
        n_estimators=20, random_state=0),
}
OTHERS = {
    "standard_scaler": lambda: preprocessing.StandardScaler(),
    "normalizer": lambda: preprocessing.Normalizer("l1"),
    "one_hot": lambda: preprocessing.OneHotEncoder(sparse_output=False,
                                                   handle_unknown="ignore"),
}
# Estimators with two classes whose labels are texts: ONNX has another form for these.
BINARY = ["logistic", "forest_classifier", "boosting_classifier"]


def data(name):
    """Returns (all rows, all targets)."""
    if name in REGRESSORS:
        x, y = datasets.load_diabetes(return_X_y=True)
        return x.astype("f4"), y.astype("f4")
    if name == "one_hot":
        return numpy.random.default_rng(0).integers(0, 4, (200, 3)), None
    if name.removesuffix("_binary") != name:
        x, y = datasets.load_breast_cancer(return_X_y=True)
        return x.astype("f4"), numpy.array(["malignant", "benign"])[y]
    x, y = datasets.load_wine(return_X_y=True)
    mixed = numpy.random.default_rng(0).permutation(len(x))
    return x[mixed].astype("f4"), y[mixed]


def names():
    return [*CLASSIFIERS, *REGRESSORS, *OTHERS, *(f"{name}_binary" for name in BINARY)]


def answers(model, x):
    if is_classifier(model):
        labels = model.predict(x)
        if labels.dtype.kind not in "iu":  # numbers of classes, as farcall has them
            labels = numpy.searchsorted(model.classes_, labels)
        likely = getattr(model, "predict_proba", None)
        scores = likely(x) if likely else model.decision_function(x)
        if scores.ndim == 1:
            scores = numpy.stack([-scores, scores], 1)
        return {"y0": labels.astype("i8"), "y1": scores.astype("f4")}
    if is_regressor(model):
        return {"y0": model.predict(x).reshape(-1, 1).astype("f4")}
    return {"y0": model.transform(x).astype("f4")}


def options(name, model):
    """Two models keep the dicts of probabilities that the ONNX export makes by default."""
    plain = name in ("logistic", "forest_classifier") or name == "linear_svc"
    return {"zipmap": False} if is_classifier(model) and not plain else None


def make(name, folder):
    makers = {**CLASSIFIERS, **REGRESSORS, **OTHERS}
    x, y = data(name)
    model = makers[name.removesuffix("_binary")]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[ROWS:], None if y is None else y[ROWS:])
    kind = Int64TensorType if x.dtype.kind == "i" else FloatTensorType
    converted = to_onnx(model, initial_types=[("x", kind([None, x.shape[1]]))],
                        options=options(name, model))
    (folder / f"{name}.onnx").write_bytes(converted.SerializeToString())
    numpy.savez(folder / f"{name}.npz", x0=x[:ROWS], **answers(model, x[:ROWS]))


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in sys.argv[2:] or names():
        make(each, target)
