# SPDX-License-Identifier: Apache-2.0
"""Runs every command of README.md and docs/index.md, and compares its output.

tests/e2e/console.py defines console blocks. `scripts/run` is really started, on a port
of its own, and ended as by Ctrl-C; the other commands run while it serves.
"""
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from console import commands, matches, user_environment  # noqa: E402

PAGES = ["README.md", "docs/index.md"]
COMMANDS = [(page, *each) for page in PAGES for each in commands(ROOT / page)]
SERVER = "scripts/run"  # the first command; the fixture runs it


def other_code_blocks():
    """The kinds of code blocks that this test would not read."""
    texts = [(ROOT / page).read_text() for page in PAGES]
    return [info for text in texts for info in re.findall(r"^```(.*)$", text, re.M)[::2]
            if info in ("", "sh", "bash", "shell")]


@contextlib.contextmanager
def running(log, *words):
    """Starts scripts/run as a reader would. Yields its URL."""
    with open(log, "wb") as sink:
        # In a terminal, a shell starts programs with SIGINT enabled. pytest itself may
        # run with SIGINT ignored.
        run = subprocess.Popen(
            [SERVER, *words, "--listen", "127.0.0.1:0"], cwd=ROOT,
            env=user_environment(), stdout=sink, stderr=sink, stdin=subprocess.DEVNULL, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        try:
            yield wait_for_url(run, log)
        finally:
            run.send_signal(signal.SIGINT)
            status = run.wait(timeout=60)
    assert status == 0, f"scripts/run exits {status}:\n{log.read_text()}"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with running(tmp_path_factory.mktemp("run") / "log") as url:
        yield url


def wait_for_url(run, log):
    while run.poll() is None:
        heard = re.search(r'listening on (http://[^\s"]+)', log.read_text())
        if heard:
            return heard[1]
        try:
            run.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            pass
    pytest.fail(f"scripts/run ended:\n{log.read_text()}")


def test_every_block_is_a_console_block():
    assert other_code_blocks() == []
    assert [command for _, _, command, _ in COMMANDS].count(SERVER) == len(PAGES)
    assert COMMANDS[0][2] == SERVER


@pytest.mark.parametrize(
    "page,number,command,expected",
    [pytest.param(*row, id=f"{row[0]} line {row[1]}") for row in COMMANDS
     if row[2] != SERVER])
def test_command(served, tmp_path_factory, page, number, command, expected):
    work = tmp_path_factory.getbasetemp() / "work"
    if not work.exists():
        work.mkdir()
        for name in ("examples", "build", "scripts"):
            (work / name).symlink_to(ROOT / name)
    address = served.removeprefix("http://")
    env = {**user_environment(), "FARCALL_SERVER": served}
    done = subprocess.run(
        ["bash", "-c", command.replace("localhost:8000", address)
         .replace("127.0.0.1:8000", address)],
        cwd=work, env=env, capture_output=True, text=True, timeout=120)
    got = (done.stdout + done.stderr).rstrip("\n").replace(address, "localhost:8000")
    assert matches(expected, got), f"{page}:{number}: prints\n{got}"


def modules(url):
    with urllib.request.urlopen(url + "/api/v1/modules") as answer:
        return {each["name"]: each["state"] for each in json.load(answer)["modules"]}


COMPILED = {path.stem: "ready" for path in (ROOT / "examples/iree").glob("*.vmfb")}


def test_the_examples_that_are_compiled_already(served):
    assert modules(served) == COMPILED


def test_with_a_compiler(tmp_path):
    with running(tmp_path / "log", "--compiler") as url:
        assert modules(url) == {**COMPILED, "add": "ready", "tensor": "ready"}
