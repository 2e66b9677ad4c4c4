# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 by clients that are not ours, and by hand what these do not show: one stream
does not delay another, and a drain serves requests that are on their way."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time

import pytest

from conftest import ROOT, Server
from frames import (ACK, CANCEL, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, NO_ERROR,
                    PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE, Closed, Connection,
                    Inflater, fields, frame, literal, setting, uint)
from fleet import until

SCALARS = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"
CALL = "/api/v1/functions/tensor/identity"
OIP = '{"id":"a","inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1.5,2]}]}'
LARGE = json.dumps({"args": [list(range(100000))]}).encode()


def curl(server, path, *words, body=None):
    done = subprocess.run(["curl", "-sS", "--max-time", "60", "-w", "\n%{http_version}",
                           *words, server.url + path], input=body, capture_output=True)
    assert done.returncode == 0, done.stderr
    body, _, version = done.stdout.rpartition(b"\n")
    return version.decode(), body


@pytest.mark.parametrize("words, body", [
    (("/livez",), None), (("/api/v1/modules",), None), (("/openapi.json",), None),
    ((CALL, "--json", '{"args":[[1.5,2]]}'), None),
    ((CALL, "-H", "Content-Type: application/json", "--data-binary", "@-"), LARGE),
    (("/v2/models/tensor.identity",), None), (("/v1/models/tensor.identity",), None),
    (("/v2/models/tensor.identity/infer", "--json", OIP), None),
    (("/v2/models/tensor.identity/infer", "--json", "{}"), None),
    (("/v1/models/tensor.identity:predict", "--json", '{"inputs":[1.5,2]}'), None),
    (("/nothing",), None), ((CALL, "-X", "DELETE"), None)],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else "")
def test_answers_are_those_of_http1(server, words, body):
    if not shutil.which("curl"):
        pytest.skip("SKIPPED: no curl")
    path, *more = words
    plain = curl(server, path, "--http1.1", *more, body=body)
    version, answer = curl(server, path, "--http2-prior-knowledge", *more, body=body)
    assert (plain[0], version) == ("1.1", "2")
    hide = re.compile(rb'"(uptime|instance|in_flight|request_id)[a-z_]*":[^,}]*')
    assert hide.sub(b"", answer) == hide.sub(b"", plain[1])


def test_a_session_ends_with_the_connection_not_the_stream(server):
    path = "/api/v1/modules/tensor/sessions"
    with Connection(server) as client:
        client.ask(1, "POST", path + "?ends_with_connection=true")
        session = json.loads(client.until(DATA, stream=1)[3])["session"]
        client.ask(3)  # a stream later it is there, for others too
        assert client.answer(3)[0] == 200
        assert server.get(f"{path}/{session}").json["ends_with_connection"] is True
    until(lambda: server.get(f"{path}/{session}").status == 404)


NODE = """
const http2 = require('http2')
const client = http2.connect(process.argv[1])
let left = 50
client.on('error', e => { console.error(e); process.exit(1) })
for (let i = 0; i < 50; i++) {
  const stream = client.request({':method': 'POST', ':path': process.argv[2],
                                 'content-type': 'application/json'})
  let body = ''
  stream.setEncoding('utf8')
  stream.on('data', piece => { body += piece })
  stream.on('end', () => {
    if (JSON.parse(body).results?.[0][0] !== i) throw new Error(body)
    if (--left === 0) client.close(() => console.log('good'))
  })
  stream.end(JSON.stringify({args: [[i]]}))
}
"""


def test_node_makes_fifty_calls_at_a_time(server):
    node = shutil.which("node")
    if not node:
        pytest.skip("SKIPPED: no node")
    done = subprocess.run([node, "-e", NODE, server.url, CALL], capture_output=True,
                          text=True, timeout=60)
    assert done.stdout == "good\n", done.stderr


def test_the_preface_may_come_in_pieces(server):
    with Connection(server, greet=False) as connection:
        for byte in PREFACE + frame(SETTINGS):
            connection.send(bytes([byte]))
        connection.ask()
        assert connection.answer() == (200, b'{"status":"live"}')


def told_about(server, *pieces):
    """What the server says before it ends the connection. It ends it without a reset."""
    with Connection(server, greet=False) as connection:
        for each in pieces:
            connection.socket.sendall(each)
        said = b""
        while got := connection.socket.recv(4096):
            said += got
    return said


@pytest.mark.parametrize("sent, answered", [
    (b"INVALID CONNECTION PREFACE\r\n\r\n", False), (b"\r\nBREW /livez x\r\n\r\n", False),
    (b"BREW /livez HTT\r\n", False), (b"BREW /livez HTTP/1.1\r\nHost: a\r\n\r\n", True),
    (b"BREW /livez\r\n", True), (b"PATCH /a b HTTP/1.1\r\n\r\n", True),
    (b"\r\nGET /a b HTTP/1.1\r\n\r\n", True), (b"GET /livez x\r\n\r\n", True),
    (b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", True)], ids=repr)
def test_a_wrong_preface_is_not_answered(server, sent, answered):
    """What looks like HTTP/1, by its method or its version, is told what is wrong."""
    for at in range(len(sent)):
        said = told_about(server, *filter(None, (sent[:at], sent[at:])))
        assert said.startswith(b"HTTP/1.1 400 ") if answered else said == b"", (at, said)
    before = refused(server)
    assert told_about(server, sent)[:4] == (b"HTTP" if answered else b"")
    assert refused(server) == before + (not answered)


def refused(server):
    text = server.get("/metrics").body.decode()
    return int(re.search(r'http2_refused_total{cause="protocol"} (\d+)', text)[1])


def test_a_request_behind_another_is_always_answered(server):
    good = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    said = told_about(server, good, b"INVALID CONNECTION PREFACE\r\n\r\n")
    assert said.count(b"HTTP/1.1 200 ") == said.count(b"HTTP/1.1 400 ") == 1


def test_a_slow_stream_holds_only_itself(server):
    """Two streams are stuck: the window of one is closed, the body of the other does
    not end. A third one is answered."""
    with Connection(server, setting(4, 10)) as connection:
        connection.ask(1, path="/")
        connection.send(frame(HEADERS, END_HEADERS, 3, fields("POST", CALL)) +
                        4 * frame(DATA, 0, 3, b"[" * 15000))
        kind, _, _, payload = connection.until(DATA, stream=1)
        assert len(payload) == 10
        connection.ask(5, path="/livez")
        connection.send(frame(WINDOW_UPDATE, 0, 5, uint(1000)))
        assert connection.answer(5) == (200, b'{"status":"live"}')
        connection.send(frame(WINDOW_UPDATE, 0, 1, uint(1 << 20)))
        while not connection.until(DATA, stream=1)[1] & END_STREAM:
            pass


def test_the_window_of_a_body_is_opened_as_it_is_kept(server):
    body = LARGE
    with Connection(server) as connection:
        connection.send(frame(HEADERS, END_HEADERS, 1, fields(
            "POST", CALL, ("content-type", "application/json"))))
        stream, whole = 65535, 65535
        while body:
            while min(stream, whole) < 1:
                _, _, number, payload = connection.until(WINDOW_UPDATE)
                step = int.from_bytes(payload, "big")
                stream, whole = stream + step * (number == 1), whole + step * (number == 0)
            size = min(stream, whole, 16384, len(body))
            connection.send(frame(DATA, END_STREAM if size == len(body) else 0, 1,
                                  body[:size]))
            stream, whole, body = stream - size, whole - size, body[size:]
        status, answer = connection.answer()
        assert status == 200
        assert json.loads(answer)["results"] == [list(range(100000))]


def test_a_short_body_opens_no_window(server):
    with Connection(server) as connection:
        connection.send(frame(HEADERS, END_HEADERS, 1, fields("POST", CALL)) +
                        frame(DATA, END_STREAM, 1, b"[[1.5]]"))
        kinds, flags = [], 0
        while not flags & END_STREAM:
            kind, flags, _, _ = connection.until(HEADERS, DATA, WINDOW_UPDATE, stream=1)
            kinds.append(kind)
    assert kinds == [HEADERS, DATA]


def test_trailers_of_a_request_are_read_over(server):
    """They end the body. What a field means in a head, it does not mean here."""
    with Connection(server) as connection:
        for stream, ends in (1, literal("x-sum", "1")), (3, literal("farcall-timeout-ms", "x")):
            connection.send(frame(HEADERS, END_HEADERS, stream, fields(
                "POST", CALL, ("content-type", "application/json"), ("te", "trailers"))) +
                frame(DATA, 0, stream, b"[[1.5]]") +
                frame(HEADERS, END_HEADERS | END_STREAM, stream, ends))
            status, body = connection.answer(stream)
            assert (status, json.loads(body)) == (200, {"results": [[1.5]]}), ends


GRPC = (("content-type", "application/grpc"), ("te", "trailers"))
NOBODY = b"\0\0\0\0\x0b\x0a\x06nobody\x1a\x01a"  # a message for a model that is not there


@pytest.mark.parametrize("path, more, body", [
    ("/nothing", (), b"x"), ("/inference.GRPCInferenceService/ModelInfer", GRPC, NOBODY),
    ("/inference.GRPCInferenceService/ModelTrain", GRPC, NOBODY)],
    ids=("page", "model", "method"))
def test_who_is_answered_early_need_not_send_the_rest(server, path, more, body):
    """RFC 9113, 8.1: the answer is whole. Who goes on sending for a second is read over,
    and then told by a reset without an error. The connection serves others."""
    streams, ended, told = range(1, 41, 2), set(), set()
    with Connection(server) as connection:
        for stream in streams:
            connection.send(frame(HEADERS, END_HEADERS, stream, fields("POST", path, *more)) +
                            frame(DATA, 0, stream, body))
        while len(told) < len(streams):
            kind, flags, stream, payload = connection.until(HEADERS, DATA, RST_STREAM)
            if kind == RST_STREAM:
                assert stream in ended and payload == uint(NO_ERROR)
                told.add(stream)
            elif flags & END_STREAM:
                ended.add(stream)
                connection.send(frame(DATA, 0, stream, bytes(1000)))
        connection.send(frame(HEADERS, END_HEADERS, 41, fields("POST", CALL)) +
                        frame(DATA, END_STREAM, 41, b"[[1.5]]"))
        assert connection.answer(41)[0] == 200


def test_what_each_answer_has_of_its_own_is_in_no_table(server):
    inflater = Inflater()
    with Connection(server) as connection:
        connection.send(frame(HEADERS, END_HEADERS, 1, fields(
            "POST", CALL, ("traceparent", f"00-{'1' * 32}-{'2' * 16}-01"))) +
            frame(DATA, END_STREAM, 1, b"[[1.5]]"))
        answer = connection.whole(1, inflater)
    assert answer[":status"] == "200"
    assert inflater.never_indexed == \
        {"x-request-id", "server-timing", "traceresponse"} & answer.keys()
    assert {"x-request-id", "server-timing"} <= inflater.never_indexed
    inflater.close()


def ask_for_loop(connection, stream, times):
    body = json.dumps({"args": [3, 4], "repeat": {"times": times, "feed": {"0": 1}}})
    connection.send(frame(HEADERS, END_HEADERS, stream, fields(
        "POST", "/api/v1/functions/scalars-3.13.0/hyp?iterate")) +
        frame(DATA, END_STREAM, stream, body.encode()))


def test_a_reset_ends_one_loop_and_the_end_of_what_is_sent_all(serve):
    """Each request has ended its stream, so nothing more is sent on it. A client that
    has closed its sending side can no longer open windows, either."""
    running = serve(SCALARS)

    def open_answers():
        text = running.get("/metrics").body.decode()
        return int(re.search(r"^farcall_answers_in_parts_open (\d+)$", text, re.M)[1])
    with Connection(running) as connection:
        connection.send(frame(WINDOW_UPDATE, 0, 0, uint(2**30)))
        ask_for_loop(connection, 1, 10_000_000)
        connection.until(DATA, stream=1)
        ask_for_loop(connection, 3, 20_000)
        until(lambda: open_answers() == 2)
        connection.send(frame(RST_STREAM, 0, 1, uint(CANCEL)))
        until(lambda: open_answers() == 1)
        status, body = connection.answer(3)
        assert (status, body.count(b"\n")) == (200, 20_001)
        assert body.endswith(b'\n{"done":"times","steps":20000}\n')
        for stream in 5, 7:
            ask_for_loop(connection, stream, 10_000_000)
            connection.until(DATA, stream=stream)
        connection.socket.shutdown(socket.SHUT_WR)
        until(lambda: open_answers() == 0)
        with pytest.raises(Closed):
            while True:
                connection.read()


def leaves(connection):
    """The server sends two GOAWAYs, between which a request is still served; then the
    end."""
    while not connection.goaways:
        kind, flags, _, payload = connection.read()
    kind, flags, _, payload = connection.until(PING)
    connection.ask(5)
    connection.send(frame(PING, ACK, 0, payload))
    assert connection.answer(5) == (200, b'{"status":"live"}')
    with pytest.raises(Closed):
        while True:
            connection.read()
    assert connection.goaways == [(2**31 - 1, NO_ERROR), (5, NO_ERROR)]


def test_a_drain_serves_what_is_on_its_way(corpus):
    running = Server(corpus)
    with Connection(running) as connection:
        connection.ask()
        assert connection.answer()[0] == 200
        os.kill(running.pid, signal.SIGTERM)
        leaves(connection)
    assert running.process.wait(60) == 0


def test_the_end_of_a_drain_answers_who_waits(modules):
    """One call runs for seconds; others wait for their turn."""
    running = Server("--workers=1", "--lane=never", "--drain=100ms", modules / "faults.so")
    with Connection(running) as connection:
        for stream in range(1, 13, 2):
            connection.send(frame(HEADERS, END_HEADERS, stream, fields(
                "POST", "/api/v1/functions/faults/spin",
                ("content-type", "application/json"))) +
                frame(DATA, END_STREAM, stream, b"[1000000000]"))
        connection.ask(13)
        assert connection.answer(13)[0] == 200
        os.kill(running.pid, signal.SIGTERM)
        assert connection.answer(11)[0] == 503
    assert running.process.wait(60) == 0


def test_who_reads_slowly_but_steadily_gets_all(serve, corpus):
    """Reading what the sockets hold takes longer than a client may pause."""
    running = serve("--write-timeout=4s", corpus)
    size = len(running.get("/openapi.json").body)
    with Connection(running, greet=False) as connection:
        connection.socket.close()
        connection.socket = socket.socket()
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 17)
        connection.socket.connect((running.host, running.port))
        connection.send(PREFACE + frame(SETTINGS, payload=setting(4, 2**31 - 1)) +
                        frame(WINDOW_UPDATE, 0, 0, uint(2**30)))
        last = 2 * (10_000_000 // size) + 1
        for stream in range(1, last + 1, 2):
            connection.ask(stream, path="/openapi.json")
        for _ in range(12):
            time.sleep(0.5)
            connection.left += connection.socket.recv(1 << 16)
        for _ in range(1, last + 1, 2):
            while not connection.until(DATA)[1] & END_STREAM:
                pass


def test_a_body_that_is_whole_before_its_head_is_admitted(serve, corpus):
    """Meanwhile the call, which has no Content-Length, waits for its module."""
    running = serve("--load=demand", corpus)
    with Connection(running) as connection:
        connection.send(frame(HEADERS, END_HEADERS, 1, fields("POST", CALL)) +
                        frame(DATA, END_STREAM, 1, b'{"args":[[7]]}'))
        status, body = connection.answer()
    assert (status, json.loads(body)) == (200, {"results": [[7.0]]})


def test_an_old_connection_is_told_to_leave(serve, corpus):
    running = serve("--connection-age=200ms", corpus)
    with Connection(running) as connection:
        leaves(connection)
    assert running.get("/livez").status == 200


def test_a_small_share_is_told_and_kept(serve, corpus):
    running = serve("--client-connections=2", corpus)
    with Connection(running) as connection:
        _, _, _, payload = connection.until(SETTINGS)
        assert setting(3, 2) in payload
        connection.ask()
        assert connection.answer()[0] == 200
