# SPDX-License-Identifier: Apache-2.0
"""Files with the versions of a module `m`."""
import json
import struct
import subprocess

from reloading import MARK, SIDECAR, SOURCE


class Versions:
    """Each version returns its number."""

    def __init__(self, work):
        source, template = work / "m.c", work / "m.template"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", template, source],
                       check=True)
        self.code = template.read_bytes()
        self.folder = work / "modules"
        self.folder.mkdir()

    def config(self, text="", **modules):
        """Writes a configuration file with this folder and the policies of modules."""
        path = self.folder.parent / "farcalld.conf"
        path.write_text(f'{{ {text} "paths": ["{self.folder}"],\n'
                        f'"modules": {json.dumps(modules)} }}\n')
        return path

    def numbered(self, number):
        return self.code.replace(struct.pack("<q", MARK), struct.pack("<q", number))

    def put(self, version, code=None):
        place = self.folder / "m" / str(version)
        place.mkdir(parents=True, exist_ok=True)
        (place / "model.farcall.json").write_text(json.dumps(SIDECAR))
        (place / "next").write_bytes(self.numbered(version) if code is None else code)
        (place / "next").rename(place / "model.so")

    def drop(self, version):
        (self.folder / "m" / str(version) / "model.so").unlink()


def answers(server, name):
    """The version that answers a call of `name`, or the error code."""
    reply = server.call(f"{name}/number", [0])
    return reply.json["results"][0] if reply.status == 200 else reply.json["code"]
