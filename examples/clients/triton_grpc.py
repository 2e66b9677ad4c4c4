# SPDX-License-Identifier: Apache-2.0
"""tritonclient over gRPC: triton_grpc.py HOST:PORT MODEL. Calls it once by itself and once
in a stream, and once with a wrong shape, to show what an error says."""
import queue
import sys

import numpy
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException, triton_to_np_dtype

address, model = sys.argv[1:]
client = triton.InferenceServerClient(address)
assert client.is_server_ready() and client.is_model_ready(model)
metadata = client.get_model_metadata(model)


def inputs(wanted=list):
    made = []
    for each in metadata.inputs:
        shape = wanted(each.shape)
        made.append(triton.InferInput(each.name, shape, each.datatype))
        made[-1].set_data_from_numpy(numpy.arange(numpy.prod(shape)).astype(
            triton_to_np_dtype(each.datatype)).reshape(shape))
    return made


def show(answer):
    for each in metadata.outputs:
        print(each.name, answer.as_numpy(each.name).ravel()[:4])


show(client.infer(model, inputs()))

answers = queue.Queue()
client.start_stream(callback=lambda result, error: answers.put(error or result))
client.async_stream_infer(model, inputs())
show(answers.get(timeout=60))
client.stop_stream()

try:
    client.infer(model, inputs(wanted=lambda shape: [*shape[:-1], 3]))
except InferenceServerException as error:
    print(error)
