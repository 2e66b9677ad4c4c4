# SPDX-License-Identifier: Apache-2.0
"""A server of the Open Inference Protocol over gRPC that is not ours: it uses grpcio.
Run by the Python of tests/requirements-clients.txt. Prints its port, and serves
until its standard input ends. With the files of a certificate and its key it speaks
TLS."""
import concurrent.futures
import pathlib
import sys
import threading

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

Tensor = service_pb2.ModelMetadataResponse.TensorMetadata
OUTPUT = service_pb2.ModelInferResponse.InferOutputTensor
MODELS = {
    # These return their inputs in the form in which they came: raw, or in the fields of
    # their type.
    "echo": [("x", "FP32", [-1, 2]), ("n", "UINT16", [3]), ("t", "BYTES", [-1])],
    "one": [("t", "BYTES", [1])],
    "fields": [("x", "FP32", [-1, 2]), ("n", "INT64", [2]), ("t", "BYTES", [-1])],
    "names": [("a/b", "INT8", [1]), ("~", "INT8", [1]), ("1", "INT8", [1]),
              ("\u00e4 b", "INT8", [1])],
    "empty": [("x", "FP32", [0])],
    "many": [(f"x{number}", "INT8", [1]) for number in range(200)],
    "other": [("x", "FP128", [1])],
    "refuses": [("x", "FP32", [1])],
    "hangs": [("x", "FP32", [1])],
    "lies": [("x", "FP32", [1])],
    "packed": [("x", "FP32", [1])],
    # Both answer the first call like "echo". Later "tires" no longer does, and
    # "changes" returns 1 more.
    "tires": [("x", "FP32", [1])],
    "changes": [("x", "UINT8", [1])],
    "open": [("x", "FP32", [-1, 2]), ("t", "BYTES", [-1, 3])],
    "huge": [("x", "FP32", [1 << 40])],
}
FIELDS = {"FP32": "fp32_contents", "INT64": "int64_contents", "BYTES": "bytes_contents"}
DONE = threading.Event()


def elements(datatype, raw):
    if datatype != "BYTES":
        return memoryview(raw).cast({"FP32": "f", "INT64": "q"}[datatype]).tolist()
    found = []
    while raw:
        size = int.from_bytes(raw[:4], "little")
        found.append(raw[4:4 + size])
        raw = raw[4 + size:]
    return found


class Service(service_pb2_grpc.GRPCInferenceServiceServicer):
    called = set()

    def ModelMetadata(self, request, context):
        if request.name not in MODELS or request.version not in ("", "7"):
            context.abort(grpc.StatusCode.NOT_FOUND, f"no '{request.name}' \u00e4 100%")
        tensors = [Tensor(name=name, datatype=datatype, shape=shape)
                   for name, datatype, shape in MODELS[request.name]]
        return service_pb2.ModelMetadataResponse(
            name=request.name, versions=["7"], inputs=tensors, outputs=tensors)

    def ModelInfer(self, request, context):
        if request.model_name == "refuses":
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "not now")
        again = request.model_name in self.called
        self.called.add(request.model_name)
        if again and request.model_name == "tires":
            context.abort(grpc.StatusCode.UNAVAILABLE, "tired \u00e4")
        if request.model_name == "hangs":
            DONE.wait()
        if request.model_name == "packed":
            context.set_compression(grpc.Compression.Gzip)
        answer = service_pb2.ModelInferResponse(
            model_name=request.model_name, model_version=request.model_version)
        for each, raw in zip(request.inputs, request.raw_input_contents, strict=True):
            output = answer.outputs.add(name=each.name, datatype=each.datatype,
                                        shape=each.shape)
            if request.model_name == "fields":
                getattr(output.contents, FIELDS[each.datatype]).extend(
                    elements(each.datatype, raw))
            else:
                more = again and request.model_name == "changes"
                answer.raw_output_contents.append(
                    bytes([raw[0] + 1]) if more
                    else raw * (2 if request.model_name == "lies" else 1))
        return answer

    def RepositoryIndex(self, request, context):
        Index = service_pb2.RepositoryIndexResponse.ModelIndex
        return service_pb2.RepositoryIndexResponse(models=[
            Index(name="echo", version="7", state="READY"),
            Index(name="longer\x1b", state="UNAVAILABLE", reason="no \u00e4")])


def main(*files):
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Service(), server)
    if files:
        certificate, key = (pathlib.Path(each).read_bytes() for each in files)
        port = server.add_secure_port(
            "127.0.0.1:0", grpc.ssl_server_credentials([(key, certificate)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    DONE.set()
    server.stop(0).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
