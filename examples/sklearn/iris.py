# SPDX-License-Identifier: Apache-2.0
"""Trains a forest on Fisher's iris flowers and writes it as ONNX: iris.py FILE.onnx.

Prints what scikit-learn itself answers for two flowers, which the module must answer too.
"""
import sys

import numpy
import skl2onnx
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

data, species = load_iris(return_X_y=True)
data = data.astype("float32")  # as a client sends it
forest = RandomForestClassifier(20, max_depth=4, random_state=1).fit(data[::2], species[::2])

# `zipmap` off: probabilities as one array, not as a dict for each flower.
model = skl2onnx.to_onnx(forest, data[:1], options={"zipmap": False})
with open(sys.argv[1], "wb") as file:
    file.write(model.SerializeToString())

flowers = numpy.array([[5.1, 3.5, 1.4, 0.2], [6.0, 2.7, 5.1, 1.6]], "float32")
print(forest.predict(flowers), forest.predict_proba(flowers).round(3).tolist())
