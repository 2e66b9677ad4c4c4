# SPDX-License-Identifier: Apache-2.0
"""The packages in a chroot: installed, upgraded while they serve, removed, purged. A
chroot has no systemd, so Manager replaces it: it holds the sockets of
farcalld.socket, starts the programs of farcalld.service and of an instance of
farcalld@.service as their users, and receives the commands of the chroot's
systemctl. So these are real: the maintainer scripts, the units' names, paths, users
and sockets, and the restart of an upgrade. The sandbox of the unit is not
(tests/config). tests/vm tests how systemd handles a pattern of units."""
import fnmatch
import json
import os
import pathlib
import shlex
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

ROOT = pathlib.Path(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parents[2]
UNITS = ROOT / "usr/lib/systemd/system"
VARIABLES = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
             "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive",
             **{each: os.environ[each] for each in ("http_proxy", "https_proxy")
                if each in os.environ}}
SYSTEMCTL = """#!/bin/sh
echo "$*" >/run/manager/ask
read -r status text </run/manager/answer
[ -z "$text" ] || echo "$text"
exit "$status"
"""


def say(text):
    print("--", text, flush=True)


def inside(*command, fails=False):
    done = subprocess.run(["chroot", ROOT, *command], env=VARIABLES, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    assert (done.returncode != 0) == fails, f"{command}: {done.stdout}"
    return done.stdout


def apt(*words):
    return inside("apt-get", "-q", "-y", "-o", "Dpkg::Use-Pty=0",
                  "--no-install-recommends", *words)


def setting(unit, key):
    """The values of a key. Those of an instance are in its template's file."""
    name, at, _ = unit.rpartition(".")[0].partition("@")
    lines = (UNITS / f"{name}{at}.{unit.rpartition('.')[2]}").read_text().splitlines()
    return [each.partition("=")[2].replace("%N", unit.rpartition(".")[0])
            for each in lines if each.startswith(key + "=")]


class Manager(threading.Thread):
    """Replaces systemd. `asked` is the list of commands that systemctl got."""

    def __init__(self):
        super().__init__(daemon=True)
        self.folder = ROOT / "run/manager"
        self.folder.mkdir()
        (ROOT / "run/systemd/system").mkdir(parents=True)  # "systemd runs here"
        for name in ("ask", "answer"):
            os.mkfifo(self.folder / name)
        self.told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.told.bind(str(self.folder / "notify"))
        (self.folder / "notify").chmod(0o666)
        self.told.settimeout(60)
        program = ROOT / "usr/bin/systemctl"  # apt sets PATH
        program.write_text(SYSTEMCTL)
        program.chmod(0o755)
        self.sockets, self.asked = [], []
        self.servers = {}  # of each unit that runs, its process

    def run(self):
        while True:
            words = (self.folder / "ask").read_text().split()
            words = [each for each in words if not each.startswith("-")]
            try:
                answer = self.answer(words[0], words[1:]) or "0"
            except Exception as error:
                self.asked.append(repr(error))
                answer = "1"
            (self.folder / "answer").write_text(answer + "\n")

    def answer(self, verb, units):
        if verb == "is-enabled":
            links = [each / units[0] for each in ROOT.glob("etc/systemd/system/*.wants")]
            return "0 enabled" if any(map(os.path.lexists, links)) else "1 disabled"
        if verb == "is-active":
            running = self.sockets if units[0] == "farcalld.socket" else \
                units[0] in self.servers
            return "0" if running else "3"
        if verb == "preset":
            self.enable(units[0])
        elif verb != "daemon-reload":
            self.asked.append(" ".join([verb, *units]))
        for unit in self.meant(units):
            kind = unit.rpartition(".")[2]
            if verb == "try-restart" and unit not in self.servers:
                continue
            if verb in ("stop", "restart", "try-restart"):
                getattr(self, f"stop_{kind}")(unit)
            if verb in ("start", "restart", "try-restart"):
                getattr(self, f"start_{kind}")(unit)
        return None

    def meant(self, units):
        """A pattern stands for the running units; there may be none."""
        for unit in units:
            if "*" in unit:
                yield from fnmatch.filter([*self.servers], unit)
            else:
                yield unit

    def enable(self, unit):
        for target in setting(unit, "WantedBy"):
            link = ROOT / f"etc/systemd/system/{target}.wants/{unit}"
            link.parent.mkdir(exist_ok=True)
            if not os.path.lexists(link):
                link.symlink_to(f"/usr/lib/systemd/system/{unit}")

    def was_asked(self, *wanted):
        """The commands since the last check, without those that change nothing."""
        asked, self.asked = self.asked, []
        assert asked == list(wanted), asked

    def start_socket(self, unit):
        if self.sockets:
            return
        for address in setting(unit, "ListenStream"):
            if not address.startswith("/"):  # another program may have the port
                self.sockets.append(socket.create_server(("127.0.0.1", 0), backlog=1024))
                continue
            path = ROOT / address[1:]
            path.parent.mkdir(exist_ok=True)
            self.sockets.append(socket.socket(socket.AF_UNIX))
            self.sockets[-1].bind(str(path))
            self.sockets[-1].listen(1024)
            path.chmod(0o660)

    def stop_socket(self, unit):
        for each in self.sockets:
            if each.family == socket.AF_UNIX:  # RemoveOnStop
                os.unlink(each.getsockname())
            each.close()
        self.sockets = []

    def start_service(self, unit):
        if unit in self.servers:
            return
        (user,) = setting(unit, "User")
        (state,) = setting(unit, "StateDirectory")
        (command,) = setting(unit, "ExecStart")
        who = next(each.split(":") for each in
                   (ROOT / "etc/passwd").read_text().splitlines()
                   if each.startswith(user + ":"))
        uid, gid = int(who[2]), int(who[3])
        folder = ROOT / "var/lib" / state
        folder.mkdir(mode=0o750, exist_ok=True)
        os.chown(folder, uid, gid)
        sockets = self.sockets if unit == "farcalld.service" else []
        files = [os.dup(each.fileno()) for each in sockets]
        process = os.fork()
        if process == 0:
            for number, file in enumerate(files):
                os.dup2(file, 100 + number)
            for number in range(len(files)):
                os.dup2(100 + number, 3 + number)
            os.closerange(3 + len(files), 1024)
            os.chroot(ROOT)
            os.chdir("/")
            os.umask(0o077)
            os.setgroups([])
            os.setgid(gid)
            os.setuid(uid)
            words = shlex.split(command)
            variables = {"PATH": VARIABLES["PATH"],
                         "NOTIFY_SOCKET": "/run/manager/notify"}
            if files:
                variables.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(files)))
            os.execve(words[0], words, variables)
        self.servers[unit] = process
        for each in files:
            os.close(each)
        while b"READY=1" not in self.told.recv(4096):
            pass

    def stop_service(self, unit):
        if unit in self.servers:
            os.kill(self.servers[unit], signal.SIGTERM)
            _, status = os.waitpid(self.servers.pop(unit), 0)
            assert status == 0, f"{unit} ends with {status}"

    @property
    def server(self):
        return self.servers.get("farcalld.service")

    @property
    def url(self):
        return f"http://127.0.0.1:{self.sockets[0].getsockname()[1]}"


class Calls(threading.Thread):
    """Makes calls one after the other, each on a new connection, until the end."""

    def __init__(self, url):
        super().__init__()
        self.url, self.over, self.count, self.failed = url, threading.Event(), 0, []

    def run(self):
        body = json.dumps([[[1, 2], [3, 4]], [[1, 0], [0, 1]]]).encode()
        address = f"{self.url}/api/v1/functions/matmul/matmul"
        while not self.over.is_set():
            try:
                with urllib.request.urlopen(address, body, 30) as answer:
                    results = json.load(answer)["results"]
                if results != [[[1.0, 2.0], [3.0, 4.0]]]:
                    self.failed.append(results)
            except Exception as error:
                self.failed.append(error)
            self.count += 1


def packages(folder):
    return sorted(f"/root/{folder}/{each.name}"
                  for each in (ROOT / "root" / folder).glob("*.deb"))


def versions():
    return {*inside("dpkg-query", "-W", "-f", "${Version}\n",
                    "farcall", "farcalld", "libfarcall*").split()}


def traces():
    """All files with our name, except the packages themselves."""
    return [each for each in inside(
        "find", "/", "-xdev", "-name", "*farcall*", "-not", "-path", "/root/*", "-not",
        "-path", "/var/cache/*", "-not", "-path", "/proc/*").split()]


def main():
    manager = Manager()
    manager.start()
    version = subprocess.run(
        ["dpkg-deb", "-f", ROOT / packages("old")[0][1:], "Version"], check=True,
        capture_output=True, text=True).stdout.strip().partition("-")[0]

    inside("apt-get", "-q", "update")
    if "bookworm" in (ROOT / "etc/os-release").read_text():
        inside("/root/deps", "runtime")
    apt("install", "systemd-standalone-sysusers", "systemd-standalone-tmpfiles")
    assert traces() == [] or all("apt" in each for each in traces())

    say("install")
    apt("install", *packages("old"))
    assert versions() == {f"{version}-0.1"}
    manager.was_asked("start farcalld.socket", "start farcalld.service")
    status = (ROOT / f"proc/{manager.server}/status").read_text()
    assert "Uid:\t0" not in status, "farcalld is root"
    assert "libfarcall.so" in inside("ldconfig", "-p")

    say("modules are put into the folder, and the administrator reloads")
    (ROOT / "var/lib/farcall/modules/matmul.vmfb").write_bytes(
        (SOURCE / "examples/iree/matmul.vmfb").read_bytes())
    assert "loaded 1" in inside("farcall", "reload",
                                "--server=unix:/run/farcalld/admin.sock")
    smoke = [SOURCE / "tests/smoke", version, manager.url, "chroot", ROOT, "farcall"]
    subprocess.run(smoke, check=True)

    say("the administrator starts an instance")
    blue = "farcalld@blue.service"
    instance = ROOT / "etc/farcall/farcalld@blue.conf"
    instance.write_text('{"listen": "unix:/var/lib/farcalld@blue/socket", '
                        '"paths": ["/var/lib/farcall/modules"]}')
    health = ["farcall", "health", "--server=unix:/var/lib/farcalld@blue/socket"]
    inside("systemctl", "start", blue)
    manager.was_asked(f"start {blue}")
    inside(*health)

    say("upgrade under calls")
    changed = ROOT / "etc/farcall/farcalld.conf"
    changed.write_text(changed.read_text() + "// of this machine\n")
    before, calls = {**manager.servers}, Calls(manager.url)
    calls.start()
    apt("install", *packages("new"))
    so_far = calls.count
    while calls.count < so_far + 50 and calls.is_alive():
        calls.over.wait(0.01)
    calls.over.set()
    calls.join()
    assert calls.failed == [], calls.failed[:3]
    assert versions() == {f"{version}-0.2"}
    manager.was_asked("start farcalld.socket", "restart farcalld.service",
                      "try-restart farcalld@*.service")
    assert manager.servers.keys() == before.keys()
    for unit, process in manager.servers.items():
        assert process != before[unit], f"{unit} runs on"
    inside(*health)
    assert changed.read_text().endswith("// of this machine\n")
    subprocess.run(smoke, check=True)
    say(f"{calls.count} calls, none failed")

    say("remove")
    names = ["farcall", "farcalld", *(
        each for each in inside("dpkg-query", "-W", "-f", "${Package}\n",
                                "libfarcall*").split())]
    apt("remove", *names)
    manager.was_asked("stop farcalld.socket farcalld@*.socket "
                      "farcalld.service farcalld@*.service")
    assert manager.servers == {} and changed.exists()
    left = {each for each in traces() if "/dpkg/" not in each}
    assert "/usr/bin/farcalld" not in left

    say("purge")
    apt("purge", "farcalld")  # the others left nothing
    assert not changed.exists()
    instance.unlink()  # the administrator's own
    instance.parent.rmdir()
    modules = "/var/lib/farcall/modules"
    assert (ROOT / modules[1:] / "matmul.vmfb").exists(), "the modules are not the package's"
    left = {each for each in traces() if not each.startswith("/etc/apt/")}
    assert left == {"/var/lib/farcall"}, left
    say("nothing is left but the modules")


main()
os._exit(0)  # the manager waits for systemctl
