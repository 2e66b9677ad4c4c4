# SPDX-License-Identifier: Apache-2.0
"""farcall's other verbs: exit codes, hints, .npy files compared with NumPy, and the
printed curl command, which is run."""
import itertools
import json
import os
import platform
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import subprocess
import threading
import time

import ml_dtypes
import numpy as np
import pytest

from conftest import BIN, ROOT, SAMPLES
from console import user_environment

MATMUL = "[[[1,2,3],[4,5,6]],[[1,0],[0,1],[1,1]]]"


@pytest.fixture(params=["run", "call"])
def invoke(request, farcall, corpus, server):
    """Makes the same call in process or over HTTP: invoke("tensor/matmul", …)."""
    def run(function, *arguments, **options):
        if request.param == "call":
            return farcall("call", function, "--server", server.url, *arguments,
                           **options)
        module, name = function.split("/")
        return farcall("run", corpus / f"{module}.so", "--function", name,
                       *arguments, **options)
    run.verb = request.param
    return run


@pytest.mark.parametrize("words", [
    ["farcall", "completion", "bash"], ["farcall", "--version"], ["farcall", "explain"],
    ["farcalld", "--help"], ["farcalld", "-T"], ["farcalld", "-V"]])
def test_what_cannot_be_printed_is_an_error(words):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BIN / words[0], *words[1:]], stdout=full, text=True,
                              stderr=subprocess.PIPE, timeout=60, env=user_environment())
    assert done.returncode in (1, 74)
    assert "cannot write to standard output" in done.stderr


def test_version_and_help(farcall):
    assert farcall("--version").stdout.startswith("farcall 0.")
    top = farcall("--help").stdout
    for verb in ["compile", "run", "call", "ls", "sig", "abi", "health"]:
        assert verb in top
        done = farcall(verb, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith(f"usage: farcall {verb}")
        assert done.stderr == ""
        assert farcall("help", verb).stdout == done.stdout
    assert farcall("version").stdout == farcall("--version").stdout


def test_usage_errors_end_with_the_message(farcall):
    for arguments, message in [
            ([], "no verb given"),
            (["cal", "x/y"], "did you mean 'call'?"),
            (["frobnicate"], "no verb 'frobnicate'"),
            (["call"], "call takes one MODULE/FUNCTION, got 0"),
            (["call", "tensor/f", "1", "2"], "got 3: values go by --input=VALUE"),
            (["run", "m.so", "1", "2"], "got 3 words: values go by --input"),
            (["run", "m.so", "f", "--function=f"], "the function is named twice: f, "
             "--function=f"),
            (["profile", "m.so", "f", "-f", "g"], "named twice: f, --function=g"),
            (["call", "tensor/"], "'tensor/' is no MODULE/FUNCTION; farcall ls"),
            (["call", "tensor/f", "--json", __file__], "--json=@"),
            (["help", "cal"], "did you mean 'call'?"),
            (["call", "tensor/f", "--serve=x"], "did you mean '--server'?"),
            (["call", "tensor/f", "--call-timeout=3"], "did you mean '--timeout'?"),
            (["call", "tensor/f", "--server"], "--server needs a value"),
            (["call", "tensor/f", "--server=ftp://x"], "only http://, https://, grpc://, grpcs:// and unix:"),
            (["call", "tensor/f", "--timeout=soon"], "--timeout=soon is no time: 10 and 10s are"),
            (["call", "tensor/f", "--timeout=99999999999m"], "is no time"),
            (["call", "tensor/f", "--json=[]", "--input=1"], "leave out --input"),
            (["call", "tensor/f", "--json=[]", "--output=-"], "--output goes"),
            (["run"], "run takes one module FILE"),
            (["run", "m.so", "--repeat=0"], "--repeat=0: it is 1 to "),
            (["run", "m.so", "--repeat=1x"], "--repeat=1x: it is 1 to "),
            (["run", "m.so", "--iterate={}", "--time"], "--iterate makes many lines"),
            (["run", "m.so", "--print=some"], "it is full, elided or none"),
            (["run", "m.so", "--tolerance=-1"], "--tolerance=-1: it is a number"),
            (["run", "m.so", "--json=[]", "--print=elided"], "--print=elided goes with"),
            (["run", "--module=m.so", "--device=cuda"], "on the processor only"),
            (["run", "m.so", "--shared-libs=x.so"], "of mlir-runner: link the library"),
            (["run", "m.so", "--benchmark_repetitions=9"], "of iree-benchmark-module: --repeat"),
            (["sig", "a", "b"], "sig takes one"),
            (["ls", "a"], "farcall sig a?"),
            (["abi", "parse", "v1"], "abi takes three words"),
            (["abi", "mangle", "cconv", "0"], "cconv is only read")]:
        done = farcall(*arguments)
        assert done.returncode == 64, arguments
        last = done.stderr.splitlines()[-1]
        assert last.startswith("farcall: ") and message in last, last


def test_a_call(invoke):
    done = invoke("tensor/matmul", "--json", MATMUL)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == '{"results":[[[4.0,5.0],[10.0,11.0]]]}\n'


def test_typed_inputs(invoke):
    done = invoke("tensor/matmul", "--input=1x2xf32=3 4",
                  "--input", "2x1xf32=[[1],[2]]")
    assert done.stdout == '{"results":[[[11.0]]]}\n', done.stderr
    done = invoke("abi/s_mixed", "--input=-3", "--input=f64=0.5",
                  "--input=true", "--input=0.25", "--input=index=10")
    assert done.stdout == '{"results":[8.75]}\n', done.stderr
    done = invoke("abi/s_f32", "--input=nan")
    assert done.stdout == '{"results":["NaN"]}\n', done.stderr


def test_a_place_is_told_where_there_is_one(invoke):
    for document, end in [
            ("[", ", at byte 1"), ("", ", at byte 0"), ("x", ", at byte 0"),
            ("[[[1]]]", "missing"),
            ("[[[true]],[[1]]]", ", at /0/0/0"),
            ('{"a":[[1]]}', "arguments by name are members of 'kwargs', at /a")]:
        done = invoke("tensor/matmul", "--json", document)
        assert done.returncode == 1 and done.stderr.endswith(end + "\n"), done.stderr


def test_a_document_from_a_file(invoke, tmp_path):
    (tmp_path / "doc.json").write_text(MATMUL)
    done = invoke("tensor/matmul", f"--json=@{tmp_path}/doc.json")
    assert done.stdout == '{"results":[[[4.0,5.0],[10.0,11.0]]]}\n'


def test_the_only_function_needs_no_name(farcall, server):
    """Nor does a server's function in its path."""
    def invoke(*words):
        return farcall("call", *words, "--server", server.url)

    for words in (["stride0", "--input=2"], ["stride0/broadcast0", "--input=2"]):
        done = invoke(*words)
        assert (done.returncode, done.stdout) == (0, '{"results":[[3.5,3.5]]}\n'), done.stderr
    for words, code, said in [
            (["tensor", "--input=2"], 64,
             "'tensor' is no MODULE/FUNCTION: it has 9 functions: matmul, mlp, softmax"),
            (["tensor.matmul"], 1, "did you mean 'tensor/matmul'?"),
            (["tenso", "--input=2"], 1, "404 module_not_found: no module 'tenso': "
             "did you mean 'tensor'?")]:
        done = invoke(*words)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    for verb in ("bench", "profile"):
        done = farcall(verb, "tensor.matmul", "--server", server.url)
        assert "did you mean 'tensor/matmul'?" in done.stderr, done.stderr


def test_a_name_may_have_a_dot(farcall, corpus, serve, tmp_path):
    shutil.copy(corpus / "stride0.so", tmp_path / "dot.ted.so")
    server = serve(tmp_path / "dot.ted.so")
    for name in "dot.ted", "dot.ted/broadcast0":
        done = farcall("call", name, "--input=2", "--server", server.url)
        assert (done.returncode, done.stdout) == (0, '{"results":[[3.5,3.5]]}\n'), done.stderr


def test_refused_calls_exit_1(invoke):
    for function, arguments, message in [
            ("tensor/matmul", ["--input=[[1]]"], "missing_argument"),
            ("abi/s_i8", ["--input=300"], "300 does not fit i8"),
            ("abi/r1", ["--input=2xi32=1 2"], "dtype_mismatch"),
            ("abi/s_v22", ["--input=[[1,2],[3,4]]"], "unsupported_type"),
            ("tensor/conv", ["--input=[[[[1]]]]"], "call_failed"),
            ("ownership/dangling", [], "bad_result")]:
        done = invoke(function, *arguments)
        assert done.returncode == 1, (function, done.stderr)
        assert done.stdout == ""
        assert message in done.stderr.splitlines()[-1]


def test_a_tensor_for_a_scalar_hears_how_a_scalar_is_written(invoke):
    for function, inputs, hint in [
            ("abi/s_i8", ["1xi8=4"], "--input=1xi8=4 is a tensor, i8=4 a scalar, at "),
            ("abi/s_mixed", ["-3", "1xf64=0.5", "1", "0", "0"],
             "--input=1xf64=0.5 is a tensor, f64=0.5 a scalar, at "),
            ("abi/s_i8", ['{"dtype":"i8","shape":[],"data":4}'], "")]:
        done = invoke(function, *(f"--input={each}" for each in inputs))
        assert done.returncode == 1
        assert "type_mismatch" in done.stderr and hint in done.stderr, done.stderr
        assert hint or "is a tensor, " not in done.stderr


def test_wrong_inputs_exit_65(invoke, tmp_path):
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00\xff\xff{}")
    for value, message in [("4xf32=1 2 3", "wants 4 values, got 3"),
                           ("zork", "neither a typed value"),
                           (f"@{tmp_path}/bad.npy", "not a .npy file"),
                           (f"@{tmp_path}/none.npy", "No such file")]:
        done = invoke("abi/r1", f"--input={value}")
        assert done.returncode == 65, value
        assert message in done.stderr


SANITIZED = b"__asan_init" in (BIN / "farcall").read_bytes()


def bound_addresses():
    """Limits the program's memory, so that one which reads without end fails soon. Not
    with the sanitizers, which reserve terabytes: then only the program's own limit
    is tested."""
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def test_what_is_no_file_is_bounded_or_refused(invoke, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for option in ["--input=@", "--json=@"]:
        for path, message in [(tmp_path / "fifo", "nobody writes to"),
                              ("/dev/zero", "is a device"), (tmp_path, "irectory")]:
            done = invoke("tensor/mlp", f"{option}{path}", timeout=60)
            assert done.returncode == 65, (path, done.stderr)
            assert message in done.stderr and str(path) in done.stderr, done.stderr
    endless = subprocess.Popen(["sh", "-c", "echo '[['; yes '1,'"], stderr=subprocess.DEVNULL,
                               stdout=subprocess.PIPE)
    done = invoke("tensor/mlp", "--json=@/dev/stdin", stdin=endless.stdout,
                  preexec_fn=bound_addresses)
    endless.stdout.close()
    endless.wait()
    assert done.returncode == 65, done.stderr
    assert "/dev/stdin" in done.stderr and "256 MiB" in done.stderr


def test_a_pipe_is_read_to_its_end(invoke, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    wanted = '{"results":[[[4.0,5.0],[10.0,11.0]]]}\n'
    done = invoke("tensor/matmul", "--json=@/dev/stdin", input=MATMUL)
    assert done.stdout == wanted, done.stderr
    # The written bytes stay in the pipe as long as somebody has it open.
    holder = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    (tmp_path / "fifo").write_text(MATMUL)
    done = invoke("tensor/matmul", f"--json=@{tmp_path}/fifo", timeout=60)
    os.close(holder)
    assert done.stdout == wanted, done.stderr


def test_unknown_names_get_a_hint(invoke):
    done = invoke("tensor/matmull", "--json", MATMUL)
    assert done.returncode == (64 if invoke.verb == "run" else 1)
    assert "matmul" in done.stderr


DTYPES = [("dtypes/t_i1", "?", [True, False]), ("dtypes/t_i8", "i1", [-128, 127]),
          ("dtypes/t_ui8", "u1", [0, 255]), ("dtypes/t_si16", ">i2", [-2, 3]),
          ("dtypes/t_i32", "<i4", [2**31 - 1]), ("dtypes/t_i64", ">i8", [-2**63]),
          ("dtypes/t_f16", "<f2", [0.1, -2]), ("dtypes/t_f64", ">f8", [0.1, 5e-324]),
          ("dtypes/t_c64", "<c8", [1 + 2j, -0.5j])]


@pytest.mark.parametrize("function,dtype,values", DTYPES,
                         ids=[d[0] for d in DTYPES])
def test_npy_there_and_back(invoke, tmp_path, function, dtype, values):
    array = np.array(values, dtype=dtype)
    np.save(tmp_path / "in.npy", array)
    done = invoke(function, f"--input=@{tmp_path}/in.npy",
                  f"--output=@{tmp_path}/out.npy")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")
    back = np.load(tmp_path / "out.npy")
    assert back.dtype == array.dtype.newbyteorder("<")
    assert back.tobytes() == array.astype(back.dtype).tobytes()


def test_npy_keeps_the_bits_of_a_nan(invoke, tmp_path):
    bits = np.array([0x7fc00001, 0xffc12345, 0x80000000], np.uint32)
    np.save(tmp_path / "in.npy", bits.view(np.float32))
    done = invoke("tensor/identity", f"--input=@{tmp_path}/in.npy",
                  f"--output=@{tmp_path}/out.npy")
    assert done.returncode == 0, done.stderr
    back = np.load(tmp_path / "out.npy").view(np.uint32)
    assert back.tolist() == bits.tolist()


def test_npy_shapes_and_orders(invoke, tmp_path):
    wanted = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for number, array in enumerate([
            wanted, np.asfortranarray(wanted), wanted.astype(">f4"),
            np.asfortranarray(wanted.astype(">f4"))]):
        for version in [(1, 0), (2, 0), (3, 0)]:
            path = tmp_path / f"{number}.npy"
            with open(path, "wb") as file:
                np.lib.format.write_array(file, array, version)
            done = invoke("ranks/ru_id", f"--input=@{path}",
                          f"--output=@{tmp_path}/out.npy")
            assert done.returncode == 0, done.stderr
            back = np.load(tmp_path / "out.npy")
            assert back.shape == wanted.shape
            assert (back == wanted).all()
    np.save(tmp_path / "scalar.npy", np.float32(0.1))
    for function in ["abi/s_f32", "ranks/r0_id", "ranks/ru_id"]:
        done = invoke(function, f"--input=@{tmp_path}/scalar.npy")
        assert done.returncode == 0, done.stderr
    np.save(tmp_path / "empty.npy", np.zeros((0, 3), np.float32))
    done = invoke("tensor/softmax", f"--input=@{tmp_path}/empty.npy",
                  f"--output=@{tmp_path}/out.npy")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out.npy").shape == (0, 3)


def test_outputs_in_their_places(invoke, tmp_path):
    done = invoke("tensor/stats", "--input=3xf32=1 2 3", "--output=-",
                  f"--output=@{tmp_path}/squares.npy")
    assert done.returncode == 0, done.stderr
    assert "6.0" in done.stdout
    assert np.load(tmp_path / "squares.npy").tolist() == [1, 4, 9]
    done = invoke("tensor/stats", "--input=3xf32=1 2 3", "--output=",
                  "--output=", "--output=-")
    assert done.returncode == 65
    assert "has no result: there are 2" in done.stderr
    done = invoke("dtypes/t_bf16", "--input=[1]", f"--output=@{tmp_path}/x.npy")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "x.npy").view(ml_dtypes.bfloat16).tolist() == [1]
    done = invoke("dtypes/t_f8", "--input=[1]", f"--output=@{tmp_path}/x.npy")
    assert done.returncode == 65
    assert "NumPy has no element type f8" in done.stderr


def test_bf16_as_ml_dtypes_writes_it(invoke, tmp_path):
    np.save(tmp_path / "x.npy", np.array([1.5, -2], ml_dtypes.bfloat16))
    done = invoke("dtypes/t_bf16", f"--input=@{tmp_path}/x.npy")
    assert (done.returncode, done.stdout) == (0, '{"results":[[1.5,-2.0]]}\n'), done.stderr


def test_a_file_of_elements_alone(invoke, tmp_path):
    np.arange(6, dtype="f4").tofile(tmp_path / "x.bin")
    done = invoke("tensor/softmax", f"--input=2x3xf32=@{tmp_path}/x.bin",
                  f"--output=@{tmp_path}/y.npy")
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "y.npy").shape == (2, 3)
    done = invoke("tensor/softmax", f"--input=3x3xf32=@{tmp_path}/x.bin")
    assert (done.returncode, done.stdout) == (65, "")
    assert "3x3xf32 has 36 bytes, the file 24" in done.stderr


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
def test_the_printed_curl_command_makes_the_call(farcall, server, tmp_path):
    (tmp_path / "it's.json").write_text(MATMUL)
    np.save(tmp_path / "x.npy", np.float32([[3, 4]]))
    for arguments, wanted in [
            (["--json", MATMUL], [[[4.0, 5.0], [10.0, 11.0]]]),
            ([f"--json=@{tmp_path}/it's.json"], [[[4.0, 5.0], [10.0, 11.0]]]),
            ([f"--input=@{tmp_path}/x.npy", "--input=2x1xf32=1 2"], [[[11.0]]])]:
        printed = farcall("call", "tensor/matmul", "--curl", "--server",
                          server.url, *arguments).stdout
        assert shlex.split(printed)[0] == "curl"
        done = subprocess.run(["sh", "-c", printed], capture_output=True,
                              text=True)
        assert json.loads(done.stdout)["results"] == wanted, done


def test_ls_and_sig(farcall, server):
    done = farcall("ls", "--server", server.url)
    assert done.returncode == 0
    lines = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()}
    assert lines["tensor"][0] == "native"
    assert "matmul" in lines["tensor"] and len(lines) == 7
    one = farcall("sig", "tensor/matmul", "--server", server.url)
    assert one.stdout == ("tensor/matmul(a: tensor<?x?xf32>, b: tensor<?x?xf32>)"
                          " -> tensor<?x?xf32>\n  source: sidecar\n")
    module = farcall("sig", "tensor", "--server", server.url).stdout
    assert one.stdout.splitlines()[0] in module and len(module.splitlines()) == 9
    everything = farcall("sig", "--server", server.url).stdout
    assert module in everything
    vector = next(l for l in everything.splitlines() if l.startswith("abi/s_v22("))
    assert "# not callable: " in vector and "vector" in vector
    document = farcall("sig", "tensor/matmul", "--json", "--server", server.url)
    assert json.loads(document.stdout)["name"] == "matmul"
    done = farcall("sig", "tensr", "--server", server.url)
    assert done.returncode == 1
    assert "tensor" in done.stderr


def test_sig_says_why_a_module_has_no_functions(farcall, serve, corpus, tmp_path):
    shutil.copy(corpus / "stride0.so", tmp_path / "good.so")
    (tmp_path / "bad.vmfb").write_bytes(b"no module")
    server = serve(tmp_path)
    listed = farcall("ls", "--server", server.url).stdout.splitlines()[0]
    state, why = re.fullmatch(r"bad +\S+ +(\S+): (.+)", listed).groups()
    done = farcall("sig", "bad", "--server", server.url)
    assert (done.returncode, done.stdout, done.stderr) == (
        1, "", f"farcall: bad is {state}: {why}\n")
    done = farcall("sig", "--server", server.url)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"bad  # {state}: {why}"
    assert done.stdout.splitlines()[1].startswith("good/broadcast0(")


def test_the_server_from_the_environment(farcall, server, monkeypatch):
    monkeypatch.setenv("FARCALL_SERVER", server.url)
    assert farcall("health").stdout == "ready\n"
    assert farcall("ls").returncode == 0
    monkeypatch.setenv("FARCALL_SERVER", "http://127.0.0.1:1")
    assert farcall("health").returncode == 69
    assert farcall("health", "--server", server.url).returncode == 0


def test_nobody_there_exits_69(farcall):
    for arguments in [["ls"], ["sig"], ["health"], ["call", "a/b"]]:
        done = farcall(*arguments, "--server=http://127.0.0.1:1")
        assert done.returncode == 69
        assert "Connection refused: is farcalld running there? --server" in done.stderr


class Stranger:
    """A server that is not farcalld: it sends `pieces` to each client, then `last`
    again and again until the client leaves."""

    def __init__(self, *pieces, last=None):
        self.pieces, self.last, self.sent = pieces, last, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.play)
        self.thread.start()

    def play(self):
        client, _ = self.listener.accept()
        request = b""
        while b"\r\n\r\n" not in request or request.endswith(b"\r\n\r\n") is (
                request.startswith(b"POST")):
            request += client.recv(65536)
        try:
            for piece in self.pieces:
                client.sendall(piece)
            while self.last:
                client.sendall(self.last)
                self.sent += len(self.last)
        except OSError:
            pass  # it has heard enough
        client.close()

    def close(self):
        self.thread.join(timeout=60)
        self.listener.close()


def page(body, kind=b"text/html", status=b"200 OK"):
    return (b"HTTP/1.1 " + status + b"\r\nContent-Type: " + kind +
            b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


JSON = b"application/json"
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\n\r\n"
STRANGERS = [
    ("html", [page(b"<html>hi</html>")], None, "answered 200, not as farcalld does"),
    ("html said to be JSON", [page(b"<html>hi</html>", JSON)], None, "<html>hi"),
    ("cut JSON", [page(b'{"results":[1,', JSON)], None, '{\\"results\\":[1,'),
    ("other JSON", [page(b'[1]', JSON)], None, "[1]"),
    ("another object", [page(b'{"result":[1]}', JSON)], None, '{\\"result\\":[1]}'),
    ("more than one document", [page(b'{"results":[]} {}', JSON)], None, "not as"),
    ("an error page", [page(b"<h1>no</h1>", status=b"404 No")], None,
     "answered 404, not as farcalld does: '<h1>no"),
    ("an error of nothing", [page(b"", status=b"500 No")], None, "answered 500"),
    ("no HTTP", [b"SSH-2.0-OpenSSH\r\n"], None, "that is not HTTP: 'SSH-2.0-OpenSSH"),
    ("half an answer", [page(b"{}", JSON)[:-1]], None, "closed"),
    ("an endless page", [ENDLESS % b"text/html"], b"<p>more</p>" * 1000,
     "200, not as farcalld does: '<p>more"),
    ("an endless head", [b"HTTP/1.1 200 OK\r\n"], b"X: more\r\n" * 1000,
     "the head of the answer is larger than 64 KiB: 'HTTP/1.1 200 OK"),
    ("endless preludes", [], b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000,
     "larger than 64 KiB"),
    ("endless trailers", [ENDLESS.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: "
                          b"chunked\r\n\r\n2\r\n{}\r\n0\r\n") % JSON],
     b"X: more\r\n" * 1000, "larger than 64 KiB"),
    ("a large length", [page(b"", JSON).replace(b"Length: 0", b"Length: 99999999999")],
     None, "99999999999 bytes"),
]


@pytest.mark.once
@pytest.mark.parametrize("verb", [["call", "m/f"], ["ls"], ["sig"], ["sig", "m/f"],
                                  ["health"]], ids=" ".join)
@pytest.mark.parametrize("pieces, last, words", [s[1:] for s in STRANGERS],
                         ids=[s[0] for s in STRANGERS])
def test_what_is_no_farcalld_exits_69(farcall, verb, pieces, last, words):
    stranger = Stranger(*pieces, last=last)
    done = farcall(*verb, "--server", stranger.url, "--timeout=30")
    stranger.close()
    assert done.returncode == 69, (done.stdout[:200], done.stderr[:500])
    assert done.stdout == ""
    line, = done.stderr.splitlines()
    assert line.startswith("farcall: ") and len(line) < 400
    assert words in line.replace("\\u0022", '\\"'), line
    assert stranger.url in line
    assert stranger.sent < 32 << 20


@pytest.mark.once
def test_an_endless_answer_is_bounded(farcall):
    """The endless answer is valid JSON so far, but the memory for it is limited."""
    stranger = Stranger(ENDLESS % JSON + b'{"results":[[1', last=b",1" * 500000)
    done = farcall("call", "m/f", "--server", stranger.url, "--timeout=60",
                   preexec_fn=bound_addresses)
    stranger.close()
    assert done.returncode == 69, done.stderr
    assert "more than 257 MiB: '{" in done.stderr


@pytest.mark.once
def test_the_timeout_is_for_the_whole_call(farcall):
    """A server that sends a byte now and then does not extend the time-out."""
    class Slow(Stranger):
        def play(self):
            client, _ = self.listener.accept()
            client.sendall(b"HTTP/1.1 200 OK\r\n")
            while not select.select([client], [], [], 0.05)[0] or client.recv(65536):
                try:
                    client.sendall(b"X")
                except OSError:
                    break
            client.close()
    for verb, given, said in ((["call", "m/f"], "1", "1 s"), (["ls"], "1s", "1 s"),
                              (["ls"], "1ms", "1 ms"), (["ls"], "1500ms", "1500 ms")):
        slow = Slow()
        begin = time.monotonic()
        done = farcall(*verb, "--server", slow.url, f"--timeout={given}")
        assert time.monotonic() - begin < 20
        slow.close()
        assert done.returncode == 69
        assert "no answer from" in done.stderr and f"in {said}" in done.stderr, done.stderr


def test_modules_that_cannot_be_run_exit_65(farcall, tmp_path, corpus):
    for name in ["none.so", "text.so", "a.txt"]:
        if name != "none.so":
            (tmp_path / name).write_text("not a module")
        done = farcall("run", tmp_path / name, "--function=f")
        assert done.returncode == 65, done.stderr
        assert done.stderr.startswith(f"farcall: {tmp_path / name}: "), done.stderr
    shutil.copy(corpus / "tensor.so", tmp_path / "tensor.so")
    text = (corpus / "abi.farcall.json").read_text()
    (tmp_path / "tensor.farcall.json").write_text(text)
    done = farcall("run", tmp_path / "tensor.so", "--function=matmul")
    assert done.returncode == 65
    assert "sha256" in done.stderr or "another" in done.stderr


def test_files_of_the_wrong_kind_exit_65(farcall, corpus):
    for arguments, message in [
            (["dump", corpus / "tensor.so", "-f", "matmull"], "no code of a function 'matmull'"),
            (["dump", corpus / "none.so"], "none.so"),
            (["dump", "--kernels", __file__], "test_cli.py: "),
            (["test", corpus / "tensor.so"], "brings no calls"),
            (["sig", SAMPLES / "tensor.mlir"], "`farcall compile tensor.mlir"),
            (["run", corpus / "tensor.so"],
             "choose one with --function: matmul, mlp, softmax, conv, stats,")]:
        done = farcall(*arguments)
        assert done.returncode == (64 if arguments[0] == "run" else 65)
        assert message in done.stderr, done.stderr


def test_the_signatures_of_a_file_run_nothing_of_it(farcall, tmp_path, monkeypatch):
    module = BIN.parent / "tests/modules/native/constructor.so"
    trace = tmp_path / "trace"
    monkeypatch.setenv("FARCALL_TEST_TRACE", str(trace))
    done = farcall("sig", module)
    assert done.stdout == "constructor/answer() -> i32\n", done.stderr
    assert not trace.exists()
    done = farcall("run", module)
    assert done.stdout == '{"results":[42]}\n', done.stderr
    assert trace.exists()


def test_an_output_that_is_none_is_refused(invoke, tmp_path):
    """If such a value counted as an empty one, the result would be lost."""
    for value, message in [("y.npy", "--output=y.npy: @y.npy writes a file, - prints"),
                           ("-x", "--output=-x: ")]:
        done = invoke("tensor/identity", "--input=[1]", f"--output={value}", cwd=tmp_path)
        assert done.returncode == 64, (value, done.stdout)
        assert message in done.stderr, done.stderr
        assert done.stdout == "" and list(tmp_path.iterdir()) == []


def test_sig_of_what_is_no_module_asks_no_server(farcall, tmp_path):
    (tmp_path / "net.onnx").write_bytes(b"\x08\x08")
    for name in ("notes.txt", "notes"):
        (tmp_path / name).write_text("a list of things")
    for word, code, message in [
            ("net.onnx", 65, "net.onnx: this is an ONNX model: `farcall serve net.onnx` "
             "compiles and serves it, `farcall compile net.onnx` makes a module of it"),
            ("net.so/f", 64, "a function of a file: farcall sig net.so --function=f"),
            ("a/net.vmfb/f", 64, "farcall sig a/net.vmfb --function=f"),
            ("notes.txt", 65, "notes.txt: not a module: no shared object (*.so) and no "
             "IREE module (*.vmfb)"),
            ("./notes", 65, "./notes: not a module")]:
        done = farcall("sig", word, "--server=http://127.0.0.1:1", cwd=tmp_path)
        assert done.returncode == code, done.stderr
        assert message in done.stderr, done.stderr


def test_run_takes_the_function_as_profile_does(farcall, corpus):
    named = farcall("run", corpus / "tensor.so", "identity", "--input=[2]")
    assert (named.returncode, named.stdout) == (0, '{"results":[[2.0]]}\n'), named.stderr
    option = farcall("run", corpus / "tensor.so", "-f", "identity", "--input=[2]")
    assert option.stdout == named.stdout
    done = farcall("run", corpus / "tensor.so", "identidy", "--input=[2]")
    assert done.returncode == 64 and "did you mean 'identity'?" in done.stderr


def test_help_says_which_verbs_change_a_server(farcall):
    said = "load, unload, promote, rollback and reload need a Unix socket"
    for words in (["--help"], ["reload", "--help"], ["promote", "--help"]):
        assert said in farcall(*words).stdout, words
    assert said not in farcall("call", "--help").stdout


def is_column(lines, at):
    """Does each line, or the one after it, have text that begins there?"""
    begins = [re.match(r"\s\S", line[at - 1:]) is not None for line in lines]
    return all(here or line + 1 < len(lines) and begins[line + 1] and not lines[line + 1][:at].strip()
               for line, here in enumerate(begins))


def test_help_is_in_columns(farcall):
    """A text that is too long for its column has a line of its own; a character counts
    as one, however many bytes it has."""
    verbs = farcall("--help").stdout.split("\n\n")[2].splitlines()[1:]
    assert len(verbs) > 20 and is_column(verbs, 44), verbs
    for verb in ("compile", "serve", "run", "bench", "ls"):
        usage, _, options = farcall(verb, "--help").stdout.split("\n\n")[:3]
        assert usage == usage.rstrip()
        assert is_column(options.splitlines()[1:], 29), options


def test_a_function_is_named_by_a_word(farcall, corpus, tmp_path):
    """A function may have any name, also one that looks like a value. If no function
    has the name, the word may be a value."""
    (tmp_path / "numbered.c").write_text("int _mlir_ciface_f(void) { return 5; }")
    subprocess.run(["cc", "-shared", "-o", tmp_path / "numbered.so",
                    tmp_path / "numbered.c"], check=True)
    names = ["f", "2x", "7", "4xf32=1"]
    (tmp_path / "numbered.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": name, "symbol": "_mlir_ciface_f", "cc": "ciface", "args": [],
             "results": [{"type": "i32"}]} for name in names]}))
    for name in names:
        for words in [name], [f"--function={name}"]:
            done = farcall("run", tmp_path / "numbered.so", *words)
            assert done.stdout == '{"results":[5]}\n', done.stderr
        assert farcall("profile", tmp_path / "numbered.so", name).returncode == 0
    for verb, value in itertools.product(["run", "profile"],
                                         ["2", "[1]", "3xf32=1", "@a.npy", '{"a":1}']):
        done = farcall(verb, corpus / "tensor.so", "--input=1", value)
        assert done.returncode == 64
        assert f"'tensor' has no function '{value}'" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("farcall: values go by --input=VALUE")
    done = farcall("run", corpus / "tensor.so", "matmull")
    assert done.returncode == 64 and "values go by" not in done.stderr


def test_one_function_needs_no_name(farcall, corpus):
    done = farcall("run", corpus / "stride0.so", "--input=2")
    assert done.stdout == '{"results":[[3.5,3.5]]}\n', done.stderr
    done = farcall("run", corpus / "tensor.so", "--input=2")
    assert done.returncode == 64
    assert "choose one with --function" in done.stderr


CRASHES = [("divide", "[1,0]", "SIGFPE"), ("peek", "[0]", "SIGSEGV"),
           ("recurse", "[1000000000]", "SIGSEGV"), ("stop", "[6]", "SIGABRT"),
           ("stop", "[4]", "SIGILL"), ("stop", "[7]", "SIGBUS")]


@pytest.mark.parametrize("function, document, name", CRASHES)
def test_run_says_which_signal_ended_it(farcall, function, document, name):
    module = BIN.parent / "tests/modules/native/crash.so"
    number = getattr(signal, name)
    done = farcall("run", module, "-f", function, "--json", document)
    assert done.returncode == -number
    assert done.stdout == ""
    *notes, last = done.stderr.splitlines()
    assert last == (f"farcall: '{function}' was stopped by signal {number:d} "
                    f"({name}); a server answers 502 and goes on")
    # The note says where the call was, unless that is in the C library.
    assert all(re.match(f"farcall: note: in (_mlir_ciface_)?{function}", each)
               for each in notes)


@pytest.mark.once
@pytest.mark.parametrize("flags, line", [(["-g"], " at {}:4"), ([], "")])
def test_a_crash_names_the_line(farcall, tmp_path, flags, line):
    source = tmp_path / "late.c"
    source.write_text("""
        long long f(long long x) {
          volatile char *nothing = 0;
          return *nothing + x; }""")
    (tmp_path / "late.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": "f", "symbol": "f", "cc": "ciface", "args": [{"type": "i64"}],
             "results": [{"type": "i64"}]}]}))
    module = tmp_path / "late.so"
    subprocess.run(["cc", *flags, "-shared", "-fPIC", "-o", module, source], check=True)
    done = farcall("run", module, "--input=1")
    assert done.returncode == -signal.SIGSEGV
    place = f"f{line.format(source)}"
    assert done.stderr.splitlines()[0] == f"farcall: note: in {place}"
    symbols = subprocess.run(["nm", module], text=True, capture_output=True, check=True)
    start = next(row.split()[0] for row in symbols.stdout.splitlines() if row.endswith(" T f"))
    done = farcall("dump", module, f"--at={int(start, 16):#x}")
    assert done.returncode == 0 and done.stdout.startswith("f at "), done.stderr
    assert (f"{source}:2" in done.stdout) == bool(flags)
    for words, code, said in [(("--at=17",), 64, "--at=17 is no offset"),
                              (("--at=0x",), 64, "--at=0x is no offset"),
                              (("--at=0x1", f"--tools={tmp_path}"), 69, "no addr2line")]:
        done = farcall("dump", module, *words)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr


@pytest.mark.once
def test_a_module_that_crashes_as_it_is_loaded_is_named(farcall, tmp_path):
    (tmp_path / "early.c").write_text("""
        #include <signal.h>
        __attribute__((constructor)) static void early(void) { raise(SIGILL); }
        int f(void) { return 1; }""")
    (tmp_path / "early.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": "f", "symbol": "f", "cc": "ciface", "args": [],
             "results": [{"type": "i32"}]}]}))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "early.so", "early.c"],
                   cwd=tmp_path, check=True)
    done = farcall("run", tmp_path / "early.so")
    assert done.returncode == -signal.SIGILL
    assert done.stderr.startswith("farcall: early.so was stopped by signal 4 (SIGILL)")


# ---------------------------------------------------------------------------
# farcall run: measuring and comparing


@pytest.fixture
def product(farcall, corpus):
    """Runs the product of a 1x2 and a 2x1 matrix: 1*3 + 2*4."""
    def run(*options, **more):
        return farcall("run", corpus / "tensor.so", "-f", "matmul", "--input=1x2xf32=1 2",
                       "--input=2x1xf32=3 4", *options, **more)
    return run


def test_calls_are_repeated_and_timed(product, tmp_path):
    done = product("--repeat=50", "--time", f"--save={tmp_path}/times.json")
    assert done.stdout == '{"results":[[[11.0]]]}\n', done.stderr
    found = re.fullmatch(
        r"50 calls: min (\S+) us, median (\S+) us, p99 (\S+) us, max (\S+) us, "
        r"(\S+) calls/s\n", done.stderr)
    assert found, done.stderr
    *times, rate = map(float, found.groups())
    assert times == sorted(times) and times[0] > 0
    saved = json.loads((tmp_path / "times.json").read_text())
    assert saved["calls"] == 50 and saved["calls_per_s"] == pytest.approx(rate, abs=0.1)
    assert saved["median_ns"] / 1e3 == pytest.approx(times[1], abs=0.01)
    assert saved["min_ns"] <= saved["mean_ns"] <= saved["max_ns"]
    done = product("--time", "--print=none", "--save=-")
    assert json.loads(done.stdout)["calls"] == 1
    assert done.stderr.startswith("1 call: ")


def test_an_instance_keeps_its_state_from_call_to_call(farcall):
    module = ROOT / "tests/corpus/iree/state/written.vmfb"
    once, thrice = (farcall("run", module, "-f", "next", "--input=2", f"--repeat={count}")
                    for count in (1, 3))
    assert once.returncode == 0, once.stderr
    assert json.loads(thrice.stdout)["results"][0] == json.loads(once.stdout)["results"][0] + 4


def test_what_a_function_writes_into_is_read_anew(farcall, corpus):
    done = farcall("run", corpus / "tensor.so", "-f", "scale_inplace", "--input=2xf32=1 2",
                   "--input=f32=3", "--repeat=4")
    assert json.loads(done.stdout)["results"] == [[3, 6], [3, 6]], done.stderr


@pytest.mark.once
def test_results_are_compared(product, tmp_path):
    np.save(tmp_path / "right.npy", np.array([[11]], "f4"))
    np.save(tmp_path / "wrong.npy", np.array([[11.5]], "f8"))
    for expected in ["1x1xf32=11", "[[11]]", "[[11.0005]]", f"@{tmp_path}/right.npy", "",
                     "(ignored)", '{"dtype":"f32","shape":[1,1],"data":[11]}']:
        for more in [], ["--output=-"], [f"--output=@{tmp_path}/out.npy"], ["--print=elided"]:
            done = product(f"--expected={expected}", *more)
            assert done.returncode == 0, done.stderr
            assert done.stderr.startswith("farcall: note: 1 values, 0 differ from --expected")
    for expected, first in [("1x1xf32=12", "expected 12.0, got 11.0"),
                            (f"@{tmp_path}/wrong.npy", "expected 11.5, got 11.0"),
                            ("[[11,12]]", "expected a list of 2, got a list of 1"),
                            ("nan", 'expected "NaN", got a list of 1')]:
        done = product(f"--expected={expected}")
        assert done.returncode == 1
        assert done.stdout == '{"results":[[[11.0]]]}\n'
        assert "first at /results/0" in done.stderr and first in done.stderr, done.stderr
    done = product("--expected=[[11.0005]]", "--tolerance=0")
    assert done.returncode == 1 and "first at /results/0/0/0: " in done.stderr


def test_the_first_result_that_differs_is_named(farcall, corpus):
    def stats(*expected):
        return farcall("run", corpus / "tensor.so", "-f", "stats", "--input=4xf32=1 2 3 4",
                       *(f"--expected={each}" for each in expected))
    results = json.loads(stats().stdout)["results"]
    assert stats(*map(json.dumps, results)).returncode == 0
    assert stats("", json.dumps(results[1])).returncode == 0
    results[1][2] += 1
    done = stats("", json.dumps(results[1]))
    assert done.returncode == 1 and "first at /results/1/2: " in done.stderr
    done = stats("1")
    assert done.returncode == 1 and "there are 2 results, and 1 --expected" in done.stderr
    done = stats("1", "", "2")
    assert done.returncode == 1 and "there are 2 results, and 3 --expected" in done.stderr


def test_large_tensors_are_elided(invoke):
    done = invoke("tensor/matmul", "--input=40x1xf32=2", "--input=1x30xf32=1",
                  "--print=elided")
    row = "[2.0,2.0,2.0,…,2.0,2.0,2.0]"
    assert done.stdout == (f"result 0: 40x30xf32=[{row},{row},{row},…,{row},{row},{row}]\n")
    done = invoke("tensor/matmul", "--input=40x1xf32=2", "--input=1x30xf32=1",
                  "--print=elided", "--output=-")
    assert done.stdout == f"40x30xf32=[{row},{row},{row},…,{row},{row},{row}]\n"
    done = invoke("tensor/matmul", "--input=2x1xf32=1 2", "--input=1x1xf32=3",
                  "--print=elided")
    assert done.stdout == "result 0: 2x1xf32=[[3.0],[6.0]]\n"
    done = invoke("tensor/stats", "--input=2xf32=1 2", "--print=elided")
    assert done.stdout.startswith("result 0: ") and "result 1: 2xf32=[" in done.stdout
    done = invoke("tensor/matmul", "--json", MATMUL, "--print=none")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_flags_of_other_programs(farcall, corpus):
    done = farcall("run", f"--module={corpus}/tensor.so", "--device=local-sync",
                   "--function=matmul", "--input=1x2xf32=1,2", "--input=2x1xf32=3,4",
                   "--expected_output=1x1xf32=11")
    assert done.stdout == '{"results":[[[11.0]]]}\n', done.stderr
    done = farcall("run", corpus / "tensor.so", "-e", "constant", "-entry-point-result=void",
                   "--device=local-task")
    assert done.returncode == 0 and "run computes on one thread" in done.stderr


# ---------------------------------------------------------------------------
# farcall dump of machine code


def test_machine_code_of_a_module(farcall, corpus):
    whole = farcall("dump", corpus / "tensor.so")
    assert whole.returncode == 0, whole.stderr
    one = farcall("dump", corpus / "tensor.so", "--function=constant")
    labels = re.findall(r"^[0-9a-f]+ <(.*)>:$", one.stdout, re.M)
    assert {"_mlir_ciface_constant"} <= set(labels) <= {"_mlir_ciface_constant", "constant"}
    assert "ret" in one.stdout and one.stdout in whole.stdout or len(labels) == 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the module is for x86-64")
def test_machine_code_of_kernels(farcall):
    done = farcall("dump", "--kernels", ROOT / "examples/iree/mandelbrot-x86.vmfb")
    assert re.match(r"vm\.rodata\[\d+\]  // \d+b of machine code\n", done.stdout), done.stderr
    assert "render_dispatch_0" in done.stdout and re.search(r"^(; )?-:10$", done.stdout, re.M)
    assert "warning" not in done.stdout
    done = farcall("dump", "--kernels", ROOT / "examples/iree/mandelbrot.vmfb")
    assert done.returncode == 0 and "has no kernels of machine code" in done.stdout
    done = farcall("dump", "-f", "render", ROOT / "examples/iree/mandelbrot.vmfb")
    assert done.returncode == 64 and "--function is for a native module" in done.stderr


def test_machine_code_without_a_disassembler(farcall, corpus, tmp_path):
    done = farcall("dump", corpus / "tensor.so", f"--tools={tmp_path}")
    assert done.returncode == 69
    assert f"no llvm-objdump and no objdump in {tmp_path}: `apt install" in done.stderr


def test_abi_texts(farcall):
    tree = farcall("abi", "parse", "v1", '{"v":1,"a":["f32"],"r":["i32"]}')
    assert json.loads(tree.stdout)["arguments"][0]["type"]["dtype"] == "f32"
    back = farcall("abi", "mangle", "v1", "-", input=tree.stdout)
    assert json.loads(back.stdout) == {"a": ["f32"], "r": ["i32"], "v": 1}
    assert farcall("abi", "parse", "cconv", "--text", "0iI_f").stdout == \
        "(i32, i64) -> f32\n"
    line = "sync func @mul(%a: tensor<4xf32>) -> (%output0: tensor<4xf32>)"
    assert farcall("abi", "parse", "declaration", "--text", line).stdout == \
        "mul(a: tensor<4xf32>) -> tensor<4xf32>\n"
    bad = farcall("abi", "parse", "raw", "I3!B9")
    assert bad.returncode == 65
    assert "byte" in bad.stderr
