# SPDX-License-Identifier: Apache-2.0
"""The time from exec to the first answer. bench/ measures it exactly. Here its
processor time must be of a lower order of magnitude than a wait that people notice."""
import contextlib
import os
import resource
import socket
import statistics

import pytest

from conftest import BIN

REQUEST = (b"POST /api/v1/functions/tensor/matmul HTTP/1.1\r\nHost: localhost\r\n"
           b"Content-Length: 15\r\n\r\n[[[2]],[[1.5]]]")


def answer(server):
    with socket.create_connection((server.host, server.port)) as connection:
        connection.sendall(REQUEST)
        return connection.recv(4096)


def spent_ms():
    """The processor time of all servers that have ended, and of their processes."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (spent.ru_utime + spent.ru_stime) * 1000


def test_the_first_answer_comes_soon(serve, corpus):
    times = []
    for _ in range(9):
        before = spent_ms()
        server = serve(corpus / "tensor.so")
        text = answer(server)
        assert text.startswith(b"HTTP/1.1 200") and b'[[[3.0]]]' in text
        assert server.stop() == 0
        times.append(spent_ms() - before)
    print(f"start, answer and end took {statistics.median(times):.1f} ms of the processor")
    if b"__asan_init" in (BIN / "farcalld").read_bytes():
        pytest.skip("a sanitizer's start is its own")
    assert statistics.median(times) < 200


def namespaces(server):
    folder = f"/proc/{server.process.pid}/fd"
    links = []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # it was closed just now
            links.append(os.readlink(f"{folder}/{name}"))
    return [link for link in links if link.startswith("net:")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make a namespace")
def test_without_processes_no_namespace_is_made(serve, corpus):
    # Making a namespace takes longer than all the rest of the start.
    server = serve(corpus / "tensor.so", "--isolation=thread")
    assert answer(server).startswith(b"HTTP/1.1 200")
    assert namespaces(server) == []
    parts = server.get("/api/v1").json["sandbox"]["parts"]  # asked, it finds out
    assert len(namespaces(server)) == ("network-namespace" in parts)
    assert server.stop() == 0
