# SPDX-License-Identifier: Apache-2.0
"""KServe's client with its first protocol: kserve_v1.py http://HOST:PORT MODEL."""
import asyncio
import sys

from kserve import InferenceRESTClient, RESTConfig

url, model = sys.argv[1:]


async def main():
    client = InferenceRESTClient(RESTConfig(protocol="v1"))
    assert await client.is_server_live(url)
    assert await client.is_model_ready(url, model)
    row = {"INPUT0": list(range(16)), "INPUT1": list(range(16))}
    answer = await client.infer(url, {"instances": [row]}, model_name=model)
    for name, values in answer["predictions"][0].items():
        print(name, *values[:4])


asyncio.run(main())
