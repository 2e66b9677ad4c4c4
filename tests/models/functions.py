# SPDX-License-Identifier: Apache-2.0
"""Exported JAX functions: names(); write(name, folder) -> (arguments, results), each a
list of trees; spelled(name) -> the names of arguments and dims."""
import inspect

import jax
import jax.numpy as jnp
import numpy
from jax import export

RANDOM = numpy.random.default_rng(0)


def floats(*shape):
    return RANDOM.normal(size=shape).astype("f4")


def shape_of(tree):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def classify(params, x):
    hidden = jax.nn.relu(x @ params["w"] + params["b"])
    return {"label": hidden.argmax(-1), "scores": jax.nn.softmax(hidden)}


def attend(x, weights):
    query, key, value = (x @ each for each in weights)
    return jax.nn.softmax(query @ key.swapaxes(-1, -2) / 4) @ value


def remember(x, state):
    def step(state, row):
        state = jnp.tanh(state * 0.5 + row)
        return state, state.sum()
    return jax.lax.scan(step, state, x)


def blur(images):
    kernel = jnp.full((3, 3, 1, 1), 1 / 9, "float32")
    return jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def scale(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-5)


def nearest(points, centres):
    apart = ((points[:, None] - centres[None]) ** 2).sum(-1)
    return apart.argmin(-1), apart.min(-1)


ROWS = export.symbolic_shape("rows, 4")
FUNCTIONS = {  # the function, what it is called with, the types it is exported for
    "jax_classify": (classify, [{"w": floats(4, 3), "b": floats(3)}, floats(2, 4)], None),
    "jax_attend": (attend, [floats(1, 8, 16), [floats(16, 16) for _ in range(3)]], None),
    "jax_remember": (remember, [floats(6, 4), floats(4)], None),
    "jax_blur": (blur, [floats(3, 8, 8, 1)],
                 [export.symbolic_shape("images, 8, 8, 1")]),
    "jax_scale": (scale, [floats(5, 4)], [ROWS]),
    "jax_nearest": (nearest, [floats(7, 4), floats(3, 4)], [ROWS, (3, 4)]),
}


# IREE's compiler needs sizes for symbolic dims.
BATCHES = {"jax_blur": ["1,3"], "jax_scale": ["5,8"], "jax_nearest": ["1,7,16"]}


def names():
    return list(FUNCTIONS)


def types_of(name):
    _, arguments, shapes = FUNCTIONS[name]
    if shapes:
        return [jax.ShapeDtypeStruct(each, "float32") for each in shapes]
    return [shape_of(each) for each in arguments]


def dims(tree):
    """The names of dims; None for a dim with a fixed size."""
    if isinstance(tree, dict):
        return {key: dims(each) for key, each in tree.items()}
    if isinstance(tree, list):
        return [dims(each) for each in tree]
    return [None if isinstance(dim, int) else str(dim) for dim in tree.shape]


def spelled(name):
    """The names of the arguments and of their dims. The names of results are keys of
    dicts, which are compared together with the numbers."""
    return (list(inspect.signature(FUNCTIONS[name][0]).parameters),
            [dims(each) for each in types_of(name)])


def write(name, folder):
    function, arguments, _ = FUNCTIONS[name]
    exported = export.export(jax.jit(function))(*types_of(name))
    (folder / f"{name}.bin").write_bytes(exported.serialize())
    results = function(*arguments)
    return arguments, list(results) if isinstance(results, tuple) else [results]
