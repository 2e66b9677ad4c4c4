#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digit classifier and writes it as MLIR: ../iree/digits.mlir.

A layer of 32 units between 64 pixels and 10 digits, on 1,437 of the 1,797 images
that scikit-learn ships. The other 360, chosen by a fixed seed, it never sees:
they are written beside this file, and say how good it is. `examples/build
--train` runs this in an environment of its own.
"""
import pathlib
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

HERE = pathlib.Path(__file__).resolve().parent


def dense(values):
    """An MLIR constant. Four decimals are enough: the rounded weights are the
    ones that are measured below."""
    rows = np.atleast_2d(values)
    text = ",\n      ".join(
        "[" + ", ".join(f"{v:.4f}" for v in row) + "]" for row in rows)
    if values.ndim == 2:
        text = f"[\n      {text}]"
    return f"dense<{text}>"


def scores(x, layers):
    (w0, b0), (w1, b1) = layers
    return np.maximum(x @ w0 + b0, 0) @ w1 + b1


digits = load_digits()
train, held, train_labels, held_labels = train_test_split(
    digits.images, digits.target, test_size=360, stratify=digits.target,
    random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)  # it stops at max_iter
    model = MLPClassifier((32,), alpha=0.1, max_iter=400, random_state=0)
    model.fit(train.reshape(-1, 64) / 16, train_labels)
layers = [(np.round(w, 4).astype(np.float32), np.round(b, 4).astype(np.float32))
          for w, b in zip(model.coefs_, model.intercepts_)]

read = scores(held.reshape(-1, 64).astype(np.float32) / 16, layers).argmax(axis=1)
right = int((read == held_labels).sum())
figure = f"{right} of {len(held)} images it never saw are read right."
np.save(HERE / "heldout-images.npy", held.astype(np.uint8))
np.save(HERE / "heldout-labels.npy", held_labels.astype(np.uint8))

(w0, b0), (w1, b1) = map(lambda layer: map(dense, layer), layers)
template = (HERE / "digits.mlir.in").read_text()
(HERE.parent / "iree/digits.mlir").write_text(
    template.replace("@FIGURE@", figure).replace("@W0@", w0).replace("@B0@", b0)
    .replace("@W1@", w1).replace("@B1@", b1))
print(f"digits: {figure}")
