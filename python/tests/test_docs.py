# SPDX-License-Identifier: Apache-2.0
"""Every block of docs/python.md, and the examples in docstrings."""
import doctest
import pkgutil
import re

import farcall
import numpy
import pytest

from conftest import ROOT

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE


def test_page(monkeypatch):
    monkeypatch.chdir(ROOT)
    page = ROOT / "docs/python.md"
    text = page.read_text()
    assert set(re.findall(r"^```(.*)$", text, re.M)) == {"python", ""}
    # A fence ends the output of the example before it.
    source = re.sub(r"^```.*$", "", text, flags=re.M)
    test = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    assert len(test.examples) >= 20
    failed, tried = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE) \
        .run(test)
    assert (failed, tried) == (0, len(test.examples))


MODULES = ["farcall", *(f"farcall.{each.name}" for each in
                        pkgutil.iter_modules(farcall.__path__)
                        if each.name not in ("_farcall", "_grpc"))]


def test_docstrings(monkeypatch):
    monkeypatch.chdir(ROOT)
    tried = 0
    for name in MODULES:
        module = __import__(name, fromlist=["_"])
        done = doctest.testmod(module, extraglobs={"farcall": farcall, "numpy": numpy},
                               optionflags=FLAGS)
        assert done.failed == 0, name
        tried += done.attempted
    assert tried >= 10


@pytest.mark.parametrize("name", MODULES)
def test_everything_says_what_it_is(name):
    module = __import__(name, fromlist=["_"])
    assert module.__doc__
    for each in getattr(module, "__all__", []):
        assert getattr(module, each).__doc__, each
