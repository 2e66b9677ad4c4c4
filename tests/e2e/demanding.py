# SPDX-License-Identifier: Apache-2.0
"""Folders of many modules that are links to a few files, and calls of them."""
import json
import os
import re
import struct
import subprocess
import threading

from conftest import BIN
from reloading import MARK, SIDECAR, SOURCE, wait_until

# With the sanitizers a process needs more memory.
SANITIZED = b"__asan_init" in (BIN / "farcalld").read_bytes()
LIMIT = "600M" if SANITIZED else "12M"


def farm(work, count, contents, size=0):
    """A folder of `count` modules. They are links to `contents` files, to each of which
    `size` bytes are appended."""
    source, template = work / "many.c", work / "many.template"
    source.write_text(SOURCE)
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", template, source],
                   check=True)
    code = template.read_bytes()
    folder, files = work / "modules", work / "contents"
    folder.mkdir()
    files.mkdir()
    for number in range(contents):
        file = files / f"{number}.so"
        file.write_bytes(code.replace(struct.pack("<q", MARK),
                                      struct.pack("<q", number)) + b"\0" * size)
    (files / "sidecar").write_text(json.dumps(SIDECAR))
    for number in range(count):
        os.link(files / f"{number % contents}.so", folder / f"m{number}.so")
        os.link(files / "sidecar", folder / f"m{number}.farcall.json")
    return folder


class Many:
    def __init__(self, folder, count, contents=5):
        self.folder, self.count, self.contents = folder, count, contents

    def call(self, number):
        return f"m{number}/number", [number]

    def answer(self, number):
        return [number * 1000000 + number % self.contents]

    def call_all(self, server, threads, rounds):
        wrong = []

        def run(first):
            for _ in range(rounds):
                for number in range(first, self.count, threads):
                    reply = server.call(*self.call(number))
                    if reply.status != 200 or \
                            reply.json["results"] != self.answer(number):
                        wrong.append((number, reply.status, reply.body))

        workers = [threading.Thread(target=run, args=[i]) for i in range(threads)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        return wrong


def metric(server, name):
    body = server.get("/metrics").body.decode()
    return int(re.search(rf"^farcall_{name} (\d+)$", body, re.M)[1])


def within(server):
    """Waits until modules use no more memory than the limit. A module may need more
    than was estimated before it was loaded; then others are unloaded."""
    wait_until(lambda: metric(server, "module_bytes") <=
               metric(server, "module_bytes_limit"))
