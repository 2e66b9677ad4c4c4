# SPDX-License-Identifier: Apache-2.0
"""farcall compile of ONNX files, by IREE's compiler. The oracle is onnxruntime."""
import json
import shutil
import subprocess

import numpy as np
import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def models(onnx_tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([onnx_tools / "python3", ROOT / "tests/e2e/compile_models.py", folder],
                   check=True, timeout=120)
    return folder


@pytest.fixture
def make(farcall, onnx_tools, models, tmp_path, scratch):
    """Compiles a model under a file name that does not reveal its format."""
    def run(name, *options, output="m.vmfb"):
        source = tmp_path / "model"
        shutil.copy(models / f"{name}.onnx", source)
        return farcall("compile", source, "--tools", onnx_tools, "-o", tmp_path / output,
                       *options)
    return run


def calls(models, name):
    return json.loads((models / f"{name}.json").read_text())


def assert_answers(farcall, module, rows):
    """Passes arguments by keyword, in another order than the signature's."""
    for row in rows:
        arguments = dict(reversed(row["kwargs"].items()))
        done = farcall("run", module, "--json", json.dumps({"kwargs": arguments}))
        assert done.returncode == 0, done.stderr
        got = json.loads(done.stdout)["results"]
        assert len(got) == len(row["results"])
        for mine, other in zip(got, row["results"]):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


SIGNATURES = [
    ("mlp", "mlp(x: tensor<[batch]x4xf32>) -> (label: tensor<[batch]xi64>, "
            "scores: tensor<[batch]x3xf32>)"),
    ("sum", "sum(left: tensor<[n]x3xf32>, right: tensor<[n]x3xf32>) -> tensor<[n]x3xf32>"),
    ("bytes", "bytes(pixels: tensor<2x3xui8>) -> tensor<2x3xui8>"),
    ("double", "double(x: tensor<2xf64>) -> tensor<2xf64>"),
    ("pool", "pool(x: tensor<1x1x4x6xf32>) -> tensor<1x1x2x3xf32>"),
    ("grouped", "grouped(x: tensor<1x4x2x3xf32>) -> tensor<1x6x2x3xf32>"),
    ("line", "line(x: tensor<[n]x4x9xf32>) -> tensor<[n]x6x4xf32>"),
    ("nameless", "nameless(x: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32>"),
    ("trees", "trees(x: tensor<[rows]x2xf32>) -> tensor<[rows]x1xf32>"),
    ("old", "old(image: tensor<1x1x2x3xf32>) -> tensor<1x1x4x6xf32>"),
]


@pytest.mark.parametrize("name, signature", SIGNATURES, ids=[r[0] for r in SIGNATURES])
def test_names_types_and_answers(make, farcall, models, tmp_path, name, signature):
    done = make(name)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"m/{signature}"
    assert lines[1].startswith(f"curl -s localhost:8000/api/v1/functions/m/{name} -d ")
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, name))
    opset = {"old": 8, "trees": 9}.get(name)
    lifted = f"farcall: note: {tmp_path}/model: opset {opset} was lifted to 17\n"
    slow = (f"farcall: note: {tmp_path}/model: convolutions are slow where a size is free, "
            "as 'n': --batch=1,8 has IREE make products of matrices of them\n")
    assert done.stderr == (lifted if opset else "") + (slow if name == "line" else "")


def test_dims_of_one_name_must_agree(make, farcall, tmp_path):
    assert make("sum").returncode == 0
    done = farcall("run", tmp_path / "m.vmfb", "--json=[[[1,2,3]],[[1,2,3],[4,5,6]]]")
    assert done.returncode == 1
    assert ("argument 1 ('right'): dim 0 is 2, dim 0 of argument 0 ('left') is 1: both "
            "are 'n'") in done.stderr


def test_columns_have_as_many_rows(make, farcall, models, tmp_path):
    done = make("columns")
    assert done.stdout.startswith("m/columns(age: tensor<[batch]x1xf32>, "
                                  "fare: tensor<[batch]x1xf32>) -> ")
    assert "are taken as one, 'batch'" in done.stderr
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, "columns"))
    done = farcall("run", tmp_path / "m.vmfb", "--json=[[[1],[2],[3]],[[1],[2]]]")
    assert done.returncode == 1
    assert "argument 1 ('fare'): dim 0 is 2, dim 0 of argument 0 ('age') is 3" in done.stderr


@pytest.mark.parametrize("name", ["product", "apart"])
def test_matrices_have_rows_of_their_own(make, farcall, models, tmp_path, name):
    done = make(name)
    assert done.returncode == 0 and "batch" not in done.stdout + done.stderr
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, name))


SHOWN = """
import sys
sys.path.insert(0, sys.argv[1])
import farcall_onnx
one = {"at": "/0", "labels": ["\\x1f\u00fc" * 50] * 1000}
print(len(farcall_onnx.shown([one] * 9)), len(farcall_onnx.shown([{"at": "/0"}] * 99)))
"""


def test_labels_stay_below_the_limits_of_a_module(onnx_tools):
    """An entry has 1,000 labels. Each is 50 times an escape of six bytes and a letter
    of two."""
    done = subprocess.run([onnx_tools / "python3", "-c", SHOWN, ROOT / "cli/compile/tools"],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["2", "64"], done.stderr


def test_doc_strings_are_kept(make, farcall, tmp_path):
    assert make("mlp").returncode == 0
    done = farcall("sig", tmp_path / "m.vmfb", "--json")
    (function,) = json.loads(done.stdout)["functions"]
    assert function["raw"]["attrs"]["doc"] == "which of three\nx: four measures"
    assert function["source"] == "sidecar"


def test_sizes_of_a_batch_are_one_function(make, farcall, models, tmp_path):
    assert "--batch=1,8 has IREE make products" in make("edges").stderr
    done = make("edges", "--batch=4,1,2")
    assert "--batch=1,8" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == (
        "m/edges(images: tensor<[images]x1x4x5xf32>) -> "
        "tensor<[images]x2x2x3xf32> where [images] is 1, 2 or 4")
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, "edges"))
    done = farcall("run", tmp_path / "m.vmfb", "--json", json.dumps([[]]))
    assert "[images] is 0, it may be 1 or more" in done.stderr


POOLS = """
import sys
sys.path.insert(0, sys.argv[1])
import farcall_onnx
from onnx import TensorProto, helper
x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 6, 6])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
for more in {}, {"auto_pad": "NOTSET", "ceil_mode": 0}, {"ceil_mode": 1}, \\
        {"auto_pad": "VALID"}, {"auto_pad": "SAME_UPPER"}, {"pads": [1, 1, 1, 1]}:
    pool = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2],
                            **{"pads": [0, 0, 2, 2], **more})
    graph = helper.make_graph([pool], "pool", [x], [y])
    model = farcall_onnx.spell_pads(helper.make_model(graph), "pool")
    print(*[node.op_type for node in model.graph.node])
"""


def test_pads_are_spelled_where_shapes_stay(onnx_tools):
    """A separate Pad would change the number of windows of a pool that rounds up or
    pads itself."""
    done = subprocess.run([onnx_tools / "python3", "-c", POOLS, ROOT / "cli/compile/tools"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["Pad MaxPool"] * 2 + ["MaxPool"] * 4


CONVOLUTIONS = """
import sys
sys.path.insert(0, sys.argv[1])
import farcall_onnx, numpy, onnx
from onnx import helper, numpy_helper
farcall_onnx.LARGE = int(sys.argv[2])
x, y, z = (helper.make_tensor_value_info(*each) for each in [
    ("x", 1, [1, 3, 9]), ("y", 1, [1, 4, 7]), ("z", 1, [1, 4, 3])])
w = numpy_helper.from_array(numpy.ones((4, 3, 3), "f4"), "w")
v = numpy_helper.from_array(numpy.ones((4, 2, 5), "f4"), "v")
graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"]),
                           helper.make_node("Conv", ["y", "v"], ["z"], group=2)],
                          "line", [x], [z], [w, v], value_info=[y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
onnx.save(model, sys.argv[3])
farcall_onnx.main(sys.argv[3], sys.argv[3], sys.argv[4], sys.argv[4] + ".json", None)
"""


@pytest.mark.parametrize("large, row", [(2_000_000_000, True), (100, False)])
def test_values_have_types(onnx_tools, tmp_path, large, row):
    """ONNX does not infer the types of values in a large model."""
    made = tmp_path / "line.mlir"
    done = subprocess.run(
        [onnx_tools / "python3", "-c", CONVOLUTIONS, ROOT / "cli/compile/tools", str(large),
         tmp_path / "line.onnx", made], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert ("onnx.Unsqueeze" in made.read_text()) == row
    assert "!torch.none" not in made.read_text()


def test_a_batch_has_any_number_of_rows(make, farcall, models, tmp_path):
    """Each of eleven images gives the same result alone as together with the others."""
    done = make("edges", "--batch=1,4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith("where [images] is 1 or 4")
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, "edges"))
    images = np.random.default_rng(1).normal(size=(11, 1, 4, 5)).tolist()

    def answer(rows):
        done = farcall("run", tmp_path / "m.vmfb", "--json", json.dumps([rows]))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["results"][0]
    assert answer(images) == [answer([each])[0] for each in images]


def test_one_size_is_in_the_type(make, farcall, models, tmp_path):
    done = make("edges", "--batch=images=2", "--cpu=vmvx")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("m/edges(images: tensor<2x1x4x5xf32>) -> ")
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, "edges")[1:2])


def test_variants_are_beside_the_module(make, farcall, models, tmp_path):
    done = make("sum", "--cpu=x86-64-v2,generic,x86-64-v3")
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.glob("m*.*"))
    assert names == ["m-x86-64-v2.vmfb", "m-x86-64-v3.vmfb", "m.farcall.json", "m.vmfb"]
    sidecar = json.loads((tmp_path / "m.farcall.json").read_text())
    assert sidecar["variants"] == [
        {"file": "m-x86-64-v3.vmfb", "cpu": ["x86-64-v3"]},
        {"file": "m-x86-64-v2.vmfb", "cpu": ["x86-64-v2"]}]
    assert_answers(farcall, tmp_path / "m.vmfb", calls(models, "sum"))


REFUSED = [
    ("strange", [], 65, "Fold, at node without a name (1 of its graph): no compiler "
     "here has this operator of domain"),
    ("sum", ["--batch=rows=1"], 65, "the model has no dim 'rows'; it has n"),
    ("double", ["--batch=1,2"], 65, "the model has no dim without a size"),
    ("sum", ["--road=mlir"], 65,
     "is an ONNX model, which MLIR's tools do not lower: --road=iree does"),
    ("sum", ["--batch=many"], 64, "--batch=many: sizes are numbers"),
    ("sum", ["--cpu=host,generic"], 64, "of 'host' there is no variant"),
]


@pytest.mark.parametrize("name, options, status, message", REFUSED)
def test_refusals_are_one_line(make, tmp_path, name, options, status, message):
    done = make(name, *options)
    assert done.returncode == status, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("farcall: ") and message in line
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "m.vmfb").exists()


def test_verbose_shows_what_the_tools_say(make):
    done = make("mlp", "-v")
    assert "iree-compile" in done.stderr and len(done.stderr.splitlines()) >= 2


def test_the_line_that_installs_what_is_missing(farcall, models, tmp_path):
    empty = tmp_path / "bin"
    empty.mkdir()
    done = farcall("compile", models / "sum.onnx", "--tools", empty)
    assert done.returncode == 69
    assert "`pip install 'iree-base-compiler[onnx]'` installs it" in done.stderr
    # There is a compiler, but the Python beside it has no ONNX.
    (empty / "iree-compile").write_text("#!/usr/bin/python3 -S\n")
    (empty / "iree-compile").chmod(0o755)
    done = farcall("compile", models / "sum.onnx", "--tools", empty)
    assert done.returncode == 69
    (line,) = done.stderr.splitlines()
    assert "has no package" in line and "pip install" in line
