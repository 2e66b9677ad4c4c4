# SPDX-License-Identifier: Apache-2.0
"""Cases of test_grpc.py that use gRPC clients which are not ours. Run by the Python of
tests/requirements-clients.txt: grpc_calls.py HOST:PORT CASE [WORD ...]. A case that
fails raises."""
import itertools
import json
import os
import pathlib
import queue
import signal
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import grpc
import numpy
from google.protobuf.internal.decoder import _DecodeVarint
from google.protobuf import descriptor_pool, message_factory
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase)
from tritonclient import grpc as triton
from tritonclient import http as triton_http
from tritonclient.grpc import service_pb2, service_pb2_grpc
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

SERVICE = "/inference.GRPCInferenceService/"
CONTENTS = {"BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents",
             "INT32": "int_contents", "INT64": "int64_contents", "UINT8": "uint_contents",
             "UINT16": "uint_contents", "UINT32": "uint_contents",
             "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents"}
FIELD = ("number", "type", "is_repeated")
CODES = {each.name: each for each in grpc.StatusCode}


def failure(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except grpc.RpcError as error:
        return error
    raise AssertionError("it did not fail")


def raw_method(channel, path):
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


def simple_request(**more):
    zeros = numpy.arange(16, dtype="<i4")
    inputs = [service_pb2.ModelInferRequest.InferInputTensor(
        name=name, datatype="INT32", shape=[1, 16]) for name in ("INPUT0", "INPUT1")]
    return service_pb2.ModelInferRequest(
        **{"model_name": "simple", "inputs": inputs,
           "raw_input_contents": [zeros.tobytes()] * 2, **more})


def numbers(answer, place=0):
    return numpy.frombuffer(answer.raw_output_contents[place], "<i4").tolist()


# ---------------------------------------------------------------------------

def server(channel, stub, url):
    assert stub.ServerLive(service_pb2.ServerLiveRequest()).live
    assert stub.ServerReady(service_pb2.ServerReadyRequest()).ready
    asked = service_pb2.ServerMetadataRequest()
    assert stub.ServerMetadata(asked).name == "farcalld"
    about = triton_http.InferenceServerClient(url).get_server_metadata()
    found = stub.ServerMetadata(asked)
    assert (found.version, list(found.extensions)) == (about["version"], about["extensions"])
    ready = service_pb2.ModelReadyRequest
    assert stub.ModelReady(ready(name="simple")).ready
    assert stub.ModelReady(ready(name="simple", version="1")).ready
    assert not stub.ModelReady(ready(name="simple", version="7")).ready
    assert not stub.ModelReady(ready(name="nobody")).ready
    client = triton.InferenceServerClient(url)
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("simple") and not client.is_model_ready("other")
    error = failure(stub.ModelMetadata, service_pb2.ModelMetadataRequest(name="nobody"))
    assert (error.code(), "unknown model: 'nobody'" in error.details()) == (
        grpc.StatusCode.NOT_FOUND, True)


def health(channel, stub, url):
    ask = health_pb2_grpc.HealthStub(channel).Check
    for service in ("", *reflected_names(channel, "v1")):
        found = ask(health_pb2.HealthCheckRequest(service=service))
        assert found.status == health_pb2.HealthCheckResponse.SERVING
    error = failure(ask, health_pb2.HealthCheckRequest(service="nobody's"))
    assert error.code() == grpc.StatusCode.NOT_FOUND


def metadata(channel, stub, url):
    """The metadata of each model equals that over HTTP."""
    client = triton_http.InferenceServerClient(url)
    for entry in client.get_model_repository_index():
        there = client.get_model_metadata(entry["name"])
        here = stub.ModelMetadata(service_pb2.ModelMetadataRequest(name=entry["name"]))
        assert (here.name, list(here.versions), here.platform) == (
            there["name"], there["versions"], there["platform"])
        for found, wanted in ((here.inputs, there["inputs"]),
                              (here.outputs, there["outputs"])):
            assert [{"name": each.name, "datatype": each.datatype,
                     "shape": list(each.shape)} for each in found] == wanted


def configuration(channel, stub, url):
    """The same for the configuration that clients of Triton request, with Triton's
    messages."""
    client, other = triton_http.InferenceServerClient(url), triton.InferenceServerClient(url)
    for entry in client.get_model_repository_index():
        name = entry["name"]
        wanted = client.get_model_config(name)
        found = other.get_model_config(name, as_json=True)["config"]
        assert [found[each] for each in ("name", "platform", "backend")] == [
            wanted[each] for each in ("name", "platform", "backend")]
        assert found.get("max_batch_size", 0) == wanted["max_batch_size"]
        for each in ("input", "output"):
            assert [(one["name"], one.get("data_type", "TYPE_INVALID"),
                     [int(dim) for dim in one.get("dims", [])])
                    for one in found.get(each, [])] == [
                (one["name"], one["data_type"], one["dims"]) for one in wanted[each]]


def statistics(channel, stub, url):
    for _ in range(3):
        stub.ModelInfer(simple_request())
    failure(stub.ModelInfer, simple_request(raw_input_contents=[]))
    wanted = triton_http.InferenceServerClient(url).get_inference_statistics("simple")
    (found,) = stub.ModelStatistics(
        service_pb2.ModelStatisticsRequest(name="simple")).model_stats
    (wanted,) = wanted["model_stats"]
    assert (found.name, found.version, found.inference_count, found.execution_count,
            found.last_inference) == tuple(wanted[each] for each in (
                "name", "version", "inference_count", "execution_count", "last_inference"))
    assert found.inference_count >= 3 and found.inference_stats.fail.count == 1
    for each, one in wanted["inference_stats"].items():
        here = getattr(found.inference_stats, each)
        assert (here.count, here.ns) == (one["count"], one["ns"]), each


def batches(channel, stub, url, model):
    """Calls that were computed together count as the same number of executions and rows
    as over HTTP. The model's configuration announces batches."""
    client = triton_http.InferenceServerClient(url)
    config = triton.InferenceServerClient(url).get_model_config(model, as_json=True)["config"]
    assert config["max_batch_size"] == 8
    assert [each["dims"] for each in config["input"] + config["output"]] == [["3"], ["3"]]
    assert config["dynamic_batching"] == {"preferred_batch_size": [1, 4, 8]}
    (about,) = client.get_model_metadata(model)["inputs"]
    request = service_pb2.ModelInferRequest(
        model_name=model, raw_input_contents=[numpy.ones(3, "<f4").tobytes()],
        inputs=[service_pb2.ModelInferRequest.InferInputTensor(
            name=about["name"], datatype="FP32", shape=[1, 3])])
    end = time.monotonic() + 60
    counts = [0, 0]
    while counts[0] == counts[1]:
        assert time.monotonic() < end, "no calls were computed together"
        for each in [stub.ModelInfer.future(request) for _ in range(64)]:
            each.result()
        (wanted,) = client.get_inference_statistics(model)["model_stats"]
        counts = [wanted[each] for each in ("inference_count", "execution_count")]
    (found,) = stub.ModelStatistics(
        service_pb2.ModelStatisticsRequest(name=model)).model_stats
    assert [found.inference_count, found.execution_count] == counts
    sizes = {each.batch_size: each for each in found.batch_stats}
    assert list(sizes) == sorted(sizes) and max(sizes) > 1
    assert sum(size * each.compute_infer.count for size, each in sizes.items()) == counts[0]
    assert sum(each.compute_infer.count for each in sizes.values()) == counts[1]
    for wanted, found in zip(wanted["batch_stats"], found.batch_stats, strict=True):
        assert wanted.pop("batch_size") == found.batch_size
        for each, one in wanted.items():
            here = getattr(found, each)
            assert (here.count, here.ns) == (one["count"], one["ns"]), each


def reflection(channel, stub, url, *paths):
    """Reflection lists the server's services and their methods, and no others."""
    for version in ("v1", "v1alpha"):
        names = reflected_names(channel, version)
        assert {f"grpc.reflection.{each}.ServerReflection" for each in ("v1", "v1alpha")} < (
            names)
        assert {"grpc.health.v1.Health", SERVICE.strip("/")} < names
    database = ProtoReflectionDescriptorDatabase(channel)
    pool = descriptor_pool.DescriptorPool(database)
    found = set()
    for service in names:
        for method in pool.FindServiceByName(service).methods:
            same(method.input_type)
            same(method.output_type)
            found.add(f"/{service}/{method.name}")
    assert found == set(paths)
    for symbol, found in ((SERVICE.strip("/") + ".ModelInfer", True),
                          ("inference.ModelInferRequest.InferInputTensor.name", True),
                          ("grpc.health.v1.HealthCheckResponse.ServingStatus", True),
                          ("google.rpc.ErrorInfo", True), ("google.rpc.Status", False),
                          (SERVICE.strip("/") + ".ModelTrain", False),
                          ("inference", False), ("inference.", False),
                          ("inference.ModelConfig.", False), ("nobody.X", False)):
        answer = reflected(channel, "v1", file_containing_symbol=symbol)
        assert len(answer.file_descriptor_response.file_descriptor_proto) == found, symbol
        assert answer.error_response.error_code == (0 if found else 5), symbol
    assert list(database.FindAllExtensionNumbers("inference.ModelConfig")) == []
    # The details of an error can be read with the messages that are described.
    error = failure(stub.ModelInfer, simple_request(
        raw_input_contents=simple_request().raw_input_contents[:1]))
    status = dict(error.trailing_metadata())["grpc-status-details-bin"]
    details = [[each for _, each in fields_of(detail)] for _, detail in fields_of(status)[2:]]
    info, request = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(
            url.decode().partition("/")[2])).FromString(message) for url, message in details)
    assert (info.reason, info.domain) == ("binary_framing", "farcall")
    assert request.field_violations[0].field == "/inputs/1"
    for asked, code in (({"all_extension_numbers_of_type": "nobody.X"}, 5),
                        ({"file_by_filename": "nobody.proto"}, 5), ({"host": "h"}, 3),
                        ({"file_containing_extension": {
                            "containing_type": "inference.ModelConfig",
                            "extension_number": 1}}, 5)):
        assert reflected(channel, "v1", **asked).error_response.error_code == code, asked


def reflection_stream(channel, stub, url):
    """Each request of a stream is answered while it is open, also one that is
    malformed."""
    requests = queue.Queue()
    call = channel.stream_stream(
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        request_serializer=bytes,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString)
    answers = call(iter(requests.get, None))
    for name in 40 * ["inference.ModelInferRequest", "grpc.health.v1.Health"]:
        asked = reflection_pb2.ServerReflectionRequest(file_containing_symbol=name)
        requests.put(asked.SerializeToString())
        found = next(answers)
        assert found.original_request == asked
        assert found.file_descriptor_response.file_descriptor_proto
    requests.put(b"\x1a\x7f")
    found = next(answers)
    assert (found.error_response.error_code, found.HasField("original_request")) == (3, False)
    requests.put(reflection_pb2.ServerReflectionRequest(host=65536 * "a").SerializeToString())
    error = next(answers).error_response
    assert (error.error_code, "exceeds 65536" in error.error_message) == (8, True), error
    requests.put(None)
    assert list(answers) == [] and answers.code() == grpc.StatusCode.OK


def reflected(channel, version, **asked):
    ask = channel.stream_stream(
        f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString)
    asked = reflection_pb2.ServerReflectionRequest(**{"host": "h", **asked})
    (answer,) = ask(iter([asked]))
    assert answer.valid_host == "h" and answer.original_request == asked
    return answer


def reflected_names(channel, version):
    answer = reflected(channel, version, list_services="*")
    return {each.name for each in answer.list_services_response.service}


def same(found):
    """Each field has the number and type that clients of others know, if they know the
    message."""
    try:
        wanted = descriptor_pool.Default().FindMessageTypeByName(found.full_name)
    except KeyError:
        return
    for field in found.fields:
        one = wanted.fields_by_name[field.name]
        assert [getattr(field, each) for each in FIELD] == [
            getattr(one, each) for each in FIELD], field.full_name
        if field.message_type:
            same(field.message_type)


def shared(channel, stub, url):
    client = triton.InferenceServerClient(url)
    assert not client.get_system_shared_memory_status().regions
    assert not client.get_cuda_shared_memory_status().regions


def random_of(generator, datatype, shape):
    shape = [3 if dim < 0 else dim for dim in shape]
    if datatype == "BOOL":
        return generator.integers(0, 2, shape).astype(bool)
    dtype = numpy.dtype(triton_to_np_dtype(datatype))
    bits = generator.bytes(int(numpy.prod(shape)) * dtype.itemsize)
    value = numpy.frombuffer(bits, dtype).reshape(shape)
    if dtype.kind == "f":
        value = numpy.nan_to_num(value, posinf=1, neginf=-1)
    return numpy.asarray(value)


def bits(channel, stub, url, *models):
    """The answer has the bits of the answer of /v2, in whichever form the inputs come."""
    client = triton_http.InferenceServerClient(url)
    good, without = 0, set()
    generator = numpy.random.default_rng(5)
    for name in models:
        about = client.get_model_metadata(name)
        for each in about["inputs"]:  # the value says its type
            each["datatype"] = each["datatype"].replace("ANY", "FP32")
        values = {each["name"]: random_of(
            generator, each["datatype"],
            [2, 3] if name.endswith("rank_of") else each["shape"])
            for each in about["inputs"]}
        types = {each["name"]: each["datatype"] for each in about["inputs"]}
        try:
            wanted = infer_http(client, name, values, types, about["outputs"])
            good += 1
        except InferenceServerException as error:
            wanted = error.message()
        inputs = [service_pb2.ModelInferRequest.InferInputTensor(
            name=each, datatype=types[each], shape=value.shape)
            for each, value in values.items()]
        request = service_pb2.ModelInferRequest(
            model_name=name, id="a1", inputs=inputs,
            raw_input_contents=[value.tobytes() for value in values.values()])
        if isinstance(wanted, str):  # the function refuses these values
            assert failure(stub.ModelInfer, request).details() == wanted
            continue
        compare(stub.ModelInfer(request), wanted, name)
        compare(stub.ModelInfer(request, compression=grpc.Compression.Gzip), wanted, name)
        compare(stub.ModelInfer(request, compression=grpc.Compression.Deflate), wanted, name)
        if types and {*types.values()} <= {"FP16", "BF16"}:
            for each in request.inputs:
                each.contents.fp32_contents.append(1)
            del request.raw_input_contents[:]
            error = failure(stub.ModelInfer, request)
            assert "comes in raw_input_contents" in error.details(), (name, error.details())
            without.update(types.values())
        if not all(each in CONTENTS for each in types.values()):
            continue
        del request.raw_input_contents[:]
        for each in request.inputs:
            getattr(each.contents, CONTENTS[each.datatype]).extend(
                values[each.name].ravel().tolist())
        compare(stub.ModelInfer(request), wanted, name)
    assert good > 20 and len(without) == 2


def infer_http(client, name, values, types, outputs):
    inputs = []
    for each, value in values.items():
        inputs.append(triton_http.InferInput(each, value.shape, types[each]))
        inputs[-1].set_data_from_numpy(value)
    asked = [triton_http.InferRequestedOutput(each["name"]) for each in outputs]
    answer = client.infer(name, inputs, outputs=asked)
    return {each["name"]: answer.as_numpy(each["name"]) for each in outputs}


def compare(answer, wanted, name):
    assert (answer.model_name, answer.id) == (name, "a1")
    assert len(answer.raw_output_contents) == len(answer.outputs) == len(wanted)
    for output, raw in zip(answer.outputs, answer.raw_output_contents):
        value = wanted[output.name]
        assert list(output.shape) == list(value.shape), (name, output)
        assert raw == value.tobytes(), (name, output.name)


def texts(channel, stub, url):
    """Byte strings, raw and as contents, with tritonclient and with messages made by
    hand."""
    client = triton.InferenceServerClient(url)
    for value in (b"", b"a\x00b", "\u00e4".encode(), 100_000 * b"long"):
        one = triton.InferInput("INPUT0", [1], "BYTES")
        one.set_data_from_numpy(numpy.array([value], object))
        assert client.infer("echo", [one]).as_numpy("OUTPUT0").tolist() == [value]
        request = service_pb2.ModelInferRequest(model_name="echo", inputs=[
            service_pb2.ModelInferRequest.InferInputTensor(
                name="INPUT0", datatype="BYTES", shape=[1],
                contents=service_pb2.InferTensorContents(bytes_contents=[value]))])
        raw = stub.ModelInfer(request).raw_output_contents[0]
        assert raw == len(value).to_bytes(4, "little") + value
    request.inputs[0].contents.bytes_contents.append(b"two")
    error = failure(stub.ModelInfer, request)
    assert "more than one element" in error.details()


def chosen(channel, stub, url):
    """Outputs come in the requested order, all of them raw, and with the request's id."""
    output = service_pb2.ModelInferRequest.InferRequestedOutputTensor
    answer = stub.ModelInfer(simple_request(
        id="x", outputs=[output(name="OUTPUT1"), output(name="OUTPUT0")]))
    assert [each.name for each in answer.outputs] == ["OUTPUT1", "OUTPUT0"]
    assert (numbers(answer), numbers(answer, 1)) == ([0] * 16, list(range(0, 32, 2)))
    assert (answer.model_name, answer.model_version, answer.id) == ("simple", "1", "x")
    assert stub.ModelInfer(simple_request(model_name="simple.add_sub")).model_name == (
        "simple.add_sub")
    assert numbers(stub.ModelInfer(simple_request(model_version="1"))) == numbers(answer, 1)


def errors(channel, stub, url):
    inputs = service_pb2.ModelInferRequest.InferInputTensor
    raw = simple_request().raw_input_contents[0]
    two = list(simple_request().inputs)
    rows = [
        (simple_request(model_name="simpel"), "NOT_FOUND", "did you mean 'simple'?", None),
        (simple_request(model_name="simple/add_sub"), "NOT_FOUND",
         "did you mean 'simple.add_sub'?", None),
        (simple_request(model_version="9"), "NOT_FOUND", "has no version '9'", None),
        (simple_request(model_name=""), "NOT_FOUND", "unknown model: ''", None),
        (simple_request(raw_input_contents=[raw]), "INVALID_ARGUMENT",
         "fewer raw entries than inputs", "/inputs/1"),
        (simple_request(raw_input_contents=[raw] * 3), "INVALID_ARGUMENT",
         "more raw entries than inputs", None),
        (simple_request(raw_input_contents=[raw, raw[:-1]]), "INVALID_ARGUMENT",
         "input 'INPUT1': 63 bytes", "/inputs/1"),
        (simple_request(inputs=two[:1], raw_input_contents=[raw]), "INVALID_ARGUMENT",
         "input 'INPUT1': missing", None),
        (simple_request(inputs=[two[0], two[0]]), "INVALID_ARGUMENT",
         "input 'INPUT0': given twice", "/inputs/1"),
        (simple_request(inputs=[inputs(name="\u00e4 %\n", datatype="INT32", shape=[1, 16])],
                        raw_input_contents=[raw]), "INVALID_ARGUMENT",
         "there is no input '\u00e4 %\\x0a'", "/inputs/0"),
        (simple_request(inputs=[inputs(name="INPUT0", datatype="FP32", shape=[1, 16])],
                        raw_input_contents=[raw]), "INVALID_ARGUMENT", "i32", "/inputs/0"),
        (simple_request(inputs=[inputs(name="INPUT0", datatype="INT32", shape=[16, 1])],
                        raw_input_contents=[raw]), "INVALID_ARGUMENT", "declared 1",
         "/inputs/0"),
        (simple_request(inputs=[inputs(name="INPUT0", datatype="INT32", shape=[1, -16])],
                        raw_input_contents=[raw]), "INVALID_ARGUMENT",
         "a dim is negative: -16", "/inputs/0"),
        (simple_request(inputs=[inputs(name="INPUT0", datatype="INT32", shape=[1] * 100)],
                        raw_input_contents=[raw]), "INVALID_ARGUMENT",
         "the shape has more than ", "/inputs/0"),
        (simple_request(inputs=[inputs(
            name="INPUT0", datatype="INT32", shape=[1, 16],
            contents=service_pb2.InferTensorContents(int_contents=[1] * 16))]),
         "INVALID_ARGUMENT", "contents beside raw", "/inputs/0"),
        (simple_request(raw_input_contents=[], inputs=[inputs(
            name="INPUT0", datatype="INT32", shape=[1, 16],
            contents=service_pb2.InferTensorContents(fp32_contents=[1] * 16))]),
         "INVALID_ARGUMENT", "another type than 'i32'", "/inputs/0"),
        (simple_request(raw_input_contents=[], inputs=[inputs(
            name="INPUT0", datatype="INT32", shape=[1, 16],
            contents=service_pb2.InferTensorContents(int_contents=[1] * 15))]),
         "INVALID_ARGUMENT", "60 bytes for a shape of 64", "/inputs/0"),
        (simple_request(outputs=[service_pb2.ModelInferRequest.InferRequestedOutputTensor(
            name="OUTPUT7")]), "INVALID_ARGUMENT", "there is no output 'OUTPUT7'",
         "/outputs/0"),
    ]
    for request, code, says, pointer in rows:
        error = failure(stub.ModelInfer, request)
        assert (error.code(), says in error.details()) == (CODES[code], True), (
            error.code(), error.details(), says)
        details = dict(error.trailing_metadata())["grpc-status-details-bin"]
        status = read_status(details)
        assert status["code"] == CODES[code].value[0]
        assert status["message"] == error.details()
        assert status.get("pointer") == pointer, (says, status)


def fields_of(message):
    at, found = 0, []
    while at < len(message):
        tag, at = _DecodeVarint(message, at)
        value, at = _DecodeVarint(message, at)
        if tag & 7 == 2:
            value, at = message[at:at + value], at + value
        found.append((tag >> 3, value))
    return found


def read_status(message):
    """Reads google.rpc.Status by hand: no package here has the message."""
    found = {}
    for number, value in fields_of(message):
        if number < 3:
            found[("code", "message")[number - 1]] = (
                value if number == 1 else value.decode())
            continue
        kind, inner = (each for _, each in fields_of(value))
        if kind.endswith(b"BadRequest"):
            found["pointer"] = fields_of(fields_of(inner)[0][1])[0][1].decode()
        else:
            found["reason"] = fields_of(inner)[0][1].decode()
    return found


def wire(channel, stub, url):
    """Bytes that are not a message, or not one of this service."""
    infer = raw_method(channel, SERVICE + "ModelInfer")
    good = simple_request().SerializeToString()
    for body in (good[:-1], b"\x0a\xff\xff\xff\xff\x0f", b"\x0b", good + b"\x00", good + b"\x3b",
                 b"\x0a\x06simple" * 2, good + b"\x0a\x06simple", b"\x08\x01", b"\x80" * 11,
                 good + b"\x2a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02"):
        error = failure(infer, body)
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, (body, error)
    # An unknown field is skipped, even if it has the largest possible number.
    assert infer(good + b"\xf8\xff\xff\xff\x0f\x01")
    assert failure(infer, b"").code() == grpc.StatusCode.NOT_FOUND
    # Parameters are read before the call is queued, so their number is limited.
    name, rest = good[:8], good[8:]
    assert infer(name + 1000 * b"\x22\x00" + rest) == infer(good)
    for parameters in (40_000 * b"\x22\x00", b"\x22\x80\x80\x04" + 32768 * b"\x12\x00"):
        error = failure(infer, name + parameters + rest)
        assert error.details() == "parameters take more than 65535 bytes", error
    for path in (SERVICE + "ModelTrain", "/nobody.Service/Do"):
        error = failure(raw_method(channel, path), b"")
        assert (error.code(), error.details()) == (
            grpc.StatusCode.UNIMPLEMENTED, f"there is no method '{path}'")


def large(channel, stub, url, count):
    """A tensor larger than a window, a block and a file of calls comes back unchanged."""
    values = numpy.arange(int(count), dtype="<f4")
    request = service_pb2.ModelInferRequest(
        model_name="tensor.identity", raw_input_contents=[values.tobytes()],
        inputs=[service_pb2.ModelInferRequest.InferInputTensor(
            name="x", datatype="FP32", shape=values.shape)])
    for compression in (None, grpc.Compression.Gzip):
        answer = stub.ModelInfer(request, compression=compression)
        assert answer.raw_output_contents[0] == values.tobytes()


def many(channel, stub, url):
    """Many calls at a time on one connection: each gets its own answer."""
    good = []

    def work(number):
        raw = numpy.full(16, number, "<i4").tobytes()
        for _ in range(40):
            answer = stub.ModelInfer(simple_request(raw_input_contents=[raw, raw],
                                                    id=str(number)))
            if (numbers(answer), answer.id) == ([2 * number] * 16, str(number)):
                good.append(number)
    threads = [threading.Thread(target=work, args=(each,)) for each in range(16)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(good) == 16 * 40


def cancel(channel, stub, url, function):
    """A running call is cancelled; the connection serves the next one."""
    call = stub.ModelInfer.future(spinning(function))
    call.cancel()
    assert call.cancelled()
    assert numbers(stub.ModelInfer(simple_request(), timeout=300))


def over_http(url, model):
    """The error of the same request over HTTP."""
    try:
        urllib.request.urlopen(f"http://{url}/v2/models/{urllib.parse.quote(model, '')}")
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]
    raise AssertionError("there is such a model")


def interop(channel, stub, url, function):
    """Cases of gRPC's interoperability tests that no other case here covers.
    tests/grpc/interop runs all of them with Go's library."""
    for metadata in ((), (("x-test-echo-initial", "a value"), ("x-twice", "1"), ("x-twice", "2"),
                          ("x-test-bin", b"\x0a\x0b\xab\x00"))):
        assert numbers(stub.ModelInfer(simple_request(), metadata=metadata))
    special = "\t\nspace\r\nBMP \u263a and non-BMP \U0001f608 100%\t\n"
    error = failure(stub.ModelMetadata, service_pb2.ModelMetadataRequest(name=special))
    assert error.code() == grpc.StatusCode.NOT_FOUND
    assert error.details() == over_http(url, special)
    assert "\u263a and non-BMP \U0001f608 100%" in error.details()
    error = failure(stub.ModelInfer, spinning(function), timeout=0.2)
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED, error
    for asked, timeout, code in (([], 0.2, "DEADLINE_EXCEEDED"), ([], None, "CANCELLED"),
                                 ([simple_request(id="a")], None, "CANCELLED")):
        left = queue.Queue()  # the stream is open until something is in it
        talk = stub.ModelStreamInfer(itertools.chain(asked, iter(left.get, None)),
                                     timeout=timeout)
        for each in asked:
            assert next(talk).infer_response.id == each.id
        if not timeout:
            talk.cancel()
        assert failure(list, talk).code() == CODES[code]
        left.put(None)
    assert numbers(stub.ModelInfer(simple_request(), timeout=300))


def token(channel, stub, url, secret, module):
    assert stub.ServerLive(service_pb2.ServerLiveRequest()).live
    for metadata, code in (((), "UNAUTHENTICATED"),
                           ((("authorization", "Bearer no"),), "UNAUTHENTICATED")):
        error = failure(stub.ModelInfer, simple_request(), metadata=metadata)
        assert error.code() == CODES[code], error
    sent = [("authorization", "Bearer " + secret)]
    if module == "simple":
        assert numbers(stub.ModelInfer(simple_request(), metadata=sent))
    else:
        error = failure(stub.ModelInfer, simple_request(), metadata=sent)
        assert error.code() == grpc.StatusCode.PERMISSION_DENIED
    error = failure(stub.ModelInfer, simple_request(model_name="nobody"), metadata=sent)
    assert error.code() == grpc.StatusCode.PERMISSION_DENIED
    assert "nobody" not in error.details()


def crash(channel, stub, url):
    inputs = [service_pb2.ModelInferRequest.InferInputTensor(
        name=name, datatype="INT32", shape=[], contents=service_pb2.InferTensorContents(
            int_contents=[value])) for name, value in (("0", 1), ("1", 0))]
    error = failure(stub.ModelInfer, service_pb2.ModelInferRequest(
        model_name="crash.divide", inputs=inputs))
    assert error.code() == grpc.StatusCode.INTERNAL, error
    assert read_status(dict(error.trailing_metadata())["grpc-status-details-bin"])[
        "reason"] == "worker_crashed"


def by_id(answers):
    found = {each.infer_response.id: each for each in answers}
    assert len(found) == len(answers)
    return found


def stream(channel, stub, url):
    """Answers are matched by id, and each comes once. An error is an answer, too, and
    does not end the stream."""
    assert not list(stub.ModelStreamInfer(iter(())))
    raws = {str(each): [numpy.full(16, each, "<i4").tobytes()] * 2 for each in range(300)}
    wrong = {
        "no model": (simple_request(id="no model", model_name="nobody"), "unknown model"),
        "none": (simple_request(id="none", model_name=""), "unknown model: ''"),
        "no raw": (simple_request(id="no raw", raw_input_contents=[]), "64 bytes"),
        "x" * 64: (simple_request(id="x" * 64, model_version="7"), "has no version '7'"),
    }
    requests = [simple_request(id=name, raw_input_contents=raw) for name, raw in raws.items()]
    for place, (request, _) in enumerate(wrong.values()):
        requests.insert(50 * place, request)
    for compression in (None, grpc.Compression.Gzip):
        call = stub.ModelStreamInfer(iter(requests), compression=compression)
        answers = list(call)
        assert (call.code(), len(answers)) == (grpc.StatusCode.OK, len(requests))
        good = [each for each in answers if not each.error_message]
        found = by_id(good)
        assert set(found) == set(raws)
        for name, each in found.items():
            assert numbers(each.infer_response) == [2 * int(name)] * 16
            assert each.infer_response.parameters["triton_final_response"].bool_param is True
        errors = by_id([each for each in answers if each.error_message])
        assert set(errors) == set(wrong)
        for name, each in errors.items():
            assert wrong[name][1] in each.error_message, each
    # A malformed message gets its own error.
    raw = channel.stream_stream(SERVICE + "ModelStreamInfer", request_serializer=bytes,
                                response_deserializer=bytes)
    good = simple_request(id="a").SerializeToString()
    answers = [service_pb2.ModelStreamInferResponse.FromString(each)
               for each in raw(iter((b"", b"\x0b", good[:-1], good)))]
    assert sorted(bool(each.error_message) for each in answers) == [False] + [True] * 3


def stream_by_turns(channel, stub, url):
    """Each answer comes before the next request is made."""
    sent = queue.Queue()
    answers = stub.ModelStreamInfer(iter(sent.get, None))
    for number in range(2000):  # with a frame or two that confirm each
        sent.put(simple_request(id=str(number)))
        assert next(answers).infer_response.id == str(number)
    sent.put(None)
    assert not list(answers)


def stream_large(channel, stub, url, count):
    """In either direction, more bytes are on the way than the windows have room for."""
    requests = []
    for number in range(12):
        values = numpy.full(int(count), number, "<f4")
        requests.append(service_pb2.ModelInferRequest(
            model_name="tensor.identity", id=str(number),
            raw_input_contents=[values.tobytes()],
            inputs=[service_pb2.ModelInferRequest.InferInputTensor(
                name="x", datatype="FP32", shape=values.shape)]))
    found = by_id(list(stub.ModelStreamInfer(iter(requests))))
    for request in requests:
        assert (found[request.id].infer_response.raw_output_contents[0] ==
                request.raw_input_contents[0])


def stream_beside(channel, stub, url, function):
    """A call that does not end does not delay others, and is cancelled with its stream."""
    spin = spinning(function, id="spin")
    for _ in range(3):
        sent = queue.Queue()
        answers = stub.ModelStreamInfer(iter(sent.get, None))
        sent.put(spin)
        for number in range(20):
            sent.put(simple_request(id=str(number)))
            assert next(answers).infer_response.id == str(number)
        answers.cancel()
        sent.put(None)
        assert answers.code() == grpc.StatusCode.CANCELLED
    assert numbers(stub.ModelInfer(simple_request(), timeout=300))


def stream_triton(channel, stub, url):
    """tritonclient's own stream, and its errors."""
    found = queue.Queue()
    client = triton.InferenceServerClient(url)
    client.start_stream(lambda result, error: found.put((result, error)))
    given = [triton.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for each in given:
        each.set_data_from_numpy(numpy.arange(16, dtype="<i4").reshape(1, 16))
    for number in range(100):
        client.async_stream_infer("simple", given, request_id=str(number))
    client.async_stream_infer("nobody", given)
    client.async_stream_infer("simple", given, request_id="last",
                              enable_empty_final_response=True)
    results = [found.get(timeout=300) for _ in range(102)]
    client.stop_stream()
    (error,) = [error for _, error in results if error]
    assert "unknown model: 'nobody'" in error.message()
    names = {result.get_response().id for result, _ in results if result}
    assert names == {str(number) for number in range(100)} | {"last"}
    for result, _ in results:
        assert not result or result.as_numpy("OUTPUT0").tolist() == [list(range(0, 32, 2))]


def sequences(channel, stub, url, name):
    """Triton's examples simple_grpc_sequence_sync_infer_client and _stream_, with their
    numbers."""
    client = triton.InferenceServerClient(url)
    values = [11, 7, 5, 3, 2, 0, 1]
    sent = {1000: [0, *values], 1001: [100, *(-each for each in values)],
            name: [20, *(-each for each in values)]}
    assert client.get_model_config("simple_sequence", as_json=True)["config"][
        "sequence_batching"] == {}

    def given(value):
        one = triton.InferInput("INPUT", [1, 1], "INT32")
        one.set_data_from_numpy(numpy.full([1, 1], value, numpy.int32))
        return [one]

    for step in range(8):
        for sequence, each in sent.items():
            answer = client.infer(
                "simple_sequence", given(each[step]), sequence_id=sequence,
                sequence_start=step == 0, sequence_end=step == 7)
            assert answer.as_numpy("OUTPUT")[0][0] == each[step] + (step == 0)
    try:
        client.infer("simple_sequence", given(1), sequence_id=1000)
        raise AssertionError("a sequence that has ended goes on")
    except InferenceServerException as error:
        assert "must specify the START flag" in error.message(), error
    found = queue.Queue()
    client.start_stream(lambda result, error: found.put((result, error)))
    for step in range(8):
        for sequence, each in sent.items():
            client.async_stream_infer(
                "simple_sequence", given(each[step]), sequence_id=sequence,
                request_id=f"{sequence} {step}",
                sequence_start=step == 0, sequence_end=step == 7)
    for _ in range(24):
        result, error = found.get(timeout=300)
        assert not error, error
        sequence, step = result.get_response().id.rsplit(" ", 1)
        value = sent[int(sequence) if sequence.isdigit() else sequence][int(step)]
        assert result.as_numpy("OUTPUT")[0][0] == value + (step == "0")
    client.async_stream_infer("simple_sequence", given(1), sequence_id=1001)
    assert "must specify the START flag" in found.get(timeout=300)[1].message()
    client.stop_stream()


def sums(channel, stub, url):
    """A sequence has a sum, which /v2 shows, too. A call without a sequence has none."""
    parameter = service_pb2.InferParameter

    def add(value, **said):
        request = service_pb2.ModelInferRequest(
            model_name="sequence.add", raw_input_contents=[
                value.to_bytes(4, "little")],
            inputs=[service_pb2.ModelInferRequest.InferInputTensor(
                name="INPUT", datatype="INT32", shape=[1])])
        for each, one in said.items():
            request.parameters["sequence_" + each].CopyFrom(one)
        return numbers(stub.ModelInfer(request))[0]

    yes, no = parameter(bool_param=True), parameter(bool_param=False)
    ids = {1: parameter(int64_param=1), 2**64 - 1: parameter(uint64_param=2**64 - 1),
           "1": parameter(string_param="1"), "x" * 128: parameter(string_param="x" * 128)}
    http = triton_http.InferenceServerClient(url)
    one = triton_http.InferInput("INPUT", [1], "INT32")
    one.set_data_from_numpy(numpy.array([100], "<i4"))
    for name, each in ids.items():
        assert add(5, id=each, start=yes, end=no) == 5
        assert add(6, id=each) == 11
        answer = http.infer("sequence.add", [one], sequence_id=name)
        assert answer.as_numpy("OUTPUT").tolist() == [111]
        assert add(1, id=each, end=yes) == 112
        error = failure(add, 1, id=each)
        assert (error.code(), "the START flag" in error.details()) == (
            grpc.StatusCode.NOT_FOUND, True)
    for said in ({}, {"id": parameter(int64_param=0)}, {"id": parameter(string_param="")},
                 {"start": no, "end": no}):
        assert [add(7, **said) for _ in range(2)] == [7, 7]
    for said, code, says in (
            ({"start": yes}, "INVALID_ARGUMENT", "needs a 'sequence_id'"),
            ({"id": parameter(int64_param=0), "end": yes}, "INVALID_ARGUMENT",
             "needs a 'sequence_id'"),
            ({"id": parameter(string_param="x" * 129)}, "OUT_OF_RANGE", "at most 128 bytes")):
        error = failure(add, 1, **said)
        assert (error.code(), says in error.details()) == (CODES[code], True), error


def triton_failure(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except InferenceServerException as error:
        return error
    raise AssertionError("it did not fail")


def repository(channel, stub, url):
    """Lists, load and unload by tritonclient, and by KServe's messages."""
    client, http = triton.InferenceServerClient(url), triton_http.InferenceServerClient(url)

    def index():
        answer = client.get_model_repository_index()
        found = [{name: getattr(each, name) for name in ("name", "version", "state", "reason")}
                 for each in answer.models]
        wanted = [{"version": "", "reason": "", **each}
                  for each in http.get_model_repository_index()]
        assert found == wanted
        return {each["name"]: each["state"] for each in found}

    def ready():
        answer = stub.RepositoryIndex(service_pb2.RepositoryIndexRequest(ready=True))
        return {each.name for each in answer.models}

    assert set(index().values()) == {"READY"} and "simple" in ready()
    client.unload_model("simple")
    assert index()["simple"] == "UNAVAILABLE" and "simple" not in ready()
    assert not client.is_model_ready("simple")
    client.load_model("simple")
    assert client.is_model_ready("simple")
    client.unload_model("simple.add_sub", unload_dependents=True)
    assert not client.is_model_ready("simple")
    kserve = {each: raw_method(channel, SERVICE + "RepositoryModel" + each)
              for each in ("Load", "Unload")}
    name = bytes([1 << 3 | 2, 6]) + b"simple"
    assert kserve["Load"](name) == name + b"\x10\x01"
    assert client.is_model_ready("simple")
    assert kserve["Unload"](name, compression=grpc.Compression.Gzip) == name + b"\x10\x01"
    assert not client.is_model_ready("simple")
    client.load_model("simple")
    for wrong, says in ((lambda: client.load_model("nobody"), "nobody"),
                        (lambda: client.load_model(""), "1 to"),
                        (lambda: client.unload_model(""), "1 to"),
                        (lambda: client.unload_model("x" * 300), "1 to"),
                        (lambda: client.load_model("simple", config="{}"),
                         "no configuration"),
                        (lambda: client.load_model("simple", files={"file:1/a": b""},
                                                   config="{}"), "no configuration")):
        assert says in triton_failure(wrong).message()
    # The statistics of all models.
    found = {each.name: each for each in client.get_inference_statistics().model_stats}
    wanted = http.get_inference_statistics()["model_stats"]
    assert list(found) == [each["name"] for each in wanted]
    for each in wanted:
        assert found[each["name"]].inference_count == each["inference_count"]


def lists(channel, stub, url):
    client, http = triton.InferenceServerClient(url), triton_http.InferenceServerClient(url)
    found = [each.name for each in client.get_model_repository_index().models]
    assert found == [each["name"] for each in http.get_model_repository_index()]
    assert len(found) == 700
    wanted = http.get_inference_statistics()["model_stats"]
    assert [each.name for each in client.get_inference_statistics().model_stats] == [
        each["name"] for each in wanted]


def settings(channel, stub, url):
    client, http = triton.InferenceServerClient(url), triton_http.InferenceServerClient(url)
    traces = client.get_trace_settings("simple", as_json=True)["settings"]
    for name, value in http.get_trace_settings("simple").items():
        assert traces[name]["value"] == (value if isinstance(value, list) else [value])

    def log():
        found = client.get_log_settings(as_json=True)["settings"]
        found = {name: next(iter(value.values())) for name, value in found.items()}
        assert found == http.get_log_settings()
        return found

    assert log()["log_info"] is True
    client.update_log_settings({"log_info": False, "log_verbose_level": 0,
                                "log_format": "default"})
    assert log()["log_info"] is False
    client.update_log_settings({"log_info": True})
    assert log()["log_info"] is True
    for wrong, says in (({"log_file": "/x"}, "'log_file' is not changed"),
                        ({"log_verbose_level": 1}, "'log_verbose_level' is not changed"),
                        ({"log_info": False, "b\"\u00e4": True}, "no setting")):
        assert says in triton_failure(client.update_log_settings, wrong).message(), wrong
        assert log()["log_info"] is True
    change = service_pb2.LogSettingsRequest()
    change.settings["log_error"].string_param = "no"
    assert "true or false" in failure(stub.LogSettings, change).details()


def no_admin(channel, stub, url):
    """Requests that change the server are refused; those that only read are not."""
    client = triton.InferenceServerClient(url)
    assert client.get_log_settings().settings["log_info"].bool_param
    for wrong in (lambda: client.load_model("simple"), lambda: client.unload_model("simple"),
                  lambda: client.update_log_settings({"log_info": False})):
        assert "PERMISSION_DENIED" in triton_failure(wrong).status()
    assert client.is_model_ready("simple")
    assert client.get_log_settings().settings["log_info"].bool_param


def admin_token(channel, stub, url, admin, other, reader):
    """A token's scopes and modules are also checked for acts whose message names the
    model."""
    load, ask = service_pb2.RepositoryModelLoadRequest, service_pb2.LogSettingsRequest
    change = ask()
    change.settings["log_info"].bool_param = True

    def bearer(name):
        return [("authorization", "Bearer " + name)]

    for name, request, code in ((reader, load(model_name="simple"), "PERMISSION_DENIED"),
                                (other, load(model_name="simple"), "PERMISSION_DENIED"),
                                (other, load(model_name="nobody"), "PERMISSION_DENIED"),
                                ("no", load(model_name="simple"), "UNAUTHENTICATED")):
        error = failure(stub.RepositoryModelLoad, request, metadata=bearer(name))
        assert error.code() == CODES[code], error
    stub.RepositoryModelLoad(load(model_name="simple"), metadata=bearer(admin))
    stub.LogSettings(ask(), metadata=bearer(reader))
    for name in (reader, other):
        error = failure(stub.LogSettings, change, metadata=bearer(name))
        assert error.code() == grpc.StatusCode.PERMISSION_DENIED


SERVING, NOT_SERVING, UNKNOWN = (health_pb2.HealthCheckResponse.ServingStatus.Value(each)
                                 for each in ("SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"))


def watch(channel, stub, url, broken, process):
    """Watchers are told each change of what /readyz says, and the server's end."""
    ask = health_pb2_grpc.HealthStub(channel).Watch
    client = triton.InferenceServerClient(url)
    changes = [ask(health_pb2.HealthCheckRequest(service=each))
               for each in ("", "inference.GRPCInferenceService") * 20]
    unknown = ask(health_pb2.HealthCheckRequest(service="nobody's"))
    gone = ask(health_pb2.HealthCheckRequest())
    assert next(gone).status == SERVING
    gone.cancel()
    assert next(unknown).status == UNKNOWN
    assert {next(each).status for each in changes} == {SERVING}
    for _ in range(5):
        pathlib.Path(broken).write_bytes(b"\x7fELF")
        triton_failure(client.load_model, "broken")
        assert {next(each).status for each in changes} == {NOT_SERVING}
        pathlib.Path(broken).unlink()
        client.load_model("simple")
        client.unload_model("broken")
        assert {next(each).status for each in changes} == {SERVING}
    os.kill(int(process), signal.SIGTERM)
    for each in changes:
        assert next(each).status == NOT_SERVING
    for each in [*changes, unknown]:
        error = failure(next, each)
        assert (error.code(), error.details()) == (
            grpc.StatusCode.UNAVAILABLE, "the server is shutting down")


def stream_drain(channel, stub, url, process):
    """A stream without requests is ended with the server, which says why."""
    sent = queue.Queue()
    answers = stub.ModelStreamInfer(iter(sent.get, None))
    sent.put(simple_request(id="a"))
    assert next(answers).infer_response.id == "a"
    os.kill(int(process), signal.SIGTERM)
    error = failure(next, answers)
    assert (error.code(), error.details()) == (
        grpc.StatusCode.UNAVAILABLE, "the server is shutting down")
    sent.put(None)


def demand(channel, stub, url, *models):
    """Whichever request comes first loads the module."""
    tritons = triton.InferenceServerClient(url)
    asks = (lambda name: stub.ModelInfer(simple_request(model_name=name)).model_name,
            lambda name: next(stub.ModelStreamInfer(iter([simple_request(
                model_name=name)]))).infer_response.model_name,
            lambda name: tritons.get_model_metadata(name).name,
            lambda name: tritons.get_model_config(name).config.name,
            lambda name: tritons.get_inference_statistics(name).model_stats[0].name)
    assert len(models) == len(asks)
    for name, ask in zip(models, asks):
        assert ask(name) == name
    # The first call and those after it, for both models on one stream.
    answers = list(stub.ModelStreamInfer(iter(
        [simple_request(id=str(each), model_name=models[each % len(models)])
         for each in range(50)])))
    assert not any(each.error_message for each in answers) and len(by_id(answers)) == 50


def spinning(function, **more):
    return service_pb2.ModelInferRequest(model_name=function, inputs=[
        service_pb2.ModelInferRequest.InferInputTensor(
            name="0", datatype="INT64", shape=[],
            contents=service_pb2.InferTensorContents(int64_contents=[1 << 40]))], **more)


def share(channel, stub, url, function):
    """If a client makes more calls than it may, they are answered "try again", also on
    a stream."""
    calls = [stub.ModelInfer.future(spinning(function)) for _ in range(2)]
    done = queue.Queue()
    for each in calls:
        each.add_done_callback(done.put)
    refused = done.get(timeout=60)
    assert refused.code() == grpc.StatusCode.UNAVAILABLE
    assert "of this client wait or run" in refused.details()
    (answer,) = stub.ModelStreamInfer(iter([spinning(function, id="a")]))
    assert answer.infer_response.id == "a"
    assert "of this client wait or run" in answer.error_message
    for each in calls:
        each.cancel()


def stop(channel, stub, url, function, process):
    """Calls that a server can no longer complete are answered so that clients go
    elsewhere."""
    calls = [stub.ModelInfer.future(spinning(function)) for _ in range(4)]
    streams = [stub.ModelStreamInfer(iter([spinning(function)])) for _ in range(4)]
    assert stub.ServerReady(service_pb2.ServerReadyRequest()).ready
    os.kill(int(process), signal.SIGTERM)
    for each in calls:
        assert each.exception().code() == grpc.StatusCode.UNAVAILABLE
    for each in streams:
        assert failure(next, each).code() == grpc.StatusCode.UNAVAILABLE


def stream_token(channel, stub, url, secret, module):
    for metadata in ((), (("authorization", "Bearer no"),)):
        call = stub.ModelStreamInfer(iter([simple_request()]), metadata=metadata)
        error = failure(list, call)
        assert error.code() == grpc.StatusCode.UNAUTHENTICATED, error
    (answer,) = stub.ModelStreamInfer(
        iter([simple_request(id="a")]), metadata=[("authorization", "Bearer " + secret)])
    assert answer.infer_response.id == "a"
    assert ("is for modules" in answer.error_message) == (module != "simple"), answer


def main(url, *words):
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    authority, _, url = url.rpartition("@")
    if authority:
        trusts = grpc.ssl_channel_credentials(pathlib.Path(authority).read_bytes())
    with (grpc.secure_channel(url, trusts, options=options) if authority
          else grpc.insecure_channel(url, options=options)) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        groups = " ".join(words).split(" , ")
        for case, *more in map(str.split, groups):
            globals()[case](channel, stub, url, *more)
            print("done", case)


if __name__ == "__main__":
    main(*sys.argv[1:])
