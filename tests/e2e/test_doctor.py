# SPDX-License-Identifier: Apache-2.0
"""farcall doctor: what it says of broken files, of files that no compiler accepts, and
of valid ones."""
import json
import subprocess

import pytest

from conftest import RELEASES, ROOT

# Each row: the file, the thing that is named, its place, the message, the remedy.
UNFIT = [
    ("cut.onnx", "ONNX", "byte ", "in the middle of a field", "export it again"),
    ("no_graph.onnx", "graph", "", "nothing to call", "export the model again"),
    ("dangling.onnx", "Add", "node 'the_add' (1 of", "'nothing' is made by nothing",
     "export the model again"),
    ("unmade.onnx", "y", "results", "no node makes this result", "export"),
    ("order.onnx", "Relu", "node 'the_relu'", "'z' is made by nothing before it",
     "in the order of their use"),
    ("short_weight.onnx", "FLOAT", "weight 'w'", "wants 80 bytes, the file has 64",
     "export the model again"),
    ("weights_elsewhere.onnx", "gone.bin", "weight 'w'", "no such file",
     "together with the model"),
    ("weights_above.onnx", "../../etc/passwd", "weight 'w'", "not named by a path below",
     "beside it"),
    ("weights_short.onnx", "short.bin", "weight 'w'", "ends before the weight",
     "copy it again"),
    ("sparse.onnx", "sparse weight", "", "dense weights only", "as dense tensors"),
    ("unknown.onnx", "Sofmax", "node 'the_sofmax'", "not have this operator",
     "did you mean Softmax?"),
    ("custom.onnx", "Warp", "node 'the_warp'", "domain 'my.ops'", "make_function"),
    ("attention.onnx", "Attention", "node 'the_attention'", "not have this operator",
     "opset 22"),
    ("fused.onnx", "FusedConv", "node 'the_fusedconv'", "'com.microsoft'",
     "before its optimizations"),
    ("dictionary.onnx", "DictVectorizer", "node 'the_dictvectorizer'", "'ai.onnx.ml'",
     "before the call"),
    ("training.onnx", "Adam", "node 'the_adam'", "training", "for inference"),
    ("nested.onnx", "Blurring", "node 'the_blurring'", "not have this operator", "by operators"),
    ("softsign.onnx", "Softsign", "node 'the_softsign'", "from opset 22 on",
     "export with opset 22"),
    ("future.onnx", "opset 99", "", "newer than any", "opset 21"),
    ("text.onnx", "STRING", "argument 'x'", "no type for text", "encode text"),
    ("sequence.onnx", "a sequence", "argument 'x'", "tensors only", "tensors of their own"),
    ("optional.onnx", "optional", "argument 'x'", "tensors only", "tensors of their own"),
    ("nibbles.onnx", "INT4", "argument 'x'", "no call can carry", "cast it inside"),
    ("gpu.mlir", "gpu.thread_id", "line 2, column 8", "for GPUs", "leave out the passes"),
    ("cuda.mlir", "cuda", "line 2, column", "for GPUs", "leave the attribute out"),
    ("tf.mlir", "tf.Relu", "line 2, column 8", "no TensorFlow", "tf2onnx"),
    ("mhlo.mlir", "mhlo.add", "line 2", "not MHLO", "legalize-to-stablehlo"),
    ("lapack.mlir", "lapack_sgesdd_ffi", "line 2", "LAPACK", "before the call"),
    ("reduce.mlir", "stablehlo.all_reduce", "line 2", "other devices", "for one device"),
    ("private.mlir", "no public function", "", "callers could see", "leave out `private`"),
    ("open.mlir", "{", "line 1", "ends before it is closed", "copy it again"),
    ("quote.mlir", "text", "line 2, column 8", "not closed", "close it"),
    ("wide.mlir", "4xf128", "line 1", "no call can carry", "use f64"),
    ("empty.onnx", "format", "the whole file", "it is empty", "copy it again"),
    ("weights.pkl", "format", "first bytes", "pickle of Python", "docs/"),
    ("model.pt", "format", "first bytes", "a model of PyTorch", "docs/"),
    ("model.h5", "format", "first bytes", "HDF5", "docs/"),
    ("module.vmfb", "vmfb_invalid", "byte ", "", "copy it again"),
    ("module.so", "module_load", "", "", "farcall explain"),
]
FIT = [
    ("relu.onnx", "note", "named dim", "argument 'x'"),
    ("unnamed.onnx", "warn", "dim without a name", "argument 'x'"),
    ("double.onnx", "note", "DOUBLE", "argument 'x'"),
    ("loop.onnx", "warn", "NonZero", "node 'the_nonzero'"),
    ("add.mlir", None, None, None),
]


@pytest.fixture(scope="module")
def files(onnx_tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("doctor")
    subprocess.run([onnx_tools / "python3", ROOT / "tests/e2e/doctor_files.py",
                    folder], check=True, timeout=120)
    return folder


def test_there_are_thirty():
    assert len({row[0] for row in UNFIT}) == len(UNFIT) >= 30


@pytest.mark.parametrize("row", UNFIT, ids=[row[0] for row in UNFIT])
def test_unfit(farcall, files, row):
    name, thing, place, message, way_out = row
    done = farcall("doctor", files / name)
    assert done.returncode == 1 and done.stderr == ""
    assert "\nunfit" in done.stdout and "Traceback" not in done.stdout
    done = farcall("doctor", "--json", files / name)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["fit"] is False
    unfit = [each for each in found["findings"] if each["level"] == "unfit"]
    assert any(each["thing"] == thing and place in each["place"] and
               message in each["message"] and way_out in each["way_out"]
               for each in unfit), unfit
    assert all(each["way_out"] for each in unfit)


@pytest.mark.parametrize("row", FIT, ids=[row[0] for row in FIT])
def test_fit(farcall, files, row):
    name, level, thing, place = row
    done = farcall("doctor", "--json", files / name)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["fit"] is True, found
    if level is None:
        assert found["findings"] == []
    else:
        assert (level, thing, place) in [
            (each["level"], each["thing"], each["place"].partition(" (")[0])
            for each in found["findings"]]


def test_the_importer_is_asked(farcall, files, onnx_tools, tmp_path):
    """Only an import shows that it succeeds. If it was not tried, nothing says so."""
    for name, fit in (("relu.onnx", True), ("ranks.onnx", False)):
        done = farcall("doctor", "--json", "--tools", onnx_tools, files / name)
        found = json.loads(done.stdout)
        assert (done.returncode, found["fit"]) == (0 if fit else 1, fit), found
        assert found["asked"] == "IREE's importer and compiler were asked"
        wrong = [each for each in found["findings"] if each["thing"] == "import"]
        assert bool(wrong) != fit and all("onnx.If" in each["message"] for each in wrong)
        done = farcall("doctor", "--tools", tmp_path, files / name)
        assert done.returncode == 0 and "that will fail" not in done.stdout
        assert done.stdout.endswith("; no compiler was asked, as none is installed\n")


def test_memory_is_counted(farcall, files):
    done = farcall("doctor", "--json", files / "relu.onnx")
    assert json.loads(done.stdout)["memory"] == {
        "unit": "bytes", "weights": 0, "arguments": 32, "largest": None}


def test_memory_is_shown(farcall, files):
    """There are 2 x 4 x 300,000 weights, and 2 x 150 x 4 numbers in a call, of 4 bytes
    each."""
    done = farcall("doctor", files / "heavy.onnx")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("memory ")]
    assert line.startswith("memory weights 9.6 MB, a call's arguments and results 4.8 KB"), line


def test_a_module_that_loads(farcall):
    """The module's name is printed after the module is unloaded."""
    done = farcall("doctor", "--json", RELEASES / "scalars-3.13.0.vmfb")
    assert done.returncode == 0 and done.stderr == ""
    assert [each["thing"] for each in json.loads(done.stdout)["findings"]
            if each["subject"] == "speed"] == ["scalars-3.13.0"]
    done = farcall("doctor", RELEASES / "scalars-3.13.0.vmfb")
    assert done.returncode == 0 and "note   scalars-3.13.0: it keeps state" in done.stdout


def test_every_cut_of_a_model_is_looked_at(farcall, files, tmp_path):
    """No prefix may crash it. A prefix that ends between two fields may be a valid
    model."""
    for name in ("nested.onnx", "lapack.mlir"):
        whole = (files / name).read_bytes()
        for size in range(1, len(whole), 1 + len(whole) // 40):
            (tmp_path / "cut").write_bytes(whole[:size])
            done = farcall("doctor", tmp_path / "cut")
            assert done.returncode in (0, 1) and done.stderr == "", (name, size)


def field(number, data):
    """A protobuf field of bytes."""
    size, sizes = len(data), b""
    while size > 127:
        sizes, size = sizes + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + sizes + bytes([size]) + data


def onnx(nodes):
    """An ONNX model of IR version 9 and opset 18."""
    return b"\x08\x09" + field(8, b"\x10\x12") + field(7, nodes)


def operator(name):
    return field(1, field(4, name.encode()))


@pytest.mark.parametrize("name, content, limit", [
    # Each place costs a search in the findings so far, of which there are 1000
    # different ones.
    ("unknown.onnx", lambda: onnx(b"".join(operator(f"U{i % 999}") for i in range(24000))),
     "findings in more than 20000 places"),
    ("operands.onnx", lambda: onnx(field(1, b"".join(
        field(1, b"o%d" % i) for i in range(24000)) + field(4, b"Sum"))),
     "findings in more than 20000 places"),
    ("unrolled.onnx", lambda: onnx(operator("Relu") * 1000001),
     "more than 1000000 nodes, weights and values"),
    ("weights.onnx", lambda: onnx(field(5, b"") * 1000001),
     "more than 1000000 nodes, weights and values"),
    ("words.mlir", lambda: b"func.func @f() { " + b"".join(
        b"gpu.u%d " % (i % 999) for i in range(24000)) + b"}",
     "findings in more than 20000 places")], ids=lambda each: each if "." in str(each) else "")
def test_no_more_than_so_much_is_looked_at(farcall, tmp_path, name, content, limit):
    (tmp_path / name).write_bytes(content())
    done = farcall("doctor", "--json", tmp_path / name)
    assert done.returncode == 1 and done.stderr == ""
    last = json.loads(done.stdout)["findings"][-1]
    assert last["level"] == "unfit" and limit in last["message"] and last["way_out"]
    assert "was not looked at" in last["message"]


def test_standard_input(farcall, files):
    done = farcall("doctor", "-", input=(files / "gpu.mlir").read_text())
    assert done.returncode == 1
    assert done.stdout.startswith("standard input: MLIR")
    assert "at line 2, column 8\n" in done.stdout


def test_what_is_not_there(farcall, tmp_path):
    done = farcall("doctor", tmp_path / "none.onnx")
    assert done.returncode == 65 and "none.onnx" in done.stderr
