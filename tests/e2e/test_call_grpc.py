# SPDX-License-Identifier: Apache-2.0
"""farcall call and ls with --server=grpc://: with farcalld, where results equal those
over HTTP, and with a server that is not ours (grpc_server.py)."""
import contextlib
import hashlib
import json
import os
import pathlib
import socket
import ssl
import subprocess
import threading

import numpy
import pytest

from certificates import Authority
from conftest import BIN, ROOT
from frames import ACK, PING, SETTINGS, frame
from oip_calls import values_of

MODULES = BIN.parent / "tests/modules/native"
SERVED = [*(MODULES / each for each in ("scalars.so", "conventions.so", "simple.so")),
          ROOT / "tests/corpus/iree/storage/storage-vmvx.vmfb"]


@contextlib.contextmanager
def started(*files):
    folder = os.environ.get("FARCALL_CLIENTS")
    if not folder:
        pytest.skip("FARCALL_CLIENTS is not set: scripts/test installs clients")
    with subprocess.Popen(
            [pathlib.Path(folder) / "python", ROOT / "tests/e2e/grpc_server.py", *files],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield f"127.0.0.1:{program.stdout.readline().strip()}"
        finally:
            program.stdin.close()


@pytest.fixture(scope="module")
def other():
    with started() as address:
        yield address


def results(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["results"]


def refusal(done, status=1):
    assert (done.returncode, done.stdout) == (status, ""), done.stdout
    return done.stderr.strip()


def document_of(server, name):
    inputs = server.get(f"/v2/models/{name}").json["inputs"]
    args = []
    for each in inputs:
        shape = [3 if dim < 0 else dim for dim in each["shape"]]
        args.append(values_of(each["datatype"].replace("ANY", "FP32"),
                              [2, 3] if name.endswith("rank_of") else shape).tolist())
    return json.dumps({"args": args, "options": {"results": "typed"}})


def test_results_are_those_of_http(farcall, serve):
    server = serve(*SERVED)
    models = [each["name"] for each in server.request("POST", "/v2/repository/index", "").json]
    good = 0
    for name in models:
        about = server.get(f"/v2/models/{name}").json
        # Skipped: types or dims that only the values tell, a type that numpy lacks,
        # values that are sizes.
        if {"ANY", "BF16"} & {each["datatype"] for each in about["inputs"] + about["outputs"]} or (
                name.endswith((
                    ".repeat", ".fixed", ".both", "rank_of"))):
            continue
        path = name.replace(".", "/", 1) if "." in name else f"{name}/add_sub"
        call = ["call", path, f"--json={document_of(server, name)}"]
        there = farcall(*call, f"--server=http://{server.host}:{server.port}")
        here = farcall(*call, f"--server=grpc://{server.host}:{server.port}")
        assert here.returncode == there.returncode, (name, here.stderr, there.stderr)
        if there.returncode == 0:
            assert here.stdout == there.stdout, name
            good += 1
    assert good > 15


def test_names_versions_and_tokens(farcall, serve, tmp_path):
    tokens, token = tmp_path / "tokens", tmp_path / "token"
    tokens.write_text(f"a call,read {hashlib.sha256(b'secret').hexdigest()}\n")
    tokens.chmod(0o600)
    token.write_text("secret\n")
    server = serve(f"--token-file={tokens}", MODULES / "simple.so")
    url = f"--server=grpc://{server.host}:{server.port}"
    inputs = ["--input=1x16xi32=3", "--input=1x16xi32=4"]
    wanted = [[[7] * 16], [[-1] * 16]]
    for name in ("simple", "simple/add_sub", "simple@1", "simple@1/add_sub"):
        assert results(farcall("call", name, *inputs, f"--token=@{token}", url)) == wanted
    array = tmp_path / "out.npy"
    done = farcall("call", "simple", *inputs, "--output=-", f"--output=@{array}",
                   f"--token=@{token}", url)
    assert done.returncode == 0 and numpy.load(array).tolist() == wanted[1]
    said = refusal(farcall("call", "simple", *inputs, url))
    assert "unauthorized" in said and "--token=@FILE, or FARCALL_TOKEN, sends one" in said
    for name, says in (("nobody", "module_not_found: "), ("simple@9", "version_not_found: ")):
        done = farcall("call", name, *inputs, f"--token=@{token}", url)
        assert says in refusal(done)


def test_another_server(farcall, other):
    url = f"--server=grpc://{other}"
    document = json.dumps({"kwargs": {"x": [[1.5, -2], [3, "NaN"]], "n": [1, 2, 65535],
                                      "t": ["a", "\u00e4", ""]}})
    wanted = json.loads(document)["kwargs"]
    found = results(farcall("call", "echo@7", f"--json={document}", url))
    assert found == [wanted["x"], wanted["n"], wanted["t"]]
    document = json.dumps([[[1.5, -2]], [-9, 1 << 62], ["one"]])
    assert results(farcall("call", "fields", f"--json={document}", url)) == (
        json.loads(document))
    assert results(farcall("call", "one", '--json=["a"]', url)) == ["a"]
    document = {"kwargs": {"~": [2], "a/b": [1], "\u00e4 b": [4], "1": [3]}}
    assert results(farcall("call", "names", f"--json={json.dumps(document)}", url)) == [
        [1], [2], [3], [4]]
    # grpc_server.py asks its library to compress this answer. Our client accepts no
    # compression, so the answer must come plain.
    assert results(farcall("call", "packed", "--json=[[1]]", url)) == [[1]]
    assert results(farcall("call", "empty", "--json=[[]]", url)) == [[]]
    long = "x" * 3_000_000
    document = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"grpc-{os.getpid()}.json"
    try:
        document.write_text(json.dumps([long]))
        assert results(farcall("call", "one", f"--json=@{document}", url)) == [long]
    finally:
        document.unlink()
    assert results(farcall("call", "many", f"--json={[[number % 100] for number in range(200)]}",
                           url)) == [[number % 100] for number in range(200)]
    done = farcall("ls", url)
    assert (done.returncode, done.stdout) == (
        0, "echo     7  READY\nlonger\\u001b  -  UNAVAILABLE: no \u00e4\n")


def test_what_another_server_refuses(farcall, other):
    url = f"--server=grpc://{other}"
    rows = [("nobody", "[[1]]", 1, "farcall: not_found: no 'nobody' \u00e4 100%"),
            ("refuses", "[[1]]", 1, "farcall: resource_exhausted: not now"),
            ("echo", "[[[1]]]", 1, "shape_mismatch"),
            ("echo@8", "[]", 1, "not_found"),
            ("one", "[7]", 1, "type_mismatch"),
            ("other", "[[1]]", 69, "'x' is of the type 'FP128'"),
            ("lies", "[[1]]", 69, "answered what cannot be read")]
    for name, document, status, says in rows:
        assert says in refusal(farcall("call", name, f"--json={document}", url), status), name
    done = farcall("call", "hangs", "--json=[[1]]", "--timeout=300ms", url)
    # Either the client or the server notices the time-out first.
    assert (done.returncode, "in time" in done.stderr) in ((69, True), (1, False))
    assert "in time" in done.stderr or "deadline_exceeded" in done.stderr
    for words in (["sig", "echo"], ["health"], ["load", "echo"]):
        assert "only bench, call and ls speak gRPC" in refusal(farcall(*words, url), 64), words
    for option in ("--example", "--profile", "--session=x", "--curl"):
        done = farcall("call", "echo", "--json=[]", option, url)
        assert "is of HTTP, not of gRPC" in refusal(done, 64), option


def test_tls(farcall, tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    with started(certificate, key) as address:
        url = f"--server=grpcs://{address}"
        done = farcall("call", "one", '--json=["a"]', f"--ca={authority.file}", url)
        assert results(done) == ["a"]
        assert "--ca=FILE" in refusal(farcall("call", "one", '--json=["a"]', url), 69)


OTHER_PORTS = [  # what a port answers, and which scheme farcall suggests
    ("HTTP/1.1", "grpc", b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/1.1: try http://"),
    ("nginx's TLS", "grpc", b"HTTP/1.1 400 Bad Request\r\n\r\n<title>400 The plain HTTP "
     b"request was sent to HTTPS port</title>", "the port speaks TLS: try grpcs://"),
    ("Go's TLS", "grpc", b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to "
     b"an HTTPS server.\n", "the port speaks TLS: try grpcs://"),
    ("an alert", "grpc", b"\x15\3\1\0\2\2\x46", "the port speaks TLS: try grpcs://"),
    ("no TLS", "https", b"HTTP/1.1 400 Bad Request\r\n\r\n",
     "the port speaks no TLS: try http://"),
    ("HTTP/2 without TLS", "grpcs", frame(SETTINGS) + frame(SETTINGS, ACK),
     "the port speaks no TLS: try grpc://"),
]


@pytest.mark.parametrize("scheme, answer, says", [row[1:] for row in OTHER_PORTS],
                         ids=[row[0] for row in OTHER_PORTS])
def test_another_scheme_is_suggested(farcall, scheme, answer, says):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve_one():
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        thread = threading.Thread(target=serve_one)
        thread.start()
        done = farcall("ls", f"--server={scheme}://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert says in refusal(done, 69)


def test_https_is_suggested_instead_of_grpcs(farcall, tmp_path):
    """The port speaks TLS, but no HTTP/2, whatever its page says."""
    authority = Authority(tmp_path)
    certificate, key = authority.sign("server")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve_one():
            with context.wrap_socket(listener.accept()[0], server_side=True) as connection:
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\nthis is HTTPS")
                with contextlib.suppress(OSError):
                    while connection.recv(65536):
                        pass
        thread = threading.Thread(target=serve_one)
        thread.start()
        done = farcall("ls", f"--ca={authority.file}",
                       f"--server=grpcs://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert "the port speaks HTTP/1.1: try https://" in refusal(done, 69)


@pytest.mark.parametrize("answer", (
    b"", b"HTTP/1.1 400 Bad Request\r\n\r\n",
    # Settings, then the end of the connection.
    b"\0\0\0\4\0\0\0\0\0\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\2",
    # A reset of the stream; a head without a status; data without a head.
    b"\0\0\0\4\0\0\0\0\0\0\0\4\3\0\0\0\0\1\0\0\0\2",
    b"\0\0\0\4\0\0\0\0\0\0\0\1\1\5\0\0\0\1\x88",
    b"\0\0\0\4\0\0\0\0\0\0\0\5\0\1\0\0\0\1\0\0\0\0\0",
    # A frame longer than any may be; a head with an index that is in no table.
    b"\0\0\0\4\0\0\0\0\0\xff\xff\xff\0\0\0\0\0\1",
    b"\0\0\0\4\0\0\0\0\0\0\0\1\1\5\0\0\0\1\xff"))
def test_what_is_no_grpc(farcall, answer):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve_one():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        thread = threading.Thread(target=serve_one)
        thread.start()
        port = listener.getsockname()[1]
        done = farcall("call", "m", "--json=[]", f"--server=grpc://127.0.0.1:{port}")
        thread.join()
    assert "no answer from grpc://" in refusal(done, 69)


def test_a_server_that_never_stops(farcall):
    """The time-out ends the call, although there is always more to read."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve_one():
            with listener.accept()[0] as connection, contextlib.suppress(OSError):
                connection.sendall(frame(SETTINGS))
                pings = 100_000 * frame(PING, ACK, 0, bytes(8))
                while True:
                    connection.sendall(pings)

        thread = threading.Thread(target=serve_one)
        thread.start()
        done = farcall("ls", f"--server=grpc://127.0.0.1:{listener.getsockname()[1]}",
                       "--timeout=500ms")
        thread.join()
    assert "it was not complete in time" in refusal(done, 69)
