# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests of its operators: made, imported, compiled, and run in IREE's
runtime. Run by the Python that has the `onnx` package, never by pytest.

    generate DIR     DIR/index.json and, for each test, NAME.onnx and NAME.npz
    compile DIR [FLAG…]    NAME.vmfb, or NAME.refused with the reason. The FLAGs go
                           to the compiler
    reference DIR    prints {NAME: null, or what is wrong in IREE's runtime}, and
                     writes its answers to NAME.iree, in the format of NAME.npz

The last two read names from standard input. Files that exist are kept: DIR is in an
environment that is named by its versions. Only one process at a time writes to it.
"""
import concurrent.futures
import contextlib
import fcntl
import io
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import traceback
import warnings

import ml_dtypes
import numpy
import onnx
import onnx.version_converter

FLAGS = ["--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=llvm-cpu",
         "--iree-llvmcpu-target-cpu=generic", "--iree-llvmcpu-debug-symbols=false"]
# Without this flag, doubles become floats in the code, but not in the signature, and
# every call fails.
DOUBLES = ["--iree-input-demote-f64-to-f32=false"]
OPSET = 17  # older models are lifted to it on import
COMPILE_SECONDS = 120
MODELS_MAX = 200  # compiled by one worker, whose memory grows with each


def wide(array):
    """The array in a type that numpy has: narrow integers as 8 bits, other floats as
    f32. No value changes."""
    if isinstance(array, onnx.TensorProto):
        array = onnx.numpy_helper.to_array(array)
    if isinstance(array, list):
        raise TypeError("a sequence")
    array = numpy.asarray(array)
    if array.dtype.kind in "OSU":
        raise TypeError("text")
    if array.dtype.kind != "V" and array.dtype.type.__module__ == "numpy":
        return array
    with contextlib.suppress(TypeError, ValueError):
        ml_dtypes.iinfo(array.dtype)
        return array.astype("i1" if array.dtype.name.startswith("i") else "u1")
    return array.astype("f4")


def lifted(model):
    """The model as the importer sees it: in older opsets some operators had other
    ranks."""
    if model.opset_import[0].version >= OPSET:
        return model
    try:
        return onnx.version_converter.convert_version(model, OPSET)
    except Exception:
        return model  # the importer refuses it as well


def declared(values):
    """[type, dims] of each graph input or output. None: unknown, or not a tensor."""
    types = []
    for value in values:
        tensor = value.type.tensor_type
        if value.type.WhichOneof("value") != "tensor_type":
            types.append(None)
            continue
        name = onnx.TensorProto.DataType.Name(tensor.elem_type)
        dims = [dim.dim_value if dim.HasField("dim_value") else None
                for dim in tensor.shape.dim]
        types.append([name, dims if tensor.HasField("shape") else None])
    return types


def narrow_floats():
    """{ONNX's name: all finite values, ascending} of the float types that numpy lacks."""
    found = {}
    for name in ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2",
                 "FLOAT8E5M2FNUZ"):
        kind = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, name))
        bits = numpy.arange(1 << 8 * kind.itemsize, dtype=f"u{kind.itemsize}")
        values = bits.view(kind).astype("f4")
        found[name] = numpy.unique(values[numpy.isfinite(values)])
    return found


def generate(folder):
    from onnx.backend.test.case.node import collect_testcases
    index = {}
    numpy.savez(folder / "narrow.npz", **narrow_floats())
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        (inputs, outputs), = case.data_sets
        graph = lifted(case.model).graph
        entry = {"rtol": case.rtol, "atol": case.atol,
                 "inputs": declared(graph.input),
                 "outputs": declared(graph.output)}
        try:
            arrays = {f"in{i}": wide(each) for i, each in enumerate(inputs)}
            arrays |= {f"out{i}": wide(each) for i, each in enumerate(outputs)}
        except (TypeError, ValueError):
            entry["tensors"] = False  # sequences, optional values, text
        else:
            entry["tensors"] = True
            numpy.savez(folder / f"{case.name}.npz", **arrays)
        onnx.save(case.model, folder / f"{case.name}.onnx")
        index[case.name] = entry
    unfinished = folder / "index.tmp"
    unfinished.write_text(json.dumps(index))
    unfinished.rename(folder / "index.json")


def compile_text(text, module, flags):
    """Compiles with the library that iree-compile uses. False: it refuses."""
    from iree.compiler.api import Output, Session, Source
    with Session() as session:
        session.set_flags(*FLAGS, *flags, *(DOUBLES if "f64" in text else []))
        invocation = session.invocation()
        invocation.enable_console_diagnostics()
        source = Source.wrap_buffer(session, text.encode() + b"\0")
        if not invocation.parse_source(source) or not invocation.execute():
            return False
        output = Output.open_file(str(module))
        invocation.output_vm_bytecode(output)
        output.keep()
        output.close()
    return True


def import_and_compile(folder, name, flags):
    """Imports and compiles a model. Returns why there is no module, or None."""
    from iree.compiler.tools.import_onnx import __main__ as importer
    source, unfinished = folder / f"{name}.mlir", folder / f"{name}.tmp"
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            importer.main(importer.parse_arguments(
                [str(folder / f"{name}.onnx"), "-o", str(source),
                 "--opset-version", str(OPSET)]))
    except (Exception, SystemExit):
        return "import: " + said.getvalue() + traceback.format_exc()
    with tempfile.TemporaryFile() as complaints:
        os.dup2(complaints.fileno(), 2)
        compiled = compile_text(source.read_text(), unfinished, flags)
        complaints.seek(0)
        why = complaints.read().decode(errors="replace")
    if not compiled:
        return f"compile: {why}"
    unfinished.rename(folder / f"{name}.vmfb")
    return None


def work(folder, flags):
    """The work of a worker process: reads names, one a line, and prints each when it is
    done."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        name = line.strip()
        why = import_and_compile(folder, name, flags)
        if why:
            (folder / f"{name}.refused").write_text(why)
        print(name, file=answers, flush=True)


class Worker:
    """A process that compiles one model after the other. Starting the compiler takes a
    third of the time of a model, so it is started once. A model may crash it, or
    keep it busy for ever; then another worker gets the next model."""

    def __init__(self, folder, flags):
        self.folder, self.flags = folder, flags
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "work", str(self.folder), *self.flags],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.left = MODELS_MAX

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
        self.process = None

    def compile(self, name):
        if not self.process or self.process.poll() is not None:
            self.end()
            self.start()
        self.process.stdin.write(f"{name}\n".encode())
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], COMPILE_SECONDS)
        why = None
        if not ready:
            why = f"compile: takes more than {COMPILE_SECONDS} s"
        elif not self.process.stdout.readline():
            why = f"compile: status {self.process.wait()}"
        self.left -= 1
        if why or not self.left:
            self.end()
        if why:
            (self.folder / f"{name}.refused").write_text(why)
        for end in ("mlir", "tmp"):
            (self.folder / f"{name}.{end}").unlink(missing_ok=True)


def missing(folder, names):
    return [name for name in names
            if not any((folder / f"{name}.{end}").exists()
                       for end in ("vmfb", "refused"))]


def compile_all(folder, names, flags):
    wanted = missing(folder, names)

    def compile_some(_):
        worker = Worker(folder, flags)
        with contextlib.suppress(IndexError):
            while True:
                worker.compile(wanted.pop(0))
        worker.end()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_some, range(os.cpu_count())))


def difference(name, entry, data, results):
    """What is wrong with results, by the test's own tolerances. None: nothing."""
    count = len(entry["outputs"])
    if len(results) != count:
        return f"{len(results)} results, not {count}"
    for i, got in enumerate(results):
        want, got = data[f"out{i}"], wide(got)
        if got.shape != want.shape:
            return f"result {i}: shape {got.shape}, not {want.shape}"
        if want.dtype.kind in "iu" and got.dtype.kind in "iu":
            got = got.astype(want.dtype)  # a module's integers have no sign
        try:
            numpy.testing.assert_allclose(got, want, entry["rtol"], entry["atol"])
        except AssertionError as error:
            return f"result {i}: " + " ".join(str(error).split())[:300]
    return None


def run_one(folder, name, entry):
    from iree import runtime
    config = runtime.Config("local-sync")
    module = runtime.load_vm_module(runtime.VmModule.mmap(
        config.vm_instance, str(folder / f"{name}.vmfb")), config)
    data = numpy.load(folder / f"{name}.npz")
    arguments = []
    for i, kind in enumerate(entry["inputs"]):
        array = data[f"in{i}"]
        stored = onnx.helper.tensor_dtype_to_np_dtype(
            getattr(onnx.TensorProto, kind[0]))
        arguments.append(array.astype(stored))
    results = module[name](*arguments)
    results = results if isinstance(results, (tuple, list)) else [results]
    results = [numpy.asarray(each) for each in results]
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as unfinished:
        numpy.savez(unfinished, **{f"out{i}": wide(each) for i, each in enumerate(results)})
    os.rename(unfinished.name, folder / f"{name}.iree")
    return difference(name, entry, data, results)


def reference(folder, names):
    """Runs each test in a process of its own, because a module can crash IREE's
    runtime."""
    index = json.loads((folder / "index.json").read_text())
    from iree import runtime  # noqa: F401, once for all processes
    answers = {}
    for name in names:
        ours, theirs = os.pipe()
        process = os.fork()
        if not process:
            try:
                why = run_one(folder, name, index[name])
            except BaseException as error:
                why = f"{type(error).__name__}: {error}"[:300]
            os.write(theirs, json.dumps(why).encode())
            os._exit(0)
        os.close(theirs)
        said = b"".join(iter(lambda: os.read(ours, 65536), b""))
        os.close(ours)
        _, status = os.waitpid(process, 0)
        answers[name] = f"status {status}" if status else json.loads(said)
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    verb, folder, flags = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    if verb == "work":
        work(folder, flags)
        sys.exit()
    names = sys.stdin.read().split()
    if verb == "reference":
        reference(folder, names)
    elif verb == "generate" or missing(folder, names):
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if verb == "generate":
                generate(folder)
            else:
                compile_all(folder, names, flags)
