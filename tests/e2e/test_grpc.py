# SPDX-License-Identifier: Apache-2.0
"""gRPC by clients that are not ours (their calls are in grpc_calls.py and
grpc_tf_calls.py), and heads that these clients do not send."""
import base64
import gzip
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import urllib.parse
import uuid

import pytest

import triton
from certificates import Authority
from conftest import BIN, ROOT, Server
from frames import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING,
                    WINDOW_UPDATE, Connection, Inflater, fields, frame, setting, uint)
from test_batches import BUSY, compile_rows
from test_hostile import until

MODULES = BIN.parent / "tests/modules/native"
SIMPLE = MODULES / "simple.so"
SERVED = [*(MODULES / each for each in ("scalars.so", "conventions.so", "simple.so")),
          ROOT / "tests/corpus/iree/storage/storage-vmvx.vmfb",
          ROOT / "tests/corpus/iree/roles/roles.vmfb"]
INFER = "/inference.GRPCInferenceService/ModelInfer"
WATCH = "/grpc.health.v1.Health/Watch"
STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"
GRPC = (("content-type", "application/grpc"), ("te", "trailers"))


@pytest.fixture
def calls(request):
    """Runs cases of grpc_calls.py, or of another file, against a server."""
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("FARCALL_CLIENTS is not set: scripts/test installs clients")

    def run(server, *cases, file="grpc_calls.py", trusts=""):
        done = subprocess.run(
            [pathlib.Path(folder) / "python", ROOT / "tests/e2e" / file,
             f"{trusts}{server.host}:{server.port}", *" , ".join(cases).split()],
            capture_output=True, text=True, timeout=300)
        wanted = "".join(f"done {each.split()[0]}\n" for each in cases)
        assert (done.returncode, done.stdout) == (0, wanted), done.stderr[-3000:]
    return run


def test_calls_documents_and_errors(calls, serve):
    server = serve(SIMPLE)
    calls(server, "server", "health", "metadata", "chosen", "errors", "wire", "many",
          "shared")
    calls(serve(SIMPLE), "statistics")


def test_statistics_of_batches(calls, process_server, tmp_path):
    compile_rows(tmp_path)
    calls(process_server(*BUSY, tmp_path), "batches m.f")


def test_reflection(calls, serve):
    rows = (ROOT / "server/dialect/route.def").read_text()
    paths = re.findall(r'^FC_GRPC_\w*\((?:GRPC_\w+), "(/[^"*]+)"', rows, re.M)
    paths += [INFER.replace("ModelInfer", each) for each in
              re.findall(r'FC_GRPC_OIP\("(\w+)"\)', rows)]
    assert INFER in paths
    calls(serve(SIMPLE), "reflection " + " ".join(paths), "reflection_stream")


def models_of(server):
    models = [each["name"] for each in server.request(
        "POST", "/v2/repository/index", "").json
        # The arguments of these functions determine the size of their results.
        if not each["name"].endswith((".repeat", ".fixed", ".both", "roles.put"))]
    assert len(models) > 20
    return models


def test_tensorflow_serving(calls, serve):
    server = serve(*SERVED)
    calls(server, "chosen", "errors", "state", "wire", file="grpc_tf_calls.py")
    models = " ".join(models_of(server))
    calls(server, "metadata " + models, "bits " + models, file="grpc_tf_calls.py")


def test_kserve(calls, serve):
    calls(serve(SIMPLE), "calls", file="grpc_kserve_calls.py")


def test_tritonclient_unmodified(calls, serve):
    server = serve("--isolation=process", "--admin=loopback", SIMPLE,
                   MODULES / "simple_sequence.so", MODULES / "crash.so")
    calls(server, "examples", "given_up", "examples_aio", file="grpc_triton_calls.py")


def test_texts_of_tensorflow(calls, iree, serve, tmp_path):
    calls(serve(shutil.copy(triton.echo(iree), tmp_path / "echo.vmfb")), "texts",
          file="grpc_tf_calls.py")


def test_bits_are_those_of_http(calls, serve):
    server = serve(*SERVED)
    models = models_of(server)
    calls(server, "metadata", "configuration", "bits " + " ".join(models))


def test_texts(calls, iree, serve, tmp_path):
    calls(serve(shutil.copy(triton.echo(iree), tmp_path / "echo.vmfb")), "texts")


@pytest.mark.parametrize("count", (0, 1000, 100_000, 4_000_000))
def test_tensors_of_any_size(calls, server, count):
    calls(server, f"large {count}")


def test_a_call_that_is_given_up(calls, serve):
    calls(serve("--isolation=process", SIMPLE, MODULES / "crash.so"), "cancel crash.spin",
          "interop crash.spin")


def test_a_worker_that_crashes(calls, serve):
    calls(serve("--isolation=process", MODULES / "crash.so"), "crash")


@pytest.mark.parametrize("module", ("simple", "other"))
def test_tokens_and_their_modules(calls, serve, tmp_path, module):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"a call {hashlib.sha256(b'secret').hexdigest()} {module}\n")
    tokens.chmod(0o600)
    calls(serve(f"--token-file={tokens}", SIMPLE), f"token secret {module}")


def test_the_repository(calls, serve):
    calls(serve("--admin=loopback", SIMPLE, MODULES / "scalars.so"), "repository", "settings")
    calls(serve(SIMPLE), "no_admin")


def test_tokens_of_acts(calls, serve, tmp_path):
    tokens = tmp_path / "tokens"
    rows = (("all", "read,admin", ""), ("other", "read,admin", "other"), ("read", "read", ""))
    tokens.write_text("".join(
        f"{name} {scopes} {hashlib.sha256(name.encode()).hexdigest()} {modules}\n"
        for name, scopes, modules in rows))
    tokens.chmod(0o600)
    calls(serve(f"--token-file={tokens}", "--admin=loopback", SIMPLE),
          "admin_token all other read")


def test_lists_of_many_models(calls, serve, tmp_path):
    """The list is one message, although it is written in many turns and is longer than
    one part."""
    sidecar = SIMPLE.with_suffix(".farcall.json").read_text()
    for number in range(700):
        name = f"m{number}" + 100 * "x"
        os.symlink(SIMPLE, tmp_path / f"{name}.so")
        (tmp_path / f"{name}.farcall.json").write_text(sidecar)
    calls(serve("--isolation=process", "--load=demand", tmp_path), "lists")


def test_a_stream_of_calls(calls, serve):
    calls(serve(SIMPLE), "stream", "stream_by_turns", "stream_triton")


@pytest.mark.parametrize("count", (10_000, 1_000_000))
def test_a_stream_of_tensors(calls, server, count):
    calls(server, f"stream_large {count}")


def test_calls_of_a_stream_run_beside_each_other(calls, serve):
    calls(serve("--isolation=process", SIMPLE, MODULES / "crash.so"),
          "stream_beside crash.spin")


@pytest.mark.parametrize("module", ("simple", "other"))
def test_the_token_of_a_stream(calls, serve, tmp_path, module):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"a call {hashlib.sha256(b'secret').hexdigest()} {module}\n")
    tokens.chmod(0o600)
    calls(serve(f"--token-file={tokens}", SIMPLE), f"stream_token secret {module}")


def test_a_stream_ends_with_the_server(calls):
    running = Server("--drain=10m", SIMPLE)
    calls(running, f"stream_drain {running.pid}")
    assert running.process.wait(60) == 0


def test_who_watches_is_told(calls, tmp_path):
    shutil.copy(SIMPLE, tmp_path)
    shutil.copy(SIMPLE.with_suffix(".farcall.json"), tmp_path)
    running = Server("--drain=10m", "--ready=all", "--admin=loopback", tmp_path)
    calls(running, f"watch {tmp_path}/broken.so {running.pid}")
    assert running.process.wait(60) == 0


def test_modules_that_are_loaded_on_demand(calls, serve, tmp_path):
    names = [f"m{each}" for each in range(5)]
    for each in names:
        shutil.copy(SIMPLE, tmp_path / f"{each}.so")
        shutil.copy(SIMPLE.with_suffix(".farcall.json"), tmp_path / f"{each}.farcall.json")
    calls(serve("--load=demand", tmp_path), "demand " + " ".join(names))


def test_a_share_that_is_used_up(calls, serve):
    calls(serve("--isolation=process", "--client-calls=1", "--timeout=0",
                MODULES / "crash.so"), "share crash.spin")


def test_calls_that_a_server_leaves(calls):
    running = Server("--isolation=process", "--drain=100ms", "--timeout=0", "--workers=1",
                     MODULES / "crash.so")
    calls(running, f"stop crash.spin {running.pid}")
    assert running.process.wait(60) == 0


def test_tls(calls, tmp_path):
    if b"OpenSSL" not in subprocess.run([BIN / "farcalld", "-V"], capture_output=True).stdout:
        pytest.skip("SKIPPED: built with -DFARCALL_TLS=OFF")
    authority = Authority(tmp_path)
    file, key = authority.sign("server")
    running = Server(f"--tls-cert={file}", f"--tls-key={key}", SIMPLE,
                     listen=("--listen", "https://127.0.0.1:0"))
    calls(running, "chosen", "errors", "many", "stream", "stream_by_turns",
          trusts=f"{authority.file}@")
    assert running.stop() == 0


def test_sequences(calls, serve):
    server = serve(MODULES / "simple_sequence.so", MODULES / "sequence.so")
    calls(server, f"sequences {uuid.uuid4()}", "sums")


# ---------------------------------------------------------------------------

def framed(message, flag=0):
    return bytes([flag]) + len(message).to_bytes(4, "big") + message


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def ask(server, path, body, *more):
    """The fields of the answer before and after its body. Sends no more of the body
    than fits into the first window."""
    with Connection(server) as connection:
        inflater = Inflater()
        sent = frame(HEADERS, END_HEADERS, 1, fields("POST", path, *more))
        for at in range(0, min(len(body), 65535) + 1, 16384):
            ends = END_STREAM if at + 16384 > len(body) else 0
            sent += frame(DATA, ends, 1, body[at:min(at + 16384, 65535)])
        connection.send(sent)
        found = connection.whole(1, inflater)
        inflater.close()
    return {**found, "status": int(found[":status"])}


def test_heads(serve):
    server = serve(SIMPLE)
    body = framed(field(1, b"simple"))
    rows = [
        # Not gRPC, so the answer is one of HTTP
        ((), body, {"status": 415, "content-type": "application/problem+json"}),
        ((("content-type", "application/grpcx"),), body, {"status": 415}),
        (GRPC, body, {"status": 200, "grpc-status": "3",
                      "content-type": "application/grpc",
                      "farcall-error-code": "missing_argument"}),
        ((("content-type", "application/grpc+proto"),), body, {"grpc-status": "3"}),
        ((*GRPC, ("grpc-encoding", "br")), body,
         {"grpc-status": "12", "grpc-accept-encoding": "identity,deflate,gzip"}),
        ((*GRPC, ("grpc-timeout", "1x")), body, {"farcall-error-code": "http_syntax"}),
        ((*GRPC, ("grpc-timeout", "123456789S")), body,
         {"farcall-error-code": "http_syntax"}),
        ((*GRPC, ("grpc-timeout", "99999999H")), body,
         {"farcall-error-code": "missing_argument"}),
        # Frames whose size is not the message's
        (GRPC, body[:-1], {"grpc-status": "3", "farcall-error-code": "binary_framing"}),
        (GRPC, body[:3], {"farcall-error-code": "binary_framing"}),
        (GRPC, b"", {"farcall-error-code": "binary_framing"}),
        (GRPC, body + body, {"farcall-error-code": "binary_framing"}),
        (GRPC, framed(field(1, b"simple"), 1), {"farcall-error-code": "module_not_found"}),
        (GRPC, framed(field(1, b"simple") + field(1, b"simple") + field(3, b"")),
         {"farcall-error-code": "binary_framing"}),
        (GRPC, framed(field(1, b"simple") + field(3, b"") + field(2, b"1")),
         {"farcall-error-code": "binary_framing"}),
        (GRPC, framed(b"\x0a\x80\x04" + 512 * b"a"),
         {"farcall-error-code": "module_not_found"}),
        (GRPC, framed(b"\x0a\x81\x04" + 513 * b"a"),
         {"farcall-error-code": "module_not_found"}),
        # Names that do not come first in the message
        (GRPC, framed(b"\x0a\x80\x80\x04" + 65536 * b"a"),
         {"farcall-error-code": "binary_framing"}),
        ((*GRPC, ("content-length", "15")), b"\x00\xff\xff\xff\xff" + field(1, b"simple") +
         field(3, b""), {"farcall-error-code": "binary_framing"}),
        (GRPC, b"\x00\xff\xff\xff\xff" + field(1, b"simple") + field(3, b""),
         {"farcall-error-code": "body_too_large"}),
    ]
    for words, sent, wanted in rows:
        found = ask(server, INFER, sent, *words)
        assert {name: found.get(name) for name in wanted} == wanted, (words, sent[:20])
    small = ask(serve("--max-body=1000", SIMPLE), INFER, framed(
        field(1, b"simple") + b"\x3a\x80\x80\x04" + 65536 * b"a"), *GRPC)
    assert (small["grpc-status"], small["farcall-error-code"]) == ("8", "body_too_large")
    assert server.request("POST", INFER, body, dict(GRPC)).status == 415


REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"


def test_what_cannot_be_asked_of_reflection(serve):
    """The answer to a bad message is an error, and the next message is answered."""
    server = serve(SIMPLE)
    good = framed(field(7, b"*"))
    for sent, words, code, says in (
            (framed(b"", 1), (), 3, b"grpc-encoding"),
            (framed(b"a", 1), (("grpc-encoding", "gzip"),), 3, b"compressed"),
            (framed(b""), (("grpc-encoding", "zstd"),), 12, b"gzip, deflate")):
        found = ask(server, REFLECTION, sent + good, *GRPC, *words)
        assert found["grpc-status"] == "0", says
        answers = messages(found["body"])
        error = [each for each in answers if each[:1] == bytes([7 << 3 | 2])]
        assert len(answers) == 2 and error, answers
        assert error[0][2:4] == bytes([1 << 3, code]) and says in error[0], error[0]


def test_a_message_says_what_is_wrong_as_text_of_a_head(serve):
    server = serve(SIMPLE)
    name = "\u00e4 100%".encode()
    found = ask(server, INFER, framed(field(1, b"simple") + field(6, field(1, name))), *GRPC)
    assert re.fullmatch("[ -~]+", found["grpc-message"])
    text = urllib.parse.unquote(found["grpc-message"])
    assert "there is no output '\u00e4 100%'" in text
    details = found["grpc-status-details-bin"]
    assert text.encode() in base64.b64decode(details + "=" * (-len(details) % 4))


def test_the_deadline_of_the_head(serve):
    server = serve("--isolation=process", MODULES / "crash.so")
    spin = field(1, b"crash.spin") + field(5, field(1, b"0") + field(2, b"INT64") +
                                           field(5, field(3, b"\xff\xff\xff\xff\x7f")))
    about = server.get("/v2/models/crash.spin").json["inputs"][0]
    assert (about["name"], about["datatype"]) == ("0", "INT64")
    found = ask(server, INFER, framed(spin), *GRPC, ("grpc-timeout", "50m"))
    assert (found["grpc-status"], found["farcall-error-code"]) == ("4", "deadline_exceeded")


TENSOR = bytes(range(64))
TOTAL = b"".join((2 * int.from_bytes(TENSOR[at:at + 4], "little") & 0xffffffff).to_bytes(
    4, "little") for at in range(0, 64, 4))


def simple(name=b""):
    inputs = b"".join(field(5, field(1, name) + field(2, b"INT32") + field(3, b"\x01\x10"))
                      for name in (b"INPUT0", b"INPUT1"))
    return framed(field(1, b"simple") + field(2, b"1") + field(3, name) + inputs +
                  2 * field(7, TENSOR))


def begin(connection, stream, path):
    connection.send(frame(HEADERS, END_HEADERS, stream, fields(
        "POST", path, ("content-type", "application/grpc"), ("te", "trailers"))))


def messages(data):
    found = []
    while data:
        size = int.from_bytes(data[1:5], "big")
        assert data[0] == 0 and len(data) >= 5 + size
        found.append(data[5:5 + size])
        data = data[5 + size:]
    return found


def test_a_message_may_come_in_any_pieces(serve):
    """The body is cut at every place, also inside the names of the model; and it is
    sent byte by byte."""
    server = serve(SIMPLE)
    body = simple()
    pieces = [(body[:at], body[at:]) for at in range(len(body))]
    pieces.append([body[at:at + 1] for at in range(len(body))])
    answers = set()
    with Connection(server) as connection:
        for number, sent in enumerate(pieces):
            stream = 2 * number + 1
            begin(connection, stream, INFER)
            for each in sent[:-1]:
                connection.send(frame(DATA, 0, stream, each))
            connection.send(frame(DATA, END_STREAM, stream, sent[-1]))
            answers.add(connection.answer(stream))
    ((status, answer),) = answers
    assert status == 200 and answer.endswith(field(6, TOTAL) + field(6, bytes(64)))
    assert answer[:5] == framed(answer[5:])[:5]


def test_messages_of_a_stream_may_come_in_any_pieces(serve):
    server = serve(SIMPLE)
    body = simple(b"a") + simple(b"b")
    pieces = [(body[:at], body[at:], b"") for at in range(len(body))]
    pieces.append([body[at:at + 1] for at in range(len(body))])
    with Connection(server) as connection:
        for number, sent in enumerate(pieces):
            stream = 2 * number + 1
            begin(connection, stream, STREAM)
            for each in sent[:-1]:
                connection.send(frame(DATA, 0, stream, each))
            connection.send(frame(DATA, END_STREAM, stream, sent[-1]))
            status, answer = connection.answer(stream)
            assert status == 200
            assert sorted(each.split(b"\x1a\x01")[1][:1] for each in messages(answer)) == [
                b"a", b"b"]
            assert answer.count(field(6, TOTAL) + field(6, bytes(64))) == 2


def in_sequence(value, name, **flags):
    said = {"sequence_id": field(3, b"id"),
            **{f"sequence_{flag}": b"\x08\x01" for flag in flags}}
    return framed(field(1, b"sequence.add") + field(3, name) + b"".join(
        field(4, field(1, key.encode()) + field(2, each)) for key, each in said.items()) +
        field(5, field(1, b"INPUT") + field(2, b"INT32") + field(3, b"\x01")) +
        field(7, value.to_bytes(4, "little")))


@pytest.mark.parametrize("ends", (True, False), ids=("ended", "begun again"))
def test_sequences_of_one_id_need_not_wait_for_each_other(serve, ends):
    """A client sends many sequences of one id before it reads an answer."""
    server = serve(MODULES / "sequence.so")
    sent, wanted = b"", {}
    for number in range(40):
        for step in range(3):
            flags = {"start": step == 0, "end": step == 2 and (ends or number == 39)}
            name = b"%d" % len(wanted)
            sent += in_sequence(number + step, name, **{
                flag: True for flag in flags if flags[flag]})
            wanted[name] = sum(range(number, number + step + 1))
    with Connection(server) as connection:
        begin(connection, 1, STREAM)
        for at in range(0, len(sent), 16384):
            connection.send(frame(DATA, 0, 1, sent[at:at + 16384]))
        connection.send(frame(DATA, END_STREAM, 1))
        found = {}
        for each in messages(connection.answer(1)[1]):
            name = re.search(rb"\x1a[\x01-\x03](\d+)", each)[1]
            found[name] = int.from_bytes(each[-4:], "little")
    assert found == wanted
    assert b"\nfarcall_sessions 0\n" in server.get("/metrics").body


def test_methods_that_are_not_there(serve):
    """The answer is one frame with status 200. Clients without gRPC get the answer of a
    page."""
    server = serve(SIMPLE)
    with Connection(server) as connection:
        for number, path in enumerate(("/inference.GRPCInferenceService/ModelTrain",
                                       "/nobody.Service/Do", "/a%20b/%zz")):
            begin(connection, 4 * number + 1, path)
            _, flags, _, head = connection.until(HEADERS, stream=4 * number + 1)
            assert (flags, head[0]) == (END_STREAM | END_HEADERS, 0x88), path
            connection.ask(4 * number + 3, "POST", path)
            assert connection.answer(4 * number + 3)[0] in (400, 404), path


@pytest.mark.parametrize("path", ("/grpc.health.v1.Health/Check", INFER, WATCH,
                                  "/inference.GRPCInferenceService/ServerMetadata",
                                  "/inference.GRPCInferenceService/ModelMetadata"))
def test_a_request_without_a_message(serve, path):
    with Connection(serve(SIMPLE)) as connection:
        inflater = Inflater()
        connection.ask(1, "POST", path, *GRPC)
        found = connection.whole(1, inflater)
        inflater.close()
    assert (found["grpc-status"], found["farcall-error-code"]) == ("3", "binary_framing")
    assert "there is no message" in found["grpc-message"]


def test_streams_that_end_within_a_message(serve):
    server = serve(SIMPLE)
    body = simple(b"a")
    rows = [(b"", 0), (body, 0), (3 * body, 0), (body[:-1], 3), (body[:3], 3),
            (body + body[:2], 3), (body + b"\x00\xff\xff\xff\xff", 3),
            (framed(field(1, b"nobody")) + body[:9], 3), (framed(b""), 0),
            (framed(b"", 1), 0), (framed(b"", 2) + body, 0)]
    for sent, status in rows:
        found = ask(server, STREAM, sent, *GRPC)
        assert (found["status"], found["grpc-status"]) == (200, str(status)), sent[:20]
        assert status == 0 or found["grpc-message"] == "the stream ends within a message"
    found = ask(server, STREAM, body)
    assert (found["status"], found["content-type"]) == (415, "application/problem+json")


@pytest.mark.parametrize("path", (INFER, STREAM))
@pytest.mark.parametrize("size", (5, 14, 100))
def test_a_message_that_does_not_come(serve, path, size):
    """The server does not wait longer for the rest of a message, whether its names have
    come or not."""
    server = serve("--body-timeout=100ms", SIMPLE)
    with Connection(server) as connection:
        inflater = Inflater()
        begin(connection, 1, path)
        connection.send(frame(DATA, 0, 1, simple()[:size]))
        found = connection.whole(1, inflater)
        inflater.close()
    assert (found["grpc-status"], found["body"]) == ("4", b"")
    assert " slower than " in found["grpc-message"]


def succeeded(server):
    lines = server.get("/metrics").body.decode().splitlines()
    return sum(int(line.split()[-1]) for line in lines
               if line.startswith("farcall_calls_total{"))


def test_a_client_that_takes_no_answers_is_held_up(serve):
    """Of the client's messages, 32 run as calls at a time. The others wait in its
    window."""
    server = serve(SIMPLE)
    names = [b"%03d" % each for each in range(200)]
    with Connection(server, setting(4, 0)) as connection:
        begin(connection, 1, STREAM)
        for name in names:
            connection.send(frame(DATA, 0, 1, simple(name)))
        assert until(lambda: succeeded(server) >= 32)
        assert succeeded(server) == 32
        connection.send(frame(DATA, END_STREAM, 1, b"") +
                        frame(WINDOW_UPDATE, 0, 1, uint(2**20)))
        status, answer = connection.answer(1)
        assert status == 200
        assert sorted(each.split(b"\x1a\x03")[1][:3] for each in messages(answer)) == names
    assert succeeded(server) == 200


def test_names_that_stand_too_far_behind(serve):
    """Even when the whole message has come, names beyond the limit are not looked for."""
    server = serve(SIMPLE)
    wide = framed(field(1, b"simple") + b"\x3a\x80\x80\x10" + bytes(2**18))
    late = framed(b"\x0a\x80\xf1\x04" + 80_000 * b"a" + field(3, b"late"))
    with Connection(server, setting(4, 0)) as connection:
        begin(connection, 1, STREAM)
        connection.send(frame(DATA, 0, 1, wide[:16384]))
        connection.until(WINDOW_UPDATE, stream=1)
        rest = wide[16384:] + 31 * simple() + late
        for at in range(0, len(rest), 16384):
            connection.send(frame(DATA, 0, 1, rest[at:at + 16384]))
        assert until(lambda: succeeded(server) == 32)
        connection.send(frame(DATA, END_STREAM, 1, b"") +
                        frame(WINDOW_UPDATE, 0, 1, uint(2**20)))
        answers = b""
        while (got := connection.until(DATA, HEADERS, stream=1))[0] == DATA or not answers:
            answers += got[3] if got[0] == DATA else b""
    answers = messages(answers)
    assert len(answers) == 33
    assert [each for each in answers if b"within the first 65535 bytes" in each]


def test_names_that_stand_there_twice(serve):
    """The first surplus name is refused, whatever follows it."""
    server = serve(SIMPLE)
    for names in (30_000 * field(1, b""), field(2, b"1") + field(1, b"simple"),
                  field(1, b"simple") + 2 * field(2, b"1")):
        for path in INFER, STREAM:
            found = ask(server, path, framed(names)[:60_000], *GRPC)
            said = found["body"].decode() + found.get("grpc-message", "")
            assert "stand in front, once" in said, (names[:20], said)


def test_little_of_a_compressed_message_is_looked_at(serve):
    """A hundred compressed bytes can stand for 64 KiB, which the loop would have to
    inflate and read."""
    server = serve(SIMPLE)
    packed = ("grpc-encoding", "gzip")
    for name, said in ((4000, "no model has a name of 4000 bytes"),
                       (4100, "does not stand within the first 4096 bytes"),
                       (65000, "does not stand within the first 4096 bytes")):
        size = bytes([name & 127 | 128, name >> 7 & 127 | 128, name >> 14])
        body = gzip.compress(b"\x0a" + size + name * b"a" + field(3, b"id"))
        found = ask(server, INFER, framed(body, 1), *GRPC, packed)
        assert said in found["grpc-message"], (name, found)
    body = framed(gzip.compress(simple()[5:] + 30_000 * field(9, b"")), 1)
    assert ask(server, INFER, body, *GRPC, packed)["grpc-status"] == "0"


def test_a_stream_of_an_old_connection_ends_with_the_server():
    """The client was told earlier to leave, but stayed."""
    running = Server("--connection-age=100ms", "--drain=10m", SIMPLE)
    with Connection(running) as connection:
        inflater = Inflater()
        begin(connection, 1, STREAM)
        inflater.read(connection.until(HEADERS)[3])
        connection.send(frame(PING, ACK, 0, connection.until(PING)[3]))
        connection.until(GOAWAY)
        os.kill(running.pid, signal.SIGTERM)
        found = connection.whole(1, inflater)
        inflater.close()
    assert (found["grpc-status"], found["grpc-message"]) == (
        "14", "the server is shutting down")
    assert running.process.wait(60) == 0


SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


@pytest.fixture
def changing(serve, tmp_path):
    """A server, and functions that make it ready or not."""
    shutil.copy(SIMPLE, tmp_path)
    shutil.copy(SIMPLE.with_suffix(".farcall.json"), tmp_path)
    server = serve("--ready=all", "--admin=loopback", tmp_path)

    def change(ready):
        broken = tmp_path / "broken.so"
        if ready:
            broken.unlink()
        else:
            broken.write_bytes(b"\x7fELF")
        server.request("POST", "/api/v1/reload", "{}", {"Content-Type": "application/json"})
        assert server.get("/readyz").status == (200 if ready else 503)
    return server, change


def watch(connection, stream):
    begin(connection, stream, WATCH)
    connection.send(frame(DATA, END_STREAM, stream, framed(b"")))


def test_a_watcher_that_does_not_read_is_told_what_holds(changing):
    server, change = changing
    with Connection(server, setting(4, 0)) as connection:
        watch(connection, 1)
        connection.until(HEADERS, stream=1)
        for ready in (False, True, False, True, False):
            change(ready)
        connection.send(frame(WINDOW_UPDATE, 0, 1, uint(1000)))
        found = b""
        while len(found) < 14:
            found += connection.until(DATA, stream=1)[3]
        assert messages(found) == [SERVING, NOT_SERVING]


def test_a_watcher_is_told_when_readiness_is_asked_otherwise(serve, tmp_path):
    """After SIGHUP --ready is applied again, although no module has changed: there is
    none."""
    config, folder = tmp_path / "farcalld.conf", tmp_path / "folder"
    folder.mkdir()
    config.write_text('{"ready": "any"}')
    server = serve(f"--config={config}", "--load=demand", folder)
    folder.rmdir()
    with Connection(server) as connection:
        watch(connection, 1)
        assert connection.until(DATA, stream=1)[3] == framed(SERVING)
        for word, status in (("all", NOT_SERVING), ("any", SERVING), ("all", NOT_SERVING)):
            config.write_text(json.dumps({"ready": word}))
            server.process.send_signal(signal.SIGHUP)
            assert connection.until(DATA, stream=1)[3] == framed(status)


def test_a_thousand_watchers(changing):
    server, change = changing
    streams = range(1, 201, 2)
    connections = [Connection(server) for _ in range(10)]
    for connection in connections:
        for stream in streams:
            watch(connection, stream)
    for status, ready in ((SERVING, False), (NOT_SERVING, True), (SERVING, None)):
        for connection in connections:
            told = [connection.until(DATA) for _ in streams]
            assert {each[2]: each[3] for each in told} == dict.fromkeys(streams, framed(status))
        if ready is not None:
            change(ready)
    for connection in connections:
        connection.__exit__()
