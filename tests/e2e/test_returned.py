# SPDX-License-Identifier: Apache-2.0
"""The file that unit/module/native/returned reads must be what llc prints now."""
import importlib.util

import pytest

from conftest import ROOT

FOLDER = ROOT / "tests/corpus/returned"


def test_the_corpus_is_what_llc_makes():
    spec = importlib.util.spec_from_file_location("make", FOLDER / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    llc = make.find_llc()
    if not llc:
        pytest.skip("no llc")
    assert make.FILE.read_text() == "".join(make.rows(llc, make.shapes()))
