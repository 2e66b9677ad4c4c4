# SPDX-License-Identifier: Apache-2.0
"""An HTTP/2 client that writes frames by hand (RFC 9113), so that it can break every
rule. It writes fields as literals without a table (RFC 7541, 6.2.2), and reads only
the status unless it is told to read all fields."""
import ctypes
import json
import socket
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = range(5)
PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 6, 7, 8, 9
END_STREAM = ACK = 1
END_HEADERS = 4
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL, STREAM_CLOSED = 0, 1, 3, 5
FRAME_SIZE, REFUSED, CANCEL, CALM = 6, 7, 8, 11


def number(value, bits):
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    out, value = [most], value - most
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes(out + [value])


def literal(name, value, indexed=False):
    name, value = name.encode(), value.encode()
    return (b"\x40" if indexed else b"\x00") + number(len(name), 7) + name + \
        number(len(value), 7) + value


def fields(method="GET", path="/livez", *more):
    named = [(":method", method), (":scheme", "http"), (":authority", "localhost"),
             (":path", path), *more]
    return b"".join(literal(*each) for each in named)


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + \
        struct.pack(">BBI", kind, flags, stream) + payload


def setting(name, value):
    return struct.pack(">HI", name, value)


def uint(value):
    return struct.pack(">I", value)


class Field(ctypes.Structure):
    """nghttp2_nv"""
    _fields_ = [("name", ctypes.c_void_p), ("value", ctypes.c_void_p),
                ("name_size", ctypes.c_size_t), ("value_size", ctypes.c_size_t),
                ("flags", ctypes.c_uint8)]


class Inflater:
    """Decodes the heads of one connection in their order, with nghttp2's decoder."""

    def __init__(self):
        self.library = ctypes.CDLL("libnghttp2.so.14")
        self.library.nghttp2_hd_inflate_hd2.restype = ctypes.c_ssize_t
        self.never_indexed = set()  # names of fields that must be in no table
        self.state = ctypes.c_void_p()
        assert self.library.nghttp2_hd_inflate_new(ctypes.byref(self.state)) == 0

    def read(self, block):
        found, field, flags = {}, Field(), ctypes.c_int(0)
        while not flags.value & 1:
            size = self.library.nghttp2_hd_inflate_hd2(
                self.state, ctypes.byref(field), ctypes.byref(flags), block,
                ctypes.c_size_t(len(block)), 1)
            assert size >= 0
            block = block[size:]
            if flags.value & 2:
                name = ctypes.string_at(field.name, field.name_size).decode()
                found[name] = ctypes.string_at(field.value, field.value_size).decode()
                if field.flags & 1:
                    self.never_indexed.add(name)
        self.library.nghttp2_hd_inflate_end_headers(self.state)
        return found

    def close(self):
        self.library.nghttp2_hd_inflate_del(self.state)


class Closed(Exception):
    """The server has closed the connection."""


class Connection:
    def __init__(self, server, settings=b"", greet=True):
        self.socket = socket.create_connection((server.host, server.port), 60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.left = b""
        self.goaways = []
        if greet:
            self.send(PREFACE + frame(SETTINGS, payload=settings))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """Sends the data. If the server has closed the connection, does nothing."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def ask(self, stream=1, method="GET", path="/livez", *more, ends=True):
        self.send(frame(HEADERS, END_HEADERS | (END_STREAM if ends else 0), stream,
                        fields(method, path, *more)))

    def _more(self):
        try:
            got = self.socket.recv(1 << 16)
        except ConnectionResetError:
            got = b""
        if not got:
            raise Closed
        self.left += got

    def read(self):
        """The next frame: kind, flags, stream, payload."""
        while len(self.left) < 9:
            self._more()
        size = int.from_bytes(self.left[:3], "big")
        while len(self.left) < 9 + size:
            self._more()
        kind, flags, stream = struct.unpack(">BBI", self.left[3:9])
        payload = self.left[9:9 + size]
        self.left = self.left[9 + size:]
        if kind == GOAWAY:
            self.goaways.append(struct.unpack(">II", payload[:8]))
        return kind, flags, stream, payload

    def until(self, *kinds, stream=None):
        """Reads up to the next frame of one of these kinds, of this stream if one is
        given."""
        while True:
            got = self.read()
            if got[0] in kinds and stream in (None, got[2]):
                return got

    def error(self):
        """The error with which the server ends the connection or a stream, and which of
        the two it ends. None: it just closes the connection."""
        try:
            kind, _, _, payload = self.until(GOAWAY, RST_STREAM)
        except Closed:
            return None
        return kind, int.from_bytes(payload[-4:] if kind == RST_STREAM else payload[4:8],
                                    "big")

    def answer(self, stream=1):
        """The status and body of an answer. Opens the windows for it."""
        body, status = b"", None
        while True:
            kind, flags, _, payload = self.until(HEADERS, DATA, RST_STREAM, GOAWAY,
                                                 stream=stream)
            if kind in (RST_STREAM, GOAWAY):
                raise Closed
            if kind == HEADERS and status is None:
                status = 200 if payload[0] == 0x88 else 0
            if kind == DATA:
                body += payload
                if payload:
                    self.send(frame(WINDOW_UPDATE, 0, 0, uint(len(payload))) +
                              frame(WINDOW_UPDATE, 0, stream, uint(len(payload))))
            if flags & END_STREAM:
                return status or json.loads(body)["status"], body

    def whole(self, stream, inflater):
        """The fields of an answer before and after its body, and the body as "body".
        The inflater must have read all answers that came before on other streams."""
        found = {"body": b""}
        while True:
            kind, flags, _, payload = self.until(HEADERS, DATA, RST_STREAM, GOAWAY,
                                                 stream=stream)
            if kind in (RST_STREAM, GOAWAY):
                raise Closed
            if kind == HEADERS:
                assert flags & END_HEADERS
                found.update(inflater.read(payload))
            else:
                found["body"] += payload
            if flags & END_STREAM:
                return found
