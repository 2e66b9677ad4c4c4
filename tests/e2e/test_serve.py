# SPDX-License-Identifier: Apache-2.0
"""farcall serve compiles its arguments if necessary, keeps the modules, and serves them
with farcalld, which replaces farcall's own process. Also what may be omitted from a
call."""
import io
import os
import re
import shutil
import signal
import subprocess
import urllib.request

import numpy as np
import pytest

from conftest import BIN, ROOT
from console import user_environment

MODEL = """
import onnx, sys
from onnx import helper, TensorProto
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in "xy")
for name in sys.argv[1:]:
    node = helper.make_node("Add", ["x", "x"], ["y"])
    model = helper.make_model(helper.make_graph([node], name, [x], [y]),
                              opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, name + ".onnx")
"""
TWICE = """func.func @twice(%x: tensor<2xf32>) -> tensor<2xf32> {
  %y = arith.addf %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
"""
BROWSER = '#!/bin/sh\necho "$1" > "$OPENED"\n'


@pytest.fixture(scope="module")
def models(onnx_tools, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([onnx_tools / "python3", "-c", MODEL, "main_graph", "double"],
                   cwd=folder, check=True, timeout=120)
    return folder


class Served:
    """Runs `farcall serve` and waits until it prints the page's address."""

    def __init__(self, *arguments, cwd, **variables):
        self.process = subprocess.Popen(
            [BIN / "farcall", "serve", *map(str, arguments), "--listen", "127.0.0.1:0",
             "--isolation=thread"],
            cwd=cwd, env={**user_environment(), "XDG_CACHE_HOME": str(cwd / "cache"),
                          **variables},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        self.address = self.process.stdout.readline().strip()

    def post(self, path, body, **headers):
        request = urllib.request.Request(f"{self.address}api/v1/functions/{path}", body,
                                         headers)
        return urllib.request.urlopen(request, timeout=60).read().decode()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, said
        return said


def test_a_model_is_compiled_once_and_served(models, onnx_tools, tmp_path):
    shutil.copy(models / "main_graph.onnx", tmp_path / "iris.onnx")
    server = Served("iris.onnx", "--tools", onnx_tools, cwd=tmp_path)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", server.address)
    # The process is farcalld by now, so it receives the signals and sets the exit
    # status.
    assert os.readlink(f"/proc/{server.process.pid}/exe").endswith("/farcalld")
    # The graph's name is the exporter's, and it is the only function.
    for path in "iris", "iris/predict":
        assert server.post(path, b"[[[1,2]]]") == '{"results":[[[2.0,4.0]]]}'
    file = io.BytesIO()
    np.save(file, np.float32([[3, 4]]))
    # urllib sets the same content type by default as curl.
    assert server.post("iris", file.getvalue()) == '{"results":[[[6.0,8.0]]]}'
    said = server.stop()
    assert "note: compiling iris.onnx\n" in said and "note: compiled iris.onnx in" in said

    again = Served("iris.onnx", "--tools", onnx_tools, cwd=tmp_path)
    assert again.post("iris", b"[[[1,2]]]") == '{"results":[[[2.0,4.0]]]}'
    said = again.stop()
    assert "note: iris.onnx was compiled before: " in said and "compiling" not in said

    shutil.copy(models / "double.onnx", tmp_path / "iris.onnx")
    changed = Served("iris.onnx", "--tools", onnx_tools, cwd=tmp_path)
    assert changed.post("iris/double", b"[[[1,2]]]") == '{"results":[[[2.0,4.0]]]}'
    assert "note: compiling iris.onnx\n" in changed.stop()
    assert len(list((tmp_path / "cache/farcall/modules").glob("?" * 32))) == 2


def test_a_folder_is_served_and_the_page_opened(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(ROOT / "examples/iree/matmul.vmfb", folder)
    (folder / "twice.mlir").write_text(TWICE)
    (folder / "matmul.mlir").write_text("its module is there")
    (folder / "broken.mlir").write_text("func.func @f(")
    (tmp_path / "xdg-open").write_text(BROWSER)
    (tmp_path / "xdg-open").chmod(0o755)
    (tmp_path / "iree-compile").symlink_to("/nowhere")  # the road of MLIR's tools
    os.mkfifo(tmp_path / "opened")
    server = Served(folder, "--open", cwd=tmp_path, OPENED=str(tmp_path / "opened"),
                    PATH=f"{tmp_path}:/usr/bin:/bin")
    with open(tmp_path / "opened", encoding="utf-8") as opened:
        assert opened.read().strip() == server.address
    assert server.post("twice", b"[[1,2]]") == '{"results":[[2.0,4.0]]}'
    assert server.post("matmul", b"[[[2]],[[3]]]") == '{"results":[[[6.0]]]}'
    said = server.stop()
    assert "broken.mlir:1:" in said and "matmul.mlir" not in said


def test_where_no_browser_is_a_line_says_so(tmp_path):
    shutil.copy(ROOT / "examples/iree/matmul.vmfb", tmp_path)
    (tmp_path / "xdg-open").write_text("#!/bin/sh\necho noise\necho noise >&2\nexit 3\n")
    (tmp_path / "xdg-open").chmod(0o755)
    server = Served(tmp_path / "matmul.vmfb", "--open", cwd=tmp_path,
                    PATH=f"{tmp_path}:/usr/bin:/bin")
    said = server.stop()
    assert f"note: no browser was found that opens {server.address}" in said
    assert "noise" not in said


REFUSED = [
    ("m.pkl", b"\x80\x04\x95", 65, "m.pkl: this is a pickle of Python: in Python, `"),
    ("m.pt", b"PK\x03\x04", 65, "m.pt: this is a model of PyTorch: in Python, `torch."),
    ("m.gguf", b"GGUF", 65, "m.gguf: this is GGUF, weights without functions: `optimum"),
    ("m.tflite", b"\x1c\0\0\0TFL3", 65, "`python3 -m tf2onnx.convert --tflite FILE"),
    ("m.keras", b"PK\x03\x04", 65, "`keras.models.load_model(FILE).export("),
    ("m.txt", b"hello", 65, "m.txt: neither a module (.so, .vmfb) nor a model"),
    ("m.onnx", b"\x08\x08\x12", 65, "m.onnx"),
    ("m.onnx", b"", 65, "m.onnx: this is no ONNX model, though its name says so: it is empty"),
    ("m.onnx", b"hello", 65, "m.onnx: this is no ONNX model, though its name says so"),
    ("m.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", 65,
     "m.onnx: this is a pointer of Git LFS, not the file: `git lfs pull`"),
    ("m.onnx", b"<!DOCTYPE html>\n<html>", 65, "m.onnx: this is a page of HTML: "),
    ("m.onnx", b"\x1F\x8B\x08", 65, "m.onnx: this is a file packed by gzip: `gunzip"),
    (None, None, 65, "m: No such file or directory"),
]


@pytest.mark.parametrize("name, data, code, said", REFUSED, ids=[str(r[0]) for r in REFUSED])
def test_what_cannot_be_served_says_what_to_do(farcall, tmp_path, name, data, code, said):
    if name:
        (tmp_path / name).write_bytes(data)
    done = farcall("serve", name or "m", "--cache=c", cwd=tmp_path, env=user_environment())
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert said in done.stderr.splitlines()[-1]


def test_a_folder_says_what_it_leaves_out(farcall, tmp_path):
    """The folder is served without waiting for a pipe. A file that cannot be read is
    left to farcalld, which reports why."""
    folder = tmp_path / "models"
    folder.mkdir()

    def said(*arguments):
        done = farcall("serve", "models", "--cache=c", "-l127.0.0.1:0", *arguments,
                       cwd=tmp_path, env=user_environment(), stdin=subprocess.DEVNULL)
        assert done.returncode == 65, done.stderr
        return done.stderr
    assert "note: models: no model that can be compiled (.onnx, .mlir)" in said()
    os.mkfifo(folder / "p.onnx")
    assert "note: models/p.onnx is no regular file: left out" in said()
    (folder / "m.pt").write_bytes(b"PK\x03\x04")
    (folder / "notes.txt").write_bytes(b"hello")
    text = said()
    assert "note: models/m.pt: this is a model of PyTorch: in Python, `torch." in text
    assert "notes" not in text
    os.mkfifo(folder / "p.vmfb")
    assert "p.vmfb: not a regular file" in said()


@pytest.mark.parametrize("verb", ["run", "sig", "compile"])
def test_each_verb_names_the_one_that_works(farcall, tmp_path, verb):
    (tmp_path / "m.pt").write_bytes(b"PK\x03\x04")
    done = farcall(verb, "m.pt", cwd=tmp_path)
    assert done.returncode == 65
    assert "m.pt: this is a model of PyTorch: in Python, `torch.onnx.export(" in done.stderr


def test_options_of_both_programs(farcall, tmp_path):
    """Options of farcalld are passed on unchanged; farcalld reports what is wrong with
    them."""
    shutil.copy(ROOT / "examples/iree/matmul.vmfb", tmp_path)
    for options, code, said in [
            (["--quue=1"], 64, "serve has no option '--quue': did you mean '--queue'?"),
            (["--queue"], 64, "farcall: --queue needs a value"),
            (["--port=1"], 64, "serve has no option '--port': --listen=ADDR:PORT, which"),
            (["--model-repository", "m"], 64,
             "serve has no option '--model-repository': folders are words, without a flag"),
            (["-l", "nonsense", "-t"], 64, "farcalld: "),
            (["-t"], 0, "farcalld: the options are right")]:
        done = farcall("serve", "matmul.vmfb", *options, cwd=tmp_path,
                       env=user_environment())
        assert done.returncode == code and said in done.stderr, done.stderr
    done = farcall("serve", cwd=tmp_path)
    assert done.returncode == 64 and "serve takes models, modules or" in done.stderr
