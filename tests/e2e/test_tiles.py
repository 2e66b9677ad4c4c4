# SPDX-License-Identifier: Apache-2.0
"""Calls whose grids are computed by several threads (--tiles) return the same bytes as
calls that use one thread, and as IREE's runtime."""
import base64
import struct
from concurrent.futures import ThreadPoolExecutor

import pytest

import iree_tensors
from conftest import ROOT

PAIRS = iree_tensors.pairs("generic")


@pytest.fixture(scope="module")
def served(iree):
    with iree_tensors.serving(iree, "generic", options=["--tiles=4"]) as running:
        yield running


@pytest.mark.parametrize("variant,name", PAIRS)
def test_results_are_those_of_the_reference(served, iree, variant, name):
    server, files = served
    wrong = list(iree_tensors.differences(
        server, iree, files[variant, name], variant, iree_tensors.THEMES[name]))
    assert not wrong, f"{len(wrong)} calls:\n" + "\n".join(wrong)


def square(seed):
    """512x512 numbers whose sums depend on the order of addition."""
    values = []
    for _ in range(512 * 512):
        seed = seed * 16807 % 2147483647
        values.append(seed / 2147483647 - 0.5)
    data = base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
    return {"dtype": "f32", "shape": [512, 512], "b64": data}


def test_a_large_grid_gives_the_same_bytes(serve, iree):
    module = iree.compile(ROOT / "bench/models/matmul.mlir",
                          *iree_tensors.VARIANTS["generic"])
    function, document = f"{module.stem}/run", [square(1), square(2)]
    alone = serve(module)
    wanted = alone.call(function, document)
    assert wanted.status == 200, wanted.body
    tiled = serve(module, "--tiles=3", "--workers=2")
    with ThreadPoolExecutor(3) as pool:  # who finds the helpers taken goes on alone
        for got in pool.map(lambda _: tiled.call(function, document), range(6)):
            assert got.body == wanted.body
