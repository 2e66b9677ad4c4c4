# SPDX-License-Identifier: Apache-2.0
"""KServe's client: kserve_client.py http://HOST:PORT MODEL."""
import asyncio
import sys

import numpy
from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig

url, model = sys.argv[1:]


async def main():
    client = InferenceRESTClient(RESTConfig(protocol="v2"))
    assert await client.is_server_live(url)
    assert await client.is_server_ready(url)
    assert await client.is_model_ready(url, model)
    for binary in (True, False):
        inputs = []
        for name in ("INPUT0", "INPUT1"):
            each = InferInput(name, [1, 16], "INT32")
            each.set_data_from_numpy(
                numpy.arange(16, dtype=numpy.int32).reshape(1, 16), binary_data=binary)
            inputs.append(each)
        answer = await client.infer(url, InferRequest(model, inputs), model_name=model)
        for each in answer.outputs:
            print(each.name, each.as_numpy().ravel()[:4])


asyncio.run(main())
