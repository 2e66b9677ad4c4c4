# SPDX-License-Identifier: Apache-2.0
"""Follows the page of an example. Its first two commands make an environment with its
packages (some hundred megabytes, kept like those of scripts/test)."""
import shlex
import subprocess

from conftest import ROOT, Server
from console import commands, matches


def environment(example):
    """The folder that the first two commands make. It is made only once."""
    made = subprocess.run(
        ["bash", "-euc", ". scripts/common.sh; "
         f"environment examples/{example}/requirements.txt; echo $venv"],
        cwd=ROOT, text=True, stdout=subprocess.PIPE, timeout=900)
    assert made.returncode == 0
    return made.stdout.splitlines()[-1]


def follow(example, shell, folder, made):
    """Runs the other commands of the page in `folder`. Returns the server that one of
    them starts."""
    page = ROOT / "examples" / example / "README.md"
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "env").symlink_to(made)
    todo = list(commands(page))
    assert [command for _, command, _ in todo[:2]] == [
        "python3 -m venv env",
        f"env/bin/pip install -q -r examples/{example}/requirements.txt"]
    for number, command, wanted in todo[2:]:
        if command.startswith("farcalld "):
            server = Server(folder / shlex.split(command)[-2])
            continue
        if command.startswith("curl "):
            command = command.replace("localhost:8000",
                                      server.url.removeprefix("http://"))
        got = shell(command)
        assert matches(wanted, got), f"{page}:{number}: prints\n{got}"
    return server
