# SPDX-License-Identifier: Apache-2.0
"""Modules that reach for what is not theirs, in namespaces that are thrown away
(escape_stage.py). Each KIND of tests/modules/escape is a module. The table says what
each one gets with --sandbox=off, and which ones `basic` stops. `strict` must stop
them all, and log one line for each call that it refused. Victims are also checked
from outside: which were reached, and what was changed."""
import contextlib
import dataclasses
import errno
import functools
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import pytest

from certificates import Authority
from conftest import BIN, Reply, Server
from test_hostile import OBJECTS as HOSTILE
from test_hostile import SANITIZED, children, sidecar, until

STOP = "a worker says that the jail stopped a system call of its module"
TLS = "OpenSSL" in subprocess.run([BIN / "farcalld", "-V"], capture_output=True,
                                  text=True, timeout=60).stdout
OBJECTS = BIN.parent / "tests/modules/escape"
STAGE = pathlib.Path(__file__).with_name("escape_stage.py")
GOT, NOTHING = 0, -1
EXEC = "exit(42)"  # a program ran in the place of the worker
# The kernel, or its configuration, lacks what was tried.
ABSENT = {errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.EOPNOTSUPP}
STOPPED = {errno.EPERM, errno.EACCES}
UNFOUND = {NOTHING, *STOPPED}  # the dynamic linker does not say what stopped it
BODY = 2718281828459045234  # remains.c looks for its digits
# The next body is shorter; it and the zeros after it overwrite only the beginning of
# the old one.
SMALL, LARGE = f"[{' ' * 256}{BODY}]", f"[{' ' * 256}{BODY}{' ' * (1 << 20)}]"


@dataclasses.dataclass
class Kind:
    """A function of an object, the only one of its module. `root` and `user` say what
    it gets without a sandbox: GOT, or the error that forbids it, and `why`.
    `stopped` are the errors with which the sandbox stops it. GOT: nothing stops it."""
    source: str
    function: str
    tries: str
    target: str = ""      # the process that it is told of
    root: object = GOT
    user: object = GOT
    why: str = ""
    stopped: object = dataclasses.field(default_factory=lambda: STOPPED)
    basic: bool = False   # --sandbox=basic stops it
    silent: bool = False  # strict does not note what stopped it
    before: tuple = ()    # a call that somebody else made: function, body
    phase: str = ""       # "early" or "thread": escape.h

    @property
    def name(self):
        return "_".join(filter(None, [self.phase, self.function, self.target]))

    @property
    def called(self):
        return {"early": "early", "thread": "threaded"}.get(self.phase, self.function)

    def expected(self, sandbox, who):
        stops = sandbox == "strict" or (sandbox == "basic" and self.basic)
        return self.stopped if stops else getattr(self, who)

    @property
    def object(self):
        return f"{self.phase}_{self.function}" if self.phase else self.source


files = functools.partial(Kind, "files")
others = functools.partial(Kind, "others", basic=True)
network = functools.partial(Kind, "network")
powers = functools.partial(Kind, "powers")
memory = functools.partial(Kind, "memory")
remains = functools.partial(Kind, "remains")


RUNS = {"basic": True, "root": EXEC, "user": EXEC}


def needs(what, error=errno.EPERM):
    """Only the superuser is allowed to do this."""
    return {"user": error, "why": f"an ordinary user has no {what}"}


def nobody(what, error=errno.EPERM):
    """Nobody in a namespace is allowed to do this."""
    return {"root": error, "user": error, "why": what}


NAMESPACE = "root of a namespace may not do this to the machine"
HIDES = {"user": STOPPED, "why": "the server hides from its user (PR_SET_DUMPABLE)"}
APART = "a worker is a program of its own, which never had it"

KINDS = [
    # Other people's files: reading them
    files("open_secret", "opens a file"),
    files("openat2_secret", "opens a file by openat2"),
    files("map_secret", "maps a file"),
    files("follow_link", "opens a link that lies beside the modules"),
    files("make_link", "makes a link to a file, and opens that"),
    files("make_hard_link", "gives a file another name beside the modules"),
    files("by_proc_root", "opens a file by /proc/self/root"),
    files("by_proc_of", "opens a file by /proc/PID/root", "neighbour", basic=True),
    files("by_dots", "opens a file by the parent of its own folder"),
    files("by_path_descriptor", "opens a file by a descriptor of its path"),
    files("by_handle", "opens a file by its handle", **nobody(NAMESPACE)),
    files("key_file", "reads the server's TLS key"),
    files("token_file", "reads the server's tokens"),
    files("list_folder", "lists a folder"),
    files("server_command", "reads the server's command line", "server"),
    files("look_at_secret", "asks for a file's size"),
    files("watch_file", "is told who opens a file"),
    files("watch_all", "is told of all events of a kind"),
    files("read_kernel_log", "opens the kernel's log",
          **nobody(NAMESPACE)),
    # Other people's files: changing them, or making new ones
    files("write_temporary", "writes a file in a folder of everybody"),
    files("write_beside", "writes a file beside the modules"),
    files("write_victim", "writes another's file"),
    files("write_module", "writes another module"),
    files("unnamed_file", "makes a file without a name"),
    files("truncate_victim", "empties another's file"),
    files("remove_file", "removes a file"),
    files("rename_file", "renames a file"),
    files("make_folder", "makes a folder"),
    files("make_fifo", "makes a pipe with a name"),
    files("make_device", "makes a device", **nobody(NAMESPACE)),
    files("change_mode", "changes who may read a file"),
    files("change_owner", "changes the owner of a file"),
    files("change_times", "changes the times of a file"),
    files("set_attribute", "gives a file an attribute"),
    files("open_device", "opens a device"),
    files("open_terminal", "opens a new terminal"),

    # Other processes
    *(kind for target, hides in [("neighbour", {}), ("server", HIDES), ("sibling", {})]
      for kind in [
          others("trace", "attaches a debugger", target, **hides),
          others("open_memory", "opens another's memory", target, **hides),
          others("addresses", "reads where another's memory lies", target, **hides),
          others("any_file_of", "opens what another has open", target, **hides),
          others("signal_one", "sends a signal", target),
          others("limit", "sets another's limits", target)]),
    others("read_memory", "copies another's memory", "neighbour"),
    others("write_memory", "writes another's memory", "neighbour"),
    others("memory_file", "reads /proc/PID/mem", "neighbour"),
    others("environment_of", "reads another's variables", "server", **HIDES),
    others("file_of", "opens a file that has no name any more", "neighbour"),
    others("take_descriptor", "takes another's descriptor", "neighbour"),
    others("compare", "asks whether memory is the same", "neighbour"),
    others("advise_memory", "has another's memory swapped out", "neighbour",
           **nobody(NAMESPACE)),
    others("move_memory", "moves another's memory", "neighbour"),
    others("signal_all", "sends a signal to all processes"),
    others("signal_group", "sends a signal to a group of processes", "server"),
    others("signal_thread", "sends a signal to a thread", "neighbour"),
    others("signal_old_way", "sends a signal by tkill", "neighbour"),
    others("signal_queued", "sends a signal with a value", "neighbour"),
    others("signal_by_descriptor", "sends a signal by a pidfd", "neighbour"),
    others("signal_by_file", "has a pipe send signals", "neighbour"),
    others("bind_to_cpu", "chooses another's processor", "neighbour"),
    others("schedule", "chooses when another runs", "neighbour"),
    others("priority", "makes another slow", "neighbour"),
    others("disk_priority", "makes another's disk slow", "neighbour"),
    others("choose_for_death", "chooses who ends when memory runs out", "neighbour"),
    others("enter_namespace", "enters another's network", "neighbour",
           **needs("CAP_SYS_ADMIN")),

    # The network and sockets
    network("tcp", "connects by TCP"),
    network("tcp6", "connects by TCP over IPv6"),
    network("udp", "sends by UDP"),
    network("listen_tcp", "listens"),
    network("unix_file", "connects to a socket's file"),
    network("admin_socket", "connects to the server's own socket"),
    network("unix_abstract", "connects to a socket without a file"),
    network("pair_reconnected", "sends by a pair of sockets elsewhere"),
    network("netlink", "asks for the network's interfaces"),
    network("raw", "opens a raw socket", **needs("CAP_NET_RAW")),
    network("packet", "reads packets of the network", **needs("CAP_NET_RAW")),
    network("vsock", "opens a socket to the machine's host"),
    network("kernel_crypto", "opens a socket to the kernel's ciphers"),
    network("ring", "has calls made where no filter sees them", basic=True),

    # Programs, processes and privileges
    powers("run_program", "runs a program", **RUNS),
    powers("run_program_at", "runs a program by execveat", **RUNS),
    powers("run_from_memory", "runs a program that is no file", **RUNS),
    powers("fork_process", "makes a process", basic=True),
    powers("vfork_process", "makes a process by vfork", basic=True),
    powers("clone_process", "makes a process by clone", basic=True),
    powers("clone3_process", "makes a process by clone3",
           basic=True, silent=True,
           stopped={errno.ENOSYS}),
    powers("clone_in_namespace", "makes a process in a namespace", basic=True),
    powers("become_other_user", "becomes another user",
           basic=True, **needs("CAP_SETUID")),
    powers("become_root", "becomes root", **needs("CAP_SETUID")),
    powers("administer", "takes CAP_SYS_ADMIN", basic=True, **needs("capabilities")),
    powers("read_any_file", "takes CAP_DAC_READ_SEARCH", **needs("capabilities")),
    powers("may_gain_privileges", "may run set-user-ID programs", basic=True),
    powers("be_dumpable", "lets others look into it"),
    powers("outlive_server", "does not end with the server", basic=True),
    powers("filter_calls", "filters its own calls"),
    powers("many_files", "opens 200 files", basic=True, stopped={errno.EMFILE},
           silent=True),
    powers("be_first", "changes its own priority", basic=True),
    powers("be_real_time", "runs before all others", **nobody(NAMESPACE)),
    powers("survive_memory_shortage", "has others end when memory runs out", basic=True),
    powers("mount_folder", "mounts", basic=True, **needs("CAP_SYS_ADMIN")),
    powers("unmount_folder", "unmounts", basic=True, **needs("CAP_SYS_ADMIN")),
    powers("mount_new_way", "mounts by fsopen", basic=True, **needs("CAP_SYS_ADMIN")),
    powers("copy_mounts", "copies the tree of mounts",
           basic=True, **needs("CAP_SYS_ADMIN")),
    powers("own_user_namespace", "becomes root of a namespace", basic=True),
    powers("own_network_namespace", "makes a network",
           basic=True, **needs("CAP_SYS_ADMIN")),
    powers("change_root", "chooses another root folder",
           basic=True, **needs("CAP_SYS_CHROOT")),
    powers("swap_root", "swaps the root folder", basic=True, **needs("CAP_SYS_ADMIN")),
    powers("rename_machine", "renames the machine",
           basic=True, **needs("CAP_SYS_ADMIN")),
    powers("set_clock", "sets the clock", **nobody(NAMESPACE)),
    powers("read_kernel_messages", "reads the kernel's messages",
           **nobody(NAMESPACE)),
    powers("add_key", "adds a key to the kernel's"),
    powers("find_key", "finds a neighbour's key",
           **nobody("kernels differ in whose ring a namespace has",
                    {GOT, errno.ENOKEY, errno.EACCES})),
    powers("request_key", "has the kernel ask for a key"),
    powers("join_keyring", "makes a ring of keys"),
    powers("change_personality", "changes where memory is put"),
    powers("handle_faults", "handles faults of memory (userfaultfd)"),
    powers("load_bpf", "loads something into the kernel", **nobody(NAMESPACE)),
    powers("watch_performance", "counts events of the processor",
           **nobody("perf_event_paranoid, 3 in Debian", {GOT, errno.EACCES})),
    powers("type_into_terminal", "types into a terminal",
           **nobody("kernels since 6.2, and the worker's session",
                    {GOT, errno.EPERM, errno.EIO})),
    powers("ioctl_terminal", "types into a file that is no terminal", basic=True),
    *([powers("call_as_32_bit", "makes a call of 32-bit programs", basic=True),
       powers("call_as_x32", "makes a call of x32 programs", basic=True)]
      if os.uname().machine == "x86_64" else []),

    # New machine code, memory with a name, and more than a fair share
    memory("map_code", "maps memory that it can write and run"),
    memory("protect_code", "makes memory executable"),
    memory("protect_code_with_key", "makes memory executable by pkey_mprotect"),
    memory("code_in_file", "maps code from a file in memory"),
    memory("code_by_personality", "makes all memory executable"),
    memory("change_own_code", "makes its own code writable"),
    memory("code_in_stack", "makes its stack executable"),
    memory("load_library", "loads a library of the system", stopped=UNFOUND),
    memory("load_other_module", "loads code from elsewhere", stopped=UNFOUND),
    memory("shared_memory_new", "makes memory with a name"),
    memory("shared_memory_of_neighbour", "opens memory by its name"),
    memory("segment_new", "makes a System V segment"),
    memory("segment_of_neighbour", "attaches a System V segment"),
    memory("semaphores_new", "makes System V semaphores"),
    memory("queue_new", "makes a System V queue"),
    memory("queue_of_neighbour", "reads a System V queue"),
    memory("named_queue_new", "makes a POSIX queue", basic=True),
    memory("many_timers", "makes 200 timers",
           basic=True, stopped={errno.EPERM, errno.EMFILE}),
    memory("many_threads", "makes 1000 threads", stopped=errno.EAGAIN, silent=True),
    memory("huge_file", "makes a file of a terabyte in memory"),
    memory("locked_memory", "locks 64 MiB of memory",
           **nobody("RLIMIT_MEMLOCK", {GOT, errno.ENOMEM, errno.EPERM})),

    # What earlier calls left in memory
    remains("kept_argument", "keeps the argument of an earlier call",
            before=("take", SMALL), stopped=GOT, silent=True),
    remains("body_in_memory", "looks for the body of an earlier call",
            before=("take", SMALL)),
    remains("body_in_files", "looks for a large body of an earlier call",
            before=("take", LARGE), stopped=NOTHING, silent=True,
            **nobody("its file is closed when it ends", NOTHING)),
    remains("key_in_memory", "looks for the TLS key in its memory",
            **nobody(APART, NOTHING)),
    remains("key_in_files", "looks for the TLS key in its descriptors",
            stopped=NOTHING, silent=True, **nobody(APART, NOTHING)),
    remains("variable_in_memory", "looks for the server's variables",
            **nobody(APART, NOTHING)),
    remains("variables", "asks for the server's variables", stopped=NOTHING, silent=True,
            **nobody(APART, NOTHING)),
    remains("variable_file", "reads the file of its variables",
            **nobody(APART, {NOTHING, errno.EACCES})),

    # Attempts while the module is loaded
    *(Kind(source, function, "tries while it is loaded", phase="early", **more)
      for source, functions, more in [
          # Landlock stops these, and leaves no notes that the server could read.
          ("files", ["open_secret", "key_file"], {"silent": True}),
          ("files", ["write_temporary", "write_beside"], {}),
          ("others", ["trace", "open_memory"], {"basic": True, **HIDES}),
          ("others", ["signal_one"], {"basic": True}),
          ("network", ["tcp", "unix_abstract"], {}),
          ("network", ["ring"], {"basic": True}),
          ("powers", ["fork_process"], {"basic": True}),
          ("powers", ["add_key", "be_dumpable"], {}),
          ("memory", ["shared_memory_new", "segment_new"], {}),
          ("remains", ["variable_file"],
           {"silent": True, **nobody(APART, {NOTHING, errno.EACCES})})]
      for function in functions),
    # Attempts by a thread that was started while the module was loaded
    *(Kind(source, function, "has an older thread try", phase="thread", **more)
      for source, functions, more in [
          ("files", ["open_secret", "write_temporary"], {}),
          ("network", ["tcp", "unix_abstract"], {}),
          ("powers", ["fork_process"], {"basic": True}),
          ("memory", ["map_code"], {})] for function in functions),
]


# ---------------------------------------------------------------------------
# A server in the namespaces


class Staged(Server):
    """A server in namespaces. Clients reach it through its Unix socket."""

    def __init__(self, who, sandbox, folder, *options):
        self.who, self.sandbox, self.folder = who, sandbox, folder
        options = [f"--sandbox={sandbox}", *options]
        if TLS:
            options += ["--tls-cert=/mnt/certificate.pem", "--tls-key=/mnt/key.pem"]
        super().__init__(
            "--isolation=process", "--listen=unix:/mnt/http.sock", "--workers=1",
            "--load=demand", "--crash-limit=0", *options, "/mnt/modules",
            under=[sys.executable, STAGE, who, folder],
            variables={"SERVER_SECRET": "secret of the server"})
        assert until(lambda: (folder / "http.sock").exists())

    @property
    def pid(self):
        return next(pid for pid in children(self.process.pid)
                    if command(pid)[:1] == [str(BIN / "farcalld")])

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("farcall", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.folder / "http.sock"))
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def target(self, name):
        """The process id inside the namespaces."""
        if name == "neighbour":
            return 2
        if name == "server":
            return inner(self.pid)
        return next(inner(pid) for pid in children(self.pid)
                    if "/mnt/modules/add.so" in command(pid)) if name else 0


def command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except OSError:
        return []


def inner(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    (line,) = (each for each in status.splitlines() if each.startswith("NSpid:"))
    return int(line.split()[2])


def outcome(reply):
    """GOT, an error, NOTHING, or how the worker ended."""
    if reply.status == 200:
        return reply.json["results"][0]
    return reply.json.get("detail") or reply.json["code"]


SOURCES = sorted({kind.source for kind in KINDS})
# What a module gets under `strict` while it is loaded. At that time libraries must be
# found and mapped, and the worker has not locked its jail yet.
EARLY = {"look_at_secret": GOT, "map_code": GOT, "protect_code": GOT,
         "change_own_code": GOT, "code_in_stack": GOT, "filter_calls": GOT,
         "many_threads": {GOT, errno.EAGAIN},  # where they cannot be bounded
         "kept_argument": NOTHING,
         # For root: the archives may belong to somebody else. Landlock decides which
         # ones can be read.
         "read_any_file": {GOT, errno.EPERM},
         "file_of": {errno.ENOENT, *STOPPED}}  # the server has no such file


def said(got):
    return os.strerror(got) if isinstance(got, int) and got > 0 else got


def put(folder, kind):
    shutil.copy(OBJECTS / f"{kind.object}.so", folder / f"{kind.name}.so")
    functions = [(name, ["i32"]) for name in (kind.called, "fine")]
    if kind.source == "remains" and not kind.phase:
        functions.append(("take", ["i64"]))
    (folder / f"{kind.name}.farcall.json").write_text(sidecar(functions))


def fill(folder, certificate, key):
    """Writes the modules, and the files that they reach for."""
    modules = folder / "modules"
    modules.mkdir()
    for end in (".so", ".farcall.json"):
        shutil.copy(HOSTILE / f"add{end}", modules)
    shutil.copy(HOSTILE / "add.so", folder / "other.so")
    for kind in KINDS:
        put(modules, kind)
    for source in SOURCES:
        shutil.copy(OBJECTS / f"early_{source}.so", modules)
        (modules / f"early_{source}.farcall.json").write_text(
            sidecar([("early_of", ["i32"])]))
    (folder / "tmp").mkdir()
    (modules / "link").symlink_to("/mnt/secret")
    (folder / "secret").write_text("secret of a file")
    for name in ("victim", "removed", "renamed", "tokens"):
        (folder / name).write_text("as it was")
    shutil.copy(key, folder / "key.pem")
    shutil.copy(certificate, folder / "certificate.pem")


def snapshot(folder):
    """All files that a module could have changed, with every changeable property."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.name not in ("reached", "ended"):
            info = path.lstat()
            found[str(path.relative_to(folder))] = (
                info.st_mode, info.st_uid, info.st_size, info.st_mtime, info.st_ctime)
    return found


@pytest.fixture(scope="module")
def files_of_tls(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority")).sign("server")


@contextlib.contextmanager
def stage(who, sandbox, files_of_tls, *options):
    with tempfile.TemporaryDirectory(prefix="farcall-escape-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        fill(folder, *files_of_tls)
        if os.geteuid() == 0 and who == "user":
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, 65534, 65534, follow_symlinks=False)
        tried = subprocess.run([sys.executable, STAGE, who, folder, "true"],
                               capture_output=True, text=True, timeout=60)
        if tried.returncode:
            pytest.skip(f"SKIPPED: no namespaces here: {tried.stderr.strip()}")
        server = Staged(who, sandbox, folder, *options)
        assert server.call("add/add", [1, 2]).json == {"results": [3]}
        server.found = snapshot(folder)
        yield server
        assert server.stop() == 0, "".join(server.lines[-20:])


@pytest.fixture(scope="module", params=[f"{sandbox}-{who}" for sandbox in (
    "off", "basic", "strict") for who in ("root", "user")])
def staged(request, files_of_tls):
    sandbox, who = request.param.split("-")
    if SANITIZED and sandbox == "strict":
        pytest.skip("SKIPPED: with a sanitizer strict lets pass what its library does")
    with stage(who, sandbox, files_of_tls) as server:
        yield server


def attempt(server, kind):
    if kind.before:
        function, body = kind.before
        assert server.call(f"{kind.name}/{function}", body).status == 200
    return outcome(server.call(f"{kind.name}/{kind.called}",
                               [server.target(kind.target)]))


def is_as_expected(expected, got):
    if isinstance(expected, set):
        return got in expected
    if isinstance(expected, str):
        return isinstance(got, str) and expected in got
    return got == expected


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_gets_what_the_table_says(staged, kind):
    got = attempt(staged, kind)
    expected = kind.expected(staged.sandbox, staged.who)
    if expected == GOT and got in ABSENT:
        pytest.skip(f"SKIPPED: this kernel lacks it: {said(got)}")
    assert is_as_expected(expected, got), f"{kind.tries}: {said(got)}"
    if staged.sandbox == "strict":  # which says so once, however often it is tried
        assert attempt(staged, kind) == got
    unload(staged, kind)
    if staged.sandbox == "strict" and not kind.silent:
        assert until(lambda: stops(staged, kind.name))


def unload(server, kind):
    reply = server.request("POST", f"/api/v1/modules/{kind.name}/unload")
    assert reply.status == 200, reply.body


def hash_of(name):
    return functools.reduce(lambda hash, byte: (hash * 33 + byte) & 0xffffffff,
                            name.encode(), 5381) & 0x7fffffff


@pytest.mark.parametrize("source", SOURCES)
def test_strict_holds_while_a_module_is_loaded(staged, source):
    """A malicious module need not wait until it is called."""
    if staged.sandbox != "strict":
        return  # constructors of each kind alone are in KINDS
    wrong = {}
    for kind in KINDS:
        if kind.source == source and not kind.phase:
            (got,) = staged.results(f"early_{source}/early_of", [hash_of(kind.function)])
            if not is_as_expected(EARLY.get(kind.function, kind.stopped), got):
                wrong[kind.function] = said(got)
    assert wrong == {}
    unload(staged, Kind(source, source, "", phase="early"))


def stops(server, module=None):
    """The calls that the log reports as stopped, with the module of each."""
    records = [json.loads(line) for line in server.lines if line.startswith("{")]
    return [(each["module"], each["call"]) for each in records
            if each["msg"] == STOP and module in (None, each["module"])]


def test_each_stop_is_logged_once(staged):
    # early_remains only tries to open files, which Landlock refuses without a note.
    noted = {f"early_{source}" for source in SOURCES if source != "remains"}
    noted |= {kind.name for kind in KINDS if not kind.silent}
    if staged.sandbox != "strict":
        noted = set()
    until(lambda: noted <= {module for module, _ in stops(staged)})
    found = stops(staged)
    assert len(found) == len(set(found))
    assert {module for module, _ in found} == noted


def test_who_was_reached_and_what_was_changed(staged):
    """Checks this from the victims' side."""
    def reached():
        return set((staged.folder / "reached").read_text().splitlines())
    changed = set(snapshot(staged.folder).items()) ^ set(staged.found.items())
    if staged.sandbox == "strict":
        assert reached() == set() and changed == set()
    else:
        doors = {"tcp", "udp", "unix", "unix datagram", "abstract"}
        signals = {"signal"} if staged.sandbox == "off" else set()
        until(lambda: doors | signals <= reached())
        assert reached() - {"tcp6"} == doors | signals
        assert {"victim", "removed", "tmp/escaped", "modules/escaped",
                "escaped-folder"} <= {name for name, _ in changed}
    assert staged.results("add/add", [20, 22]) == [42]


def test_a_fresh_process_has_nothing_of_an_earlier_call(files_of_tls):
    """Nothing else stops a module from keeping the argument here."""
    kinds = [kind for kind in KINDS if kind.before]
    assert len(kinds) == 3
    with stage("root", "off", files_of_tls, "--fresh=call") as server:
        for kind in kinds:
            assert attempt(server, kind) == NOTHING, kind.name
