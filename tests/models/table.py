# SPDX-License-Identifier: Apache-2.0
"""Forty models of frameworks: compiled, called over HTTP, compared with the framework.

    table.py PROGRAMS FOLDER [--wheel=FILE] [NAME…]

PROGRAMS is the folder of farcall and farcalld; this Python has what
tests/requirements-models.txt lists. Prints a row for each model and exits 1 unless at
least 32 of 40 (four in five of those named) answer as the framework does and the
doctor refused the others.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import estimators
import functions
import nets
import numpy
import onnxruntime

HERE = pathlib.Path(sys.executable).parent
CALLS, SECONDS = 20, 3.0  # of one timing: whichever ends first
PAUSE = 0.02
ESTIMATORS = [
    "logistic", "logistic_binary", "linear_svc", "svc_linear", "svc_rbf",
    "tree_classifier", "forest_classifier", "boosting_classifier", "neighbors",
    "naive_bayes", "perceptron", "pca_logistic", "linear", "svr", "forest_regressor",
    "boosting_regressor", "one_hot"]


def names():
    return [*ESTIMATORS, *nets.names(), *functions.names()]


def plain(tree):
    """As JSON has it."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [plain(each) for each in tree]
    return numpy.asarray(tree).tolist()


class Model:
    def __init__(self, name, folder, wheel):
        self.name = name
        self.source = folder / f"{name}.{'bin' if name.startswith('jax_') else 'onnx'}"
        self.module = folder / f"{name}.vmfb"
        self.peer = not name.startswith("jax_")
        if name in functions.names():
            self.arguments, self.results = functions.write(name, folder)
        elif name in ESTIMATORS:
            estimators.make(name, folder)
            data = numpy.load(folder / f"{name}.npz")
            self.arguments = [data["x0"]]
            self.results = [data[key] for key in ("y0", "y1") if key in data]
        else:
            self.arguments = nets.write(name, folder, wheel)
            self.results = self.session(2).run(None, self.feeds())

    def session(self, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(str(self.source), options,
                                            providers=["CPUExecutionProvider"])

    def feeds(self):
        inputs = self.session(1).get_inputs()
        return {each.name: value for each, value in zip(inputs, self.arguments)}

    def names(self):
        """Of arguments, results, and dims of arguments."""
        session = self.session(1)
        inputs = session.get_inputs()
        return ([each.name for each in inputs],
                [each.name for each in session.get_outputs()],
                [[dim if isinstance(dim, str) else None for dim in each.shape]
                 for each in inputs])


def names_in(signature):
    """The same of what was compiled."""
    arguments = signature["arguments"]
    return ([each.get("name") for each in arguments],
            [each.get("name") for each in signature["results"]],
            [each["type"].get("dims") or [None] * len(each["type"]["shape"])
             for each in arguments])


class Server:
    def __init__(self, programs, module, threads):
        self.process = subprocess.Popen(
            [programs / "farcalld", "--listen=127.0.0.1:0", "--access-log=off",
             "--isolation=thread", f"--workers={threads}", f"--tiles={threads}",
             "--max-body=256M", module], stderr=subprocess.PIPE, text=True)
        self.url, line = None, "it said nothing"
        for line in self.process.stderr:
            found = re.search(r"listening on (http://[0-9.:]+)", line)
            if found:
                self.url = found[1].rstrip("/")
                break
        if not self.url:
            raise RuntimeError(f"farcalld ended: {line.strip()}")
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=60)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def call(self, function, body):
        """(results, milliseconds that the module had the call)."""
        asked = urllib.request.Request(f"{self.url}/api/v1/functions/{function}", body,
                                       {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=300) as answer:
            timing = answer.headers["Server-Timing"]
            took = float(re.search(r"call;dur=([\d.]+)", timing)[1])
            return json.load(answer)["results"], took


def race(calls):
    """The shortest of each one's calls, which take turns, after one that warms up. The
    threads of onnxruntime go on looking for work when a call has ended: the pause is for
    them to stop."""
    best = {name: float("inf") for name in calls}
    until = time.monotonic() + SECONDS * len(calls)
    for turn in range(CALLS + 1):
        for name, call in calls.items():
            took = call()
            best[name] = min(best[name], took) if turn else best[name]
            time.sleep(PAUSE)
        if turn and time.monotonic() > until:
            break
    return best


def timed(function):
    began = time.perf_counter()
    function()
    return 1e3 * (time.perf_counter() - began)


def difference(got, wanted):
    """Where the answer is another, or None."""
    if isinstance(wanted, dict):
        if set(got) != set(wanted):
            return f"keys {sorted(got)}, not {sorted(wanted)}"
        pairs = [(got[key], wanted[key]) for key in wanted]
    elif isinstance(wanted, (list, tuple)):
        if len(got) != len(wanted):
            return f"{len(got)} results, not {len(wanted)}"
        pairs = list(zip(got, wanted))
    else:
        wanted, got = numpy.asarray(wanted), numpy.array(got, "f8")
        if got.shape != wanted.shape:
            return f"shape {got.shape}, not {wanted.shape}"
        if wanted.dtype.kind in "iu" and (got != wanted).any():
            return f"{(got != wanted).sum()} of {got.size} numbers differ"
        scale = max(1.0, float(numpy.abs(wanted).max(initial=0)))
        apart = float(numpy.abs(got - wanted).max(initial=0)) / scale
        return None if apart <= 1e-4 else f"differs by {apart:.1e}"
    return next(filter(None, (difference(*pair) for pair in pairs)), None)


def ask(server, model, row):
    """Calls the module and compares. What makes the same call again, and is its time."""
    (module,) = server.get("/api/v1/modules")["modules"]
    function = f"{module['name']}/{module['functions'][0]}"
    signature = server.get(f"/api/v1/functions/{function}")
    if model.peer:
        row["names"] = "yes" if names_in(signature) == model.names() else "no"
    body = json.dumps(plain(model.arguments)).encode()
    got, _ = server.call(function, body)
    row["wrong"] = row.get("wrong") or difference(got, model.results)
    return lambda: server.call(function, body)[1]


def serve(programs, model, row):
    """Compares what servers of one thread and of two answer, and times both and
    onnxruntime in one race."""
    servers, calls = [], {}
    try:
        for threads in (1, 2):
            servers.append(Server(programs, model.module, threads))
            calls[f"ms{threads}"] = ask(servers[-1], model, row)
        feeds = model.feeds() if model.peer else {}
        for threads in (1, 2) if model.peer else ():
            session = model.session(threads)
            calls[f"peer{threads}"] = lambda session=session: timed(
                lambda: session.run(None, feeds))
        if not row["wrong"]:
            row.update(race(calls))
    except urllib.error.HTTPError as refusal:
        row["wrong"] = json.load(refusal)["detail"]
    finally:
        for server in servers:
            server.stop()


def examine(programs, model):
    row = {"name": model.name, "names": "-"}
    done = subprocess.run([programs / "farcall", "doctor", "--json", model.source],
                          capture_output=True, text=True, timeout=60)
    row["fit"] = done.returncode == 0
    if not row["fit"]:
        found = [each for each in json.loads(done.stdout)["findings"]
                 if each["level"] == "unfit"]
        row["wrong"] = f"doctor: {found[0]['thing']}: {found[0]['message']}"
        return row
    began = time.monotonic()
    sizes = functions.BATCHES.get(model.name)
    done = subprocess.run(
        [programs / "farcall", "compile", model.source, "-o", model.module, "--cpu=host",
         "--tools", HERE, *([f"--batch={sizes}"] if sizes else [])], capture_output=True, text=True, timeout=900)
    row["compiled"] = time.monotonic() - began
    if done.returncode:
        row["wrong"] = "compile: " + done.stderr.strip().splitlines()[-1][-200:]
        return row
    serve(programs, model, row)
    return row


def number(row, key):
    return f"{row[key]:.3g}" if key in row else "-"


def times(row, threads):
    mine, peer = row.get(f"ms{threads}"), row.get(f"peer{threads}")
    ratio = f"{mine / peer:.2f}" if mine and peer else "-"
    return f"{number(row, f'ms{threads}')} | {number(row, f'peer{threads}')} | {ratio}"


def show(row):
    verdict = "answers" if row.get("wrong") is None else row["wrong"]
    print(f"| {row['name']} | {verdict} | {row['names']} | "
          f"{number(row, 'compiled')} | {times(row, 1)} | {times(row, 2)} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_intermixed_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print("| model | | names | compile s | 1 thread ms | onnxruntime | times | "
          "2 threads ms | onnxruntime | times |\n|---|---|---|---|---|---|---|---|---|---|")
    rows = []
    for name in given.names or names():
        if name == "minilm" and not given.wheel:
            print("| minilm | not tried: no --wheel | - | - | - | - | - | - | - | - |")
            continue
        try:
            rows.append(examine(given.programs, Model(name, given.folder, given.wheel)))
        except Exception as failure:  # of a framework: the other models go on
            rows.append({"name": name, "names": "-", "fit": True,
                         "wrong": f"{type(failure).__name__}: {failure}"[:200]})
        show(rows[-1])
    answer = sum(row.get("wrong") is None for row in rows)
    refused = sum(not row["fit"] for row in rows)
    print(f"{answer} of {len(rows)} answer, {refused} are refused by the doctor, "
          f"{len(rows) - answer - refused} fail otherwise")
    sys.exit(answer < 0.8 * len(rows))


if __name__ == "__main__":
    main()
