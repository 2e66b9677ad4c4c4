# SPDX-License-Identifier: Apache-2.0
"""Tokens as an operator uses them: files that change, and listeners with different
policies."""
import hashlib
import json
import signal
import subprocess

import pytest

from conftest import BIN, RELEASES, Server, end_servers
from console import user_environment
from reloading import wait_until

MODULE = RELEASES / "scalars-3.13.0.vmfb"


def line(name, scopes, secret, modules=""):
    return f"{name} {scopes} {hashlib.sha256(secret.encode()).hexdigest()} {modules}\n"


def write(path, *lines, mode=0o600):
    path.write_text("".join(lines))
    path.chmod(mode)
    return path


def status(server, path, secret=None, method="GET", body=None):
    fields = {"Authorization": f"Bearer {secret}"} if secret else {}
    return server.request(method, path, body, fields).status


def check(*words):
    return subprocess.run([BIN / "farcalld", "-t", *map(str, words)], text=True,
                          env=user_environment(), capture_output=True, timeout=60)


def test_the_file_is_read_again(serve, tmp_path):
    tokens = write(tmp_path / "tokens", line("a", "read", "one"))
    server = serve(f"--token-file={tokens}", MODULE)
    assert status(server, "/livez") == 200
    assert status(server, "/api/v1/modules") == 401
    assert status(server, "/api/v1/modules", "one") == 200
    write(tokens, line("b", "read,admin", "two"))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: status(server, "/api/v1/modules", "two") == 200)
    assert status(server, "/api/v1/modules", "one") == 401
    # A wrong file changes nothing, and the log says where it is wrong.
    write(tokens, "# new\n", line("c", "read,root", "three"))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any(f"{tokens}:2:8: a scope is " in each for each in server.lines))
    assert status(server, "/api/v1/modules", "two") == 200
    assert status(server, "/api/v1/modules", "three") == 401
    write(tokens, line("c", "read", "three"), mode=0o666)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("may write it" in each for each in server.lines))
    assert status(server, "/api/v1/modules", "two") == 200
    # An act over TCP is logged with the token's name. While the act of SIGHUP is in
    # progress, the answer is 409.
    wait_until(lambda: status(server, "/api/v1/reload", "two", "POST", b"") == 200)
    wait_until(lambda: any("token b" in each for each in server.lines))
    assert server.stop() == 0
    assert not any("Bearer" in each or " two" in each for each in server.lines)


def test_calls_of_both_protocols(serve, tmp_path):
    tokens = write(tmp_path / "tokens", line("all", "call,read", "one"),
                   line("other", "call,read", "two", "x*"))
    server = serve(f"--token-file={tokens}", MODULE)
    listing = server.request("GET", "/api/v1/functions", None,
                             {"Authorization": "Bearer one"}).json["functions"]
    name = next(each["name"] for each in listing if each["callable"])
    path = f"/api/v1/functions/{MODULE.stem}/{name}"
    body = server.request("GET", path + "/example", None,
                          {"Authorization": "Bearer one"}).body
    assert status(server, path, "one", "POST", body) == 200
    assert status(server, path, "two", "POST", body) == 403
    assert status(server, path, None, "POST", body) == 401
    model = f"/v2/models/{MODULE.stem}.{name}"
    assert status(server, model, "one") == 200
    assert status(server, model, "two") == 403
    assert status(server, model + "/infer", None, "POST", b"{}") == 401
    assert server.stop() == 0


def test_listeners_differ(tmp_path):
    tokens = write(tmp_path / "tokens", line("a", "read", "one"))
    config = tmp_path / "conf"
    config.write_text(json.dumps({"paths": [str(MODULE)], "listeners": [
        {"address": "127.0.0.1:0"},
        {"address": "0.0.0.0:0", "token-file": str(tokens)}]}))
    server = Server("-c", config, listen=())
    wait_until(lambda: sum("listening on" in each for each in server.lines) == 2)
    ports = [int(each.split("listening on ")[1].split(":")[2].split('"')[0].split()[0])
             for each in server.lines if "listening on" in each]
    wanted = {ports[0]: 200, ports[-1]: 401}
    assert len(wanted) == 2
    for server.port, expected in wanted.items():
        assert status(server, "/api/v1/modules") == expected
    assert status(server, "/api/v1/modules", "one") == 200
    end_servers([server])


@pytest.mark.parametrize("text, mode, said", [
    ("a read\n", 0o600, ":1:7: the SHA-256 of a secret is"),
    (line("a", "read", "one") * 2, 0o600, ":2:1: there are two tokens 'a'"),
    (line("a", "read", "one"), 0o620, "others than its owner may write it (mode 0620)"),
    (None, 0, "No such file"),
])
def test_files_that_are_wrong(tmp_path, text, mode, said):
    tokens = tmp_path / "tokens"
    if text is not None:
        write(tokens, text, mode=mode)
    done = check(f"--token-file={tokens}", MODULE)
    assert done.returncode == 64 and f"{tokens}" in done.stderr and said in done.stderr


def test_others_may_reach_an_address_with_tokens(tmp_path):
    tokens = write(tmp_path / "tokens", line("a", "read", "one"))
    assert check("--listen=0.0.0.0:0", MODULE).returncode == 64
    assert check("--listen=0.0.0.0:0", f"--token-file={tokens}", MODULE).returncode == 0


def farcall(*words, token=None):
    variables = {"FARCALL_TOKEN": token} if token else {}
    return subprocess.run([BIN / "farcall", *map(str, words)], text=True, timeout=60,
                          env={**user_environment(), **variables}, capture_output=True)


def test_farcall_makes_and_sends_tokens(serve, tmp_path):
    made = farcall("token", "new", "ci", "--scope=call,read", "--modules=scal*")
    assert made.returncode == 0
    secret, entry = made.stdout.splitlines()
    assert len(secret) == 64 and secret not in entry and secret not in made.stderr
    assert entry == line("ci", "call,read", secret, "scal*").strip()
    everything = farcall("token", "new", "all",
                         "--scope=call,read,admin,metrics,profile").stdout.splitlines()
    assert everything[0] != secret
    tokens = write(tmp_path / "tokens", entry + "\n", everything[1] + "\n")
    kept = write(tmp_path / "secret", secret + "\n")
    server = serve(f"--token-file={tokens}", MODULE)
    told = farcall("ls", "-s", server.url)
    assert told.returncode == 1 and "401 unauthorized" in told.stderr
    assert told.stderr.endswith(": --token=@FILE, or FARCALL_TOKEN, sends one\n"), told.stderr
    assert farcall("ls", "-s", server.url, token=everything[0]).returncode == 0
    assert farcall("reload", "-s", server.url, token=everything[0]).returncode == 0
    told = farcall("ls", "-s", server.url, f"--token=@{kept}")
    assert told.returncode == 1 and "token 'ci' is for modules 'scal*'" in told.stderr
    sig = farcall("sig", "-s", server.url, f"--token=@{kept}", MODULE.stem)
    assert sig.returncode == 0, sig.stderr
    for word in ("--token=" + secret, "--token=@/nonexistent", "--token=@/dev/null"):
        told = farcall("ls", "-s", server.url, word)
        assert told.returncode in (64, 69) and secret not in told.stderr
    curl = farcall("call", "-s", server.url, f"--token=@{kept}", "--curl", "--json=[]", "m/f")
    # Neither the secret nor its file's content becomes an argument of curl.
    assert curl.stdout.startswith("printf 'Authorization: Bearer %s\\n' "
                                  f"\"$(head -n 1 '{kept}')\" | curl -sS -H @- ")
    assert secret not in curl.stdout and not curl.stderr
    ran = subprocess.run(["sh", "-c", curl.stdout], capture_output=True, text=True)
    assert json.loads(ran.stdout)["code"] == "forbidden", ran  # not "unauthorized"
    for url, said in (("http://192.0.2.1", True), ("https://192.0.2.1", False),
                      ("http://127.example.org", True), ("http://127.0.0.2", False),
                      ("http://localhost:1", False), ("http://[::1]:1", False)):
        curl = farcall("call", "-s", url, f"--token=@{kept}", "--curl", "--json=[]", "m/f")
        assert ("can read the token" in curl.stderr) == said, curl.stderr
    assert server.stop() == 0


def test_a_token_is_for_calls_alone_unless_scopes_are_given():
    made = farcall("token", "new", "bob")
    secret, entry = made.stdout.splitlines()
    assert made.returncode == 0 and entry == line("bob", "call", secret).strip()


@pytest.mark.parametrize("words, said", [
    (["new", "a", "--scope="], "--scope=''"),
    (["new", "a", "--scope=call,root"], "--scope='call,root'"),
    (["new", "a b", "--scope=call"], "'a b' is no name"),
    (["new", "a", "--scope=call", "--modules=a b"], "--modules='a b'"),
    (["old", "a", "--scope=call"], "farcall token new NAME"),
])
def test_farcall_makes_no_other_tokens(words, said):
    done = farcall("token", *words)
    assert done.returncode == 64 and said in done.stderr and not done.stdout
