# SPDX-License-Identifier: Apache-2.0
"""Lists of element types that others' words keep from being read off dtype.def: each has
every row, with the row's own words, or is known to lack it. So whoever adds a row is told
of each list."""
import ast
import re

import pytest

from conftest import ROOT

TABLE = (ROOT / "include/farcall/dtype.def").read_text()
ROW = re.compile(r'^FC_DTYPE\((\w+), "([^"]+)", (\w+), \d+, (\d+), \w+, "\w*", "([^"]*)", "([^"]*)"',
                 re.M)
# Text: name of the row, class, bytes, NumPy's word for its files, its other names.
ROWS = {text: (name, kind, int(size), npy, names.split())
        for name, text, kind, size, npy, names in ROW.findall(TABLE)}
# Types that compilers, browsers or files have no use for.
NARROW = {f"{sign}{bits}" for sign in ("i", "si", "ui") for bits in (2, 4)} | {"si1", "ui1"}
SIGNED = {text for text in ROWS if text.startswith("si")}
MINIFLOATS = {"f8E8M0FNU", "f8E4M3", "f8E3M4", "f8E4M3B11FNUZ", "f6E2M3FN", "f6E3M2FN",
              "f4E2M1FN"}
F8 = {"f8E5M2", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ"}
COMPLEX = {"complex<f32>", "complex<f64>"}


def literal(file, name):
    """The value of a list that is written in a file of Python."""
    for node in ast.parse((ROOT / file).read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def of_numpy():
    listed = literal("python/farcall/_arrays.py", "_NUMPY") | \
        literal("python/farcall/_arrays.py", "_BEYOND")
    return [(text, name in ROWS[text][4]) for text, name in listed.items()]


def of_jax():
    listed = literal("cli/compile/tools/farcall_jax.py", "DTYPES")
    return [(text, name in ROWS[text][4]) for name, text in listed.items()]


def of_onnx():
    """ONNX has FLOAT, DOUBLE and FLOAT8E5M2 for float32, float64 and float8_e5m2."""
    listed = literal("cli/compile/tools/farcall_onnx.py", "DTYPES")
    names = {"float": "float32", "double": "float64"}
    return [(text, names.get(name.lower(), name.lower()) in
             [each.replace("_", "") for each in ROWS[text][4]])
            for name, text in listed.items()]


def of_explorer():
    text = (ROOT / "server/explorer/values.js").read_text()
    listed = re.search(r"const NPY_WRITERS = \{(.*?)\};", text, re.S)[1]
    return [(text, (int(size), npy) == ROWS[text][2:4])
            for text, npy, size in re.findall(r'(\w+): \["([^"]+)", (\d+), "\w+"\]', listed)]


def of_safetensors():
    """Its words are letters and bits, and BOOL."""
    text = (ROOT / "core/value/safetensors.c").read_text()
    texts = {row[0]: each for each, row in ROWS.items()}
    return [(texts[name], word == "BOOL" or
             word.lower().replace("_", "") == texts[name].lower().replace("ui", "u").removesuffix("fn"))
            for word, name in re.findall(r'\{"(\w+)", FC_DTYPE_(\w+)\}', text)]


LISTS = [
    ("numpy", of_numpy, NARROW),  # _NARROW of the same file is computed for all widths
    ("jax", of_jax, NARROW - {"i4", "ui4"} | SIGNED | MINIFLOATS | {"index"}),
    ("onnx", of_onnx, NARROW | SIGNED | MINIFLOATS | {"index"}),
    ("explorer", of_explorer, NARROW | SIGNED | MINIFLOATS | F8 | COMPLEX | {
        "ui16", "ui32", "ui64", "index", "f16", "bf16"}),
    ("safetensors", of_safetensors, NARROW | SIGNED | MINIFLOATS | COMPLEX | {
        "index", "f8E5M2FNUZ", "f8E4M3FNUZ"}),
]


@pytest.mark.parametrize("name,listed,lacks", LISTS, ids=[row[0] for row in LISTS])
def test_a_list_has_every_row(name, listed, lacks):
    rows = listed()
    assert [text for text, holds in rows if not holds] == [], f"{name}: other words"
    assert sorted(set(ROWS) - {text for text, _ in rows}) == sorted(lacks)


def test_the_table_is_read_whole():
    written = re.findall(r"^FC_DTYPE\(", TABLE, re.M)
    assert len(ROWS) == len(written) > 38
