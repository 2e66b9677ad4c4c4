# SPDX-License-Identifier: Apache-2.0
"""farcall bench with --server=grpc://: what it counts, compares and refuses, with
farcalld, with a server that is not ours (grpc_server.py), and when connections
break."""
import contextlib
import json
import socket
import threading

import pytest

from certificates import Authority
from conftest import BIN
from demanding import metric
from test_bench import bench, is_consistent  # noqa: F401  (fixture)
from test_call_grpc import other, started  # noqa: F401  (fixture)

SIMPLE = BIN.parent / "tests/modules/native/simple.so"


def calls_of(server):
    (stats,) = server.get("/v2/models/simple/stats").json["model_stats"]
    return stats["inference_stats"]["success"]["count"]


@contextlib.contextmanager
def between(address, spare, last):
    """A proxy that breaks each connection, except the first `spare`, after 600 bytes of
    the server. A broken connection ends with the bytes `last`."""
    listener = socket.create_server(("127.0.0.1", 0))

    def pass_on(source, dest, limit):
        with contextlib.suppress(OSError):
            count = 0
            while data := source.recv(65536):
                if limit and count + len(data) > limit:
                    dest.sendall(data[:limit - count] + last)
                    break
                dest.sendall(data)
                count += len(data)
        for each in (source, dest):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def accept():
        count = 0
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                host, port = address.rsplit(":", 1)
                server = socket.create_connection((host, int(port)))
                limit = 600 if count >= spare else 0
                for each in ((client, server, 0), (server, client, limit)):
                    threading.Thread(target=pass_on, args=each, daemon=True).start()
                count += 1

    threading.Thread(target=accept, daemon=True).start()
    yield "grpc://%s:%d" % listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def test_a_closed_loop(bench, serve):  # noqa: F811
    server = serve(SIMPLE)
    done = bench(f"grpc://{server.host}:{server.port}", name="simple/add_sub", question=())
    assert done.returncode == 0, done.stdout + done.stderr
    result = done.result
    assert is_consistent(result)
    assert (result["protocol"], result["target"]) == ("grpc", "ModelInfer simple.add_sub")
    assert result["input"] == "metadata"
    # Each request of the load was answered and compared. One request was made before
    # the load.
    assert calls_of(server) == result["latency"]["count"] + 1 == result["compared"] + 1
    assert set(result["errors"].values()) == {0} and result["answers"]
    assert "0 different" in done.stdout and done.stderr == ""


def test_rates_curves_and_goals(bench, serve):  # noqa: F811
    server = serve(SIMPLE)
    url = f"grpc://{server.host}:{server.port}"
    given = [f"--input=1x16xi32={each}" for each in (3, 4)]
    result = bench(url, "--rate=500", name="simple", question=given).result
    assert is_consistent(result)
    assert (result["loop"], result["latency"]["count"], result["input"]) == (
        "open", 150, "given")
    done = bench(url, "--concurrency=1,3", "--slo=errors<1", name="simple", question=())
    assert done.returncode == 0, done.stdout + done.stderr
    assert [each["connections"] for each in done.result["curve"]] == [1, 3]
    assert done.result["goals"][0]["met"]


def test_who_is_told_to_leave_comes_again(bench, serve):  # noqa: F811
    """A connection that the server ends by GOAWAY does not count as broken, and no call
    is lost."""
    server = serve("--connection-age=100ms", SIMPLE)
    done = bench(f"grpc://{server.host}:{server.port}", "--duration=1500ms", name="simple",
                 question=())
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(done.result["errors"].values()) == {0}
    assert metric(server, "http2_connections_total") > 2 + 4


def test_another_server(bench, other):  # noqa: F811
    url = f"grpc://{other}"
    for name, size in (("echo@7", 0), ("open", 0), ("empty", 0), ("many", 0)):
        done = bench(url, name=name, question=())
        assert done.returncode == 0, (name, done.stdout, done.stderr)
        result = done.result
        assert result["compared"] == result["latency"]["count"] > size, name
        assert set(result["errors"].values()) == {0}, name
    question = (f"--json={json.dumps(['x' * 100_000])}",)
    done = bench(url, name="one", question=question)
    assert done.returncode == 0 and done.result["input_size"] > 100_000, done.stderr


def test_what_goes_wrong_is_counted(bench, other):  # noqa: F811
    url = f"grpc://{other}"
    done = bench(url, name="tires", question=())
    errors = done.result["errors"]
    assert (done.returncode, done.result["answers"]) == (1, 0)
    assert errors["refused"] and not errors["broken"] + errors["different"]
    assert "the first refused: 14 unavailable: tired \u00e4" in done.stdout
    done = bench(url, name="changes", question=())
    errors = done.result["errors"]
    assert done.returncode == 1
    assert errors["different"] == done.result["compared"] > 0 == errors["refused"]
    done = bench(url, "--verify=sampled", name="changes", question=())
    assert done.result["compared"] < done.result["latency"]["count"]


@pytest.mark.parametrize("last", (b"", b"\xff" * 300))
def test_connections_that_break_are_counted_and_opened_again(
        bench, other, last):  # noqa: F811
    with between(other, 2, last) as url:
        done = bench(url, "--duration=1s", name="echo", question=())
    result = done.result
    assert done.returncode == 1
    assert result["errors"]["broken"] > 4 and result["answers"], done.stdout
    assert not result["errors"]["refused"] + result["errors"]["different"]


def test_what_is_refused(farcall, bench, other):  # noqa: F811
    url = f"grpc://{other}"
    rows = [("nobody", (), 1, "not_found: no 'nobody'"),
            ("refuses", (), 1, "resource_exhausted: not now"),
            ("huge", (), 65, "'x' has more than 64 MiB of zeros"),
            ("one", ("--json=[7]",), 1, "type_mismatch"),
            ("one", ("--expected=/nonexistent",), 65, "/nonexistent"),
            ("one", ("--example=x",), 64, "--example is of HTTP, not of gRPC")]
    for name, question, status, says in rows:
        done = bench(url, name=name, question=question)
        assert (done.returncode, says in done.stderr) == (status, True), done.stderr
        assert done.result is None


def test_tls(bench, tmp_path):  # noqa: F811
    authority = Authority(tmp_path)
    with started(*authority.sign("server")) as address:
        done = bench(f"grpcs://{address}", f"--ca={authority.file}", name="echo", question=())
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.result["answers"] and set(done.result["errors"].values()) == {0}
