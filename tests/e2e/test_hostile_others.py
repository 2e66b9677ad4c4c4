# SPDX-License-Identifier: Apache-2.0
"""Modules that reach for the server and for the workers of other modules: each attempt
is refused, whichever user the server runs as. The tests run in namespaces that are
thrown away, so that an attempt which is not refused harms nobody."""
import ctypes
import errno
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from conftest import Server
from test_hostile import OBJECTS, sidecar

APART = ["unshare", "--user", "--pid", "--fork", "--kill-child", "--mount-proc"]
# In a namespace, root may open other files of /proc than an ordinary user may.
ORDINARY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
PLACES = {
    "root": [*APART, "--map-root-user"],
    "ordinary": [*(ORDINARY if os.geteuid() == 0 else []), *APART,
                 "--map-current-user"],
}
REFUSED = {errno.EPERM, errno.EACCES}
DONE = {0}
# For each function of others.c: its allowed answers.
KINDS = {
    "parent_scheduler": REFUSED,
    "own_scheduler": REFUSED,
    "parent_affinity": REFUSED,
    "own_affinity": DONE,
    "parent_priority": REFUSED,
    "group_priority": REFUSED,
    "ring": REFUSED,
    "parent_memory": REFUSED,
    "parent_addresses": REFUSED,
    "parent_environment": REFUSED,
    "parent_oom": REFUSED,
    # These answer how many files they could open.
    "parent_files": {0},
    "sibling_memory": {0},
}


def has_landlock():
    landlock_create_ruleset, version = 444, 1
    return ctypes.CDLL(None).syscall(landlock_create_ruleset, None, 0, version) > 0


class Apart(Server):
    """A server in namespaces: its process is the child of `unshare`."""

    @property
    def pid(self):
        unshare = self.process.pid
        return int(pathlib.Path(f"/proc/{unshare}/task/{unshare}/children").read_text())


@pytest.fixture(scope="module")
def folder():
    """The modules, in a folder that every user may read."""
    with tempfile.TemporaryDirectory(prefix="farcall-others-") as name:
        folder = pathlib.Path(name)
        for end in (".so", ".farcall.json"):
            shutil.copy(OBJECTS / f"add{end}", folder)
        shutil.copy(OBJECTS / "others.so", folder)
        (folder / "others.farcall.json").write_text(
            sidecar([(kind, ["i32"]) for kind in [*KINDS, "fine"]]))
        folder.chmod(0o755)
        yield folder


def standing(pid):
    """The properties of a process that others might have changed."""
    oom = pathlib.Path(f"/proc/{pid}/oom_score_adj").read_text()
    return (os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getaffinity(pid), oom)


@pytest.fixture(scope="module", params=PLACES)
def server(folder, request):
    under = PLACES[request.param]
    tried = subprocess.run([*under, "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"SKIPPED: no namespaces here: {tried.stderr.strip()}")
    running = Apart("--isolation=process", "--sandbox=basic", folder, under=under)
    running.place = request.param
    running.standing = standing(running.pid)
    yield running
    assert running.stop() == 0, "".join(running.lines[-20:])


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_refused(server, kind):
    if kind == "parent_oom" and server.place == "root" and not has_landlock():
        pytest.skip("SKIPPED: this kernel has no Landlock, which alone refuses it")
    assert server.results("add/add", [1, 2]) == [3]  # there is a sibling
    (result,) = server.results(f"others/{kind}", [0])
    assert result in KINDS[kind]
    assert standing(server.pid) == server.standing
    assert server.results("others/fine", [41]) == [42]


def test_modules_are_loaded_in_threads_too(server, folder):
    """A server whose /proc files nobody may open can still load modules by
    /proc/self/fd."""
    other = Apart("--isolation=thread", folder / "add.so", under=PLACES[server.place])
    assert other.results("add/add", [1, 2]) == [3]
    assert other.stop() == 0, "".join(other.lines[-20:])
