# SPDX-License-Identifier: Apache-2.0
"""Writes jax.mlir beside this file: what JAX (tests/requirements-jax.txt) lowers these
functions to. They are all in one module, so that they are compiled at once. A
function has the name that it has here. The name of a function that it calls begins
with its name and a dot.

    python3 -m venv venv && venv/bin/pip install -r tests/requirements-jax.txt
    venv/bin/python tests/modules/iree/make_jax.py
"""
import pathlib
import re

import jax
import jax.numpy as jnp
from jax import lax, nn

DTYPES = {"f32": jnp.float32, "f16": jnp.float16, "i32": jnp.int32,
          "i8": jnp.int8, "i1": jnp.bool_, "ui8": jnp.uint8}


def attention(q, k, v):
    weights = nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) / jnp.sqrt(8.0), axis=-1)
    return jnp.einsum("hqk,hkd->hqd", weights, v)


def layer_norm(x, scale, shift):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def loss(w, x, y):
    return jnp.mean((jnp.tanh(x @ w) - y) ** 2)


def recurrent(x, w, u):
    def step(state, row):
        state = jnp.tanh(row @ w + state @ u)
        return state, state.sum()
    return lax.scan(step, jnp.zeros(4), x)


def newton(x):
    return lax.while_loop(lambda s: s[1] < 8,
                          lambda s: ((s[0] + x / s[0]) / 2, s[1] + 1), (x, 0))[0]


def mandelbrot(re, im):
    def step(_, s):
        x, y, n = s
        inside = x * x + y * y < 4
        return (jnp.where(inside, x * x - y * y + re, x),
                jnp.where(inside, 2 * x * y + im, y), n + inside)
    zero = jnp.zeros_like(re)
    return lax.fori_loop(0, 20, step, (zero, zero, jnp.zeros(re.shape, jnp.int32)))[2]


def convolve(x, k):
    return lax.conv_general_dilated(x, k, (1, 1), "SAME",
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


# Name, arguments as in the `// call` lines, function
TABLE = [
    ("add", "2x3xf32 2x3xf32", lambda a, b: a + b),
    ("softmax", "4x5xf32", lambda x: nn.softmax(x)),
    ("log_softmax", "4x5xf32", lambda x: nn.log_softmax(x)),
    ("gelu", "3x7xf32", lambda x: nn.gelu(x)),
    ("silu", "9xf32", lambda x: nn.silu(x)),
    ("softplus", "9xf32", lambda x: nn.softplus(x)),
    ("sigmoid", "2x2x3xf32", lambda x: nn.sigmoid(x)),
    ("layer_norm", "3x8xf32 8xf32 8xf32", layer_norm),
    ("attention", "2x4x8xf32 2x4x8xf32 2x4x8xf32", attention),
    ("dense", "3x4xf32 4x5xf32 5xf32", lambda x, w, b: nn.relu(x @ w + b)),
    ("gradient", "4x2xf32 3x4xf32 3x2xf32", jax.grad(loss)),
    ("value_and_gradient", "4x2xf32 3x4xf32 3x2xf32", jax.value_and_grad(loss)),
    ("jacobian", "3xf32", jax.jacfwd(lambda x: jnp.sin(x) * x.sum())),
    ("recurrent", "5x3xf32 3x4xf32 4x4xf32", recurrent),
    ("newton", "6xf32~1..9", newton),
    ("mandelbrot", "6x6xf32~-2..1 6x6xf32~-1..1", mandelbrot),
    ("sort", "4x6xf32", lambda x: jnp.sort(x, axis=1)),
    ("argsort", "9xi32", lambda x: jnp.argsort(x)),
    ("top", "3x8xf32", lambda x: lax.top_k(x, 3)),
    ("argmax", "3x8xf32", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0))),
    ("cumsum", "3x6xf32", lambda x: jnp.cumsum(x, 1)),
    ("cumprod", "5xi32~1..5", lambda x: jnp.cumprod(x)),
    ("mean_and_variance", "6x4xf32", lambda x: (x.mean(0), x.var(1))),
    ("reductions", "3x5xi32", lambda x: (x.sum(), x.prod(0), x.max(1), x.min())),
    ("any_and_all", "3x5xi1", lambda x: (x.any(1), x.all(0))),
    ("gather", "7x3xf32 4xi32~0..7", lambda x, i: x[i]),
    ("take_along", "3x5xf32 3x2xi32~0..5", lambda x, i: jnp.take_along_axis(x, i, 1)),
    ("scatter", "7xf32 3xi32~0..7 3xf32", lambda x, i, v: x.at[i].add(v)),
    ("set_rows", "5x2xf32 2x2xf32", lambda x, v: x.at[1:5:2].set(v)),
    ("dynamic_slice", "6x4xf32 i32~0..4", lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3))),
    ("dynamic_update", "6x4xf32 2x2xf32 i32~0..3",
     lambda x, v, i: lax.dynamic_update_slice(x, v, (i, 1))),
    ("concatenate", "2x3xf32 2x1xf32", lambda a, b: jnp.concatenate([a, b, a], 1)),
    ("stack", "3xf32 3xf32", lambda a, b: jnp.stack([a, b], 1)),
    ("pad", "3x4xf32", lambda x: jnp.pad(x, ((1, 0), (0, 2)), constant_values=9)),
    ("reflect", "5xf32", lambda x: jnp.pad(x, 3, mode="reflect")),
    ("roll", "3x5xi32", lambda x: jnp.roll(x, 2, 1)),
    ("flip", "3x5xi32", lambda x: jnp.flip(x, (0, 1))),
    ("tile", "2x3xi8", lambda x: jnp.tile(x, (2, 2))),
    ("transpose", "2x3x4xf32", lambda x: x.transpose(2, 0, 1)),
    ("reshape", "4x6xi32", lambda x: x.reshape(2, 3, 4)),
    ("triangle", "4x4xf32", lambda x: (jnp.tril(x), jnp.triu(x, 1))),
    ("where", "5xi1 5xf32 5xf32", lambda c, a, b: jnp.where(c, a, b)),
    ("clip", "7xf32", lambda x: jnp.clip(x, -1, 2)),
    ("one_hot", "5xi32~0..4", lambda i: nn.one_hot(i, 4)),
    ("einsum", "2x3x4xf32 4x5xf32", lambda a, b: jnp.einsum("bij,jk->bki", a, b)),
    ("outer", "3xf32 4xf32", lambda a, b: jnp.outer(a, b)),
    ("convolve", "1x6x6x2xf32 3x3x2x3xf32", convolve),
    ("max_pool", "1x6x6x2xf32", lambda x: lax.reduce_window(
        x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")),
    ("integers", "8xi32 8xi32~1..9", lambda a, b: (a // b, a % b, a ^ b, a << 2)),
    ("quantized", "3x4xi8 4x2xi8", lambda a, b: lax.dot(
        a, b, preferred_element_type=jnp.int32)),
    ("unsigned", "8xui8 8xui8", lambda a, b: (a + b, a // (b | 1), a >> 1)),
    ("compare", "6xf32~-1..1 6xf32~-1..1", lambda a, b: (a < b, a == b, a >= b)),
    ("rounded", "9xf32", lambda x: (jnp.round(x), jnp.floor(x), jnp.trunc(x))),
    ("complex_product", "4xf32 4xf32", lambda a, b: jnp.abs(lax.complex(a, b) ** 2)),
    ("fft", "8xf32", lambda x: jnp.abs(jnp.fft.rfft(x))),
    ("random", "2xi32~0..9999", lambda k: jax.random.uniform(
        jax.random.wrap_key_data(k.astype(jnp.uint32)), (5,))),
    ("switch", "i32~0..3 4xf32", lambda i, x: lax.switch(
        i, [jnp.sin, jnp.cos, lambda v: v * 2], x)),
    ("polynomial", "4xf32 6xf32", lambda p, x: jnp.polyval(p, x)),
    ("norm", "3x4xf32", lambda x: jnp.linalg.norm(x, axis=1)),
    ("dictionary", "3xf32 3xf32", lambda a, b: {"sum": a + b, "pair": (a, b * 2)}),
    ("nothing_given", "", lambda: jnp.arange(6.0).reshape(2, 3)),
]


def abstract(spec):
    *dims, dtype = spec.partition("~")[0].split("x")
    return jax.ShapeDtypeStruct(tuple(map(int, dims)), DTYPES[dtype])


def lowered(name, specs, function):
    text = jax.jit(function, keep_unused=True).lower(
        *map(abstract, specs.split())).as_text()
    body = text.split("\n", 1)[1].rsplit("}", 1)[0].rstrip()
    body = re.sub(r" \{jax\.result_info = \"[^\"]*\"\}", "", body)
    body = re.sub(r"@(\w+)", lambda m: f"@{name}" if m[1] == "main"
                  else f"@{name}.{m[1]}", body)
    return f"  // call {specs}".rstrip() + f"\n{body}\n"


def main():
    path = pathlib.Path(__file__).with_name("jax.mlir")
    path.write_text(
        "// SPDX-License-Identifier: Apache-2.0\n"
        f"// Written by make_jax.py with JAX {jax.__version__}.\n"
        "module @jax {\n" + "".join(lowered(*row) for row in TABLE) + "}\n")


if __name__ == "__main__":
    main()
