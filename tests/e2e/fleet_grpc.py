# SPDX-License-Identifier: Apache-2.0
"""Loads gRPC and HTTP/1.1 at the same time with clients that are not ours, for
test_balancers_peer.py: fleet_grpc.py GRPC HTTP, each HOST:PORT. For each line of
standard input it prints "good" once every thread has 50 more good answers. At the
end it prints the counts and the calls that failed. A call that is told to come again
is repeated."""
import collections
import http.client
import json
import sys
import threading
import time

import grpc
import numpy
from tritonclient.grpc import service_pb2, service_pb2_grpc

FAILED, COUNTS, OVER = [], collections.Counter(), threading.Event()
DONE = []  # good answers, by thread


def infer(stub):
    # The names of its inputs come from metadata, which the first call requests.
    about = stub.ModelMetadata(service_pb2.ModelMetadataRequest(name="matmul"))
    values = [numpy.array(value, "<f4") for value in ([[2]], [[3]])]
    request = service_pb2.ModelInferRequest(
        model_name="matmul", raw_input_contents=[each.tobytes() for each in values],
        inputs=[service_pb2.ModelInferRequest.InferInputTensor(
            name=each.name, datatype="FP32", shape=value.shape)
            for each, value in zip(about.inputs, values)])

    def call():
        raw = stub.ModelInfer(request, timeout=60).raw_output_contents[0]
        assert numpy.frombuffer(raw, "<f4").tolist() == [6]
    return call


def known(stub):
    def call():
        asked = service_pb2.ServerMetadataRequest()
        assert stub.ServerMetadata(asked, timeout=60).name == "farcalld"
    return call


def native(address):
    def call():
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", "/api/v1/functions/matmul/matmul", "[[[2]],[[3]]]",
                           {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status == 503 and answer.getheader("Retry-After"):
            raise Again(body)
        assert (answer.status, json.loads(body)) == (200, {"results": [[[6]]]}), body
    return call


class Again(Exception):
    """The answer was "not ready"."""


def is_again(error):
    return isinstance(error, Again) or isinstance(error, grpc.RpcError) and dict(
        error.trailing_metadata() or ()).get("farcall-error-code") == "not_ready"


def work(number, kind, call):
    while not OVER.is_set():
        try:
            call()
            COUNTS[kind] += 1
            DONE[number] += 1
        except (Again, grpc.RpcError) as error:
            if is_again(error):
                COUNTS["again"] += 1
            else:
                FAILED.append(f"{kind}: {error}"[:400])
        except Exception as error:  # whatever it is, it is told
            FAILED.append(f"{kind}: {error}"[:400])
        time.sleep(0.005)


def main(address, http1):
    channel = grpc.insecure_channel(address)
    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
    kinds = 4 * [("grpc", infer(stub))] + 2 * [("http1", native(http1))] + [
        ("known", known(stub))]
    DONE.extend(0 for _ in kinds)
    threads = [threading.Thread(target=work, args=(number, *each))
               for number, each in enumerate(kinds)]
    for each in threads:
        each.start()
    for _ in sys.stdin:
        wanted = [each + 50 for each in DONE]
        while any(have < want for have, want in zip(DONE, wanted)) and len(FAILED) < 100:
            time.sleep(0.05)
        print("good", flush=True)
    OVER.set()
    for each in threads:
        each.join()
    print(json.dumps({"failed": FAILED[:20], "calls": COUNTS}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
