# SPDX-License-Identifier: Apache-2.0
"""Converts calls and answers to and from bytes: the document, followed by raw tensors
(docs/http.md, "Tensors as bytes")."""
from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy

from . import _arrays
from ._error import Error
from ._iterate import Repeat
from ._state import Ref
from ._structure import (Param, Signature, Type, bytes_of, check_depth, check_shape, escape, fail,
                         items, null_of, parts, scalar_of, typed, utf8, values)

TYPE = "application/octet-stream"
LENGTH = "Inference-Header-Content-Length"
_ALIGNMENT = 64  # of the first tensor
# A larger body is sent in pieces. They are views of the arrays, so nothing is copied
# here. httpx copies what a socket has not accepted, but only one piece at a time.
_PIECE = 256 << 10


def _number(value: Any) -> Any:
    if isinstance(value, complex):
        return [_number(value.real), _number(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


class _Writer:
    def __init__(self, casting: str) -> None:
        self.casting = casting
        self.tensors: list[bytes | memoryview] = []

    def raw(self, data: bytes | memoryview) -> dict[str, Any]:
        """The document's entry for bytes that follow it."""
        self.tensors.append(data)
        return {"binary_data_size": len(data)}

    def tensor(self, array: numpy.ndarray[Any, Any], text: str | None) -> Any:
        data = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data
        head = {"dtype": text} if text else {}
        return {**head, "shape": array.shape, **self.raw(data)}

    def untyped(self, value: Any, path: str, depth: int = 0) -> Any:
        check_depth(depth, path)
        if value is None:
            return None
        if isinstance(value, Ref):
            return {"ref": value.name}
        if isinstance(value, (str, bytes, bytearray, memoryview)):
            data = utf8(value, path) if isinstance(value, str) else bytes(value)
            return {"bytes": {"b64": base64.b64encode(data).decode()}}
        if isinstance(value, (list, tuple)):
            return {"list": [self.untyped(each, f"{path}/{index}", depth + 1)
                             for index, each in enumerate(value)]}
        array, text = _arrays.array_of(value, None, path)
        return self.tensor(array, text)

    def value(self, node: Type, value: Any, path: str) -> Any:
        if isinstance(value, Ref):
            return {"ref": value.name}
        if node.kind in ("tensor", "vector"):
            array, text = _arrays.array_of(value, node.dtype, path, self.casting)
            check_shape(node, array, path)
            return self.tensor(array, None if node.dtype else text)
        if node.kind == "scalar":
            return _number(scalar_of(node.dtype or "f64", value, path).item())
        if node.kind == "bytes":
            data = bytes_of(node, value, path)
            if node.text:
                return data.decode()
            return self.raw(data)
        if node.kind == "list":
            return [self.value(node.children[0], each, f"{path}/{index}")
                    for index, each in enumerate(items(value, path))]
        if node.kind == "tuple" and node.children:
            return [self.value(child, each, where) for each, (child, where)
                    in zip(values(node, value, path), parts(node, path))]
        if node.kind == "dict" and node.children:
            return {key: self.value(child, each, where) for key, each, (child, where)
                    in zip(node.keys, values(node, value, path), parts(node, path))}
        if node.kind in ("null", "tuple", "dict"):
            null_of(node, value, path)
            return {"null": None, "tuple": [], "dict": {}}[node.kind]
        if node.kind == "unknown":
            return self.untyped(value, path)
        raise fail("unsupported_type", f"Python has nothing for {node.kind}", path)


class _Whole(_Writer):
    """Writes all bytes into the document."""

    def raw(self, data: bytes | memoryview) -> dict[str, Any]:
        return {"b64": base64.b64encode(data).decode()}


def _pieces(parts: list[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    for part in parts:
        for at in range(0, len(part), _PIECE):
            yield memoryview(part)[at:at + _PIECE]


def _call(writer: _Writer, signature: Signature, args: tuple[Any, ...],
          kwargs: Mapping[str, Any]) -> dict[str, Any]:
    inputs = [writer.value(param.type, value, escape(param.name) or str(number))
              for number, (param, value)
              in enumerate(zip(signature.inputs, signature.bind(args, kwargs)))]
    if signature.inputs and not signature.positional:
        return {"kwargs": dict(zip((param.name for param in signature.inputs), inputs))}
    return {"args": inputs}


def _text(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), allow_nan=False,
                      default=lambda each: each.item()).encode()


def write(signature: Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any],
          options: Mapping[str, Any] | None = None) \
        -> tuple[dict[str, str], bytes | list[bytes | memoryview]]:
    """The header fields of a call, and its body or the pieces of a large body."""
    writer = _Writer(signature.casting)
    document = _call(writer, signature, args, kwargs)
    if options:
        document["options"] = options
    head = _text(document)
    head += b" " * (-len(head) % _ALIGNMENT)
    body = [head, *writer.tensors]
    size = sum(map(len, body))
    fields = {"Content-Type": TYPE, "Accept": TYPE, LENGTH: str(len(head)),
              "Content-Length": str(size)}
    return fields, b"".join(body) if size <= _PIECE else list(_pieces(body))


def write_steps(repeat: Repeat, args: tuple[Any, ...], kwargs: Mapping[str, Any]) \
        -> tuple[dict[str, str], bytes]:
    """The header fields and the body of an iteration."""
    signature = repeat.signature
    said = repeat.document()
    if repeat.until:
        said["until"]["equals"] = _number(said["until"]["equals"])
    body = _text({**_call(_Whole(signature.casting), signature, args, kwargs), "repeat": said,
                  "options": {"results": "b64"}})
    return {"Content-Type": "application/json", "Accept": "application/x-ndjson"}, body


class Reader:
    """Reads the values of a document; the bytes of tensors follow the document."""

    def __init__(self, rest: memoryview) -> None:
        self.rest = rest

    def take(self, size: Any) -> memoryview:
        if not isinstance(size, int) or not 0 <= size <= len(self.rest):
            raise Error("the answer is shorter than its tensors", "bad_result")
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def raw(self, value: Mapping[str, Any]) -> memoryview | bytearray:
        """The bytes of a value, as a writable buffer."""
        return bytearray(base64.b64decode(value["b64"])) if "b64" in value else \
            self.take(value["binary_data_size"])

    def tensor(self, value: Mapping[str, Any]) -> numpy.ndarray[Any, Any]:
        data = self.raw(value)
        return numpy.frombuffer(data, _arrays.dtype(value["dtype"])) \
            .reshape(value["shape"])

    def untyped(self, value: Any) -> Any:
        if isinstance(value, dict):
            if "list" in value:
                return [self.untyped(each) for each in value["list"]]
            if "bytes" in value:
                return self.bytes(value["bytes"])
            if "binary_data_size" in value or "b64" in value:
                return self.tensor(value) if "shape" in value else self.bytes(value)
            return {key: self.untyped(each) for key, each in value.items()}
        return [self.untyped(each) for each in value] if isinstance(value, list) \
            else value

    def bytes(self, value: Any) -> bytes:
        if isinstance(value, str):
            return value.encode()
        return bytes(self.raw(value))

    def value(self, node: Type, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, dict) and value.keys() == {"ref", "type"} and \
                set(node.keys) != value.keys():
            return Ref(value["ref"], Type.read(value["type"]))
        if node.kind in ("tensor", "vector"):
            return self.tensor(value)
        if node.kind == "scalar":
            return self.scalar(node.dtype or "f64", value)
        if node.kind == "bytes":
            return typed(node, self.bytes(value))
        if node.kind == "list":
            return [self.value(node.children[0], each) for each in value]
        if node.kind == "tuple":
            return [self.value(*each) for each in zip(node.children, value, strict=True)]
        if node.kind == "dict":
            return {key: self.value(child, value[key])
                    for key, child in zip(node.keys, node.children)}
        return self.untyped(value)

    @staticmethod
    def scalar(text: str, value: Any) -> Any:
        # The text of an f32 gives that f32, but as a double it is another number.
        own = _arrays.dtype(text)
        if text.startswith("complex"):
            return complex(own.type(complex(*map(float, value))))
        if own.kind == "b":
            return bool(value)
        if own.kind in "iu":
            return float(value) if text[0] == "f" or text == "bf16" else int(value)
        return float(own.type(float(value)))


def _results(signature: Signature, params: Iterable[Param], results: Any,
             rest: memoryview) -> list[Any]:
    reader = Reader(rest)
    try:
        return [reader.value(param.type, value)
                for param, value in zip(params, results, strict=True)]
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Error(f"the answer is none of {signature.name}: {error!r}",
                    "bad_result") from error


def write_value(value: Any) -> tuple[dict[str, str], bytes]:
    """The header fields and the body that put a value into a session."""
    return {"Content-Type": "application/json"}, \
        _text(_Whole("same_kind").untyped(value, "value"))


def read_value(head_size: str | None, body: bytes) -> Any:
    """A value of a session."""
    try:
        size = len(body) if head_size is None else int(head_size)
        (value,) = json.loads(body[:size])["results"]
        return Reader(memoryview(bytearray(body))[size:]).untyped(value)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Error(f"the answer is no value: {error!r}", "bad_result") from error


def read(signature: Signature, head_size: str | None, body: bytes | bytearray) -> Any:
    """The results of the call. Arrays use the memory of the body."""
    try:
        size = len(body) if head_size is None else int(head_size)
        results = json.loads(body[:size])["results"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise Error(f"the answer is none of {signature.name}: {error!r}",
                    "bad_result") from error
    return signature.together(
        _results(signature, signature.outputs, results, memoryview(body)[size:]))


def read_step(repeat: Repeat, document: Mapping[str, Any]) -> Any:
    """The results of a step."""
    outputs = repeat.signature.outputs
    return repeat.together(_results(repeat.signature, [outputs[each] for each in repeat.emit],
                                    document["results"], memoryview(b"")))
