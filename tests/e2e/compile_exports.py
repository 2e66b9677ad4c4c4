# SPDX-License-Identifier: Apache-2.0
"""Run by a Python that has JAX: writes the models of test_compile_jax_peer.py into the
folder that is named, as NAME.bin, each with JAX's answers in NAME.json."""
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

FOLDER = pathlib.Path(sys.argv[1])
RANDOM = np.random.default_rng(7)
jax.config.update("jax_enable_x64", True)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def plain(tree):
    return jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), tree)


def save(name, function, types, *calls, **more):
    exported = export.export(jax.jit(function), **more)(*types)
    (FOLDER / f"{name}.bin").write_bytes(exported.serialize())
    (FOLDER / f"{name}.mlirbc").write_bytes(exported.mlir_module_serialized)
    rows = []
    for call in calls:
        results = function(*call)
        if type(results) not in (tuple, list):
            results = [results]
        rows.append({"args": plain(list(call)), "results": plain(list(results))})
    (FOLDER / f"{name}.json").write_text(json.dumps(rows))


def shape(*dims, dtype=np.float32):
    return jax.ShapeDtypeStruct(dims, dtype)


def predict(params, x):
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return {"label": hidden.argmax(-1), "scores": hidden}


WEIGHTS = {"w": floats(4, 3), "b": floats(3)}
save("predict", predict, ({"w": shape(4, 3), "b": shape(3)}, shape(2, 4)),
     (WEIGHTS, floats(2, 4)))

symbols = export.symbolic_shape("rows")
save("rows", lambda x, y: (x @ y.T, x.sum(0)), (shape(*symbols, 4), shape(3, 4)),
     *((floats(size, 4), floats(3, 4)) for size in (1, 8)))


def nested(pair, *, unused):
    return pair[0] * 2, [pair[1]["deep"], None]


(rows, width) = export.symbolic_shape("rows, width")
save("grid", lambda x: jnp.concatenate([x, x], 1), (shape(rows, width),),
     *((floats(*size),) for size in [(1, 2), (2, 2)]))

save("integers", lambda x: (~x, x > 7), (shape(3, dtype=np.uint8),),
     (np.array([0, 7, 200], np.uint8),))
save("doubles", lambda x: x * x, (shape(2, dtype=np.float64),),
     (np.array([1e-200, 1 + 2**-40]),))
save("attention", lambda q, mask: jax.nn.softmax(
         jnp.where(mask[:, None, :], q @ jnp.swapaxes(q, 1, 2), -1e9)) @ q,
     (shape(*symbols, 5, 4), jax.ShapeDtypeStruct((*symbols, 5), np.bool_)),
     *((floats(size, 5, 4), RANDOM.random((size, 5)) > 0.3) for size in (1, 8)))

exported = export.export(jax.jit(nested))((shape(2), {"deep": shape(3)}),
                                           unused=shape(7))
(FOLDER / "nested.bin").write_bytes(exported.serialize())
exported = export.export(jax.jit(lambda x: x + 1), platforms=["tpu"])(shape(2))
(FOLDER / "tpu.bin").write_bytes(exported.serialize())
exported = export.export(jax.jit(jnp.linalg.eigvalsh))(shape(2, 2))
(FOLDER / "library.bin").write_bytes(exported.serialize())
