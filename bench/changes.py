# SPDX-License-Identifier: Apache-2.0
"""bench/changes.py PROGRAMS [CHANGE…]: see bench/changes."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
ROUNDS = int(os.environ.get("ROUNDS", "3"))
EACH = os.environ.get("SECONDS_EACH", "1") + "s"
IREE = "examples/iree"
SEVEN = json.loads((ROOT / "examples/digits/seven.json").read_text())
(IMAGE,) = SEVEN if isinstance(SEVEN, list) else SEVEN["args"]
CLASSIFY = ("digits/classify", [IMAGE])
RENDER = [-0.6, 0, 3.2]
FIR = ("filter/fir", [[1, 2, 3], [0.5, 0.5]])
PIXELS = [[(x * y) % 256 / 256 for x in range(256)] for y in range(256)]
EDGES = ("filter/edges", [PIXELS])
BASE64 = {"args": [PIXELS], "options": {"results": "b64"}}

# The changes. For before and after: options of farcalld, the function, a request, and how
# many calls the request stands for.
CHANGES = {
    "batch": (([], *CLASSIFY, 1), ([], "digits/batch", [[IMAGE] * 64], 64)),
    "machine": (([], "mandelbrot/render", RENDER, 1),
                ([], "mandelbrot-x86/render", RENDER, 1)),
    "tiles": (([], "mandelbrot-x86/render", RENDER, 1),
              (["--tiles=2"], "mandelbrot-x86/render", RENDER, 1)),
    "lane": ((["--isolation=thread", "--lane=never"], *FIR, 1),
             (["--isolation=thread", "--lane=always"], *FIR, 1)),
    "process": ((["--isolation=process"], *FIR, 1),
                (["--isolation=thread", "--lane=never"], *FIR, 1)),
    "workers": ((["--isolation=process", "--workers=1"], *CLASSIFY, 1),
                (["--isolation=process", "--workers=2"], *CLASSIFY, 1)),
    "fresh": ((["--isolation=process"], *CLASSIFY, 1),
              (["--isolation=process", "--fresh=call"], *CLASSIFY, 1)),
    "bytes": (([], *EDGES, 1), ([], "filter/edges", BASE64, 1)),
}


class Side:
    def __init__(self, programs, folder, options, function, call, calls):
        self.calls, self.function, self.farcall = calls, function, programs / "farcall"
        self.document = pathlib.Path(folder) / f"{id(self)}.json"
        self.document.write_text(json.dumps(call))
        self.said = " ".join([*options, function])
        self.least, self.most = float("inf"), 0.0
        self.process = subprocess.Popen(
            [programs / "farcalld", "--listen=127.0.0.1:0", "--access-log=off", *options, IREE],
            cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"listening on (http://[0-9.:]+)", line)
            if found:
                self.url = found[1].rstrip("/")
                return
        raise SystemExit(f"farcalld ended: {self.said}")

    def load(self, connections):
        done = subprocess.run(
            [self.farcall, "bench", self.function, "-s", self.url, f"--json=@{self.document}",
             "-c", str(connections), "-d", EACH, "--warmup=200ms", "--save=-"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        return json.loads(done.stdout)

    def measure(self):
        self.least = min(self.least, self.load(1)["latency"]["p50_ns"] / 1e3 / self.calls)
        self.most = max(self.most, self.load(8)["answers_per_s"] * self.calls)

    def stop(self):
        self.process.terminate()
        self.process.stderr.read()
        self.process.wait(timeout=60)


def times(now, before):
    return f"{now / before:6.3g}" if before else f"{'-':>6}"


def compare(programs, folder, name):
    sides = [Side(programs, folder, *each) for each in CHANGES[name]]
    try:
        for _ in range(ROUNDS):
            for side in sides:
                side.measure()
    finally:
        for side in sides:
            side.stop()
    before = sides[0]
    for side in sides:
        print(f"{name:8} {side.least:10.1f} {times(side.least, before.least)} "
              f"{side.most:12.0f} {times(side.most, before.most)}  {side.said}", flush=True)


def main(programs, *names):
    print(f"{'change':8} {'us a call':>10} {'times':>6} {'calls/s of 8':>12} {'times':>6}  "
          "farcalld, function")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or CHANGES:
            compare(pathlib.Path(programs), folder, name)


main(*sys.argv[1:])
