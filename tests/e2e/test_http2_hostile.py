# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 clients that do harm. Each is counted, is told the right error code, and
affects nobody else. Each row is one attack; after it, a request of another
connection works."""
import dataclasses
import re
import time
import typing

import pytest

from conftest import Server, end_servers
from frames import (CALM, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, FLOW_CONTROL,
                    FRAME_SIZE, GOAWAY, HEADERS, PING, PREFACE, PRIORITY, PROTOCOL_ERROR,
                    REFUSED, RST_STREAM, SETTINGS, STREAM_CLOSED, WINDOW_UPDATE, Closed,
                    Connection, fields, frame, literal, setting, uint)

MANY = 3000
CALL = "/api/v1/functions/tensor/identity"
GONE, RESET = GOAWAY, RST_STREAM


@dataclasses.dataclass
class Row:
    name: str
    act: typing.Callable  # what the client does, on a connection
    told: typing.Any      # (GONE or RESET, code), a status, or None: closed
    cause: str = ""       # of farcall_http2_refused_total, which grows
    settings: bytes = b""
    greet: bool = True


def flood(each, before=b""):
    return lambda c: c.send(before + b"".join(each(i) for i in range(MANY)))


def opened(**more):
    return frame(HEADERS, END_HEADERS, 1, fields("POST", CALL, *more.items()))


def resets(i):
    stream = 2 * i + 1
    return frame(HEADERS, END_HEADERS, stream, fields("POST", CALL)) + \
        frame(RST_STREAM, 0, stream, uint(CANCEL))


def made_to_reset(i):
    stream = 2 * i + 1
    return frame(HEADERS, END_HEADERS, stream, fields("POST", CALL)) + \
        frame(WINDOW_UPDATE, 0, stream, uint(2**31 - 1))


# One table entry of 4,000 bytes. Each further byte refers to it once.
BOMB = literal("x-bomb", "b" * 4000, indexed=True) + b"\xbe" * 12000


# With 4,000 bytes in the table, each byte of a head refers to them.
REFERENCES = b"\xbe" * 16384


def refused(i):
    """A request beyond the agreed number: nobody reads its head, but it is decoded."""
    stream = 2 * i + 1
    if i < 100:
        return frame(HEADERS, END_HEADERS, stream, fields("POST", CALL))
    return b"" if i > 300 else b"".join((
        frame(HEADERS, 0, stream, BOMB[:16384]), frame(CONTINUATION, 0, stream, REFERENCES),
        frame(CONTINUATION, END_HEADERS, stream, REFERENCES)))


def heads_431(i):
    """A head of 18 KB, with which 128 KiB of fields are meant: "age" without a value."""
    head = fields("HEAD") + b"\x95" * 18000
    return b"" if i > 900 else b"".join((
        frame(HEADERS, END_STREAM, 2 * i + 1, head[:16384]),
        frame(CONTINUATION, END_HEADERS, 2 * i + 1, head[16384:])))


def bomb(connection):
    head = fields() + BOMB
    connection.send(frame(HEADERS, END_STREAM, 1, head[:16384]) +
                    frame(CONTINUATION, END_HEADERS, 1, head[16384:]))


def asks(*more, path="/livez"):
    def act(connection):
        head = fields("GET", path, *more)
        connection.send(frame(HEADERS, END_STREAM, 1, head[:16000]))
        rest = [head[i:i + 16000] for i in range(16000, len(head), 16000)] or [b""]
        for each in rest:
            connection.send(frame(CONTINUATION, END_HEADERS if each is rest[-1] else 0, 1,
                                  each))
    return act


def crowd(acknowledged):
    def act(connection):
        if acknowledged:
            connection.until(SETTINGS)
            connection.send(frame(SETTINGS, 1))
        for i in range(101):
            connection.ask(2 * i + 1, "POST", CALL, ends=False)
    return act


def sends(data):
    return lambda c: c.send(data)


ROWS = [
    Row("rapid reset", flood(resets), (GONE, CALM), "frames"),
    Row("resets that the server is made to send", flood(made_to_reset), (GONE, CALM),
        "frames"),
    Row("settings", flood(lambda i: frame(SETTINGS)), (GONE, CALM), "frames"),
    Row("pings", flood(lambda i: frame(PING, payload=bytes(8))), (GONE, CALM), "frames"),
    Row("priorities", flood(lambda i: frame(PRIORITY, 0, 1, bytes(4) + b"\x10")),
        (GONE, CALM), "frames"),
    Row("windows opened by one", flood(lambda i: frame(WINDOW_UPDATE, 0, 0, uint(1))),
        (GONE, CALM), "frames"),
    Row("empty data", flood(lambda i: frame(DATA, 0, 1), opened()), (GONE, CALM), "frames"),
    Row("nothing but padding", flood(lambda i: frame(DATA, 8, 1, b"\x03" + bytes(3)),
                                     opened()), (GONE, CALM), "frames"),
    Row("heads that are too large", flood(heads_431), (GONE, CALM), "frames"),
    Row("frames that nobody knows", flood(lambda i: frame(66, 0, 1, bytes(4096))),
        (GONE, CALM), "frames"),
    Row("a bomb of trailers", lambda c: c.send(opened() + frame(
        HEADERS, END_STREAM | END_HEADERS, 1, b"\x95" * 5000)), (GONE, CALM), "head"),
    Row("a head without end", flood(
        lambda i: frame(CONTINUATION, 0, 1, literal("x", "y")),
        frame(HEADERS, END_STREAM, 1, fields())), (GONE, CALM), "head"),
    Row("empty continuations", flood(lambda i: frame(CONTINUATION, 0, 1),
                                     frame(HEADERS, END_STREAM, 1, fields())),
        (GONE, CALM), "head"),
    Row("a bomb of fields", bomb, (GONE, CALM), "head"),
    Row("a large head", asks(*[(f"x-{i}", "y" * 1000) for i in range(33)]), 431),
    Row("many fields", asks(*[(f"x-{i}", "y") for i in range(101)]), 431),
    Row("a long target", asks(path="/" + "x" * 9000), 414),
    Row("a target with a host of its own", sends(frame(
        HEADERS, END_HEADERS | END_STREAM, 1, fields(path="http://evil/livez").replace(
            literal(":scheme", "http"), literal(":scheme", "ftp")) +
        literal("host", "evil"))), 400),
    Row("more requests than allowed", crowd(False), (RESET, REFUSED), "streams"),
    Row("more requests than agreed", crowd(True), (GONE, PROTOCOL_ERROR), "protocol"),
    Row("a window beyond 2^31", sends(frame(WINDOW_UPDATE, 0, 0, uint(2**31 - 1))),
        (GONE, FLOW_CONTROL), "protocol"),
    Row("a stream's window beyond 2^31",
        sends(opened() + frame(WINDOW_UPDATE, 0, 1, uint(2**31 - 1))),
        (RESET, FLOW_CONTROL), "protocol"),
    Row("data behind the end", sends(
        frame(HEADERS, END_HEADERS | END_STREAM, 1, fields("POST", CALL)) +
        frame(DATA, 0, 1, b"more")), (GONE, STREAM_CLOSED), "protocol"),
    Row("a frame too large", sends(frame(DATA, 0, 1, bytes(16385))), (GONE, FRAME_SIZE),
        "protocol"),
    Row("HTTP/1 behind the preface", sends(b"GET /livez HTTP/1.1\r\nHost: a\r\n\r\n"),
        (GONE, FRAME_SIZE), "protocol"),
    Row("a stream that was passed over", sends(
        frame(HEADERS, END_HEADERS | END_STREAM, 5, fields()) +
        frame(HEADERS, END_HEADERS | END_STREAM, 3, fields())), (GONE, PROTOCOL_ERROR),
        "protocol"),
    Row("a body that is longer than said", sends(
        opened(**{"content-length": "3"}) + frame(DATA, END_STREAM, 1, b"four")),
        (RESET, PROTOCOL_ERROR), "protocol"),
    Row("a slow preface", sends(PREFACE[:9]), None, greet=False),
    Row("a preface alone", sends(PREFACE), (GONE, CALM), "slow", greet=False),
    Row("half a head", sends(frame(HEADERS, END_STREAM, 1, fields())), (GONE, CALM), "slow"),
    Row("half a head behind a whole one", sends(
        frame(HEADERS, END_HEADERS | END_STREAM, 1, fields()) +
        frame(HEADERS, END_STREAM, 3, fields())), (GONE, CALM), "slow"),
    Row("a body that does not come", sends(opened(**{"content-length": "9"})), 408, "slow"),
    Row("an answer that is not taken",
        sends(frame(HEADERS, END_HEADERS | END_STREAM, 1, fields(path="/"))),
        (RESET, CANCEL), "stalled", settings=setting(4, 0)),
]


@pytest.fixture(scope="module")
def hasty(corpus):
    """A server with short time-outs, for clients that exceed them."""
    running = Server("--head-timeout=300ms", "--body-timeout=300ms",
                     "--write-timeout=400ms", corpus)
    yield running
    end_servers([running])


def count(server, cause):
    text = server.get("/metrics").body.decode()
    return int(re.search(rf'http2_refused_total{{cause="{cause}"}} (\d+)', text)[1])


def told(connection, row):
    if not isinstance(row.told, int):
        return connection.error()
    try:
        return connection.answer()[0]
    except Closed:
        return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_hostile_client_is_told_and_felt_by_nobody(server, hasty, row):
    in_time = row.cause in ("slow", "stalled") or row.told is None
    strict = hasty if in_time else server
    before = count(strict, row.cause) if row.cause else 0
    with Connection(strict) as other:
        with Connection(strict, row.settings, row.greet) as connection:
            row.act(connection)
            assert told(connection, row) == row.told
        other.ask()
        assert other.answer() == (200, b'{"status":"live"}')
    assert strict.get("/livez").status == 200
    assert not row.cause or count(strict, row.cause) > before


def test_a_bomb_in_a_request_that_is_refused(serve, corpus):
    running = serve("--client-connections=3", corpus)
    with Connection(running) as other, Connection(running) as connection:
        other.ask()
        assert other.answer()[0] == 200
        connection.ask(1, "POST", CALL, ends=False)
        connection.ask(3, "POST", CALL, ends=False)
        connection.send(frame(HEADERS, END_STREAM | END_HEADERS, 5,
                              (fields() + BOMB)[:16384]))
        assert connection.until(GOAWAY)[3][4:8] == uint(CALM)
        other.ask(3)
        assert other.answer(3)[0] == 200


def test_heads_that_nobody_reads(server):
    before = count(server, "frames")
    with Connection(server) as other, Connection(server) as connection:
        flood(refused)(connection)
        assert connection.until(GOAWAY)[3][4:8] == uint(CALM)
        other.ask()
        assert other.answer()[0] == 200
    assert count(server, "frames") > before


def test_each_head_has_the_whole_time(serve, corpus):
    """Each read ends within a head, for longer than a head may take."""
    running = serve("--head-timeout=4s", corpus)
    with Connection(running) as connection:
        def head(stream):
            return frame(HEADERS, END_HEADERS | END_STREAM, stream, fields())

        stream, begin = 1, time.monotonic()
        connection.send(frame(WINDOW_UPDATE, 0, 0, uint(1 << 30)) + head(1)[:20])
        while time.monotonic() < begin + 5:
            time.sleep(0.02)
            connection.send(head(stream)[20:] + head(stream + 2)[:20])
            assert connection.until(DATA, stream=stream)[3] == b'{"status":"live"}'
            stream += 2


def test_an_answer_to_head_has_no_body_though_the_head_is_refused(server):
    with Connection(server) as connection:
        connection.ask(1, "HEAD", "/" + "x" * 9000)
        assert connection.until(HEADERS, stream=1)[1] & END_STREAM
        connection.ask(3)
        assert connection.answer(3)[0] == 200
