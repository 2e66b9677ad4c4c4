# SPDX-License-Identifier: Apache-2.0
"""The other servers of bench/batch: ONNX Runtime with one thread, in each server as its
documentation shows. The variable MODELS is the folder of the models, BATCH how many
rows these servers may compute together. Triton imports TritonPythonModel,
batch_mlserver.py imports Model. `batch_peer.py PORT` is FastAPI, which computes each
call alone.
"""
import os
import pathlib
import sys

import numpy
import onnxruntime

MODELS = pathlib.Path(os.environ["MODELS"])
BATCH = int(os.environ["BATCH"])
TYPES = {"tensor(float)": "FP32", "tensor(int64)": "INT64"}
NUMPY = {"FP32": "f4", "INT64": "i8"}


class Model:
    def __init__(self, name):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(MODELS / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
        self.inputs = [(each.name, TYPES[each.type], each.shape[1:])
                       for each in self.session.get_inputs()]
        (self.output,) = [each.name for each in self.session.get_outputs()]

    def run(self, values):
        names = [name for name, _, _ in self.inputs]
        return self.session.run(None, dict(zip(names, values)))[0]


class TritonPythonModel:
    def initialize(self, args):
        import triton_python_backend_utils as utils
        self.utils = utils
        self.model = Model(args["model_name"])

    def execute(self, requests):
        utils, model = self.utils, self.model
        columns = [[utils.get_input_tensor_by_name(each, name).as_numpy()
                    for each in requests] for name, _, _ in model.inputs]
        found = model.run([numpy.concatenate(each) for each in columns])
        ends = numpy.cumsum([len(each) for each in columns[0]])[:-1]
        return [utils.InferenceResponse([utils.Tensor(model.output, rows)])
                for rows in numpy.split(found, ends)]


def serve(port):
    import fastapi
    import uvicorn
    from fastapi import responses
    app = fastapi.FastAPI()
    models = {each.stem: Model(each.stem) for each in MODELS.glob("*.onnx")}

    @app.post("/json/{name}")
    async def as_json(name: str, rows: dict[str, list]):
        model = models[name]
        given = [numpy.array(rows[each], NUMPY[kind]) for each, kind, _ in model.inputs]
        return responses.ORJSONResponse({model.output: model.run(given).tolist()})

    @app.post("/raw/{name}")
    async def as_bytes(name: str, request: fastapi.Request):
        model, at, given, body = models[name], 0, [], await request.body()
        for _, kind, dims in model.inputs:
            count = int(numpy.prod(dims))
            given.append(numpy.frombuffer(body, NUMPY[kind], count, at).reshape(1, *dims))
            at += given[-1].nbytes
        return fastapi.Response(model.run(given).tobytes())

    uvicorn.run(app, host="127.0.0.1", port=port, access_log=False, log_level="warning",
                loop="uvloop")


if __name__ == "__main__":
    serve(int(sys.argv[1]))
