# SPDX-License-Identifier: Apache-2.0
"""A module whose calls of `pass` create the file `begun`, wait for the file `gate`, and
then append their argument to the file `order`. So a test sees that a call runs,
decides when calls go on, and sees in which order they ran."""
import json
import subprocess

SOURCE = """
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
static long long calls;
long long _mlir_ciface_pass(long long x) {
  close(open("%(folder)s/begun", O_WRONLY | O_CREAT, 0600));
  while (access("%(folder)s/gate", F_OK)) usleep(1000);
  int file = open("%(folder)s/order", O_WRONLY | O_APPEND | O_CREAT, 0600);
  dprintf(file, "%%lld\\n", x);
  close(file);
  return ++calls;
}
long long _mlir_ciface_crash(long long x) { return *(volatile char *)0 + x; }
"""
SIDECAR = {"farcall": 1, "abi": "mlir-memref", "functions": [
    {"name": name, "symbol": f"_mlir_ciface_{name}", "cc": "ciface",
     "args": [{"type": "i64"}], "results": [{"type": "i64"}]}
    for name in ("pass", "crash")]}


class Gated:
    """The module `gated`. `pass` returns the number of calls that its process has had."""

    def __init__(self, work):
        self.work, self.folder = work, work / "modules"
        self.words = ["--sandbox=off", self.folder]  # its calls open files
        self.folder.mkdir()
        source = work / "gated.c"
        source.write_text(SOURCE % {"folder": work})
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", self.folder / "gated.so",
                        source], check=True)
        (self.folder / "gated.farcall.json").write_text(json.dumps(SIDECAR))

    def open(self):
        (self.work / "gate").touch()

    def has_begun(self):
        return (self.work / "begun").exists()

    def order(self):
        return [int(each) for each in (self.work / "order").read_text().split()]
