# SPDX-License-Identifier: Apache-2.0
"""farcall session, farcall call --session, and what farcall top shows of sessions."""
import hashlib
import json
import shlex
import shutil
import subprocess

import pytest

from conftest import BIN, ROOT

CRASH = BIN.parent / "tests/modules/native/crash.so"
X = "--input=4xf32=1 2 3 4"


@pytest.fixture
def roles(tmp_path):
    """bump(x, cache) adds x to the cache, and returns x times the new cache."""
    return shutil.copy(ROOT / "tests/corpus/iree/roles/roles.vmfb", tmp_path / "roles.vmfb")


@pytest.fixture
def ask(serve, roles, farcall):
    """Runs farcall with the server of a module: ask("session", "new", …) returns what
    it prints."""
    server = serve(roles)

    def run(*words, status=0, error=""):
        done = farcall(*words, "--server", server.url)
        assert done.returncode == status, done.stderr
        assert error in done.stderr, done.stderr
        return done.stdout
    run.server = server
    return run


def bump(ask, session, cache, *options, **wanted):
    document = {"args": [[1, 2, 3, 4], cache], **dict(options)}
    return ask("call", "roles/bump", f"--session={session}", "--json", json.dumps(document),
               **wanted)


def test_a_session_by_its_verbs(ask):
    session = ask("session", "new", "roles", "--ttl=60", "--max-bytes=8192").strip()
    assert len(session) == 32
    said = json.loads(ask("session", "show", "roles", session, "--json"))
    assert (said["session"], said["ttl_ms"], said["max_bytes"]) == (session, 60000, 8192)
    answer = json.loads(bump(ask, session, [0] * 4, ("options", {"keep": {"1": "c"}})))
    assert answer["results"][0] == [1, 4, 9, 16]
    assert answer["results"][1]["ref"] == "c"
    for times in (2, 3):
        assert json.loads(bump(ask, session, {"ref": "c"}))["results"][0] == [
            x * x * times for x in (1, 2, 3, 4)]
    printed = ask("call", "roles/bump", "--session", session, X, '--input={"ref":"c"}')
    assert json.loads(printed)["results"][0] == [4, 16, 36, 64]
    first, value = ask("session", "show", "roles", session).splitlines()
    assert first.startswith("step 4, idle ") and first.endswith(" of 60000 ms, 4096 of 8192 bytes")
    assert value == "c  4xf32  16 bytes"
    fork = ask("session", "fork", "roles", session).strip()
    assert ask("session", "reset", "roles", session) == ""
    assert len(ask("session", "show", "roles", session).splitlines()) == 1
    assert json.loads(bump(ask, fork, {"ref": "c"}))["results"][0] == [5, 20, 45, 80]
    bump(ask, session, {"ref": "c"}, status=1, error="reference_unknown")
    assert ask("session", "rm", "roles", session) == ""
    for verb in ("show", "fork", "reset", "rm"):
        ask("session", verb, "roles", session, status=1, error="session_not_found")
    bump(ask, session, [0] * 4, status=1, error="session_not_found")
    ask("session", "show", "nobody", fork, status=1, error="module_not_found")


def test_an_id_from_a_file(ask, tmp_path):
    """Other users can see a command line, so the id should come from a file."""
    file = tmp_path / "id"
    file.write_text(ask("session", "new", "roles"))
    bump(ask, f"@{file}", [0] * 4)
    assert ask("session", "show", "roles", f"@{file}").startswith("step 1, ")
    file.write_text("\n")
    ask("session", "rm", "roles", f"@{file}", status=65, error="has no id of a session")
    ask("session", "rm", "roles", "@nowhere", status=65, error="nowhere")


def test_wrong_words(ask):
    session = ask("session", "new", "roles").strip()
    usage = "farcall session new or ls MODULE, show, fork, reset or rm MODULE ID"
    for words in ([], ["new"], ["show", "roles"], ["new", "roles", session], ["end", "m", "x"],
                  ["export", "roles", session], ["import", "roles"]):
        ask("session", *words, status=64, error=usage)
    ask("session", "show", "roles", session, "--checkpoint", status=64,
        error="--checkpoint is of farcall session new")
    for option in "--ttl=", "--ttl=x", "--max-bytes=1K", "--max-bytes=" + "9" * 16:
        ask("session", "new", "roles", option, status=64, error="are whole numbers")
    ask("session", "show", "roles", session, "--ttl=1", status=64,
        error="--ttl is of farcall session new")
    ask("session", "new", "roles", "--ttl=0", status=1, error="out_of_range")
    for wrong in "", "x y", "a\r\nX: 1", "1" * 65:
        bump(ask, wrong, [0] * 4, status=64, error="is no id of a session")
    bump(ask, "1" * 32, [0] * 4, status=1, error="session_not_found")


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
def test_the_printed_curl_command_names_the_session(ask):
    session = ask("session", "new", "roles").strip()
    line = bump(ask, session, [0] * 4) and ask(
        "call", "roles/bump", f"--session={session}", X, X, "--curl")
    assert f"-H 'Farcall-Session: {session}'" in line
    done = subprocess.run(shlex.split(line), capture_output=True, timeout=60)
    assert json.loads(done.stdout)["results"][0] == [2, 8, 18, 32]
    assert ask("session", "show", "roles", session).startswith("step 2, ")


def test_a_session_that_is_lost(process_server, farcall):
    server = process_server("--crash-limit=0", CRASH)
    for options, then in ([], "session_lost"), (["--checkpoint", "--ttl=60"], "worker_crashed"):
        session = farcall("session", "new", "crash", *options, "--server",
                          server.url).stdout.strip()
        for code in "worker_crashed", then:
            done = farcall("call", "crash/stop", "--json=[11]", f"--session={session}",
                           "--server", server.url)
            assert done.returncode == 1 and code in done.stderr, done.stderr


def test_top_counts_sessions(ask):
    assert "sessions" not in ask("top", "--once")
    session = ask("session", "new", "roles").strip()
    ask("session", "new", "roles")
    bump(ask, session, [0] * 4, ("options", {"keep": {"1": "c"}}))
    assert ", 2 sessions of 4.0 KiB\n" in ask("top", "--once")


def test_values_move_to_a_file_and_back(ask, tmp_path):
    session = ask("session", "new", "roles").strip()
    bump(ask, session, [0] * 4, ("options", {"keep": {"1": "c"}}))
    file = tmp_path / "values.safetensors"
    assert ask("session", "export", "roles", session, str(file)) == ""
    size = int.from_bytes(file.read_bytes()[:8], "little")
    head = json.loads(file.read_bytes()[8:8 + size])
    assert (head["c"]["dtype"], head["c"]["shape"]) == ("F32", [4])
    other = ask("session", "import", "roles", str(file)).strip()
    assert len(other) == 32 and other != session
    assert json.loads(bump(ask, other, {"ref": "c"}))["results"][0] == [2, 8, 18, 32]
    # The file is larger than other texts may be, and is not JSON.
    large = tmp_path / "large.safetensors"
    head = json.dumps({"w": {"dtype": "U8", "shape": [3 << 20], "data_offsets": [0, 3 << 20]}})
    large.write_bytes(len(head).to_bytes(8, "little") + head.encode() + b"x" * (3 << 20))
    other = ask("session", "import", "roles", str(large)).strip()
    ask("session", "export", "roles", other, str(file))
    assert file.stat().st_size > 3 << 20 and file.read_bytes().endswith(b"x" * (3 << 20))
    large.write_bytes(b"no file of tensors")
    ask("session", "import", "roles", str(large), status=1, error="binary_framing")
    ask("session", "import", "roles", str(tmp_path / "none"), status=65, error="none")
    ask("session", "export", "roles", "1" * 32, str(file), status=1, error="session_not_found")
    ask("session", "export", "roles", other, str(tmp_path / "no/where"), status=65,
        error="no/where")
    ask("session", "import", "roles", str(file), "--ttl=1", status=64,
        error="--ttl is of farcall session new")


def test_ones_own_are_listed(ask, serve, roles, farcall, tmp_path):
    """Sessions are listed by id only if an id alone gives no access: here the client
    has a token."""
    assert ask("session", "ls", "roles") == ""
    session = ask("session", "new", "roles").strip()
    bump(ask, session, [0] * 4, ("options", {"keep": {"1": "c"}}))
    digest = hashlib.sha256(bytes.fromhex(session)).hexdigest()[:12]
    line = ask("session", "ls", "roles")
    assert line.startswith(f"{digest}  step 1, idle ") and session not in line
    assert line.endswith(" ms, 1 values of 4096 bytes\n")
    (listed,) = json.loads(ask("session", "ls", "roles", "--json"))["sessions"]
    assert listed.pop("idle_ms") >= 0
    assert listed == {"digest": digest, "step": 1, "bytes": 4096, "values": 1, "lost": False}
    tokens = tmp_path / "tokens"
    tokens.write_text("".join(f"{name} call {hashlib.sha256(name.encode()).hexdigest()}\n"
                              for name in ("anna", "bert")))
    tokens.chmod(0o600)
    server = serve(f"--token-file={tokens}", roles)

    def lines(verb, name):
        (tmp_path / name).write_text(name)
        done = farcall("session", verb, "roles", "--server", server.url,
                       f"--token=@{tmp_path / name}")
        assert done.returncode == 0, done.stderr
        return [line.split()[0] for line in done.stdout.splitlines()]
    made = {name: lines("new", name) + lines("new", name) for name in ("anna", "bert")}
    for name, ids in made.items():
        assert sorted(lines("ls", name)) == sorted(ids)
