# SPDX-License-Identifier: Apache-2.0
"""Serves each model of table.py with one command, `farcall serve FILE`, like a user who
knows nothing else: the page's address is printed, and the module's one function
answers as the framework does.

    served.py PROGRAMS FOLDER [--wheels=FOLDER] [NAME…]

Compiled modules are kept in the user's cache, so the next run of the same programs
takes only minutes. Prints a row for each model: the seconds until the address, those
until the answer, and the answer's difference from the framework's (apart.py). Exits
with 1 unless every model answers like that. The models of UNFIT, which `farcall doctor`
calls unfit, must end with 65 and a reason.
"""
import json
import subprocess
import sys
import threading
import time
import urllib.error

from apart import Apart, Other
from table import HERE, PLAIN, Model, Server, given, names, plain, print_row

COLUMNS = ["model", "", "address s", "answer s", "max abs", "ulp"]
UNFIT = {"vad"}  # IREE does not lower its onnx.If


class Refused(Exception):
    """The command ended with 65; the text is its last line."""


class Served(Server):
    def __init__(self, programs, model):
        self.said = []
        self.process = subprocess.Popen(
            [programs / "farcall", "serve", model.source, "--listen", "127.0.0.1:0",
             "--timeout", "300s", "--tools", HERE, *model.options()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=PLAIN)
        self.reader = threading.Thread(
            target=lambda: self.said.extend(self.process.stderr), daemon=True)
        self.reader.start()
        self.url = self.process.stdout.readline().strip().rstrip("/")
        if not self.url:
            status = self.process.wait(timeout=60)
            self.reader.join(timeout=60)
            line = self.said[-1].strip() if self.said else "it said nothing"
            raise Refused(line) if status == 65 else RuntimeError(f"exit {status}: {line}")


def is_unfit(programs, model):
    """True if the doctor calls the model unfit. It may also fail for another reason."""
    done = subprocess.run(
        [programs / "farcall", "doctor", "--json", "--tools", HERE, model.source],
        capture_output=True, text=True, timeout=300)
    return done.returncode == 1 and any(
        each["level"] == "unfit" for each in json.loads(done.stdout)["findings"])


def answer(server, model, row):
    began = time.monotonic()
    body = json.dumps(plain(model.arguments)).encode()
    got, _ = server.call(model.source.stem, body)
    row["answer"] = time.monotonic() - began
    apart = Apart()
    apart.compare(got, model.results)
    row.update(apart=apart.most, units=apart.units)


def examine(programs, model, row):
    began = time.monotonic()
    try:
        server = Served(programs, model)
    except Refused as refused:
        row["wrong"], row["unfit"] = str(refused), is_unfit(programs, model)
        return
    row["address"] = time.monotonic() - began
    try:
        answer(server, model, row)
    except urllib.error.HTTPError as refusal:
        row["wrong"] = json.load(refusal)["detail"]
    except Other as other:
        row["wrong"] = str(other)
    finally:
        server.stop()
    if server.process.returncode:
        row["wrong"] = f"it ends with {server.process.returncode}"


def show(row):
    numbers = (f"{row[key]:.3g}" if key in row else "-"
               for key in ("address", "answer", "apart", "units"))
    print_row([row["name"], row["wrong"] or "answers", *numbers])


def main():
    asked = given()
    print_row(COLUMNS)
    print_row(["---"] * len(COLUMNS))
    rows = []
    for name in asked.names or names():
        rows.append(row := {"name": name, "wrong": None, "unfit": False})
        try:
            examine(asked.programs, Model(name, asked.folder, asked.wheels), row)
        except Exception as failure:  # the other models go on
            row["wrong"] = f"{type(failure).__name__}: {failure}"[:200]
        show(row)
    answered = sum(row["wrong"] is None for row in rows)
    refused = sum(row["unfit"] and row["name"] in UNFIT for row in rows)
    print(f"\n{answered} of {len(rows)} are served and answer as the framework does, "
          f"{refused} are refused, as by the doctor")
    sys.exit(answered + refused != len(rows))


if __name__ == "__main__":
    main()
