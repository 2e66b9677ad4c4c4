# SPDX-License-Identifier: Apache-2.0
"""Cases of test_grpc.py that use KServe's client, which has its own messages. Run like
grpc_calls.py."""
import asyncio
import sys

import grpc
import numpy
from kserve import InferenceGRPCClient, InferInput, InferRequest


async def calls(client):
    assert await client.is_server_live() and await client.is_server_ready()
    assert await client.is_model_ready("simple")
    assert not await client.is_model_ready("nobody")
    values = numpy.arange(16, dtype="<i4").reshape(1, 16)
    for raw in (False, True):
        inputs = [InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
        for each in inputs:
            each.set_data_from_numpy(values, binary_data=raw)
        answer = await client.infer(InferRequest(
            model_name="simple", infer_inputs=inputs, request_id="a"))
        assert (answer.model_name, answer.id) == ("simple", "a")
        assert [each.as_numpy().tolist() for each in answer.outputs] == [
            (2 * values).tolist(), (0 * values).tolist()]
    try:
        await client.infer(InferRequest(model_name="nobody", infer_inputs=inputs))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.NOT_FOUND
    else:
        raise AssertionError("there is no such model")


async def main(url, case):
    client = InferenceGRPCClient(url)
    await globals()[case](client)
    await client.close()
    print("done", case)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
