# SPDX-License-Identifier: Apache-2.0
"""farcalld with TLS: versions, ciphers, client certificates, tickets; connections that
are damaged or slow; a certificate that is replaced under load; and the key, which
must not be in a worker process. The clients are Python's ssl and openssl's s_client."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.request

import pytest

from certificates import KEYS, Authority, openssl
from conftest import BIN, HTTP2, RELEASES, Peer, Reply, Server, end_servers
from console import user_environment
from otlp import Collector, attributes
from processes import children_of
from reloading import FUNCTION, wait_until

SANITIZED = re.search(b"__[at]san_init", (BIN / "farcalld").read_bytes())
MODULE = RELEASES / "scalars-3.13.0.vmfb"


def farcalld(*words):
    return subprocess.run([BIN / "farcalld", *map(str, words)], env=user_environment(),
                          text=True, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=60)


pytestmark = pytest.mark.skipif("OpenSSL" not in farcalld("-V").stdout,
                                reason="SKIPPED: built with -DFARCALL_TLS=OFF")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def files(authority):
    return authority.sign("server")


class Secure(Peer):
    """Makes requests to the server at `port` by https."""

    def __init__(self, port, authority, client=None):
        self.port = port
        self.context = ssl.create_default_context(cafile=str(authority.file))
        if client:
            self.context.load_cert_chain(*map(str, client))

    def connect(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        return self.context.wrap_socket(plain, server_hostname="127.0.0.1")

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60,
                                                 context=self.context)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()


def words_of(files, *others):
    return [f"--tls-cert={files[0]}", f"--tls-key={files[1]}", *others]


@pytest.fixture
def start():
    running = []

    def run(files, *others, listen="https://127.0.0.1:0"):
        words = [each for each in others if str(each).startswith("--")]
        paths = [each for each in others if each not in words] or [MODULE]
        running.append(Server(*words_of(files, *words), *paths,
                              listen=("--listen", listen)))
        return running[-1]
    yield run
    end_servers(running)


def metric(peer, name):
    found = re.search(rf"^{re.escape(name)} (\d+)$",
                      peer.get("/metrics").body.decode(), re.M)
    return int(found[1])


def failures(peer, cause):
    return metric(peer, f'farcall_tls_handshake_failures_total{{cause="{cause}"}}')


def ports_of(server, count):
    """The ports of all TCP addresses, in order."""
    def ports():
        found = (re.search(r"listening on https?://[^:]+:(\d+)", line)
                 for line in list(server.lines))
        return [int(each[1]) for each in found if each]
    wait_until(lambda: len(ports()) == count)
    return ports()


def s_client(server, *words, text=b"", check=False):
    done = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", *map(str, words)],
        input=text, capture_output=True, timeout=60)
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


# ---------------------------------------------------------------------------
# Versions and ciphers

@pytest.mark.parametrize("words, spoken, cause", [
    (["-tls1"], None, "version"), (["-tls1_1"], None, "version"),
    (["-tls1_2"], "ECDHE-ECDSA-AES256-GCM-SHA384", None),
    (["-tls1_3"], "TLS_AES_256_GCM_SHA384", None),
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"],
     "ECDHE-ECDSA-AES128-GCM-SHA256", None),
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"],
     "ECDHE-ECDSA-CHACHA20-POLY1305", None),
    (["-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"],
     "TLS_CHACHA20_POLY1305_SHA256", None),
    (["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA256"], None, "cipher"),  # CBC
    (["-alpn", "http/1.1"], "http/1.1", None),
    (["-alpn", "http/1.1,h2"], f"ALPN protocol: {'h2' if HTTP2 else 'http/1.1'}", None),
    (["-alpn", "h3"], None, "alpn")],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value))
def test_versions_ciphers_and_protocols(start, files, authority, words, spoken,
                                         cause):
    server = start(files)
    if words[0] in ("-tls1", "-tls1_1"):
        words = [*words, "-cipher", "DEFAULT:@SECLEVEL=0"]
    status, said = s_client(server, *words)
    if spoken:
        assert status == 0 and spoken in said, said
        return
    assert status != 0 and "Cipher is (NONE)" in said, said
    if cause:
        wait_until(lambda: failures(Secure(server.port, authority), cause) == 1)


def test_an_rsa_key_that_tls_1_2_may_not_use_to_hand_over_keys(start, authority):
    server = start(authority.sign("rsa", "rsa"))
    assert s_client(server, "-tls1_2", "-cipher", "AES128-GCM-SHA256")[0] != 0
    status, said = s_client(server, "-tls1_2")
    assert status == 0 and "ECDHE-RSA-AES256-GCM-SHA384" in said


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_tickets_resume_sessions(start, files, authority, tmp_path, version):
    server = start(files)
    request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    saved = tmp_path / "session"
    status, said = s_client(server, version, "-ign_eof", "-sess_out", saved, text=request)
    assert status == 0 and "200 OK" in said and "New, TLSv1" in said
    status, said = s_client(server, version, "-ign_eof", "-sess_in", saved, text=request)
    assert status == 0 and "200 OK" in said and "Reused, TLSv1" in said
    secure = Secure(server.port, authority)
    assert metric(secure, 'farcall_tls_handshakes_total{kind="resumed"}') == 1


def test_spans_say_the_scheme(start, files, authority):
    collector = Collector()
    try:
        server = start(files, f"--otlp={collector.url}", "--trace-sample=1",
                       "--listen=http://127.0.0.1:0")
        secure, plain = ports_of(server, 2)
        assert Secure(secure, authority).get("/livez").status == 200
        with urllib.request.urlopen(f"http://127.0.0.1:{plain}/livez", timeout=60) as answer:
            assert answer.status == 200
        wait_until(lambda: sum(each["kind"] == 2 for each in collector.spans) == 2)
        assert {attributes(each)["url.scheme"] for each in collector.spans
                if each["kind"] == 2} == {"http", "https"}
    finally:
        collector.close()
        collector.check()


def test_renegotiation_is_refused(start, files):
    server = start(files)
    process = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-tls1_2"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said, _ = process.communicate(b"R\n", timeout=60)
    assert b"RENEGOTIATING" in said and b"no renegotiation" in said, said


# ---------------------------------------------------------------------------
# Client certificates

REFUSED = {"none": "peer did not return a certificate", "old": "has expired",
           "stranger": "unable to get local issuer certificate"}


@pytest.mark.parametrize("kind", REFUSED)
def test_certificates_of_clients(start, files, authority, tmp_path, kind):
    server = start(files, f"--client-ca={authority.file}")
    secure = Secure(server.port, authority, authority.sign("good", names="DNS:client"))
    assert secure.get("/livez").status == 200
    client = {
        "none": lambda: None,
        "old": lambda: authority.sign("old", days=-1, names="DNS:client"),
        "stranger": lambda: Authority(tmp_path, "stranger").sign("wrong")}[kind]()
    with pytest.raises((ssl.SSLError, ConnectionResetError, BrokenPipeError)):
        Secure(server.port, authority, client).get("/livez")
    wait_until(lambda: failures(secure, "certificate") == 1)
    wait_until(lambda: any(REFUSED[kind] in line for line in server.lines))


def test_a_public_address_needs_certificates_of_clients_or_a_word(start, files, authority):
    with pytest.raises(RuntimeError, match="can be reached by others"):
        Server(*words_of(files), MODULE, listen=("--listen", "0.0.0.0:0"))
    server = start(files, f"--client-ca={authority.file}", listen="0.0.0.0:0")
    secure = Secure(server.port, authority, authority.sign("caller"))
    assert secure.get("/livez").status == 200
    # Client certificates do not protect an address without TLS.
    with pytest.raises(RuntimeError, match="can be reached by others"):
        Server(*words_of(files, f"--client-ca={authority.file}"), MODULE,
               listen=("--listen", "http://0.0.0.0:0"))


# ---------------------------------------------------------------------------
# Options

@pytest.mark.parametrize("words, said", [
    (["--tls-cert={cert}"], "--tls-key is missing"),
    (["--tls-key={key}"], "--tls-key: --tls-cert is missing"),
    (["--client-ca={cert}"], "--client-ca: --tls-cert is missing"),
    (["--listen=https://127.0.0.1:0"], "TLS needs --tls-cert and --tls-key"),
    (["--tls-cert=/nonexistent", "--tls-key={key}"],
     "--tls-cert: '/nonexistent': No such file or directory"),
    (["--tls-cert={key}", "--tls-key={key}"], "no certificate in PEM"),
    (["--tls-cert={cert}", "--tls-key={cert}"], "no key in PEM"),
    (["--tls-cert={cert}", "--tls-key={other}"], "the key is not that of the certificate"),
    (["--tls-cert={cert}", "--tls-key={locked}"], "no key in PEM without a password"),
    (["--tls-cert={cert}", "--tls-key={key}", "--client-ca={key}"],
     "no certificate in PEM")])
def test_files_that_are_wrong(files, authority, words, said):
    locked = authority.folder / "locked.key"
    openssl("ec", "-in", files[1], "-aes128", "-passout", "pass:word", "-out", locked)
    names = {"cert": files[0], "key": files[1], "other": authority.key, "locked": locked}
    done = farcalld("-t", *[each.format(**names) for each in words])
    assert done.returncode == 64 and said in done.stderr, done.stderr


def test_keys_that_no_client_can_use_are_refused(authority):
    certificate, key = authority.sign("unoffered", "unoffered")
    done = farcalld("-t", *words_of((certificate, key)))
    assert done.returncode == 64, done.stderr
    assert f"--tls-cert: '{certificate}': a handshake that tries it fails: " in done.stderr


def dated(authority, begin, end):
    """A certificate that is valid from the day `begin` to the day `end`, counted from
    today."""
    folder = authority.folder
    file, key = folder / "dated.pem", folder / "dated.key"
    rules = folder / "dated.cnf"
    rules.write_text(f"[ca]\ndefault_ca=own\n[own]\ndatabase={folder}/dated.txt\n"
                     f"new_certs_dir={folder}\nrand_serial=yes\ndefault_md=sha256\n"
                     "unique_subject=no\npolicy=any\n[any]\ncommonName=supplied\n")
    (folder / "dated.txt").write_text("")
    openssl("req", *KEYS["ec"], "-nodes", "-subj", "/CN=dated", "-keyout", key,
            "-out", folder / "dated.csr")
    start, stop = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400))
                   for days in (begin, end))
    openssl("ca", "-batch", "-config", rules, "-in", folder / "dated.csr", "-out", file,
            "-cert", authority.file, "-keyfile", authority.key, "-notext",
            "-startdate", start, "-enddate", stop)
    return file, key


def day(file, which):
    """A date of a certificate as openssl prints it."""
    said = openssl("x509", "-in", file, "-noout", which, "-dateopt", "iso_8601").stdout
    return re.search(rb"=(\d{4}-\d\d-\d\d)", said)[1].decode()


@pytest.mark.parametrize("begin, end, said, which, code", [
    (-2, 20, None, "-enddate", 0), (-2, 2, "ends on", "-enddate", 0),
    (-2, -1, "has ended on", "-enddate", 64), (1, 20, "begins on", "-startdate", 64)])
def test_a_certificate_whose_time_has_passed(start, authority, files, tmp_path, begin, end,
                                             said, which, code):
    """-t refuses such a certificate, or warns two weeks before it ends; a server also
    warns. The same holds if the dates are those of the signer's certificate."""
    pair = dated(authority, begin, end)
    date = day(pair[0], which)
    signed = tmp_path / "signed.pem"
    signed.write_text(files[0].read_text() + pair[0].read_text())
    for cert, key in pair, (signed, files[1]):
        done = farcalld("-t", *words_of((cert, key)))
        assert done.returncode == code
        assert (f"--tls-cert: '{cert}': the certificate {said} {date}" in done.stderr) == \
            bool(said), done.stderr
    server = start(pair)
    server.process.send_signal(signal.SIGHUP)
    line = f"has its certificate anew, which {said or 'ends on'} {date}"
    wait_until(lambda: any(line in each for each in server.lines))
    warned = [each for each in server.lines if "certificate" in each and '"warn"' in each]
    assert len(warned) == (2 if said else 0), warned
    if said:
        assert f"has a certificate that {said} {date}" in warned[0]
    ends = openssl("x509", "-in", pair[0], "-noout", "-enddate").stdout.decode()
    peer = Secure(server.port, authority)
    peer.context.check_hostname, peer.context.verify_mode = False, ssl.CERT_NONE
    assert metric(peer, "farcall_tls_certificate_end_seconds") == \
        ssl.cert_time_to_seconds(ends.strip().removeprefix("notAfter="))


def test_each_listener_has_its_certificate(files, authority, tmp_path):
    other = authority.sign("other", names="DNS:other.example,IP:127.0.0.1")
    path = tmp_path / "s"
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({
        "paths": [str(MODULE)], "tls-cert": str(files[0]), "tls-key": str(files[1]),
        "listeners": [{"address": "127.0.0.1:0"}, {"address": "http://127.0.0.1:0"},
                      {"address": "127.0.0.1:0", "tls-cert": str(other[0]),
                       "tls-key": str(other[1])},
                      {"address": f"unix:{path}"}]}))
    server = Server("-c", config, listen=())
    ports = ports_of(server, 3)
    names = []
    for port in (ports[0], ports[2]):
        with Secure(port, authority).connect() as line:
            names.append(line.getpeercert()["subject"][0][0][1])
    assert names == ["server", "other"]
    server.port = ports[1]
    assert server.get("/livez").status == 200
    # The printed options can be read again.
    printed = farcalld("-T", "-c", config)
    assert printed.returncode == 0
    config.write_text(printed.stdout)
    assert farcalld("-t", "-c", config).returncode == 0
    config.write_text(json.dumps({"listeners": [
        {"address": "unix:/tmp/s", "tls-cert": "a", "tls-key": "b"}]}))
    assert "unix:PATH has no TLS" in farcalld("-t", "-c", config).stderr
    end_servers([server])


# ---------------------------------------------------------------------------
# HTTP over TLS

def test_large_bodies_both_ways(start, files, authority, corpus):
    server = start(files, corpus, listen="https://127.0.0.1:0,http://127.0.0.1:0")
    ports = ports_of(server, 2)
    shape = [2048, 4096]  # 32 MiB
    head = json.dumps({"args": [{"shape": shape,
                                 "binary_data_size": 4 * shape[0] * shape[1]}]}).encode()
    raw = struct.pack("<4096f", *range(4096)) * shape[0]
    headers = {"Content-Type": "application/octet-stream",
               "Accept": "application/octet-stream",
               "Inference-Header-Content-Length": str(len(head))}
    path = "/api/v1/functions/tensor/softmax"
    server.port = ports[1]
    plain = server.request("POST", path, head + raw, headers)
    sealed = Secure(ports[0], authority).request("POST", path, head + raw, headers)
    assert plain.status == sealed.status == 200
    assert len(plain.body) > 32 << 20 and plain.body == sealed.body


def test_requests_are_pipelined_and_each_side_may_end_first(start, files, authority):
    server = start(files)
    request = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with Secure(server.port, authority).connect() as line:
        line.sendall(request * 50)
        got = b""
        while got.count(b'{"status":"live"}') < 50:
            got += line.recv(65536)
        # Sends close_notify, and waits for the server's.
        line.settimeout(60)
        line.unwrap()
    with Secure(server.port, authority).connect() as line:
        line.sendall(request[:-2] + b"Connection: close\r\n\r\n")
        got = b""
        while (more := line.recv(65536)):  # ends without an error: close_notify came
            got += more
        assert b'"live"' in got


def test_a_client_that_reads_slowly_gets_its_answer(start, files, authority, corpus):
    """The answer is larger than what the sockets hold."""
    server = start(files, corpus)
    shape = [512, 4096]
    head = json.dumps({"args": [{"shape": shape,
                                 "binary_data_size": 4 * shape[0] * shape[1]}]}).encode()
    body = head + bytes(4 * shape[0] * shape[1])
    with Secure(server.port, authority).connect() as line:
        line.sendall((
            "POST /api/v1/functions/tensor/softmax HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/octet-stream\r\nAccept: application/octet-stream"
            f"\r\nInference-Header-Content-Length: {len(head)}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n").encode())
        line.sendall(body)
        got = bytearray(line.recv(1))
        time.sleep(0.5)
        while (more := line.recv(4096)):
            got += more
    size = int(re.search(rb"Content-Length: (\d+)", bytes(got))[1])
    assert len(got) - got.index(b"\r\n\r\n") - 4 == size > 8 << 20


def test_a_client_that_stops_reading_is_closed(start, files, authority, corpus):
    server = start(files, "--write-timeout=1s", corpus)
    secure = Secure(server.port, authority)
    shape = [1024, 4096]
    head = json.dumps({"args": [{"shape": shape,
                                 "binary_data_size": 4 * shape[0] * shape[1]}]}).encode()
    body = head + bytes(4 * shape[0] * shape[1])
    with secure.connect() as line:
        line.sendall((
            "POST /api/v1/functions/tensor/softmax HTTP/1.1\r\nHost: localhost\r\n"
            "Content-Type: application/octet-stream\r\nAccept: application/octet-stream"
            f"\r\nInference-Header-Content-Length: {len(head)}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode())
        line.sendall(body)
        line.recv(1)
        wait_until(lambda: metric(secure, "farcall_connections") == 1)


def test_pages_come_by_https(start, files, authority):
    server = start(files)
    secure = Secure(server.port, authority)

    def status(origin):
        return secure.request("GET", "/livez", headers={"Origin": origin}).status

    assert status(f"https://127.0.0.1:{server.port}") == 200
    assert status(f"http://127.0.0.1:{server.port}") == 403


def test_plain_http_is_told(start, files, authority):
    server = start(files)
    answer = server.get("/livez")
    assert answer.status == 400 and b"speaks TLS" in answer.body
    wait_until(lambda: failures(Secure(server.port, authority), "plain_http") == 1)


# ---------------------------------------------------------------------------
# Hostile clients

def client_hello():
    """The first message of a client."""
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    talk = context.wrap_bio(came, goes, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        talk.do_handshake()
    return goes.read()


def test_bytes_that_are_no_handshake(start, files, authority):
    server = start(files)
    secure = Secure(server.port, authority)
    hello = client_hello()
    rows = [b"\0" * 100, b"\x16\x03\x01\0\x05hello", b"\x16\x03\x01\xff\xff" + b"x" * 70000,
            hello[:5] + b"\xff" * (len(hello) - 5), b"\x80\x2e\x01\0\x02" + b"a" * 100,
            b"\x15\x03\x03\0\x02\x02\x28", b"\x17\x03\x03\0\x10" + b"x" * 16,
            os.urandom(500), b"\x16" + os.urandom(5000)]
    for row in rows:
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
            with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                line.sendall(row)
                with contextlib.suppress(OSError):  # the server may have closed already
                    line.shutdown(socket.SHUT_WR)
                while line.recv(65536):
                    pass
    for size in range(0, len(hello), 37):  # cut anywhere, then gone
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
            line.sendall(hello[:size])
    hellos = len(range(0, len(hello), 37))
    wait_until(lambda: failures(secure, "closed") + failures(secure, "protocol") +
               failures(secure, "version") + failures(secure, "plain_http")
               >= len(rows) + hellos)
    assert secure.get("/livez").status == 200


def test_records_that_are_damaged_or_cut(start, files, authority):
    """After a handshake, bytes that are not encrypted end the connection. So does an
    end without close_notify, also in the middle of a body."""
    server = start(files)
    secure = Secure(server.port, authority)
    for bad in (b"\x17\x03\x03\0\x20" + b"x" * 32, b"GET / HTTP/1.1\r\n\r\n",
                b"\x17\x03\x03\xff\xff", b"\x17\x03\x03\x00\x00" * 100):
        with secure.connect() as line:
            raw = socket.socket(fileno=os.dup(line.fileno()))
            raw.sendall(bad)
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(60)
            with contextlib.suppress(ConnectionResetError):
                while raw.recv(65536):
                    pass
            raw.close()
    line = secure.connect()
    line.sendall(b"POST /api/v1/functions/x/y HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Length: 100\r\n\r\nhalf")
    line.close()
    wait_until(lambda: metric(secure, "farcall_connections") == 1)


def half_open(port, count, hello):
    lines = []
    for i in range(count):
        line = socket.socket()
        line.connect(("127.0.0.1", port))
        if i % 2:
            line.send(hello[:i % len(hello)] or b"\x16")
        lines.append(line)
    return lines


def allow_files(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        pytest.skip(f"SKIPPED: {count} descriptors are not allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))


def check_half_handshakes(start, files, authority, count):
    """However many there are, another client is served at once."""
    allow_files(count + 200)
    server = start(files, "--connections=20000")
    secure = Secure(server.port, authority)
    lines = half_open(server.port, count, client_hello())
    begun = time.monotonic()
    for _ in range(20):
        assert secure.get("/livez").status == 200
    took = time.monotonic() - begun
    wait_until(lambda: metric(secure, "farcall_connections") <= 1001 + 1)
    wait_until(lambda: failures(secure, "crowded") >= count - 1000)
    for line in lines:
        line.close()
    return took


def test_half_handshakes_are_held_off(start, files, authority):
    check_half_handshakes(start, files, authority, 1200)


def resident(peer):
    return metric(peer, 'farcall_memory_bytes{kind="resident"}')


def test_a_half_hello_takes_little_and_a_whole_one_goes_back(start, files, authority):
    """OpenSSL's memory for a handshake is only allocated once the first record is
    complete. (A sanitizer keeps what was freed.)"""
    count, hello = 900, client_hello()
    allow_files(count + 200)
    server = start(files)
    secure = Secure(server.port, authority)
    taken = {}
    secure.get("/livez")
    begin = resident(secure)
    for size in len(hello) - 1, len(hello):
        lines = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
        for line in lines:
            line.settimeout(60)
            line.sendall(hello[:size // 2])
            line.sendall(hello[size // 2:size])
        if size == len(hello):
            assert all(line.recv(1) == b"\x16" for line in lines)
        wait_until(lambda: metric(secure, "farcall_connections") == count + 1)
        taken[size] = resident(secure) - begin
        for line in lines:
            line.close()
        wait_until(lambda: metric(secure, "farcall_connections") == 1)
    half, whole = taken.values()
    assert half < whole / 4, taken
    if not SANITIZED:
        wait_until(lambda: resident(secure) - begin < whole / 2)


def test_a_handshake_has_its_time(start, files, authority):
    server = start(files, "--head-timeout=1s")
    secure = Secure(server.port, authority)
    lines = half_open(server.port, 20, client_hello())
    wait_until(lambda: failures(secure, "timeout") == 20)
    for line in lines:
        line.settimeout(60)
        with contextlib.suppress(ConnectionResetError):
            while line.recv(4096):
                pass
        line.close()


# ---------------------------------------------------------------------------
# Keys

def test_a_certificate_is_replaced_under_load(files, authority, tmp_path, numbered):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    second = authority.sign("second")

    def put(pair):
        for file, to in zip(pair, (cert, key)):
            shutil.copy(file, tmp_path / "new")
            (tmp_path / "new").replace(to)

    put(files)
    server = Server(*words_of((cert, key)), numbered.path.parent,
                    listen=("--listen", "https://127.0.0.1:0"))
    secure = Secure(server.port, authority)
    stop, failed, made = threading.Event(), [], []

    def load():
        kept = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60,
                                           context=secure.context)
        while not stop.is_set():
            try:
                fresh = secure.request("POST", FUNCTION, "[7]")
                kept.request("POST", FUNCTION, "[7]")
                answers = fresh.body, kept.getresponse().read()
                assert answers == (b'{"results":[7000000]}',) * 2, answers
                made.append(1)
            except Exception as error:  # whatever it is, it is a failed call
                failed.append(error)
                return
        kept.close()

    def name():
        with secure.connect() as line:
            return line.getpeercert()["subject"][0][0][1]

    threads = [threading.Thread(target=load) for _ in range(3)]
    for each in threads:
        each.start()

    def reread(expected):
        told = len(server.lines)
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any(expected in line for line in server.lines[told:]))
    try:
        assert name() == "server"
        for i in range(6):
            put((second, files)[i % 2])
            reread("has its certificate anew")
            assert name() == ("second", "server")[i % 2]
        put((second[0], files[1]))  # of two pairs
        reread("keeps its certificate: --tls-key: ")
        assert name() == "server"
        cert.write_text("nothing")
        reread("keeps its certificate: --tls-cert: ")
        assert name() == "server"
    finally:
        stop.set()
        for each in threads:
            each.join()
    assert not failed, failed
    assert len(made) > 10
    end_servers([server])


def test_new_keys_of_a_client_do_not_hold_up_others(start, files, tmp_path):
    program = tmp_path / "key_updates"
    source = pathlib.Path(__file__).with_name("key_updates.c")
    subprocess.run(["cc", "-o", program, source, "-lssl", "-lcrypto"], check=True)
    secure = start(files)
    done = subprocess.run([program, str(secure.port), "15000"], text=True, timeout=60,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10  # 1 or 2 if the loop reads all of them at once


def maps_openssl(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        return "libssl" in pathlib.Path(f"/proc/{pid}/maps").read_text()


def test_only_a_server_of_tls_has_the_library(serve, files):
    plain = serve(MODULE)
    secure = serve(MODULE, *words_of(files))
    assert not maps_openssl(plain.pid)
    assert maps_openssl(secure.pid)
    # A process that was just started is a copy of the server until it runs the worker's
    # program.
    wait_until(lambda: not any(map(maps_openssl, children_of(secure.pid))))


def test_without_the_library_the_option_is_refused(files, tmp_path):
    (tmp_path / "libssl.so.3").touch()
    said = subprocess.run([BIN / "farcalld", "-t", *words_of(files)], text=True,
                          env={**user_environment(), "LD_LIBRARY_PATH": str(tmp_path)},
                          capture_output=True, timeout=60)
    assert said.returncode == 64, said.stderr
    assert "TLS needs OpenSSL 3" in said.stderr and "libssl.so.3" in said.stderr


def secret_of(key):
    """The number that is the key, in both byte orders, as it may be in memory."""
    text = openssl("ec", "-in", key, "-noout", "-text").stdout.decode()
    digits = re.search(r"priv:\s*([0-9a-f:\s]+)pub:", text)[1]
    number = bytes.fromhex(re.sub(r"[:\s]", "", digits)).lstrip(b"\0")
    words = number[::-1]
    return {number, words}


def has_in_memory(pid, secrets):
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            begin, end = (int(each, 16) for each in line.split()[0].split("-"))
            # Large ranges are left out: reading unused pages of a ring would allocate
            # memory.
            if "r" not in line.split()[1] or "[v" in line or end - begin > 64 << 20:
                continue
            with contextlib.suppress(OSError, ValueError, OverflowError):
                memory.seek(begin)
                data = memory.read(end - begin)
                if any(each in data for each in secrets):
                    return True
    return False


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into processes")
def test_no_worker_has_the_key(files, authority, numbered):
    server = Server("--isolation=process", "--workers=2", *words_of(files),
                    numbered.path.parent, listen=("--listen", "https://127.0.0.1:0"))
    secure = Secure(server.port, authority)
    assert secure.request("POST", FUNCTION, "[1]").status == 200
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any("certificate anew" in line for line in server.lines))
    numbered.put(2)  # a worker that is started after the keys were read twice
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: b"000002" in secure.request("POST", FUNCTION, "[1]").body)
    secrets = secret_of(files[1])
    assert has_in_memory(server.pid, secrets), "the search finds nothing"
    seen = 0
    for pid in children_of(server.pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            # A process that was just started is a copy of the server until it runs the
            # worker's program.
            wait_until(lambda: not has_in_memory(pid, secrets))
            opened = [os.readlink(f"/proc/{pid}/fd/{each}")
                      for each in os.listdir(f"/proc/{pid}/fd")]
            assert not any(str(file) in each for each in opened for file in files)
            assert not any(each.startswith("socket:") and is_tcp(pid, each)
                           for each in opened)
            seen += 1
    assert seen
    end_servers([server])


def is_tcp(pid, link):
    inode = link[len("socket:["):-1]
    with open(f"/proc/{pid}/net/tcp") as table:
        return any(line.split()[9] == inode for line in list(table)[1:])


# ---------------------------------------------------------------------------
# TLS in farcall

ANSWER = '{"results":[7000000]}'


def test_farcall_speaks_https(farcall, files, authority, numbered, tmp_path, monkeypatch):
    server = Server(*words_of(files, f"--client-ca={authority.file}"), numbered.path.parent,
                    listen=("--listen", "https://127.0.0.1:0"))
    cert, key = authority.sign("farcall")
    whole = tmp_path / "both.pem"
    whole.write_text(cert.read_text() + key.read_text())
    url = f"--server=https://127.0.0.1:{server.port}"
    trust, own = f"--ca={authority.file}", [f"--cert={cert}", f"--key={key}"]
    for each in (own, [f"--cert={whole}"]):
        done = farcall("call", "numbered/number", "-i", "7", url, trust, *each)
        assert done.returncode == 0 and done.stdout == ANSWER + "\n", done.stderr
    done = farcall("ls", url.replace("127.0.0.1", "localhost"), trust, *own)
    assert done.returncode == 0 and "numbered" in done.stdout, done.stderr
    assert farcall("health", url, trust, *own).returncode == 0
    assert farcall("sig", "numbered/number", url, trust, *own).returncode == 0
    # Many connections; each answer is compared.
    done = farcall("bench", "numbered/number", "-i", "7", url, trust, *own, "-c", "8",
                   "--duration=500ms", "--warmup=100ms", "--slo=errors<1")
    assert done.returncode == 0, done.stdout + done.stderr
    # The printed curl command does the same.
    done = farcall("call", "numbered/number", "-i", "7", url, trust, *own, "--curl")
    curl = subprocess.run(done.stdout, shell=True, text=True, capture_output=True)
    assert curl.stdout == ANSWER, curl.stderr

    def refused(*words):
        done = farcall("call", "numbered/number", "-i", "7", *words)
        assert done.returncode != 0
        return done.stderr

    stranger = Authority(tmp_path, "stranger")
    assert "unable to get local issuer certificate: --ca=FILE has" in refused(url, *own)
    assert "certificate" in refused(url, f"--ca={stranger.file}", *own)
    # The server's alert is shown, unless the connection ends before it arrives.
    assert re.search("certificate required|reset|closed", refused(url, trust))
    assert "No such file" in refused(url, "--ca=/nonexistent", *own)
    assert "--cert is missing" in refused(url, trust, f"--key={key}")
    plain = refused(url.replace("https", "http"), trust)
    assert "speaks TLS" in plain, plain
    # The variable may also name the authority; the option overrides it.
    monkeypatch.setenv("FARCALL_CA", str(authority.file))
    assert farcall("health", url, *own).returncode == 0
    assert "certificate" in refused(url, f"--ca={stranger.file}", *own)
    end_servers([server])


def test_farcall_checks_the_name(farcall, start, authority):
    server = start(authority.sign("elsewhere", names="DNS:elsewhere.example,IP:192.0.2.1"))
    for host, why in (("127.0.0.1", "IP address mismatch"), ("localhost", "hostname mismatch")):
        done = farcall("health", f"--server=https://{host}:{server.port}",
                       f"--ca={authority.file}")
        assert done.returncode != 0 and why in done.stderr, done.stderr


def test_farcall_says_that_openssl_is_missing(farcall, start, files, tmp_path, monkeypatch):
    server = start(files)
    (tmp_path / "libssl.so.3").write_bytes(b"")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    done = farcall("health", f"--server=https://127.0.0.1:{server.port}")
    assert done.returncode != 0
    assert "TLS needs OpenSSL 3" in done.stderr and "libssl.so.3" in done.stderr


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_farcall_asks_other_servers(farcall, files, authority, version):
    """farcall's TLS also works with a server that is not ours: openssl's."""
    process = subprocess.Popen(
        ["openssl", "s_server", "-accept", "0", "-cert", files[0], "-key", files[1],
         version, "-www"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        for line in process.stdout:
            if line.startswith("ACCEPT"):
                break
        port = int(line.rsplit(":", 1)[1])
        done = farcall("health", f"--server=https://localhost:{port}",
                       f"--ca={authority.file}")
        assert "not as farcalld does" in done.stderr, done.stderr
    finally:
        process.kill()
        process.wait()
