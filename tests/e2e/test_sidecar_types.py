# SPDX-License-Identifier: Apache-2.0
"""Types in a sidecar that differ from those in its .vmfb file."""
import json
import shutil

import pytest

from conftest import ROOT

FILTER = ROOT / "examples/iree/filter.vmfb"


def tensor(*shape, dtype="f32"):
    return {"kind": "tensor", "dtype": dtype, "shape": list(shape)}


def describe(tmp_path, arguments, results, name="fir"):
    path = tmp_path / "filter.vmfb"
    shutil.copy(FILTER, path)
    path.with_suffix(".farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module", "functions": [{
            "name": name, "doc": "filters a \"signal\"", "arguments": arguments,
            "results": results}]}))
    return path


BOTH = {"kind": "dict", "fields": [{"name": "signal", "type": tensor(None)},
                                   {"name": "taps", "type": tensor(None)}]}


def test_a_tree_is_called(serve, tmp_path):
    server = serve(describe(
        tmp_path, [{"name": "both", "keyword": True, "type": BOTH}],
        [{"type": {"kind": "tuple", "flavor": "list", "items": [tensor(None)]}}]))
    signature = server.get("/api/v1/functions/filter/fir").json
    assert signature["source"] == "sidecar"
    assert signature["text"] == ("fir(both: {signal: tensor<?xf32>, taps: tensor<?xf32>}) "
                                 "-> [tensor<?xf32>]")
    both = {"taps": [0.25, 0.5, 0.25], "signal": [1, 2, 3, 10, 3, 2, 1]}
    for document in [[both], {"kwargs": {"both": both}}]:
        assert server.results("filter/fir", document) == [[[2.0, 4.5, 6.5, 4.5, 2.0]]]
    reply = server.call("filter/fir", [{"signal": [1]}])
    assert reply.status == 422 and "taps" in reply.json["detail"]
    reply = server.call("filter/fir", {"kwargs": {"both": {**both, "taps": [[1]]}}})
    assert reply.status == 422
    example = server.get("/api/v1/functions/filter/fir/example").json
    assert "both" in example["kwargs"]
    operation = server.get("/openapi.json").json["paths"][
        "/api/v1/functions/filter/fir"]["post"]
    assert operation["description"] == 'filters a "signal"'


REFUSED = [
    ("another number", [{"type": tensor(None)}], [{"type": tensor(None)}]),
    ("another result", [{"type": tensor(None)}] * 2, []),
    ("another rank", [{"type": tensor(None)}, {"type": tensor(None, None)}],
     [{"type": tensor(None)}]),
    ("another class", [{"type": tensor(None)}, {"type": tensor(None, dtype="i32")}],
     [{"type": tensor(None)}]),
    ("a scalar", [{"type": tensor(None)}, {"type": {"kind": "scalar", "dtype": "f32"}}],
     [{"type": tensor(None)}]),
]


@pytest.mark.parametrize("arguments, results", [row[1:] for row in REFUSED],
                         ids=[row[0] for row in REFUSED])
def test_what_does_not_fit_is_refused(farcall, tmp_path, arguments, results):
    done = farcall("sig", describe(tmp_path, arguments, results))
    assert done.returncode == 65
    assert "its sidecar's description does not fit the calling convention" in done.stderr


def test_a_function_that_is_not_there(farcall, tmp_path):
    done = farcall("sig", describe(tmp_path, [], [], name="fri"))
    assert done.returncode == 65
    assert "/functions/0/name: the module has no function 'fri'" in done.stderr


def test_the_text_for_people_is_shown(farcall, tmp_path):
    path = describe(tmp_path, [{"type": BOTH}], [{"type": tensor(None)}])
    done = farcall("sig", path, "--function=fir")
    assert '  doc: filters a "signal"\n' in done.stdout, done.stdout
