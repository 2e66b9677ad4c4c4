# SPDX-License-Identifier: Apache-2.0
"""ONNX's tests of operators that are products of matrices, compiled as `farcall
compile` does at level 2: matrices are laid out in tiles, convolutions become
products of matrices. A test that passes without these flags must pass with them."""
import re

import pytest

from conftest import ROOT
from onnx_suite import Suite
from test_onnx_slow import called

PRODUCTS = re.compile("attention|conv|det|einsum|gemm|gru|lstm|matmul|rnn")


def level_2():
    """The flags of `farcall compile -O2`, read from its source."""
    source = (ROOT / "cli/compile/iree.c").read_text()
    return re.findall(r'tiled \? "([^"]+)"', source)


@pytest.fixture(scope="module")
def plain(onnx):
    every = Suite(onnx, names=[]).tensors
    return Suite(onnx, names=[name for name in every if PRODUCTS.search(name)])


@pytest.fixture(scope="module")
def tiled(onnx, plain):
    flags = level_2()
    assert len(flags) == 2
    return Suite(onnx, names=plain.compiled(), kept="onnx-tiled", flags=flags)


def test_none_is_lost_by_tiles(plain, tiled, capsys):
    answers = {suite: called(suite, suite.compiled()) for suite in (plain, tiled)}
    right = {name for name, (wrong, _) in answers[plain].items() if wrong is None}
    lost = {name: wrong for name, (wrong, _) in answers[tiled].items()
            if wrong is not None and name in right}
    refused = sorted(right - set(answers[tiled]))
    with capsys.disabled():
        print(f"\n{len(plain.names)} tests of products, {len(right)} right without tiles, "
              f"{len(right) - len(refused) - len(lost)} with them; the compiler refuses "
              f"{len(refused)} at level 2, which farcall compiles at level 1: {refused}")
    assert not lost, lost
    assert len(refused) <= len(right) / 10
