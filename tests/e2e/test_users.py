# SPDX-License-Identifier: Apache-2.0
"""--socket-users: what users of this machine may request on a Unix socket. Other users
are only tested as root, because the test must change its user."""
import hashlib
import json
import os
import socket
import subprocess
import sys

import pytest

from conftest import BIN, RELEASES, Server, end_servers
from console import user_environment

MODULE = RELEASES / "scalars-3.13.0.vmfb"
CALL = ("POST", "/api/v1/functions/scalars-3.13.0/fact", "[5]")
READ = ("GET", "/api/v1/modules", "")
LOAD = ("POST", "/api/v1/reload", "")
HEALTH = ("GET", "/livez", "")
NOBODY = 65534

# Changes to a user, a group and one more group, and prints the status and body of an
# answer.
ASK = """
import os, socket, sys
path, user, group, more, text = sys.argv[1:]
if int(user) != os.getuid():
    os.setgroups([int(more)])
    os.setgid(int(group))
    os.setuid(int(user))
connection = socket.socket(socket.AF_UNIX)
connection.connect(path)
connection.sendall(text.encode())
answer = b""
while part := connection.recv(4096):
    answer += part
print(answer[9:12].decode(), answer.split(b"\\r\\n\\r\\n", 1)[1].decode())
"""


def ask(path, request, user=None, group=NOBODY, more=NOBODY, token=None):
    method, target, body = request
    fields = f"Authorization: Bearer {token}\r\n" if token else ""
    text = (f"{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{fields}"
            f"Content-Length: {len(body)}\r\n\r\n{body}")
    user = os.getuid() if user is None else user
    done = subprocess.run([sys.executable, "-c", ASK, path, str(user), str(group),
                           str(more), text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    status, _, said = done.stdout.partition(" ")
    return int(status), said


@pytest.fixture
def start(tmp_path):
    servers = []
    # Other users must be able to reach the socket, so it is not in the test's own
    # folder.
    path = f"/tmp/farcall-users-{os.getpid()}"

    def start(rules, *more):
        servers.append(Server("--isolation=process", "--socket-mode=0777", f"--socket-users={rules}", *more, MODULE,
                              listen=("--listen", "127.0.0.1:0", "--listen", f"unix:{path}")))
        return path
    yield start
    end_servers(servers)


def test_a_user_may_what_its_rule_says(start):
    me = os.getuid()
    path = start(f"{me}=read+call")
    assert ask(path, CALL)[0] == 200
    assert ask(path, READ)[0] == 200
    status, said = ask(path, LOAD)
    assert status == 403 and f"user '{me}' has not the scope 'admin'" in said


def test_without_a_rule_nobody_is_answered(start):
    path = start(f"{os.getuid() + 1}=read+call+admin")
    status, said = ask(path, READ)
    assert status == 403 and f"user {os.getuid()} may not ask this socket" in said
    assert ask(path, HEALTH)[0] == 200


def test_acts_are_for_those_who_may(start):
    assert ask(start(f"{os.getuid()}=admin"), LOAD)[0] == 200


def test_a_token_counts_where_one_is_sent(start, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"a read {hashlib.sha256(b'one').hexdigest()}\n")
    tokens.chmod(0o600)
    path = start(f"{os.getuid()}=call", f"--token-file={tokens}")
    assert ask(path, CALL)[0] == 200
    assert ask(path, READ)[0] == 403
    assert ask(path, READ, token="one")[0] == 200
    assert ask(path, CALL, token="one")[0] == 403
    assert ask(path, CALL, token="two")[0] == 401


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become other users")
def test_other_users_and_groups(start):
    path = start(f"0=call+admin,:4242=call,{NOBODY}=read,=metrics")
    assert ask(path, LOAD)[0] == 200
    assert ask(path, READ, NOBODY)[0] == 200
    assert ask(path, CALL, NOBODY)[0] == 403
    # A member of the group: it may be the user's main group or another one.
    assert ask(path, CALL, NOBODY, group=4242)[0] == 200
    assert ask(path, CALL, NOBODY, more=4242)[0] == 200
    assert ask(path, CALL, 4343, group=4343)[0] == 403
    assert ask(path, ("GET", "/metrics", ""), 4343)[0] == 200


def test_tcp_has_no_users(tmp_path):
    path = tmp_path / "farcalld.conf"
    path.write_text(json.dumps({"listeners": [
        {"address": "127.0.0.1:0", "socket-users": "root=call"}]}))
    done = subprocess.run([BIN / "farcalld", "-t", "-c", path], text=True, timeout=60,
                          env=user_environment(), capture_output=True)
    assert done.returncode == 64 and "only a Unix socket knows its users" in done.stderr
    done = subprocess.run([BIN / "farcalld", "-t", "--socket-users=root=rule"], text=True,
                          timeout=60, env=user_environment(), capture_output=True)
    assert done.returncode == 64 and "'root=rule' is no " in done.stderr
