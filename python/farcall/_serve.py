# SPDX-License-Identifier: Apache-2.0
"""Starts a server for tests and notebooks."""
from __future__ import annotations

import http.client
import os
import pathlib
import re
import subprocess
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from ._error import Error

if TYPE_CHECKING:
    from ._client import AsyncClient, Client

_LISTENS = re.compile(r"listening on (http://([^:/\s]+):(\d+))")
_LINES_MAX = 1000
_END_SECONDS = 60  # for calls that are being made; then it is killed
_REST_SECONDS = 2  # for the last lines, which another process may keep from ending


def program(name: str) -> str:
    """The path of the package's `farcalld` or `farcall`."""
    path = pathlib.Path(__file__).with_name("bin") / name
    if not path.exists():
        raise Error(f"this installation has no {name}", "not_found")
    return str(path)


class Server:
    """A running farcalld. It ends at the end of the `with` block, or of the program."""

    def __init__(self, arguments: list[str], start_timeout: float) -> None:
        self.lines: list[str] = []  # the last lines of its log
        self.process = subprocess.Popen(
            [program("farcalld"), "--listen=127.0.0.1:0", "--access-log=off",
             "--log-format=text", "--strict-load", *arguments],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            errors="replace")
        weakref.finalize(self, _end, self.process)  # at the end of the program
        self._listens = threading.Event()
        self.url = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self._wait(time.monotonic() + start_timeout)
        except BaseException:
            self.stop()
            raise

    def _read(self) -> None:
        """Reads the log until no process has it open. Only this thread may close the log,
        because closing would wait for a reader."""
        assert self.process.stderr
        with self.process.stderr as log:
            for line in log:
                self.lines.append(line)
                del self.lines[:-_LINES_MAX]
                found = _LISTENS.search(line)
                if found and not self.url:
                    self.url, self.host, self.port = found[1], found[2], int(found[3])
                    self._listens.set()
        self._listens.set()

    def _wait(self, deadline: float) -> None:
        """Waits until every module is loaded."""
        self._listens.wait(max(0.0, deadline - time.monotonic()))
        while self.url:
            connection = http.client.HTTPConnection(self.host, self.port, timeout=10)
            try:
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            finally:
                connection.close()
            if self.process.poll() is not None or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        raise Error("farcalld does not serve:\n" + "".join(self.lines[-20:]),
                    "not_ready")

    def client(self, **options: Any) -> Client:
        """A client of this server. Needs `farcall[client]`."""
        from ._client import Client
        return Client(self.url, **options)

    def async_client(self, **options: Any) -> AsyncClient:
        """An AsyncClient of this server. Needs `farcall[client]`."""
        from ._client import AsyncClient
        return AsyncClient(self.url, **options)

    def stop(self) -> int:
        """Ends the server after its running calls. Returns its exit status."""
        status = _end(self.process)
        self._reader.join(timeout=_REST_SECONDS)
        return status

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<farcalld {self.process.pid}: {self.url}>"


def _end(process: subprocess.Popen[str]) -> int:
    if process.poll() is None:
        process.terminate()
    try:
        return process.wait(timeout=_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def serve(*paths: str | os.PathLike[str], options: tuple[str, ...] | list[str] = (),
          start_timeout: float = 60) -> Server:
    """Starts the package's farcalld on a free port of this machine.

    `paths` are modules and directories of modules, `options` further words of its command
    line. Returns when all modules are loaded; raises Error if one cannot be.

    >>> with farcall.serve("examples/iree/matmul.vmfb") as server:
    ...     server.client()["matmul"].matmul([[2]], [[3]])
    array([[6.]], dtype=float32)
    """
    return Server([*options, *(os.fspath(path) for path in paths)], start_timeout)
