# SPDX-License-Identifier: Apache-2.0
"""Cases of test_grpc.py that use TensorFlow Serving's own stubs. Run like
grpc_calls.py."""
import json
import sys
import types
import urllib.error
import urllib.request

import grpc
import numpy
from google.protobuf import descriptor_pb2, descriptor_pool
from tritonclient.grpc import service_pb2, service_pb2_grpc

from grpc_calls import CODES, failure, random_of, read_status

# The package lacks some files. One defines an enumeration that is never used: it is
# defined here. Without the others there is no stub of ModelService, only its messages.
CODES_FILE = descriptor_pb2.FileDescriptorProto(
    name="tensorflow/tsl/protobuf/error_codes.proto", package="tensorflow.error",
    syntax="proto3")
CODES_FILE.enum_type.add(name="Code").value.add(name="OK", number=0)
descriptor_pool.Default().Add(CODES_FILE)
for LACKED in ("tensorflow.tsl", "tensorflow.tsl.protobuf",
               "tensorflow.tsl.protobuf.error_codes_pb2"):
    sys.modules[LACKED] = types.ModuleType(LACKED)
# pylint: disable=wrong-import-position
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2, types_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2, get_model_status_pb2, predict_pb2, prediction_service_pb2_grpc)

# For each type of the Open Inference Protocol: TensorFlow's type, and the field for its
# elements.
TYPES = {"BOOL": ("DT_BOOL", "bool_val"), "INT8": ("DT_INT8", "int_val"),
         "INT16": ("DT_INT16", "int_val"), "INT32": ("DT_INT32", "int_val"),
         "INT64": ("DT_INT64", "int64_val"), "UINT8": ("DT_UINT8", "int_val"),
         "UINT16": ("DT_UINT16", "int_val"), "UINT32": ("DT_UINT32", "uint32_val"),
         "UINT64": ("DT_UINT64", "uint64_val"), "FP16": ("DT_HALF", "half_val"),
         "FP32": ("DT_FLOAT", "float_val"), "FP64": ("DT_DOUBLE", "double_val"),
         "BYTES": ("DT_STRING", "string_val")}


def tensor(datatype, shape, **more):
    return tensor_pb2.TensorProto(
        dtype=types_pb2.DataType.Value(TYPES[datatype][0]),
        tensor_shape=tensor_shape_pb2.TensorShapeProto(
            dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=each) for each in shape]), **more)


def elements(value):
    """The elements as a tensor's field has them; half precision as bits."""
    return (value.view("<u2") if value.dtype == numpy.float16 else value).ravel().tolist()


def typed(datatype, value):
    return tensor(datatype, value.shape, **{TYPES[datatype][1]: elements(value)})


def request(model, inputs, **more):
    asked = predict_pb2.PredictRequest(output_filter=more.pop("output_filter", []))
    asked.model_spec.name = model
    for name, value in more.items():
        if name == "version":
            asked.model_spec.version.value = value
        else:
            setattr(asked.model_spec, name, value)
    for name, value in inputs.items():
        asked.inputs[name].CopyFrom(value)
    return asked


def infer(stub, name, about, values):
    inputs = [service_pb2.ModelInferRequest.InferInputTensor(
        name=each.name, datatype=each.datatype.replace("ANY", "FP32"),
        shape=values[each.name].shape) for each in about.inputs]
    return stub.ModelInfer(service_pb2.ModelInferRequest(
        model_name=name, inputs=inputs,
        raw_input_contents=[values[each.name].tobytes() for each in about.inputs]))


def bits(predict, stub, url, *models):
    """The answer has the bits of the Open Inference Protocol's answer, in whichever
    form inputs come."""
    generator = numpy.random.default_rng(6)
    good = 0
    for name in models:
        about = stub.ModelMetadata(service_pb2.ModelMetadataRequest(name=name))
        types_of = {each.name: each.datatype.replace("ANY", "FP32") for each in about.inputs}
        if not set(types_of.values()) <= set(TYPES):
            continue  # BF16 has no dtype in numpy
        values = {each.name: random_of(
            generator, types_of[each.name],
            [2, 3] if name.endswith("rank_of") else each.shape) for each in about.inputs}
        raw = {each: tensor(types_of[each], value.shape, tensor_content=value.tobytes())
               for each, value in values.items()}
        fields = {each: typed(types_of[each], value) for each, value in values.items()}
        try:
            wanted = infer(stub, name, about, values)
        except grpc.RpcError as error:  # the function refuses these values
            assert failure(predict.Predict, request(name, raw)).details() == error.details()
            continue
        for inputs in (raw, fields):
            compare(predict.Predict(request(name, inputs)), wanted)
        compare(predict.Predict(request(name, raw), compression=grpc.Compression.Gzip), wanted)
        good += 1
    assert good > 20


def compare(answer, wanted):
    assert answer.model_spec.name == wanted.model_name
    assert answer.model_spec.version.value == int(wanted.model_version)
    assert answer.model_spec.signature_name == "serving_default"
    assert len(answer.outputs) == len(wanted.outputs)
    for output, raw in zip(wanted.outputs, wanted.raw_output_contents):
        found = answer.outputs[output.name]
        kind, field = TYPES[output.datatype]
        assert types_pb2.DataType.Name(found.dtype) == kind
        assert [each.size for each in found.tensor_shape.dim] == list(output.shape)
        assert list(getattr(found, field)) == elements(numpy.frombuffer(
            raw, random_of(numpy.random.default_rng(1), output.datatype, [1]).dtype)) or (
                output.datatype in ("FP16", "FP32", "FP64"))
        if output.datatype in ("FP32", "FP64"):  # NaN is not equal to itself
            width = "<f4" if output.datatype == "FP32" else "<f8"
            assert numpy.array(list(getattr(found, field)), width).tobytes() == raw


def texts(predict, stub, url):
    for value in (b"", b"a\x00b", "\u00e4".encode(), 100_000 * b"long"):
        for shape in ([], [1]):
            sent = tensor("BYTES", shape, string_val=[value])
            (found,) = predict.Predict(request("echo", {"INPUT0": sent})).outputs.values()
            assert (list(found.string_val), len(found.tensor_shape.dim)) == ([value], 0)
    error = failure(predict.Predict, request("echo", {
        "INPUT0": tensor("BYTES", [1], tensor_content=b"\x01a")}))
    assert "string_val" in error.details()


def metadata(predict, stub, url, *models):
    """The metadata equals that of /v1."""
    for name in models:
        asked = get_model_metadata_pb2.GetModelMetadataRequest(
            metadata_field=["signature_def"])
        asked.model_spec.name = name
        found = predict.GetModelMetadata(asked)
        try:
            with urllib.request.urlopen(f"http://{url}/v1/models/{name}/metadata") as file:
                wanted = json.load(file)
        except urllib.error.HTTPError:
            continue  # arrays of texts, which JSON does not have there
        assert found.model_spec.name == wanted["model_spec"]["name"]
        assert str(found.model_spec.version.value) == wanted["model_spec"]["version"]
        signatures = get_model_metadata_pb2.SignatureDefMap()
        assert found.metadata["signature_def"].Unpack(signatures)
        (one,) = signatures.signature_def.items()
        assert one[0] == "serving_default"
        wanted = wanted["metadata"]["signature_def"]["signature_def"]["serving_default"]
        for here, there in ((one[1].inputs, wanted["inputs"]),
                            (one[1].outputs, wanted["outputs"])):
            assert {key: info(value) for key, value in here.items()} == there
        assert one[1].method_name == wanted["method_name"]
    asked.metadata_field[0] = "assets"
    assert failure(predict.GetModelMetadata, asked).code() == (
        grpc.StatusCode.INVALID_ARGUMENT)


def info(value):
    return {"name": value.name, "dtype": types_pb2.DataType.Name(value.dtype),
            "tensor_shape": {"unknown_rank": value.tensor_shape.unknown_rank,
                             "dim": [{"size": str(each.size), "name": ""}
                                     for each in value.tensor_shape.dim]}}


def simple_inputs(**more):
    values = numpy.arange(16, dtype="<i4").reshape(1, 16)
    return {"INPUT0": typed("INT32", values), "INPUT1": typed("INT32", values), **more}


def errors(predict, stub, url):
    one = numpy.zeros((1, 16), "<i4")
    rows = [
        (request("nobody", {}), "NOT_FOUND", "unknown model: 'nobody'", None),
        (request("simple", {}, version=9), "NOT_FOUND", "has no version '9'", None),
        (request("simple", {}, version_label="best"), "NOT_FOUND", "no version 'best'", None),
        (request("simple", {}, signature_name="train"), "INVALID_ARGUMENT",
         "one signature 'serving_default'", None),
        (request("simple", {"INPUT0": typed("INT32", one)}), "INVALID_ARGUMENT",
         "input 'INPUT1': missing", None),
        (request("simple", simple_inputs(INPUT2=typed("INT32", one))), "INVALID_ARGUMENT",
         "there is no input 'INPUT2'", "/inputs/INPUT2"),
        (request("simple", simple_inputs(INPUT1=typed("FP32", one.astype("<f4")))),
         "INVALID_ARGUMENT", "'f32', declared i32", "/inputs/INPUT1"),
        (request("simple", simple_inputs(INPUT1=tensor("INT32", [1, 16]))),
         "INVALID_ARGUMENT", "0 bytes for a shape of 64", "/inputs/INPUT1"),
        (request("simple", simple_inputs(INPUT1=tensor("INT32", [1, 16], int_val=[1] * 17))),
         "INVALID_ARGUMENT", "68 bytes for a shape of 64", "/inputs/INPUT1"),
        (request("simple", simple_inputs(INPUT1=tensor("INT32", [1, -16]))),
         "INVALID_ARGUMENT", "negative", "/inputs/INPUT1"),
        (request("simple", simple_inputs(INPUT1=tensor_pb2.TensorProto(dtype=8))),
         "INVALID_ARGUMENT", "DataType is 8", "/inputs/INPUT1"),
        (request("simple", simple_inputs(), output_filter=["OUTPUT7"]), "INVALID_ARGUMENT",
         "there is no output 'OUTPUT7'", None),
    ]
    for asked, code, says, pointer in rows:
        error = failure(predict.Predict, asked)
        assert (error.code(), says in error.details()) == (CODES[code], True), (
            error.code(), error.details(), says)
        found = read_status(dict(error.trailing_metadata())["grpc-status-details-bin"])
        assert found.get("pointer") == pointer, (says, found)


def chosen(predict, stub, url):
    answer = predict.Predict(request("simple", simple_inputs(), output_filter=["OUTPUT1"],
                                     version=1, signature_name="serving_default"))
    assert list(answer.outputs) == ["OUTPUT1"]
    assert list(answer.outputs["OUTPUT1"].int_val) == [0] * 16
    answer = predict.Predict(request("simple.add_sub", simple_inputs()))
    assert answer.model_spec.name == "simple.add_sub"
    assert list(answer.outputs["OUTPUT0"].int_val) == list(range(0, 32, 2))


def state(predict, stub, url):
    asked = get_model_status_pb2.GetModelStatusRequest()
    asked.model_spec.name = "simple"
    (found,) = predict.status(asked).model_version_status
    assert (found.version, found.state) == (1, found.AVAILABLE)
    assert found.HasField("status") and not found.status.error_code
    asked.model_spec.name = "nobody"
    assert failure(predict.status, asked).code() == grpc.StatusCode.NOT_FOUND


def wire(predict, stub, url):
    """Bytes that are not a message."""
    infer_raw = predict.channel.unary_unary(
        "/tensorflow.serving.PredictionService/Predict", request_serializer=bytes,
        response_deserializer=bytes)
    good = request("simple", simple_inputs()).SerializeToString()
    assert infer_raw(good) and infer_raw(good + b"\xf8\xff\xff\xff\x0f\x01")
    for body in (good[:-1], good + b"\x0b", good + b"\x10\x01", good[10:], b"\x08\x01",
                 good + b"\x0a\x08\x0a\x06simple", good + b"\x12\x02\x12\x00"):
        assert failure(infer_raw, body).code() == grpc.StatusCode.INVALID_ARGUMENT, body


def main(url, *words):
    with grpc.insecure_channel(url) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        predict = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        predict.status = channel.unary_unary(
            "/tensorflow.serving.ModelService/GetModelStatus",
            get_model_status_pb2.GetModelStatusRequest.SerializeToString,
            get_model_status_pb2.GetModelStatusResponse.FromString)
        predict.channel = channel
        for case, *more in map(str.split, " ".join(words).split(" , ")):
            globals()[case](predict, stub, url, *more)
            print("done", case)


if __name__ == "__main__":
    main(*sys.argv[1:])
