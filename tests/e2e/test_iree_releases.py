# SPDX-License-Identifier: Apache-2.0
"""The same programs compiled by 15 IREE releases, from 2.9.0 to 3.13.0: every function
of every file over HTTP. The expected values are those of
tests/corpus/iree/README.md."""
import pytest

from conftest import RELEASES, Server, end_servers

FACT = ("fact", [10], [3628800])
PAIR = ("pair", {"kwargs": {"a": 3, "b": 2.5}}, [{"a": 3, "b": 2.5}])
# (function, document, results), in the order of the calls.
VERSIONS = [
    ("mul4", [[1, 2, 3, 4], [2, 2, 2, 2]], [[2.0, 4.0, 6.0, 8.0]]),
    ("matmul", [[[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [1, 1]]],
     [[[4.0, 5.0], [10.0, 11.0]]]),
    ("mixed", [[1, 2, 100], [7, 8], 14, 1.5],
     [[2, 4, -56], [14, 16], 42, 2.25]),
    ("next", [], [1]),
    ("next", [], [2]),
    ("next", [], [3]),
    FACT,
    PAIR,
]
HALF = [("twice", [[1.5, -2], [0.5, 3]], [[3.0, -4.0], [1.0, 6.0]])]
FAULT = ("integer division by zero",)
SCALARS = [
    FACT,
    PAIR,
    ("swap", {"kwargs": {"x": {"p": 1.5, "q": 3}}}, [[3, 1.5]]),
    ("add_total", [5], [5]),
    ("add_total", [7], [12]),
    ("hyp", [3, 4], [5.0]),
    ("divide", [7, -2], [-3]),
    ("divide", [7, 0], FAULT),
    ("divide", [-2147483648, -1], ("integer",)),
    ("divide", [9, 3], [3]),
]
TABLES = {"versions": VERSIONS, "half": HALF, "scalars": SCALARS}
FILES = sorted(path.stem for path in RELEASES.glob("*.vmfb"))


@pytest.fixture(scope="module")
def releases():
    running = Server(RELEASES)
    yield running
    end_servers([running])


def test_they_are_all_there(releases):
    modules = releases.get("/api/v1/modules").json["modules"]
    assert len(FILES) == 60
    assert sorted(m["name"] for m in modules) == FILES
    for module in modules:
        assert module["state"] == "ready", module
        table = TABLES[module["name"].split("-")[0]]
        assert set(module["functions"]) == {row[0] for row in table}


@pytest.mark.parametrize("name", FILES)
def test_every_function(releases, name):
    for function, document, expected in TABLES[name.split("-")[0]]:
        reply = releases.call(f"{name}/{function}", document)
        if isinstance(expected, tuple):
            assert reply.status == 422, f"{function}: {reply.body}"
            assert reply.json["code"] == "call_failed"
            assert expected[0] in reply.json["detail"]
        else:
            assert reply.status == 200, f"{function}: {reply.body}"
            got = reply.json["results"]
            assert got == expected, f"{function}: {got}"
            # In Python 1 == 1.0, but an i64 must not be answered as 1.0.
            assert repr(got) == repr(expected), function


# (file, bytes, other bytes that replace them, words that the reason must contain)
REFUSED = [
    ("scalars-3.13.0", bytes([0, 0, 17, 0]), bytes([0, 0, 18, 0]), ["18.0", "17"]),
    ("scalars-3.13.0", b"!vm.list<?>", b"!vm.lost<?>", ["!vm.lost<?>"]),
    ("versions-3.13.0-vmvx", b"hal.fence.create", b"hal.fence.crxate",
     ["hal.fence.crxate"]),
]


@pytest.mark.parametrize("name,old,new,words", REFUSED)
def test_what_is_refused_is_named(farcall, tmp_path, name, old, new, words):
    content = (RELEASES / f"{name}.vmfb").read_bytes()
    assert content.count(old) == 1
    path = tmp_path / "other.vmfb"
    path.write_bytes(content.replace(old, new))
    function = "hyp" if name.startswith("scalars") else "mul4"
    run = farcall("run", path, "-f", function, "--json=[3,4]")
    assert run.returncode != 0
    for word in words:
        assert word in run.stderr, run.stderr
