# SPDX-License-Identifier: Apache-2.0
"""Follows the README of an example in a copy of its folder. The test starts farcalld,
on a port of its own."""
import os
import shlex
import shutil
import subprocess

from conftest import BIN, ROOT, Server
from console import commands, matches, user_environment


class Reader:
    def __init__(self, example, folder, onnx, options=()):
        self.folder = folder
        self.options = options  # of farcalld, beside those of the page
        shutil.copytree(ROOT / "examples" / example, folder, dirs_exist_ok=True)
        self.environment = {
            **user_environment(), "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PATH": f"{BIN}:{onnx.folder}:{os.environ['PATH']}"}
        self.server = None

    def start(self, arguments):
        self.stop()
        self.server = Server(*self.options, *arguments, cwd=self.folder)
        self.environment["FARCALL_SERVER"] = self.server.url

    def stop(self):
        if self.server:
            assert self.server.stop() == 0, "".join(self.server.lines)
        self.server = None

    def run(self, command):
        words = shlex.split(command)
        if words[0] == "farcalld":
            self.start(words[1:])
            return ""
        if self.server:
            address = self.server.url.removeprefix("http://")
            command = command.replace("localhost:8000", address)
        return subprocess.run(
            ["sh", "-c", command], cwd=self.folder, text=True, timeout=600,
            env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT).stdout

    def follow(self):
        """Runs each command, compares its output with the page, and yields it."""
        for number, command, wanted in commands(self.folder / "README.md"):
            got = self.run(command)
            assert matches(wanted, got), f"README.md:{number}: prints\n{got}"
            yield command
