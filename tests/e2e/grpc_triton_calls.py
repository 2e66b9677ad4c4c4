# SPDX-License-Identifier: Apache-2.0
"""Cases of test_grpc.py that make the calls of the examples in tritonclient's sources
(simple_grpc_*), which no package contains. Run like grpc_calls.py. Left out is what
farcalld has not: shared memory, and models that answer a request several times."""
import asyncio
import queue
import sys
import uuid

import numpy
from tritonclient import grpc as sync
from tritonclient.grpc import aio
from tritonclient.utils import InferenceServerException

VALUES = numpy.arange(16, dtype=numpy.int32).reshape(1, 16), numpy.ones((1, 16), numpy.int32)
SEQUENCE = [11, 7, 5, 3, 2, 0, 1]


def inputs(module):
    made = [module.InferInput(name, [1, 16], "INT32") for name in ("INPUT0", "INPUT1")]
    for each, value in zip(made, VALUES):
        each.set_data_from_numpy(value)
    return made


def check(answer):
    assert (answer.as_numpy("OUTPUT0") == VALUES[0] + VALUES[1]).all()
    assert (answer.as_numpy("OUTPUT1") == VALUES[0] - VALUES[1]).all()


def forms(module):
    """Each form that a request may have."""
    named = [module.InferRequestedOutput(name) for name in ("OUTPUT0", "OUTPUT1")]
    for coding in (None, "gzip", "deflate"):
        for outputs in (named, None):
            yield {"inputs": inputs(module), "outputs": outputs, "client_timeout": 60,
                   "headers": {"test": "1"}, "compression_algorithm": coding,
                   "parameters": {"of_the_user": "x"}, "priority": 1, "timeout": 60_000_000}


def spinning(module):
    one = module.InferInput("0", [], "INT64")
    one.set_data_from_numpy(numpy.array(1 << 40, numpy.int64))
    return [one]


def status_of(error):
    assert isinstance(error, InferenceServerException), error
    return error.status().removeprefix("StatusCode.")


def refused(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except InferenceServerException as error:
        return error
    raise AssertionError("it was not refused")


def told_to(answers):
    """A callback, whose arguments tritonclient names."""
    return lambda result, error: answers.put((result, error))


def clients(url):
    """As the examples make them: simply, with pings, and with arguments of a channel."""
    yield sync.InferenceServerClient(url)
    yield sync.InferenceServerClient(url, keepalive_options=sync.KeepAliveOptions(
        keepalive_time_ms=100, keepalive_timeout_ms=60_000,
        keepalive_permit_without_calls=True, http2_max_pings_without_data=0))
    yield sync.InferenceServerClient(url, channel_args=[
        ("grpc.max_send_message_length", 1 << 20),
        ("grpc.max_receive_message_length", 1 << 20), ("grpc.keepalive_time_ms", 2**31 - 1),
        ("grpc.http2.max_pings_without_data", 2), ("grpc.dns_enable_srv_queries", 1)])


def examples(url):
    for client in clients(url):
        assert client.is_server_live(headers={"test": "1", "dummy": "2"})
        assert client.is_server_ready() and client.is_model_ready("simple")
        assert client.get_server_metadata().name == "farcalld"
        assert client.get_model_metadata("simple", headers={"test": "1"}).name == "simple"
        assert client.get_model_config("simple").config.name == "simple"
        error = refused(client.get_model_metadata, "wrong_model_name")
        assert "Request for unknown model" in error.message()
        for form in forms(sync):
            check(client.infer("simple", **form))
        (found,) = client.get_inference_statistics("simple").model_stats
        assert found.inference_count >= 6
        answers = queue.Queue()
        for form in 10 * list(forms(sync)):
            client.async_infer("simple", callback=told_to(answers), **form)
        for _ in range(60):
            result, error = answers.get(timeout=300)
            assert not error
            check(result)
        client.async_infer("simple", inputs(sync)[:1], told_to(answers))
        assert "input 'INPUT1': missing" in answers.get(timeout=300)[1].message()
        client.close()


def given_up(url):
    """Calls that would take an hour, by a client that does not wait for them."""
    client = sync.InferenceServerClient(url)
    error = refused(client.infer, "crash.spin", spinning(sync), client_timeout=0.2)
    assert status_of(error) == "DEADLINE_EXCEEDED"
    told = queue.Queue()
    client.async_infer("crash.spin", spinning(sync), told_to(told)).cancel()
    assert status_of(told.get(timeout=300)[1]) == "CANCELLED"
    client.start_stream(told_to(told))
    client.async_stream_infer("simple", inputs(sync))
    check(told.get(timeout=300)[0])
    client.async_stream_infer("crash.spin", spinning(sync))
    client.stop_stream(cancel_requests=True)
    assert status_of(told.get(timeout=300)[1]) == "CANCELLED"
    check(client.infer("simple", inputs(sync), client_timeout=300))


async def steps(sequence, first, sign):
    for count, value in enumerate([first, *(sign * each for each in SEQUENCE)]):
        one = aio.InferInput("INPUT", [1, 1], "INT32")
        one.set_data_from_numpy(numpy.full([1, 1], value, numpy.int32))
        yield {"model_name": "simple_sequence", "inputs": [one],
               "outputs": [aio.InferRequestedOutput("OUTPUT")],
               "request_id": f"{value + (count == 0)} {sequence}", "sequence_id": sequence,
               "sequence_start": count == 0, "sequence_end": count == len(SEQUENCE)}


async def stream_aio(client):
    """simple_grpc_aio_sequence_stream_infer_client: its model adds 1 to a sequence's first
    value. Then a stream in which one request is wrong."""
    sent = ((1000, 0, 1), (1001, 100, -1), (str(uuid.uuid4()), 20, -1))

    async def each_step():
        for sequence in sent:
            async for step in steps(*sequence):
                yield step
    count = 0
    async for result, error in client.stream_infer(each_step(), stream_timeout=300):
        assert not error, error
        wanted = int(result.get_response().id.split()[0])
        assert result.as_numpy("OUTPUT").tolist() == [[wanted]]
        count += 1
    assert count == 3 * (len(SEQUENCE) + 1)

    async def three():
        for name in ("simple", "nobody", "simple"):
            yield {"model_name": name, "inputs": inputs(aio)}
    told = [each async for each in client.stream_infer(three(), compression_algorithm="gzip")]
    assert sorted(bool(error) for _, error in told) == [False, False, True]
    for result, error in told:
        if error:
            assert "unknown model: 'nobody'" in error.message()
        else:
            check(result)


async def all_of_aio(url):
    async with aio.InferenceServerClient(url) as client:
        assert await client.is_server_live() and await client.is_server_ready()
        assert await client.is_model_ready("simple")
        assert (await client.get_server_metadata()).name == "farcalld"
        assert (await client.get_model_metadata("simple")).name == "simple"
        assert (await client.get_model_config("simple")).config.name == "simple"
        await client.unload_model("simple")
        assert not await client.is_model_ready("simple")
        await client.load_model("simple")
        index = await client.get_model_repository_index()
        assert "READY" in {each.state for each in index.models if each.name == "simple"}
        assert not (await client.get_system_shared_memory_status()).regions
        assert (await client.get_log_settings()).settings["log_info"].bool_param
        assert (await client.get_trace_settings()).settings["trace_level"].value == ["OFF"]
        for form in forms(aio):
            check(await client.infer("simple", **form))
        for answer in await asyncio.gather(*[client.infer("simple", inputs(aio))
                                             for _ in range(50)]):
            check(answer)
        assert len((await client.get_inference_statistics("simple")).model_stats) == 1
        for call, status in (
                (client.infer("wrong_model_name", inputs(aio)), "NOT_FOUND"),
                (client.load_model("wrong_model_name"), "NOT_FOUND"),
                (client.infer("crash.spin", spinning(aio), client_timeout=0.2),
                 "DEADLINE_EXCEEDED")):
            try:
                await call
            except InferenceServerException as error:
                assert status_of(error) == status, error
            else:
                raise AssertionError(f"it was not refused: {status}")
        late = asyncio.create_task(client.infer("crash.spin", spinning(aio)))
        assert not (await asyncio.wait([late], timeout=0.2))[0]
        late.cancel()
        assert (await asyncio.wait([late]))[0] and late.cancelled()
        await stream_aio(client)


def examples_aio(url):
    asyncio.run(all_of_aio(url))


def main(url, *words):
    for case in " ".join(words).split(" , "):
        globals()[case](url)
        print("done", case)


if __name__ == "__main__":
    main(*sys.argv[1:])
