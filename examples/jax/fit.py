#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A JAX function, written as StableHLO for iree-compile: fit.py FILE.mlir

`fit` lays a parabola through points, by steps down the gradient that JAX derives.
"""
import inspect
import pathlib
import sys

import jax
import jax.numpy as jnp
from jax.interpreters import mlir


def fit(x, y):
    powers = jnp.stack([jnp.ones_like(x), x, x * x])

    def loss(c):
        return jnp.mean((c @ powers - y) ** 2)

    def step(_, c):
        return c - 0.3 * jax.grad(loss)(c)
    c = jax.lax.fori_loop(0, 500, step, jnp.zeros(3))
    return c, loss(c)


def export(function, *types, results):
    """The StableHLO of `function`, with the names that JAX leaves out."""
    module = jax.jit(function).lower(*types).compiler_ir("stablehlo")
    with module.context:
        text = mlir.ir.StringAttr.get

        def named(names):
            return mlir.ir.ArrayAttr.get([mlir.ir.DictAttr.get(
                {"iree.abi.name": text(name)}) for name in names])
        main = mlir.ir.SymbolTable(module.operation)["main"]
        main.attributes["sym_name"] = text(function.__name__)
        main.attributes["arg_attrs"] = named(inspect.signature(function).parameters)
        main.attributes["res_attrs"] = named(results)
    return str(module)


points = jax.ShapeDtypeStruct((8,), jnp.float32)
pathlib.Path(sys.argv[1]).write_text(
    export(fit, points, points, results=["coefficients", "loss"]))
