# SPDX-License-Identifier: Apache-2.0
"""A collector that accepts only spans in the JSON form of OTLP/HTTP. Each document must
fit the messages of opentelemetry-proto 1 (trace.proto, common.proto, resource.proto)
in their JSON mapping: names in lowerCamelCase and none that is unknown, ids in hex,
64-bit integers as strings, enums as numbers."""
import http.server
import json
import socket
import threading

import jsonschema

U64 = {"type": "string", "pattern": "^(0|[1-9][0-9]{0,19})$"}


def message(required=(), **fields):
    return {"type": "object", "properties": fields, "required": list(required),
            "additionalProperties": False}


def array(of):
    return {"type": "array", "items": of}


def hexadecimal(size):
    return {"type": "string", "pattern": f"^(?!0+$)[0-9a-f]{{{2 * size}}}$"}


TEXT = {"type": "string"}
VALUE = {"oneOf": [message(["stringValue"], stringValue=TEXT),
                   message(["boolValue"], boolValue={"type": "boolean"}),
                   message(["intValue"], intValue={"type": "string", "pattern": "^-?[0-9]+$"}),
                   message(["doubleValue"], doubleValue={"type": "number"})]}
ATTRIBUTES = array(message(["key", "value"], key={"type": "string", "minLength": 1},
                           value=VALUE))
SPAN = message(
    ["traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"],
    traceId=hexadecimal(16), spanId=hexadecimal(8), parentSpanId=hexadecimal(8),
    traceState=TEXT, flags={"type": "integer"}, name={"type": "string", "minLength": 1},
    kind={"enum": [1, 2, 3, 4, 5]}, startTimeUnixNano=U64, endTimeUnixNano=U64,
    attributes=ATTRIBUTES, droppedAttributesCount={"type": "integer"},
    events={"type": "array"}, links={"type": "array"},
    status=message(code={"enum": [0, 1, 2]}, message=TEXT))
REQUEST = message(["resourceSpans"], resourceSpans=array(message(
    ["resource", "scopeSpans"],
    resource=message(attributes=ATTRIBUTES, droppedAttributesCount={"type": "integer"}),
    scopeSpans=array(message(
        ["spans"], scope=message(name=TEXT, version=TEXT, attributes=ATTRIBUTES),
        spans=array(SPAN), schemaUrl=TEXT)),
    schemaUrl=TEXT)))


def attributes(of):
    return {each["key"]: next(iter(each["value"].values())) for each in of["attributes"]}


class Collector:
    """Answers on a port. `answers` are the statuses for the next documents; later ones
    get 200. While `hold` is cleared, it does not answer."""

    def __init__(self, port=0, answers=()):
        self.answers = list(answers)
        self.hold = threading.Event()
        self.hold.set()
        self.sockets = []
        self.spans, self.documents, self.connections, self.faults = [], 0, 0, []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                collector.connections += 1
                collector.sockets.append(self.request)
                super().setup()

            def do_POST(self):
                try:
                    status = collector.take(self.path, self.headers, self.rfile.read(
                        int(self.headers["Content-Length"])))
                except Exception as fault:  # told by check()
                    collector.faults.append(repr(fault))
                    status = 400
                collector.hold.wait(60)
                body = b"{}"
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                pass  # the client may have left

        self.server = Quiet(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def take(self, path, headers, body):
        assert path == "/v1/traces", path
        assert headers["Content-Type"] == "application/json"
        document = json.loads(body)
        jsonschema.validate(document, REQUEST)
        self.documents += 1
        status = self.answers.pop(0) if self.answers else 200
        if status == 200:
            for resource in document["resourceSpans"]:
                assert attributes(resource["resource"])["service.name"] == "farcalld"
                for scope in resource["scopeSpans"]:
                    self.spans += scope["spans"]
        return status

    def check(self):
        assert self.faults == []

    def close(self):
        self.hold.set()
        self.server.shutdown()
        self.server.server_close()
        for each in self.sockets:  # those that are kept alive, too
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join()
