# SPDX-License-Identifier: Apache-2.0
"""A real Triton, installed by scripts/peers (FARCALL_PEERS is its folder). Its models
are written here, with farcalld's models that give the same answers."""
import os
import pathlib
import socket
import subprocess
import time

import pytest

from conftest import BIN, Peer

MODULES = BIN.parent / "tests/modules/native"
SERVED = [MODULES / "simple.so", MODULES / "identity.so"]
# For each function of identity.so: Triton's type.
TYPES = {"bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32",
         "uint64": "UINT64", "int8": "INT8", "int16": "INT16", "int32": "INT32",
         "int64": "INT64", "fp16": "FP16", "fp32": "FP32", "fp64": "FP64"}
ECHO = """module @echo {
  util.func public @echo(%0: !util.buffer) -> !util.buffer attributes {iree.abi.stub,
    iree.reflection = {iree.abi.declaration =
      "sync func @echo(%INPUT0: !util.buffer) -> (%OUTPUT0: !util.buffer)"}} {
    util.return %0 : !util.buffer
  }
}
"""
MODEL = """
import triton_python_backend_utils as utils


class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            values = [utils.get_input_tensor_by_name(request, name).as_numpy()
                      for name in {names}]
            answers.append(utils.InferenceResponse(
                [utils.Tensor(name, value) for name, value in {results}]))
        return answers
"""
ADD = "('OUTPUT0', values[0] + values[1]), ('OUTPUT1', values[0] - values[1])"


def echo(iree):
    """The module whose model takes and returns one element of BYTES."""
    return iree.compile_text("echo", ECHO, "--iree-hal-target-device=local",
                             "--iree-hal-local-target-device-backends=vmvx")


def write_model(folder, name, datatype, dims, inputs, outputs, results):
    def tensors(kind, names):
        return "".join(f'{kind} {{ name: "{each}" data_type: TYPE_{datatype} '
                       f'dims: [{dims}] }}\n' for each in names)
    (folder / name / "1").mkdir(parents=True)
    (folder / name / "1/model.py").write_text(
        MODEL.format(names=inputs, results=f"[{results}]"))
    (folder / name / "config.pbtxt").write_text(
        f'name: "{name}" backend: "python" max_batch_size: 0\n'
        + tensors("input", inputs) + tensors("output", outputs))


def write_models(folder, only=None):
    """Writes the models of SERVED and of echo, or only those named, as a Triton
    repository."""
    same = "('OUTPUT0', values[0])"
    models = {"simple": ("INT32", "1, 16", ["INPUT0", "INPUT1"], ["OUTPUT0", "OUTPUT1"],
                         ADD),
              "identity.matrix": ("FP32", "-1, -1", ["INPUT0"], ["OUTPUT0"], same),
              "echo": ("STRING", "1", ["INPUT0"], ["OUTPUT0"], same)}
    for name, datatype in TYPES.items():
        models[f"identity.{name}"] = (datatype, "-1", ["INPUT0"], ["OUTPUT0"], same)
    for name, model in models.items():
        if only is None or name in only:
            write_model(folder, name, *model)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def peers():
    """The folder that scripts/peers prints."""
    folder = os.environ.get("FARCALL_PEERS")
    if not folder:
        pytest.skip("FARCALL_PEERS is not set: scripts/test --peers installs Triton")
    return pathlib.Path(folder)


class Triton(Peer):
    """Starts a Triton on free ports. `under` is a program that starts it."""

    def __init__(self, work, only=None, options=(), under=()):
        self.work, self.host, self.port = work, "127.0.0.1", free_port()
        self.grpc_port = free_port()
        repository = work / "models"
        repository.mkdir(parents=True)
        write_models(repository, only)
        self.log = open(work / "triton.log", "w")
        self.arguments = [
            *under, peers() / "tritonserver", f"--model-repository={repository}",
            f"--http-address={self.host}", f"--http-port={self.port}",
            f"--grpc-address={self.host}", f"--grpc-port={self.grpc_port}",
            "--allow-metrics=false",
            # Triton's backend starts one program for each model, and fails if many
            # start at once.
            "--model-load-thread-count=1", *options]
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            list(map(str, self.arguments)), stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=subprocess.STDOUT, env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"})
        for _ in range(1200):
            if self.process.poll() is not None:
                break
            try:
                if self.request("GET", "/v2/health/ready").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.1)
        self.stop(wait=5)
        raise RuntimeError("Triton did not start:\n" + self.said())

    def said(self):
        return (self.work / "triton.log").read_text()[-4000:]

    def stop(self, wait=60):
        self.process.terminate()
        try:
            self.process.wait(timeout=wait)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.flush()
