# SPDX-License-Identifier: Apache-2.0
"""A server on several addresses: TCP, and Unix sockets, which curl and Python connect
to; and a server that is loading large files."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import RELEASES, Server, end_servers
from reloading import wait_until

MODULE = RELEASES / "scalars-3.13.0.vmfb"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("any.name", timeout=60)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def connect_when_served(path):
    """Connects once the server listens. The file exists a moment earlier."""
    while True:
        connection = UnixConnection(path)
        with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
            connection.connect()
            return connection
        time.sleep(0.001)


def function_of(server):
    """The first function that can be called."""
    functions = server.get("/api/v1/functions").json["functions"]
    name = next(each["name"] for each in functions if each["callable"])
    return f"/api/v1/functions/{MODULE.stem}/{name}"


def test_every_address_answers_the_same(serve, tmp_path):
    first, second = tmp_path / "a.sock", tmp_path / "b.sock"
    server = serve("--listen", f"unix:{first}", f"--listen=127.0.0.1:0,unix:{second}",
                   MODULE)
    path = function_of(server)
    example = server.get(path + "/example").body
    expected = server.request("POST", path, example).body
    assert b"results" in expected
    for each in (first, second):
        curl = subprocess.run(
            ["curl", "-sS", "--fail", "--unix-socket", str(each), "--data-binary",
             example, "http://any.name" + path], capture_output=True, check=True)
        assert curl.stdout == expected
        connection = UnixConnection(each)
        for _ in range(3):  # the connection is kept
            connection.request("POST", path, example)
            assert connection.getresponse().read() == expected
        connection.close()
    assert server.stop() == 0
    assert not first.exists() and not second.exists()
    told = [line.split("listening on ")[1].split('"')[0].strip()
            for line in server.lines if "listening on" in line]
    assert told[0].startswith("http://") and told[2].startswith("http://")
    assert [told[1], told[3]] == [f"unix:{first}", f"unix:{second}"]


def test_a_large_body_goes_through_a_unix_socket(serve, tmp_path):
    path = tmp_path / "s"
    server = serve("--listen", f"unix:{path}", MODULE)
    body = b"[" + b"1," * 1000000 + b"1]"
    expected = server.request("POST", function_of(server), body)
    connection = UnixConnection(path)
    connection.request("POST", function_of(server), body)
    answer = connection.getresponse()
    assert answer.status == expected.status == 422
    connection.close()


def test_what_a_killed_server_left_is_replaced(serve, tmp_path):
    path = tmp_path / "s"
    killed = Server("--listen", f"unix:{path}", MODULE)
    os.kill(killed.pid, signal.SIGKILL)
    assert killed.stop() == -signal.SIGKILL
    assert path.exists()
    server = serve("--listen", f"unix:{path}", MODULE)
    connection = UnixConnection(path)
    connection.request("GET", "/livez")
    assert connection.getresponse().status == 200
    connection.close()
    # The file of a socket in use is not replaced.
    with pytest.raises(RuntimeError, match="is in use by another program"):
        Server("--listen", f"unix:{path}", MODULE)
    connection = UnixConnection(path)
    connection.request("GET", "/livez")
    assert connection.getresponse().status == 200
    connection.close()
    assert server.stop() == 0


LARGE = 8
SIZE = 128 << 20


def test_health_is_answered_while_large_files_are_loaded(tmp_path):
    """The files are sparse: a small module, then a hole."""
    folder = tmp_path / "modules"
    folder.mkdir()
    for i in range(LARGE):
        file = folder / f"m{i}.vmfb"
        shutil.copy(MODULE, file)
        os.truncate(file, SIZE)
    path = tmp_path / "s"
    servers = []
    starting = threading.Thread(
        target=lambda: servers.append(Server("--listen", f"unix:{path}", folder)))
    starting.start()
    connection = connect_when_served(path)
    seen = []  # how many files were hashed when /livez was answered
    while not seen or seen[-1] < LARGE:
        connection.request("GET", "/livez")
        assert connection.getresponse().read() == b'{"status":"live"}'
        connection.request("GET", "/api/v1/modules")
        modules = json.loads(connection.getresponse().read())["modules"]
        seen.append(sum("sha256" in each for each in modules))
    connection.close()
    starting.join()
    end_servers(servers)
    # No time is asserted: how long an answer takes depends on the machine.
    assert seen[0] < LARGE, "everything was hashed before the first answer"


def test_what_holds_for_a_listener_is_compared(tmp_path):
    """SIGHUP names keys that need a restart, but not a key that just states the
    default."""
    folder = tmp_path / "modules"
    folder.mkdir()
    shutil.copy(MODULE, folder)
    config = tmp_path / "farcalld.conf"

    def write(**keys):
        config.write_text(json.dumps({
            "paths": [str(folder)], "admin": "off",
            "listeners": [{"address": "127.0.0.1:0"},
                          {"address": f"unix:{tmp_path}/a.sock", **keys}]}))

    write()
    server = Server("-c", config, listen=())
    wait_until(lambda: any("a.sock" in line for line in server.lines))
    for round, (keys, told) in enumerate([({"admin": "off"}, 0), ({"admin": "socket"}, 1)]):
        write(**keys)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: sum('"act":"reload"' in line for line in server.lines) > round)
        assert sum('"key":"listeners"' in line for line in server.lines) == told
    assert server.stop() == 0


def test_each_listener_has_its_policy(serve, tmp_path):
    """One listener with the file's policy for all, one for administrators, and one
    behind a proxy."""
    admin, proxied = tmp_path / "admin.sock", tmp_path / "proxied.sock"
    folder = tmp_path / "modules"
    folder.mkdir()
    shutil.copy(MODULE, folder)
    config = tmp_path / "farcalld.conf"

    def write(**rest):
        config.write_text(json.dumps({
            "paths": [str(folder)], "admin": "off", "allow-host": "models.example",
            "listeners": [
                {"address": "127.0.0.1:0"},
                {"address": "127.0.0.1:0", "allow-host": "other.example",
                 "admin": "loopback", **rest},
                {"address": f"unix:{admin}", "admin": "socket", "socket-mode": "0600"},
                {"address": f"unix:{proxied}"}]}))

    write()
    server = Server("-c", config, listen=())
    wait_until(lambda: any(f"unix:{proxied}" in line for line in server.lines))
    ports = [int(line.split("127.0.0.1:")[1].split('"')[0])
             for line in server.lines if "listening on http" in line]
    assert len(ports) == 2
    assert admin.stat().st_mode & 0o777 == 0o600

    def status(port, method, path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    def act(path):
        connection = UnixConnection(path)
        connection.request("POST", "/api/v1/reload")
        answer = connection.getresponse().status
        connection.close()
        return answer

    names = ["models.example", "other.example", "127.0.0.1"]
    assert [[status(port, "GET", "/livez", Host=name) for name in names]
            for port in ports] == [[200, 421, 200], [421, 200, 200]]
    pages = [f"http://{name}" for name in names[:2]]
    assert [[status(port, "GET", "/livez", Host=name, Origin=page)
             for name, page in zip(names, pages)] for port in ports] == \
        [[200, 421], [421, 200]]
    assert [status(port, "POST", "/api/v1/reload") for port in ports] == [403, 200]
    assert [act(admin), act(proxied)] == [200, 403]
    # Changes of the file's listeners take effect at the next start.
    write(**{"trusted-proxy": "127.0.0.1"})
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any('"key":"listeners"' in line for line in server.lines))
    assert server.stop() == 0
    assert not admin.exists()
    # A flag that says where to listen replaces all listeners of the file.
    server = serve("-c", config)
    assert sum("listening on" in line for line in server.lines) == 1
    assert server.request("GET", "/livez", headers={"Host": "models.example"}).status == 200
    assert server.request("GET", "/livez", headers={"Host": "other.example"}).status == 421
    assert not admin.exists()
