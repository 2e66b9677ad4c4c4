# SPDX-License-Identifier: Apache-2.0
"""A server under a service manager, which is this test: sockets that are passed to it
(sd_listen_fds(3)), its messages (sd_notify(3)), restarts that lose nothing, and the
files of Unix sockets."""
import http.client
import json
import os
import queue
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

from conftest import BIN, RELEASES, Server, end_servers
from console import user_environment
from reloading import wait_until

MODULE = RELEASES / "scalars-3.13.0.vmfb"
CALL = f"/api/v1/functions/{MODULE.stem}/"


class Manager:
    """What a service manager keeps for one service."""

    def __init__(self, tmp_path, *sockets):
        self.sockets = sockets
        self.path = tmp_path / "notify"
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(str(self.path))
        # Messages are read at once: the socket holds only a few, and farcalld does not
        # wait for a reader.
        self.messages = queue.Queue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def start(self, *arguments, **variables):
        """Descriptors from 3 on are the sockets; LISTEN_PID is the server's process id."""
        count = len(self.sockets)
        # The sockets first get numbers from 20 on, because one of them may now have a
        # number from 3 on that another one must get.
        script = "".join(f"exec {20 + i}<&{each.fileno()}; "
                         for i, each in enumerate(self.sockets))
        script += "".join(f"exec {3 + i}<&{20 + i} {20 + i}<&-; " for i in range(count))
        script += 'export LISTEN_PID=$$; exec "$@"'
        files = [each.fileno() for each in self.sockets]
        return Server(*arguments, MODULE, listen=(), files=files,
                      under=("bash", "-c", script, "bash"),
                      variables={"LISTEN_FDS": str(count),
                                 "NOTIFY_SOCKET": str(self.path), **variables})

    def read(self):
        for message in iter(lambda: self.told.recv(4096), b"END"):
            self.messages.put(message.decode())
        self.messages.put(None)

    def next(self):
        """The next message, without the status, which says where the server is reached."""
        message = self.messages.get(timeout=60)
        return message and message.split("\nSTATUS=serving at ")[0]

    def rest(self):
        """The messages that no test has read yet. Nothing is read after this."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            end.sendto(b"END", str(self.path))
        return list(iter(self.next, None))

    def close(self):
        if self.reader.is_alive():
            self.rest()
        self.reader.join(timeout=60)
        self.told.close()
        for each in self.sockets:
            each.close()


def tcp_socket():
    return socket.create_server(("127.0.0.1", 0), backlog=1024)


@pytest.fixture
def manage(tmp_path):
    opened, servers = [], []

    def make(*sockets):
        manager = Manager(tmp_path, *sockets)
        opened.append(manager)
        start = manager.start

        def started(*arguments, **variables):
            servers.append(start(*arguments, **variables))
            return servers[-1]
        manager.start = started
        return manager
    yield make
    end_servers(servers)
    for each in opened:
        each.close()


def example_of(server):
    """A call with its answer, which the server itself has given."""
    functions = server.get("/api/v1/functions").json["functions"]
    name = next(each["name"] for each in functions if each["callable"])
    path = CALL + name
    body = server.get(path + "/example").body
    answer = server.request("POST", path, body)
    assert answer.status == 200
    return path, body, answer.body


def test_passed_sockets_take_the_place_of_the_default(manage, tmp_path):
    first = tcp_socket()
    second = socket.socket(socket.AF_UNIX)
    second.bind(str(tmp_path / "s"))
    second.listen()
    manager = manage(first, second)
    server = manager.start()
    assert server.port == first.getsockname()[1]
    assert manager.next() == "READY=1"
    assert server.stop() == 0
    told = [line for line in server.lines if "listening on" in line]
    assert len(told) == 2 and f"unix:{tmp_path / 's'}" in told[1]
    assert (tmp_path / "s").exists()  # the manager owns the socket's file
    assert manager.next() == "STOPPING=1"


def test_a_listener_is_of_the_sockets_of_its_name(manage, tmp_path):
    api, web = tcp_socket(), tcp_socket()
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"admin": "off", "listeners": [
        {"address": "systemd:api", "allow-host": "api.example", "admin": "loopback"},
        {"address": "systemd", "allow-host": "web.example"}]}))
    manager = manage(web, api)
    server = manager.start("-c", config, LISTEN_FDNAMES="web:api")
    hosts = ("api.example", "web.example")
    for each, expected in ((api, [200, 421, 200]), (web, [421, 200, 403])):
        server.port = each.getsockname()[1]
        found = [server.request("GET", "/livez", headers={"Host": host}).status
                 for host in hosts]
        assert [*found, server.request("POST", "/api/v1/reload").status] == expected
    assert server.stop() == 0
    with pytest.raises(RuntimeError, match="listener 'systemd:api': LISTEN_FDS and "
                                           "LISTEN_FDNAMES pass no such socket"):
        manager.start("-c", config, LISTEN_FDNAMES="web:other")


def test_an_address_that_was_asked_for_is_added(manage):
    passed = tcp_socket()
    manager = manage(passed)
    server = manager.start("--listen=127.0.0.1:0")
    assert server.port == passed.getsockname()[1]
    assert server.stop() == 0
    assert sum("listening on" in line for line in server.lines) == 2


def test_a_reload_is_told(manage):
    manager = manage(tcp_socket())
    server = manager.start()
    assert manager.next() == "READY=1"
    for _ in range(3):
        os.kill(server.pid, signal.SIGHUP)
        state, when = manager.next().split("\n")
        assert state == "RELOADING=1"
        name, us = when.split("=")
        assert name == "MONOTONIC_USEC"
        assert 0 < int(us) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert manager.next() == "READY=1"
    assert server.stop() == 0


def test_who_leaves_reloads_nothing(manage):
    manager = manage(tcp_socket())
    server = manager.start("--pre-drain=200ms")
    assert manager.next() == "READY=1"
    os.kill(server.pid, signal.SIGTERM)
    assert manager.next() == "STOPPING=1"
    os.kill(server.pid, signal.SIGHUP)
    assert server.process.wait(timeout=60) == 0
    assert manager.rest() == []


def test_the_watchdog_is_fed_while_the_loop_turns(manage):
    manager = manage(tcp_socket())
    server = manager.start(WATCHDOG_USEC="20000")
    states = [manager.next() for _ in range(20)]
    assert states.count("READY=1") == 1
    assert states.count("WATCHDOG=1") == 19
    assert server.stop() == 0


def test_the_watchdog_of_another_process_is_not_fed(manage):
    manager = manage(tcp_socket())
    server = manager.start(WATCHDOG_USEC="20000", WATCHDOG_PID="1")
    assert manager.next() == "READY=1"
    assert server.stop() == 0
    assert manager.next() == "STOPPING=1"


class Caller(threading.Thread):
    """Makes calls, each on a new connection, until it is told to end."""

    def __init__(self, port, path, body, expected):
        super().__init__(daemon=True)
        self.port, self.path, self.body, self.expected = port, path, body, expected
        self.going, self.calls, self.wrong = True, 0, []
        self.start()

    def run(self):
        while self.going:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                connection.request("POST", self.path, self.body)
                answer = connection.getresponse()
                got = answer.status, answer.read()
            except (OSError, http.client.HTTPException) as error:
                got = repr(error)
            finally:
                connection.close()
            self.calls += 1
            if got != (200, self.expected):
                self.wrong.append(got)


def test_a_restart_under_load_loses_nothing(manage):
    passed = tcp_socket()
    manager = manage(passed)
    server = manager.start()
    assert manager.next() == "READY=1"
    call = example_of(server)
    callers = [Caller(passed.getsockname()[1], *call) for _ in range(8)]
    for _ in range(5):
        before = sum(each.calls for each in callers)
        while sum(each.calls for each in callers) < before + 200:
            assert [each.wrong for each in callers if each.wrong] == []
            time.sleep(0.01)
        assert server.stop() == 0
        assert manager.next() == "STOPPING=1"
        server = manager.start()
        assert manager.next() == "READY=1"
    for each in callers:
        each.going = False
    for each in callers:
        each.join()
    assert [each.wrong for each in callers if each.wrong] == []
    assert server.stop() == 0


@pytest.mark.parametrize("how", ["a file", "a datagram socket", "a deaf socket",
                                 "nothing", "too many"])
def test_what_was_not_promised_is_refused(how):
    passed = {"a file": lambda: open(os.devnull),
              "a datagram socket": lambda: socket.socket(type=socket.SOCK_DGRAM),
              "a deaf socket": socket.socket}.get(how, lambda: None)()
    script = f"exec 3<&{passed.fileno()}; " if passed else "exec 3<&-; "
    count = "65" if how == "too many" else "1"
    done = subprocess.run(
        ["bash", "-c", script + 'export LISTEN_PID=$$; exec "$@"', "bash",
         BIN / "farcalld", MODULE], capture_output=True, text=True,
        env={**user_environment(), "LISTEN_FDS": count}, timeout=60,
        pass_fds=[passed.fileno()] if passed else [])
    if passed:
        passed.close()
    assert done.returncode == 69
    wanted = "at most 64 can be passed" if how == "too many" else (
        "descriptor 3, which LISTEN_FDS promises, is no TCP or Unix socket that "
        "listens")
    assert wanted in done.stderr


def test_sockets_for_another_process_are_not_taken():
    """LISTEN_PID names another process, such as the shell that started us."""
    server = Server(MODULE, variables={"LISTEN_FDS": "1", "LISTEN_PID": "1"})
    assert server.get("/livez").status == 200
    end_servers([server])


def test_the_file_of_a_unix_socket_has_the_mode_it_should(serve, tmp_path):
    path = tmp_path / "s"
    owner = f":{os.getgid()}"
    server = serve(f"--listen=127.0.0.1:0,unix:{path}", "--socket-mode=0620",
                   f"--socket-owner={owner}", MODULE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o620
    assert server.stop() == 0
    assert not path.exists()


def test_a_new_connection_may_still_ask(serve):
    """The client cannot know that the server has begun to leave."""
    server = serve(MODULE)
    path, body, expected = example_of(server)
    with socket.create_connection((server.host, server.port)) as client:
        until_accepted(server, 1)
        os.kill(server.pid, signal.SIGTERM)
        wait_until(lambda: any("draining" in line for line in server.lines))
        client.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = b""
        while part := client.recv(65536):
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(expected)
        assert b"Connection: close" in answer
    assert server.process.wait(timeout=60) == 0


def until_accepted(server, count):
    """Waits for `count` connections besides that of this request."""
    wait_until(lambda: f"farcall_connections {count + 1}\n" in
               server.get("/metrics").body.decode())
