# SPDX-License-Identifier: Apache-2.0
"""turns.py FARCALLD PRELOAD ZEROS SCALARS: how long others wait. For each host: what
/livez takes, and the longest turn of the loop, while nothing else happens, while
clients fetch large answers and send large bodies, and while 3 GB of modules are
loaded. See bench/turns."""
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

FARCALLD, PRELOAD, ZEROS, SCALARS = sys.argv[1:5]
ROUNDS = int(os.environ.get("ROUNDS", "4"))
CLIENTS = int(os.environ.get("CLIENTS", "2"))
LOADING_S = float(os.environ.get("LOADING_S", "8"))
LARGE = 25_000_000  # floats "0.0", so 100 MB


class Server:
    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            [FARCALLD, "--listen=127.0.0.1:0", "--workers=1", "--access-log=off",
             "--timeout=0", *arguments],
            stderr=subprocess.PIPE, text=True, env={"LD_PRELOAD": PRELOAD})
        self.lines = []
        while not (found := re.search(r"listening on http://127.0.0.1:(\d+)",
                                      line := self.process.stderr.readline())):
            assert line, "farcalld ends"
        self.port = int(found[1])
        threading.Thread(target=lambda: self.lines.extend(self.process.stderr),
                         daemon=True).start()

    def turns(self):
        count = len([l for l in self.lines if l.startswith("TURNS")])
        self.process.send_signal(signal.SIGRTMIN)
        while True:
            said = [l for l in self.lines if l.startswith("TURNS")]
            if len(said) > count:
                return said[-1].strip()
            self.ask()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def ask(self):
        with self.connect() as s:
            s.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return s.recv(4096)

    def end(self):
        self.process.terminate()
        self.process.wait()


def exchange(server, path, body):
    with server.connect() as s:
        s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
                  b"Connection: close\r\n\r\n" % (path, len(body)))
        s.sendall(body)
        buffer, size, head = bytearray(1 << 20), 0, b""
        while got := s.recv_into(buffer):
            head = head or bytes(buffer[:64])
            size += got
    return head, size


def measure(server, what, work):
    """Asks /livez every 2 ms while `work` runs."""
    server.turns()
    thread = threading.Thread(target=work)
    thread.start()
    took = []
    with server.connect() as s:
        while thread.is_alive():
            began = time.monotonic()
            s.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert s.recv(4096).startswith(b"HTTP/1.1 200")
            took.append((time.monotonic() - began) * 1000)
            time.sleep(0.002)
    took.sort()
    print(f"  {what:<9} /livez p50 {took[len(took) // 2]:6.2f} "
          f"p99 {took[len(took) * 99 // 100]:6.2f} most {took[-1]:6.2f} ms; "
          f"{server.turns()}", flush=True)


def together(work):
    threads = [threading.Thread(target=work) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def answers(server):
    def fetch():
        for _ in range(ROUNDS):
            head, size = exchange(server, b"/api/v1/functions/zeros/zeros",
                                  b"[%d]" % LARGE)
            assert head.startswith(b"HTTP/1.1 200") and size > LARGE, head
    together(fetch)


def bodies(server):
    body = b"[" + b" " * 60_000_000 + b"3]"

    def send():
        for _ in range(ROUNDS):
            head, _ = exchange(server, b"/api/v1/functions/zeros/zeros", body)
            assert head.startswith(b"HTTP/1.1 200"), head
    together(send)


def loading(host):
    """Three gigabytes of modules, sparse but for their first bytes."""
    with tempfile.TemporaryDirectory() as folder:
        for i in range(6):
            with open(f"{folder}/m{i}.vmfb", "wb") as file:
                with open(SCALARS, "rb") as scalars:
                    file.write(scalars.read())
                file.truncate(512 << 20)
        server = Server(f"--isolation={host}", folder)
        measure(server, "loading", lambda: time.sleep(LOADING_S))
        server.end()


for host in ("thread", "process"):
    print(host)
    server = Server(f"--isolation={host}", ZEROS)
    measure(server, "nothing", lambda: time.sleep(1))
    measure(server, "answers", lambda: answers(server))
    measure(server, "bodies", lambda: bodies(server))
    server.end()
    if LOADING_S:
        loading(host)
