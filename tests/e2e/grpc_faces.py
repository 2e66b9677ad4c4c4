# SPDX-License-Identifier: Apache-2.0
"""Makes one gRPC call for each line that it reads, with clients that are not ours, for
test_faces.py. Run by the Python of tests/requirements-clients.txt: grpc_faces.py
HOST:PORT."""
import base64
import json
import sys

import grpc
import numpy
from tritonclient.grpc import service_pb2, service_pb2_grpc

from grpc_calls import CONTENTS
from grpc_tf_calls import elements, prediction_service_pb2_grpc, request, tensor, typed
from oip_calls import TYPES

FIELDS = {"BOOL": "bool_val", "INT64": "int64_val", "UINT32": "uint32_val",
          "UINT64": "uint64_val", "FP16": "half_val", "FP32": "float_val",
          "FP64": "double_val"}


def infer(stub, model, inputs, fields, **more):
    message = service_pb2.ModelInferRequest(model_name=model)
    for name, (datatype, value) in inputs.items():
        each = message.inputs.add(name=name, datatype=datatype, shape=value.shape)
        if fields:
            getattr(each.contents, CONTENTS[datatype]).extend(elements(value))
        else:
            message.raw_input_contents.append(value.tobytes())
    answer = stub.ModelInfer(message, **more)
    return {each.name: (list(each.shape), raw) for each, raw in zip(
        answer.outputs, answer.raw_output_contents, strict=True)}


def predict(stub, model, inputs, fields, outputs):
    sent = {name: typed(datatype, value) if fields
            else tensor(datatype, value.shape, tensor_content=value.tobytes())
            for name, (datatype, value) in inputs.items()}
    found = {}
    for name, each in stub.Predict(request(model, sent)).outputs.items():
        datatype = outputs[name]
        numbers = getattr(each, FIELDS.get(datatype, "int_val"))
        if datatype == "FP16":  # its bits
            numbers = numpy.array(numbers, "<u2")
        else:
            numbers = numpy.array(numbers, TYPES[datatype])
        found[name] = ([dim.size for dim in each.tensor_shape.dim], numbers.tobytes())
    return found


def main(url):
    options = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(url, options=options) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        tf = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        for line in sys.stdin:
            face, model, inputs, outputs = json.loads(line)
            given = {name: (datatype, numpy.frombuffer(
                base64.b64decode(data), TYPES[datatype]).reshape(shape))
                for name, datatype, shape, data in inputs}
            fields = face.endswith("fields")
            if face.startswith("TF"):
                found = predict(tf, model, given, fields, outputs)
            elif face.endswith("gzip"):
                found = infer(stub, model, given, fields, compression=grpc.Compression.Gzip)
            else:
                found = infer(stub, model, given, fields)
            print(json.dumps({name: (shape, base64.b64encode(raw).decode())
                              for name, (shape, raw) in found.items()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
