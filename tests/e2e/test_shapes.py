# SPDX-License-Identifier: Apache-2.0
"""Compiled code assumes that the dims of its arguments agree. If they do not, the call
is refused or ends in a 502. It must never answer with bytes from elsewhere: between
the calls, other clients fill memory with a pattern. If a sidecar names the dims that
must agree, every such call is refused before it runs."""
import base64
import json
import re
import shutil
import struct
import subprocess

import pytest

from conftest import BIN, RELEASES, ROOT, Server

SOURCE = ROOT / "tests/modules/iree/dynamic.mlir"
CANARY = 98765432
TIMES = 20
REFUSED = {(502, "worker_crashed"), (422, "shape_mismatch"),
           (422, "call_failed")}


def rows(count, width=3, value=1):
    return [[value] * width] * count


# name: function, arguments, answer. None: the function reads bytes that belong to no
# argument, so there must be no answer. In the other rows it reads only its arguments,
# or the filling after one, all ones, up to 64 bytes.
CASES = {
    "many rows and one": ("dynamic/add3", [rows(300000), rows(1)], None),
    "four rows and two": ("dynamic/add3", [rows(4), rows(2)], None),
    "two rows and four": ("dynamic/add3", [rows(2), rows(4)], [rows(2, 3, 2)]),
    "a row and none": ("dynamic/add3", [rows(1), []], None),
    "k too large": ("dynamic/matmul", [rows(2, 1000), rows(3, 2)], None),
    "by one": ("dynamic/matmul", [rows(2, 3), rows(2, 2)], None),
    "of 3.13": ("versions/matmul", [rows(2, 1000), rows(3, 2)], None),
    "of 3.13, by one": ("versions/matmul", [rows(2, 3), rows(2, 2)], None),
    "k that stays inside": ("dynamic/matmul", [rows(2, 3), rows(4, 5)],
                            [rows(2, 5, 3)]),
    "integers": ("dynamic/addi", [rows(4), rows(2)],
                 [rows(2, 3, 2) + rows(2, 3, 0)]),
    "integers, many": ("dynamic/addi", [rows(40), rows(2)], None),
    "native, many and one": ("add/sums", [[1] * 100000, [1]], None),
    "native, four and two": ("add/sums", [[1] * 4, [1] * 2], [[2, 2, 0, 0]]),
    # The same functions with "alignment": 1 in the sidecar: there is no filling after
    # an argument.
    "exact, by one": ("exact/sums", [[1] * 3, [1] * 2], None),
    "exact, and none": ("exact/sums", [[1], []], None),
    "of MLIR, by one": ("mlir/addi8", [[1] * 65, [1] * 64], None),
    "of MLIR, and none": ("mlir/addi8", [[1], []], None),
}
# The calls of other clients in between, in all modules and sizes.
OTHERS = [("add/reverse", [[CANARY] * n]) for n in (1, 2, 30, 5000)]
OTHERS += [("dynamic/add3", [rows(n, 3, CANARY), rows(n, 3, 0)])
           for n in (1, 2, 4, 1000)]
OTHERS += [("versions/matmul", [rows(2, 2, CANARY), [[1, 0], [0, 1]]])]


NATIVE = BIN.parent / "tests/modules/hostile"
LLVM_CPU = ["--iree-hal-target-device=local",
            "--iree-hal-local-target-device-backends=llvm-cpu",
            "--iree-llvmcpu-target-cpu=generic"]
# The output of iree-import-onnx for Add over [batch,3]: the name `batch` and the names
# of the arguments are lost.
ONNX = """
module {
  func.func @g(%a: !torch.vtensor<[?,3],f32>, %b: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32> attributes {torch.onnx_meta.ir_version = 8 : si64, torch.onnx_meta.opset_version = 17 : si64} {
    %0 = torch.operator "onnx.Add"(%a, %b) : (!torch.vtensor<[?,3],f32>, !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],f32>
    return %0 : !torch.vtensor<[?,3],f32>
  }
}
"""


MLIR = """
func.func @addi8(%a: tensor<?xi8>, %b: tensor<?xi8>) -> tensor<?xi8> {
  %0 = arith.addi %a, %b : tensor<?xi8>
  return %0 : tensor<?xi8>
}
"""


def put_modules(iree, folder):
    shutil.copy(iree.compile(SOURCE, *LLVM_CPU), folder / "dynamic.vmfb")
    shutil.copy(iree.compile_text("onnx_add", ONNX, *LLVM_CPU),
                folder / "onnx.vmfb")
    shutil.copy(RELEASES / "versions-3.13.0-llvm-cpu.vmfb",
                folder / "versions.vmfb")
    for end in (".so", ".farcall.json"):
        shutil.copy(NATIVE / f"add{end}", folder)
        shutil.copy(NATIVE / f"add{end}", folder / f"exact{end}")
    change(folder / "exact.farcall.json", alignment=1)


def change(path, **members):
    path.write_text(json.dumps({**json.loads(path.read_text()), **members}))


@pytest.fixture(scope="module")
def served(iree, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    put_modules(iree, folder)
    (folder / "mlir.mlir").write_text(MLIR)
    subprocess.run([str(BIN / "farcall"), "compile", "--unchecked", "mlir.mlir"],
                   cwd=folder, check=True)
    running = Server("--isolation=process", "--crash-limit=0", folder)
    yield running
    assert running.stop() == 0, "".join(running.lines[-20:])


def shows_canary(document):
    """True if an answer contains the pattern. Request ids and offsets in the module are
    hexadecimal and may contain any four digits, so they are left out."""
    told = [document.get(name) for name in ("results", "detail", "expected", "got")]
    return str(CANARY)[:4] in re.sub("0x[0-9a-f]+", "", json.dumps(told))


@pytest.mark.parametrize("document, shows", [
    ({"results": [[1, CANARY + 8.0]]}, True),
    ({"results": [[1, 2]]}, False),
    ({"detail": f"{CANARY} does not fit i8"}, True),
    ({"got": str(CANARY)}, True),
    ({"detail": "at offset 0x9876 of the module"}, False),
    ({"detail": "dims differ", "request_id": f"a{CANARY}", "byte_offset": CANARY}, False)])
def test_what_counts_as_the_pattern(document, shows):
    assert shows_canary(document) == shows


def test_such_functions_are_known(served):
    for function in ("dynamic/add3", "onnx/g", "versions/matmul", "add/sums"):
        signature = served.get("/api/v1/functions/" + function).json
        assert signature["memory_safe"] is False
        assert "dims" not in signature["arguments"][0]["type"]


@pytest.mark.parametrize("name", CASES)
def test_dims_that_differ(served, name):
    function, arguments, answer = CASES[name]
    document = json.dumps(arguments)
    statuses = []
    for i in range(TIMES):
        other, canaries = OTHERS[i % len(OTHERS)]
        served.results(other, canaries)
        reply = served.request("POST", "/api/v1/functions/" + function, document,
                               {"X-Request-Id": str(CANARY) * 2})
        assert not shows_canary(reply.json)
        if reply.status == 200:
            assert reply.json["results"] == answer
        else:
            assert (reply.status, reply.json["code"]) in REFUSED
        statuses.append(reply.status)
    print(name, set(statuses))


def test_dims_that_agree(served):
    assert served.results("dynamic/add3", [rows(4), rows(4)]) == [rows(4, 3, 2)]
    assert served.results("dynamic/matmul", [rows(2, 3), rows(3, 2)]) == [
        rows(2, 2, 3)]
    assert served.results("add/sums", [[1, 2], [3, 4]]) == [[4, 6]]


# ---------------------------------------------------------------------------
# Named dims

def pair(name, first, second, result):
    return {"name": name, "args": [{"name": "a", "dims": first},
                                   {"name": "b", "dims": second}],
            "results": [{"dims": result}]}


MATMUL = pair("matmul", ["m", "k"], ["k", "n"], ["m", "n"])
ROWS = (["n", 3], ["n", None], ["n", None])
NAMES = {
    "dynamic": [MATMUL, pair("add3", *ROWS), pair("addi", *ROWS)],
    "onnx": [pair("g", *ROWS)],
    "versions": [MATMUL],
}
# For two arguments: the dim of each that must equal the other's, the dtype, and the
# shapes of a valid call.
NAMED = {
    "dynamic/matmul": (1, 0, "f32", (2, 3), (3, 2)),
    "dynamic/add3": (0, 0, "f32", (4, 3), (4, 3)),
    "dynamic/addi": (0, 0, "i32", (4, 3), (4, 3)),
    "onnx/g": (0, 0, "f32", (4, 3), (4, 3)),
    "versions/matmul": (1, 0, "f32", (2, 3), (3, 2)),
    "add/sums": (0, 0, "i64", (5,), (5,)),
}


def nested(shape, _):
    return [nested(shape[1:], _)] * shape[0] if shape else 1


def typed(shape, dtype):
    count = len(flat(nested(shape, dtype)))
    return {"dtype": dtype, "shape": shape, "data": [1] * count}


def packed(shape, dtype):
    letter = {"f32": "f", "i32": "i", "i64": "q"}[dtype]
    count = len(flat(nested(shape, dtype)))
    data = struct.pack(f"<{count}{letter}", *[1] * count)
    return {"b64": base64.b64encode(data).decode(), "shape": shape}


def flat(value):
    return sum(map(flat, value), []) if isinstance(value, list) else [value]


FORMS = {"nested": nested, "typed": typed, "b64": packed}


# Also run in threads: a call that is refused cannot end the server.
@pytest.fixture(scope="module", params=["process", "thread"])
def named(iree, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("named")
    put_modules(iree, folder)
    put_names(folder)
    running = Server(f"--isolation={request.param}", "--crash-limit=0", folder)
    running.folder = folder
    yield running
    assert running.stop() == 0, "".join(running.lines[-20:])
    assert not any("crashed" in line for line in running.lines)


def put_names(folder):
    for module, functions in NAMES.items():
        (folder / f"{module}.farcall.json").write_text(
            json.dumps({"farcall": 1, "functions": functions}))
    path = folder / "add.farcall.json"
    functions = json.loads(path.read_text())["functions"]
    for each in functions[3]["args"] + functions[3]["results"]:
        each["dims"] = ["n"]
    for name, each in zip("ab", functions[3]["args"]):
        each["name"] = name
    change(path, functions=functions)


def mismatches(function):
    """(shapes, the dim and its size in the first argument, those in the second)"""
    i, k, _, first, second = NAMED[function]
    for delta in (1, 1000, -1, -first[i]):
        for which in (0, 1):
            shapes = [list(first), list(second)]
            shapes[which][(i, k)[which]] += delta
            yield shapes, shapes[0][i], shapes[1][k]


@pytest.mark.parametrize("function", NAMED)
@pytest.mark.parametrize("form", FORMS)
def test_named_dims_that_differ_are_refused(named, function, form):
    i, k, dtype, first, second = NAMED[function]
    make = FORMS[form]
    agreeing = [make(first, dtype), make(second, dtype)]
    assert len(named.results(function, agreeing)) == 1
    for shapes, before, after in mismatches(function):
        a, b = (make(shape, dtype) for shape in shapes)
        for document, later, dims, values in [
                ([a, b], "/1", (k, i), (after, before)),
                ({"kwargs": {"b": b, "a": a}}, "/kwargs/a", (i, k),
                 (before, after))]:
            if 0 in values and form == "nested" and len(shapes[0]) > 1:
                continue  # nested arrays do not say the dims below an empty one
            reply = named.call(function, document)
            problem = reply.json
            assert (reply.status, problem["code"]) == (422, "shape_mismatch")
            assert problem["pointer"].startswith(later)
            name = "k" if "matmul" in function else "n"
            who = "argument 0 ('a')", "argument 1 ('b')"
            who = who if later == "/kwargs/a" else who[::-1]
            assert problem["detail"] == (
                f"{who[0]}: dim {dims[0]} is {values[0]}, dim {dims[1]} of "
                f"{who[1]} is {values[1]}: both are '{name}'")
    assert len(named.results(function, agreeing)) == 1


@pytest.mark.parametrize("function", NAMED)
def test_names_show_wherever_the_signature_does(served, named, function):
    path = "/api/v1/functions/" + function
    plain, better = served.get(path), named.get(path)
    assert better.headers["ETag"] != plain.headers["ETag"]
    i, k, *_ = NAMED[function]
    name = "k" if "matmul" in function else "n"
    first, second = (argument["type"] for argument in better.json["arguments"])
    assert first["dims"][i] == second["dims"][k] == name
    assert first["shape"][i] is None and second["shape"][k] is None
    assert better.json["text"].count(f"[{name}]") == 2 + ("matmul" not in function)
    assert better.json["memory_safe"] is False
    assert named.get(path + "?format=text").body.decode().strip() == (
        better.json["text"])
    assert "[" + name not in named.get(path + "?format=mlir").body.decode()
    if function.startswith("dynamic/matmul"):
        assert plain.json["text"].replace("input0", "a").replace("input1", "b") == (
            better.json["text"].replace("[m]", "?").replace("[k]", "?")
            .replace("[n]", "?"))
    example = named.get(path + "/example").body
    assert named.call(function, example).status == 200


# Only with sidecars: the command line reads no configuration file.
of_sidecars = pytest.mark.parametrize("named", ["process", "thread"], indirect=True)


@of_sidecars
@pytest.mark.parametrize("function", NAMED)
def test_names_are_on_the_command_line(named, function, farcall):
    text = named.get("/api/v1/functions/" + function).json["text"]
    file = next(named.folder.glob(f"{function.partition('/')[0]}.[sv]*"))
    assert text in farcall("sig", file).stdout


@of_sidecars
def test_files_are_compared_as_well(named, farcall, tmp_path):
    def npy(name, *shape):
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        head = head.ljust(117) + "\n"
        data = struct.pack(f"<{shape[0] * shape[1]}f", *[1] * (shape[0] * shape[1]))
        path = tmp_path / name
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
                         head.encode() + data)
        return f"--input=@{path}"
    right = npy("a.npy", 2, 3), npy("b.npy", 3, 2)
    wrong = npy("a.npy", 2, 3), npy("c.npy", 4, 2)
    for start in (["run", named.folder / "dynamic.vmfb", "--function=matmul"],
                  ["call", "dynamic/matmul", f"--server={named.url}"]):
        assert farcall(*start, *right).returncode == 0
        done = farcall(*start, *wrong)
        assert done.returncode != 0
        assert ("shape_mismatch: argument 1 ('b'): dim 0 is 4, dim 1 of argument "
                "0 ('a') is 3: both are 'k'") in done.stderr


def test_results_have_the_names_they_are_given(serve, iree, tmp_path):
    shutil.copy(iree.compile(SOURCE, *LLVM_CPU), tmp_path / "dynamic.vmfb")
    turned = pair("matmul", ["m", "k"], ["k", "n"], ["n", "m"])
    (tmp_path / "dynamic.farcall.json").write_text(
        json.dumps({"farcall": 1, "functions": [turned]}))
    server = serve("--isolation=process", tmp_path)
    assert server.results("dynamic/matmul", [rows(2, 3), rows(3, 2)])
    reply = server.call("dynamic/matmul", [rows(2, 3), rows(3, 4)])
    assert (reply.status, reply.json["code"]) == (500, "bad_result")
    assert reply.json["detail"] == (
        "result 0: dim 0 is 2, dim 1 of argument 1 ('b') is 4: both are 'n'")


def test_every_release(serve, tmp_path):
    releases = sorted(RELEASES.glob("versions-*-llvm-cpu.vmfb"))
    assert len(releases) >= 15
    for i, release in enumerate(releases):
        shutil.copy(release, tmp_path / f"v{i}.vmfb")
        (tmp_path / f"v{i}.farcall.json").write_text(
            json.dumps({"farcall": 1, "functions": [MATMUL]}))
    server = serve("--isolation=process", "--crash-limit=0", tmp_path)
    for i, release in enumerate(releases):
        for a, b in ((3, 4), (4, 3), (1000, 3), (3, 1000)):
            reply = server.call(f"v{i}/matmul", [rows(2, a), rows(b, 2)])
            assert (reply.status, reply.json["code"]) == (
                422, "shape_mismatch"), release.name
        assert server.results(f"v{i}/matmul", [rows(2, 3), rows(3, 2)]) == [
            rows(2, 2, 3)]


def test_a_sidecar_that_does_not_fit_fails_the_load(served, serve, tmp_path):
    shutil.copy(RELEASES / "versions-3.13.0-llvm-cpu.vmfb", tmp_path / "v.vmfb")
    (tmp_path / "v.farcall.json").write_text(json.dumps(
        {"farcall": 1, "functions": [pair("matmul", ["m", "k"], ["k"], ["m"])]}))
    server = serve("--isolation=process", tmp_path)
    (module,) = server.get("/api/v1/modules").json["modules"]
    assert module["state"] == "failed"
    assert ("its sidecar, /functions/0/args/1/dims: 1 dims for a type of 2"
            in module["reason"])
    assert server.call("v/matmul", []).status == 503
