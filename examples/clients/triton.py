# SPDX-License-Identifier: Apache-2.0
"""tritonclient: triton.py HOST:PORT MODEL. Tensors are sent as bytes, tritonclient's
default, and once as JSON."""
import sys

import numpy
import tritonclient.http as triton

address, model = sys.argv[1:]
client = triton.InferenceServerClient(address)
assert client.is_server_live() and client.is_model_ready(model)

inputs, values = [], []
for each in client.get_model_metadata(model)["inputs"]:
    dtype = triton.triton_to_np_dtype(each["datatype"])
    values.append(numpy.arange(numpy.prod(each["shape"])).astype(dtype)
                  .reshape(each["shape"]))
    inputs.append(triton.InferInput(each["name"], each["shape"], each["datatype"]))

for binary in (True, False):
    for each, value in zip(inputs, values):
        each.set_data_from_numpy(value, binary_data=binary)
    answer = client.infer(model, inputs, request_id="1", outputs=None if binary else [
        triton.InferRequestedOutput(each["name"], binary_data=False)
        for each in client.get_model_metadata(model)["outputs"]])
    assert answer.get_response()["id"] == "1"
    for each in answer.get_response()["outputs"]:
        print(each["name"], answer.as_numpy(each["name"]).ravel()[:4])
