# SPDX-License-Identifier: Apache-2.0
"""The Unix socket that a server opens beside TCP without being asked. With it, verbs
that change the server work on its machine for its user."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import BIN, ROOT, Server
from console import user_environment
from test_hostile import until


@pytest.fixture
def runtime(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def start(tmp_path, runtime):
    module = tmp_path / "models/digits.vmfb"
    module.parent.mkdir()
    shutil.copy(ROOT / "examples/iree/digits.vmfb", module)
    servers = []

    def begin(*flags, paths=(module.parent,)):
        servers.append(Server(*flags, *paths, variables={"XDG_RUNTIME_DIR": str(runtime)}))
        return servers[-1]
    yield begin
    for server in servers:
        server.stop()


def farcall(runtime, *words):
    done = subprocess.run(
        [BIN / "farcall", *map(str, words)], text=True, capture_output=True, timeout=60,
        env={**user_environment(), "XDG_RUNTIME_DIR": str(runtime)})
    return done.returncode, done.stdout + done.stderr


def sockets(runtime):
    folder = runtime / "farcall"
    return sorted(each.name for each in folder.iterdir()) if folder.exists() else []


def test_two_servers_are_each_changed_by_their_own(start, runtime):
    one, two = start(), start()
    assert sockets(runtime) == sorted(f"127.0.0.1:{each.port}.sock" for each in (one, two))
    assert oct((runtime / "farcall").stat().st_mode) == "0o40700"
    assert {oct((runtime / "farcall" / each).stat().st_mode) for each in sockets(runtime)} \
        == {"0o140600"}
    for url in one.url, f"http://localhost:{one.port}":
        code, said = farcall(runtime, "unload", "digits", "--server", url)
        assert (code, said) == (0, "digits  unloaded\n")
        statuses = [each.get("/api/v1/functions/digits").status for each in (one, two)]
        assert statuses == [404, 200]
        assert farcall(runtime, "load", "digits", "--server", url)[0] == 0
    # Over TCP these acts are still forbidden.
    assert one.request("POST", "/api/v1/modules/digits/unload").json["code"] == "forbidden"
    assert one.stop() == 0
    assert sockets(runtime) == [f"127.0.0.1:{two.port}.sock"]


def test_what_a_killed_server_leaves_is_no_socket(start, runtime):
    one = start()
    with socket.socket(socket.AF_UNIX) as left:
        (runtime / "farcall" / f"127.0.0.1:{one.port}.sock").unlink()
        left.bind(str(runtime / "farcall" / f"127.0.0.1:{one.port}.sock"))
    code, said = farcall(runtime, "unload", "digits", "--server", one.url)
    assert code == 1 and "403 forbidden" in said, said


def test_another_server_is_never_changed(start, runtime):
    """Not even if the other server's socket has the name of the asked one's."""
    asked, other = start("--admin=off"), start()
    folder = runtime / "farcall"
    for name in f"127.0.0.1:{asked.port}.sock", f"0.0.0.0:{asked.port}.sock":
        os.rename(folder / sockets(runtime)[0], folder / name)
        code, said = farcall(runtime, "unload", "digits", "--server", asked.url)
        assert code == 1 and "403 forbidden" in said, said
        assert other.get("/api/v1/functions/digits").status == 200


def test_it_is_found_by_each_address(start, runtime):
    server = start("--listen=127.0.0.1:0")

    def urls():
        return re.findall(r"listening on (http:[\d./:]+)", "".join(server.lines))
    assert until(lambda: len(urls()) == 2)
    assert len(sockets(runtime)) == 1
    for url in urls():
        assert farcall(runtime, "unload", "digits", "--server", url)[0] == 0
        assert farcall(runtime, "load", "digits", "--server", url)[0] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="gives a file to another user")
def test_a_socket_of_another_user_is_not_asked(start, runtime):
    one = start()
    os.chown(runtime / "farcall" / f"127.0.0.1:{one.port}.sock", 1, 1)
    code, said = farcall(runtime, "unload", "digits", "--server", one.url)
    assert code == 1 and "403 forbidden" in said, said


@pytest.mark.parametrize("flags", [["--admin=off"], ["--listen=127.0.0.1:0",
                                                     "--listen=unix:asked.sock"],
                                   ["--sandbox=basic"], ["--sandbox=off"]])
def test_there_is_none_where_it_has_no_use(start, runtime, tmp_path, flags, monkeypatch):
    monkeypatch.chdir(tmp_path)
    start(*flags)
    assert sockets(runtime) == []


def test_it_is_closed_when_a_module_could_connect(start, runtime, tmp_path):
    file = tmp_path / "farcalld.conf"
    file.write_text("{}")
    server = start("-c", file)
    assert len(sockets(runtime)) == 1
    file.write_text(json.dumps({"modules": {"digits": {"sandbox": "basic"}}}))
    server.process.send_signal(signal.SIGHUP)
    assert until(lambda: sockets(runtime) == [])
    assert server.get("/readyz").status == 200


def test_bytecode_alone_cannot_connect(start, runtime):
    start("--sandbox=off", "--no-native-kernels")
    assert len(sockets(runtime)) == 1


def test_tokens_are_asked_for_there_too(start, runtime, tmp_path):
    secret, line = subprocess.run(
        [BIN / "farcall", "token", "new", "ops", "--scope=admin,read"], text=True,
        capture_output=True, env=user_environment(), check=True).stdout.splitlines()
    (tmp_path / "tokens").write_text(line + "\n")
    (tmp_path / "secret").write_text(secret)
    server = start(f"--token-file={tmp_path / 'tokens'}")
    words = "unload", "digits", "--server", server.url
    code, said = farcall(runtime, *words)
    assert code == 1 and "unauthorized" in said, said
    assert farcall(runtime, *words, f"--token=@{tmp_path / 'secret'}")[0] == 0


@pytest.mark.parametrize("spoil", [lambda folder: folder.chmod(0o755),
                                   lambda folder: (folder.rmdir(), folder.write_text("x"))],
                         ids=["others may read it", "a file"])
def test_a_folder_that_is_not_ours_alone_is_not_used(start, runtime, spoil):
    folder = runtime / "farcall"
    folder.mkdir(mode=0o700)
    spoil(folder)
    server = start()
    assert folder.is_file() or not os.listdir(folder)
    assert farcall(runtime, "unload", "digits", "--server", server.url)[0] == 1


def test_it_does_not_say_that_modules_come_later(tmp_path, runtime):
    """A Unix socket that was asked for does say that. The server's own socket does not."""
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [BIN / "farcalld", "--listen=127.0.0.1:0", tmp_path / "none.vmfb"], text=True,
        capture_output=True, timeout=60,
        env={**user_environment(), "XDG_RUNTIME_DIR": str(runtime)})
    assert done.returncode == 65, done.stderr


def test_it_makes_no_server_ready_that_has_nothing(start, tmp_path):
    """A listener that was asked for makes an empty server ready. The server's own
    socket does not."""
    (tmp_path / "empty").mkdir()
    words = "--allow-empty", "--ready=any"
    assert start(*words, paths=(tmp_path / "empty",)).get("/readyz").status == 503
    assert start(*words, "--admin=loopback",
                 paths=(tmp_path / "empty",)).get("/readyz").status == 200
