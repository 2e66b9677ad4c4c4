# SPDX-License-Identifier: Apache-2.0
"""escape_stage.py root|user FOLDER COMMAND…: runs a command where it can harm nobody:
in user, process, mount, network, IPC and UTS namespaces of its own. All files are
read-only, except those of FOLDER, which is mounted at /mnt, and new ones in
/dev/shm. Beside it runs a neighbour, a process of the same user. It has secrets of
every kind, and notes in /mnt/reached who reached it. As `user` the command has no
privileges and the id of `nobody`.

The exit status is that of the command. It is 69, with a reason on stderr, if the kernel
or the caller's rights do not allow these namespaces."""
import contextlib
import ctypes
import mmap
import os
import pathlib
import select
import signal
import socket
import struct
import sys

C = ctypes.CDLL(None, use_errno=True)
C.mmap.restype = C.shmat.restype = ctypes.c_void_p
USER = 65534
NEWNS, NEWUTS, NEWIPC = 0x20000, 0x4000000, 0x8000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
PLACE = "/mnt"
SECRET = b"secret of the neighbour"
# The same values as in tests/modules/escape/escape.h.
PORT, ADDRESS, DESCRIPTOR, IPC_KEY = 7001, 0x660000000000, 50, 0x66617263


def must(what, result):
    if result in (-1, ctypes.c_void_p(-1).value):
        error = os.strerror(ctypes.get_errno())
        sys.exit(f"{what}: {error}")  # status 1, made 69 by the first process
    return result


def text(word):
    return word.encode() if word is not None else None


def mount(source, target, kind=None, flags=0):
    must(f"mount {target}", C.mount(text(source), text(target), text(kind), flags, None))


# ---------------------------------------------------------------------------
# The neighbour

def keep_secrets():
    """Puts the secret into memory at a known address, a file without a name, and shared
    memory with a name."""
    private_anonymous_fixed = 0x02 | 0x20 | 0x10
    at = must("mmap", C.mmap(ctypes.c_void_p(ADDRESS), ctypes.c_size_t(8192), 3,
                             private_anonymous_fixed, -1, ctypes.c_long(0)))
    ctypes.memmove(at, SECRET, len(SECRET))
    with open(f"{PLACE}/nameless", "w+b") as file:
        os.unlink(file.name)
        file.write(SECRET)
        file.flush()
        os.dup2(file.fileno(), DESCRIPTOR, inheritable=False)
        os.lseek(DESCRIPTOR, 0, os.SEEK_SET)
    pathlib.Path("/dev/shm/farcall-neighbour").write_bytes(SECRET)
    create = 0o1000 | 0o600
    segment = C.shmget(IPC_KEY, ctypes.c_size_t(4096), create)
    if segment >= 0:
        ctypes.memmove(C.shmat(segment, None, 0), SECRET, len(SECRET))
    queue = C.msgget(IPC_KEY, create)
    if queue >= 0:
        C.msgsnd(queue, struct.pack("l", 1) + SECRET, ctypes.c_size_t(len(SECRET)), 0)
    add_key = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
    user_keyring = -4
    C.syscall(add_key, b"user", b"farcall-neighbour", SECRET,
              ctypes.c_size_t(len(SECRET)), user_keyring)


def open_doors():
    """Opens sockets of every kind that other processes of the machine can reach."""
    doors = {}
    for name, family, kind, address in [
            ("tcp", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", PORT)),
            ("tcp6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", PORT)),
            ("udp", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", PORT)),
            ("unix", socket.AF_UNIX, socket.SOCK_STREAM, f"{PLACE}/neighbour.sock"),
            ("unix datagram", socket.AF_UNIX, socket.SOCK_DGRAM,
             f"{PLACE}/neighbour.dgram"),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, b"\0farcall-neighbour")]:
        with contextlib.suppress(OSError):  # no IPv6 here
            door = socket.socket(family, kind)
            if isinstance(address, str):
                pathlib.Path(address).unlink(missing_ok=True)
            door.bind(address)
            if kind == socket.SOCK_STREAM:
                door.listen()
            doors[door] = name
    return doors


def live_beside(ready):
    """Runs the neighbour; never returns."""
    C.prctl(PR_SET_DUMPABLE, 1)  # as any program of a user is, not one that was root
    reached = open(f"{PLACE}/reached", "a", buffering=1)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGURG, lambda *_: None)
    keep_secrets()
    doors = open_doors()
    os.write(ready, b"x")
    os.close(ready)
    while True:
        for door in select.select([*doors, wake], [], [])[0]:
            if door == wake:
                os.read(wake, 64)
                print("signal", file=reached)
            elif door.type == socket.SOCK_STREAM:
                door.accept()[0].close()
                print(doors[door], file=reached)
            else:
                door.recv(64)
                print(doors[door], file=reached)


# ---------------------------------------------------------------------------
# Setting up the namespaces

def make_apart(folder):
    """Mounts the folders of this namespace, and starts its loopback interface."""
    recursive, private, bind = 0x4000, 0x40000, 0x1000
    mount("none", "/", flags=recursive | private)
    mount(folder, PLACE, flags=bind)
    place = os.open(PLACE, os.O_PATH)
    at_fdcwd, at_recursive, at_empty_path = -100, 0x8000, 0x1000
    set_mount("all files read-only", at_fdcwd, b"/", at_recursive, add=READ_ONLY)
    set_mount("one folder writable", place, b"", at_empty_path, clear=READ_ONLY)
    os.close(place)
    mount("proc", "/proc", "proc")
    mount("tmpfs", "/dev/shm", "tmpfs")
    os.chmod("/dev/shm", 0o1777)
    siocsifflags, up = 0x8914, 1
    with socket.socket() as any_socket:
        request = ctypes.create_string_buffer(struct.pack("16sh14x", b"lo", up), 40)
        must("loopback", C.ioctl(any_socket.fileno(), siocsifflags, request))


READ_ONLY = 1


def set_mount(what, at, path, flags, add=0, clear=0):
    mount_setattr = 442
    attributes = struct.pack("QQQQ", add, clear, 0, 0)
    must(what, C.syscall(mount_setattr, at, path, flags, attributes, len(attributes)))


def write_maps(pid, users, groups, alone):
    folder = pathlib.Path(f"/proc/{pid}")
    if alone:
        (folder / "setgroups").write_text("deny")
    (folder / "uid_map").write_text(users)
    (folder / "gid_map").write_text(groups)


def become_user():
    """Gives up all privileges. If the namespace knows only one id, does so in a nested
    namespace that maps it to `nobody`."""
    count = int(pathlib.Path("/proc/self/uid_map").read_text().split()[2])
    if count > USER:
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
    else:
        must("unshare", C.unshare(NEWUSER))
        write_maps("self", f"{USER} 0 1", f"{USER} 0 1", alone=True)


def start(who, act):
    child = os.fork()
    if child == 0:
        if who == "user":
            become_user()
        act()
    return child


def run(who, folder, command):
    """The first process of the namespaces: when it ends, all others are killed."""
    make_apart(folder)
    begun, ready = os.pipe()
    start(who, lambda: live_beside(ready))
    os.close(ready)
    if not os.read(begun, 1):
        sys.exit("the neighbour did not begin")
    os.chdir(PLACE)
    child = start(who, lambda: os.execvp(command[0], command))
    while True:  # the children of others come here when their parents end
        pid, status = os.wait()
        if pid == child:
            pathlib.Path("ended").write_text(str(os.waitstatus_to_exitcode(status)))
            os._exit(0)


def enter(who, folder, command, outer):
    must("unshare", C.unshare(NEWUSER | NEWPID | NEWNS | NEWNET | NEWIPC | NEWUTS))
    outer.send(b"x")
    if not outer.recv(1):
        sys.exit(1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    first = os.fork()
    if first == 0:
        C.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        run(who, folder, command)
    sys.exit(os.waitpid(first, 0)[1] and 1)


def let_in(child):
    """Writes the users of the namespace, which is only allowed from outside of it."""
    if os.geteuid() == 0:
        write_maps(child, "0 0 65536", "0 0 65536", alone=False)
    else:
        write_maps(child, f"0 {os.geteuid()} 1", f"0 {os.getegid()} 1", alone=True)


def main(who, folder, *command):
    here, there = socket.socketpair()
    child = os.fork()
    if child == 0:
        here.close()
        C.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        enter(who, folder, command, there)
    there.close()
    if here.recv(1):
        let_in(child)
        here.send(b"x")
    if os.waitpid(child, 0)[1]:
        return 69
    return int((pathlib.Path(folder) / "ended").read_text())


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except OSError as error:
        print(f"{sys.argv[0]}: {error}", file=sys.stderr)
        sys.exit(69)
