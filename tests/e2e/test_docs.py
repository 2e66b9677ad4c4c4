# SPDX-License-Identifier: Apache-2.0
"""docs/quickstart.md and docs/cli.md: every command of theirs, with its output.

In a ```console block a line that begins with `$ ` is a command; what follows is
all it prints, stdout and stderr as they come. farcalld is started by the test.
"""
import os
import re
import shlex
import subprocess
import sys

import pytest

from conftest import BIN, ROOT, Server


def blocks(page, language):
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def commands(text):
    """(command, output) of one console block."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


@pytest.fixture
def shell(tmp_path):
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}

    def run(command):
        # A virtual environment knows itself by the path it is called by.
        command = re.sub(r"^python3 ", shlex.quote(sys.executable) + " ", command)
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, text=True,
                              env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        return done.stdout
    run.environment = environment
    return run


def test_quickstart(shell, tmp_path):
    (source,) = blocks("quickstart.md", "mlir")
    (tmp_path / "norm.mlir").write_text(source)
    server = None
    for block in blocks("quickstart.md", "console"):
        for command, wanted in commands(block):
            if command.startswith("farcalld "):
                server = Server(tmp_path / "norm.so")
                shell.environment["FARCALL_SERVER"] = server.url
                continue
            if server:
                command = command.replace("http://127.0.0.1:8000", server.url)
            got = shell(command)
            assert got.rstrip("\n") == wanted.rstrip("\n"), command
    assert server.stop() == 0


def test_cli_page(shell, server):
    shell.environment["FARCALL_SERVER"] = server.url
    seen = 0
    for block in blocks("cli.md", "console"):
        for command, wanted in commands(block):
            got = shell(command)
            if command == "farcall ls":  # the page shows one of the modules
                assert wanted.split() in [line.split() for line in got.splitlines()]
            else:
                assert got == wanted, command
            seen += 1
    assert seen == 4  # so the pattern above has not gone blind


def test_cli_page_knows_every_verb(shell):
    text = (ROOT / "docs/cli.md").read_text()
    for line in shell("farcall --help").split("verbs:\n")[1].splitlines():
        if not line.startswith("  "):
            continue
        verb = line.split()[0]
        headings = re.findall(r"^## (.*)$", text, re.M)
        assert any(verb in re.split(r",? and |, ", h) for h in headings), verb
        options = re.findall(r"--([a-z]+(?:-[a-z]+)*)", shell(f"farcall {verb} --help"))
        section = text
        for option in set(options) - {"help"}:
            assert f"--{option}" in section or option in ("cconv", "raw"), option
