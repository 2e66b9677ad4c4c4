# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: programs, compiled samples, a server.

FARCALL_BIN_DIR is the directory of farcalld and farcall, so that the same tests run
against every preset. FARCALL_IREE is the directory of IREE's own programs, with which
some tests compare. FARCALL_ONNX is such a directory in an environment that has ONNX.
FARCALL_IREE_CORPUS is a directory of modules that others compiled. Tests of a directory
that is missing are skipped. If all tests of a run are skipped, it ends with 77, which
CTest shows as not run.

FARCALL_HOSTS is what tests/CMakeLists.txt says of the test file. `both`: it is run once
for each host, which farcalld takes from FARCALL_ISOLATION; but its tests with the mark
`once`, which have no server of that host, are run in threads only. `own`: its tests tell
their servers the host by --isolation. A run whose tests do otherwise fails.
"""
import fcntl
import hashlib
import http.client
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import hidden_features
from console import user_environment
from reloading import Numbered

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("FARCALL_BIN_DIR", ROOT / "build/dev/bin"))
# Builds with -DFARCALL_HTTP2=OFF do not contain this function.
HTTP2 = b"nghttp2_session_server_new" in (BIN / "farcalld").read_bytes()
SAMPLES = ROOT / "tests/modules/mlir"
# The modules whose every function is called. `faults` and `stack` contain functions
# that end a process: they are compiled, but only served where a test asks for them.
CORPUS = ["abi", "dtypes", "outparam", "ownership", "ranks", "stride0", "tensor"]
OTHERS = ["bareptr", "faults", "stack"]
RELEASES = ROOT / "tests/corpus/iree/releases"
IREE_CORPUS = pathlib.Path(os.environ.get("FARCALL_IREE_CORPUS", "/nonexistent"))


HOSTS = os.environ.get("FARCALL_HOSTS")
SERVING = {"server", "serve", "process_server"}  # fixtures


def pytest_configure(config):
    config.addinivalue_line("markers", "once: it starts no server whose host is left to "
                                       "FARCALL_ISOLATION")


def pytest_collection_modifyitems(config, items):
    marked = [each for each in items if each.get_closest_marker("once")]
    for each in marked:
        if SERVING & set(each.fixturenames):
            raise pytest.UsageError(f"{each.nodeid} is marked once and has a server")
    if HOSTS == "both" and os.environ.get("FARCALL_ISOLATION") == "process":
        config.hook.pytest_deselected(items=marked)
        items[:] = [each for each in items if each not in marked]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = Server.left_to_others
    result = yield
    assert not item.get_closest_marker("once") or Server.left_to_others == before, \
        "it is marked once, and left a server's host to FARCALL_ISOLATION"
    return result


def pytest_sessionfinish(session, exitstatus):
    """A run that skipped everything did not pass. Neither did a run for one host whose
    tests started no server."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    left = [each for each in Server.started if each.process.poll() is None]
    for each in left:
        each.process.kill()
    if left:  # a test that failed may leave them, no other
        terminal.write_line(f"{len(left)} servers were left running", red=True)
        session.exitstatus = session.exitstatus or 1
    elif exitstatus == 0 and "passed" not in terminal.stats:
        session.exitstatus = 77
    elif exitstatus == 0 and HOSTS == "both" and Server.left_to_others == 0:
        terminal.write_line("no server was started whose host is left to "
                            "FARCALL_ISOLATION: see tests/CMakeLists.txt", red=True)
        session.exitstatus = 1


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_setup(item):
    item.servers_before = len(Server.started)
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """When a test fails, prints the logs of its servers, also of those that it shares."""
    report = (yield).get_result()
    if report.failed:
        for number, each in enumerate(Server.started):
            if number >= item.servers_before or each.process.returncode is None:
                report.sections.append((f"what farcalld {each.process.pid} logged last",
                                        "".join(each.lines[-20:])))


class Reply:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)


class Peer:
    """An HTTP server at `host` and `port`."""

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path):
        return self.request("GET", path)


class Server(Peer):
    """A farcalld on a port of its own, ended with SIGTERM. `under` is a program, with
    arguments, that starts farcalld. If farcalld is then a child of that process, a
    subclass overrides `pid`. `files` are descriptors that it inherits, `variables`
    are set for it. `program` may be another program that becomes farcalld."""
    left_to_others = 0  # servers of this run that were not told their host
    started = []

    def __init__(self, *arguments, cwd=None, under=(), files=(), variables=None,
                 listen=("--listen", "127.0.0.1:0"), program=("farcalld",)):
        if not any(str(each).startswith("--isolation") for each in arguments):
            assert HOSTS != "own", "--isolation is missing: see tests/CMakeLists.txt"
            Server.left_to_others += 1
        self.lines = []
        self.process = subprocess.Popen(
            [*under, str(BIN / program[0]), *program[1:], *listen, "--access-log=off",
             *map(str, arguments)],
            cwd=cwd, env={**user_environment(), **(variables or {})},
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            pass_fds=files)
        Server.started.append(self)
        self.url = None
        for line in self.process.stderr:
            self.lines.append(line)
            found = re.search(r"listening on (https?://([^:/]+):(\d+))", line)
            if found:
                self.url, self.host, self.port = found[1], found[2], int(found[3])
                break
        if not self.url:
            raise RuntimeError("farcalld did not start:\n" + "".join(self.lines))
        self.reader = threading.Thread(
            target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self.reader.start()

    @property
    def pid(self):
        return self.process.pid

    def call(self, function, document):
        if not isinstance(document, (str, bytes)):
            document = json.dumps(document)
        return self.request("POST", "/api/v1/functions/" + function, document,
                            {"Content-Type": "application/json"})

    def results(self, function, document):
        reply = self.call(function, document)
        assert reply.status == 200, f"{function}: {reply.status} {reply.body}"
        return reply.json["results"]

    def stop(self):
        """Ends the server and returns its exit status. The sanitizers change it from 0
        if they found something, leaks included."""
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGTERM)
        try:
            status = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self.reader.join(timeout=60)
        assert not self.reader.is_alive(), "a process has the server's stderr still"
        return status


def count_files(pid):
    """The number of descriptors that a server has open. Only root may see it."""
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))
    except PermissionError:
        pytest.skip("SKIPPED: only root may count the files a server has open")


def end_servers(servers):
    """Ends the servers as an operator does. Each must exit with 0, also one that a test
    has already ended: another status means a sanitizer's finding, for example a
    leak, or a crash that the test did not expect."""
    statuses = [each.stop() for each in servers]
    said = "".join(line for each in servers for line in each.lines[-20:])
    assert statuses == [0] * len(servers), said


@pytest.fixture(scope="session")
def farcall():
    """Runs `farcall` and returns the finished process."""
    def run(*arguments, **options):
        options.setdefault("capture_output", True)
        options.setdefault("text", True)
        options.setdefault("timeout", 120)
        return subprocess.run([str(BIN / "farcall"), *map(str, arguments)],
                              **options)
    return run


@pytest.fixture
def shell(tmp_path):
    """Runs a command of a page as a reader would, and returns everything it prints."""
    environment = {**user_environment(), "PATH": f"{BIN}:{os.environ['PATH']}"}

    def run(command):
        # python3 is this interpreter, by its full path: a virtual environment is found
        # by the path with which the interpreter is started.
        command = re.sub(r"^python3(?= )", shlex.quote(sys.executable), command)
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, text=True,
                              env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        return done.stdout
    run.environment = environment
    return run


class Iree:
    """IREE's compiler and runtime. Compiled modules are kept beside them, named by
    their source and flags, so that not every preset and run compiles them again."""

    def __init__(self, folder, top):
        folder = pathlib.Path(folder)
        self.compiled = folder.parent / "compiled"
        self.folder = hidden_features.masked(folder, top)
        self.compiled.mkdir(exist_ok=True)

    def run(self, program, *arguments, **options):
        options.setdefault("capture_output", True)
        options.setdefault("text", True)
        options.setdefault("timeout", 300)
        if "input" not in options:
            options["stdin"] = subprocess.DEVNULL
        return subprocess.run(
            [str(self.folder / program), *map(str, arguments)], **options)

    def compile(self, source, *flags):
        """The module compiled from the .mlir file `source`."""
        return self.compile_text(source.stem, source.read_text(), *flags)

    def compile_text(self, name, text, *flags):
        key = hashlib.sha256(json.dumps([text, flags, *hidden_features.HIDDEN]).encode())
        module = self.compiled / f"{name}-{key.hexdigest()[:16]}.vmfb"
        if not module.exists():
            unfinished = module.with_suffix(f".{os.getpid()}.tmp")
            done = self.run("iree-compile", "-", "-o", unfinished, *flags, input=text)
            assert done.returncode == 0, f"{name}: {done.stderr}"
            unfinished.rename(module)
        return module


@pytest.fixture(scope="session")
def iree(tmp_path_factory):
    folder = os.environ.get("FARCALL_IREE")
    if not folder:
        pytest.skip("FARCALL_IREE is not set: scripts/test installs IREE")
    return Iree(folder, tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def onnx_tools():
    """The folder of iree-compile, beside a Python that has ONNX: for --tools."""
    folder = os.environ.get("FARCALL_ONNX")
    if not folder:
        pytest.skip("FARCALL_ONNX is not set: scripts/test installs ONNX")
    return pathlib.Path(folder)


@pytest.fixture(scope="session")
def onnx(onnx_tools, tmp_path_factory):
    return Iree(onnx_tools, tmp_path_factory.mktemp("programs"))


def compile_samples(farcall, top):
    (top / "corpus").mkdir(parents=True)

    def compile_one(name):
        folder = top / "corpus" if name in CORPUS else top
        done = farcall("compile", SAMPLES / f"{name}.mlir",
                       "-o", folder / f"{name}.so")
        return name, done.returncode, done.stderr
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, status, stderr in pool.map(compile_one, CORPUS + OTHERS):
            assert status == 0, f"{name}: {stderr}"


@pytest.fixture(scope="session")
def modules(farcall):
    """The directory of the compiled samples of CORPUS; OTHERS are beside it. They are
    kept in the build folder, named by the compiler and their sources."""
    key = hashlib.sha256((BIN / "farcall").read_bytes())
    for name in CORPUS + OTHERS:
        key.update((SAMPLES / f"{name}.mlir").read_bytes())
    top = BIN.parent / "tests/samples"
    top.mkdir(parents=True, exist_ok=True)
    made = top / key.hexdigest()[:16]
    with open(top / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            for old in top.glob("*/"):
                shutil.rmtree(old)
            compile_samples(farcall, top / "unfinished")
            (top / "unfinished").rename(made)
    return made


@pytest.fixture(scope="session")
def corpus(modules):
    return modules / "corpus"


@pytest.fixture(scope="session")
def server(corpus):
    """One server of the whole corpus for all tests. It must exit with 0."""
    running = Server(corpus)
    yield running
    end_servers([running])


@pytest.fixture
def numbered(tmp_path):
    """A module that returns its number, 0, and can be replaced."""
    folder = tmp_path / "modules"
    folder.mkdir()
    module = Numbered(folder, tmp_path)
    module.put(0)
    return module


@pytest.fixture(params=["thread", "process"])
def host(request):
    """The option --isolation for servers of a test file that is run once: its tests run
    in each host."""
    return "--isolation=" + request.param


@pytest.fixture
def serve():
    """Starts servers for one test, and ends them after it."""
    running = []

    def start(*arguments):
        running.append(Server(*arguments))
        return running[-1]
    yield start
    end_servers(running)


@pytest.fixture
def process_server():
    """Servers with process hosts: in threads a crash would end the whole server."""
    running = []

    def start(*words):
        running.append(Server(*words, variables={"FARCALL_ISOLATION": "process"}))
        return running[-1]
    yield start
    end_servers(running)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """A TMPDIR for one test. It must be empty again at the end."""
    inner = tmp_path / "tmpdir"
    inner.mkdir()
    monkeypatch.setenv("TMPDIR", str(inner))
    yield inner
    assert list(inner.iterdir()) == []
