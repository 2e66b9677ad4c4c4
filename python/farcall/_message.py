# SPDX-License-Identifier: Apache-2.0
"""Messages of the Open Inference Protocol over gRPC, as bytes (docs/grpc.md)."""
from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy

from . import _arrays
from ._error import Error
from ._structure import (Param, Signature, Type, bytes_of, check_shape, escape, fail,
                         scalar_of, utf8)
from ._wire import Reader

# Maps the protocol's names of element types to their field of `contents` and our text.
_TYPES = {"BOOL": (1, "i1"), "INT8": (2, "si8"), "INT16": (2, "si16"), "INT32": (2, "si32"),
          "INT64": (3, "si64"), "UINT8": (4, "ui8"), "UINT16": (4, "ui16"),
          "UINT32": (4, "ui32"), "UINT64": (5, "ui64"), "FP16": (0, "f16"),
          "BF16": (0, "bf16"), "FP32": (6, "f32"), "FP64": (7, "f64")}
_BYTES = 8  # the field of byte strings
_BY_TEXT = {text: name for name, (_, text) in _TYPES.items()}
# Without ml_dtypes, BF16 has the dtype of UINT16, which is earlier in _TYPES and so wins.
_NAMES = {_arrays.dtype(text): name for name, (_, text) in reversed(_TYPES.items())}
_BROKEN = (KeyError, IndexError, TypeError, ValueError, OverflowError, struct.error)
Parameters = Mapping[str, bool | int | str]


# ---------------------------------------------------------------------------
# Fields


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _put(number: int, data: bytes | memoryview) -> list[bytes | memoryview]:
    return [_varint(number << 3 | 2), _varint(len(data)), data]


def _message(*fields: tuple[int, bytes | memoryview]) -> bytes:
    return b"".join(piece for field in fields for piece in _put(*field))


def _take_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number of more than ten bytes")


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Yields the fields of a message: the number of each, and its value as an int or
    bytes."""
    at = 0
    while at < len(data):
        tag, at = _take_varint(data, at)
        if tag & 7 == 0:
            value, at = _take_varint(data, at)
            yield tag >> 3, value
            continue
        if tag & 7 == 2:
            size, at = _take_varint(data, at)
        else:
            size = {1: 8, 5: 4}[tag & 7]
        if size > len(data) - at:
            raise ValueError("a field is longer than its message")
        yield tag >> 3, data[at:at + size]
        at += size


def _all(data: memoryview, number: int) -> list[Any]:
    return [value for each, value in _fields(data) if each == number]


def _text(data: memoryview, number: int) -> str:
    found = _all(data, number)
    return str(found[-1], "utf-8") if found else ""


def _numbers(values: list[Any], sign: bool = True) -> Iterator[int]:
    """The numbers of a repeated field, packed or not."""
    for value in values:
        packed = memoryview(_varint(value)) if isinstance(value, int) else value
        at = 0
        while at < len(packed):
            number, at = _take_varint(packed, at)
            yield number - (1 << 64) if sign and number >> 63 else number


# ---------------------------------------------------------------------------
# Models


@dataclasses.dataclass(frozen=True)
class Model:
    signature: Signature
    inputs: list[str]  # as the server calls them
    outputs: list[str]


def name(model: str, version: str) -> bytes:
    """The first two fields of a request about a model: its name and version."""
    return _message((1, utf8(model, "model")), (2, version.encode()))


def names(message: bytes | bytearray) -> list[str]:
    """The names in a RepositoryIndexResponse, each once."""
    try:
        return list(dict.fromkeys(_text(each, 1) for each in _all(memoryview(message), 1)))
    except _BROKEN as error:
        raise Error(f"the server's list is none: {error!r}", "bad_result") from error


def _type(datatype: str, shape: list[int]) -> dict[str, Any]:
    if datatype == "BYTES":
        one = {"kind": "bytes"}
        return one if shape == [1] else {"kind": "list", "items": one}
    if datatype not in _TYPES:
        return {"kind": "unknown"}
    dims = [None if dim < 0 else dim for dim in shape]
    return {"kind": "tensor" if dims else "scalar", "dtype": _TYPES[datatype][1],
            "shape": dims}


def metadata(model: str, message: bytes | bytearray, casting: str) -> Model:
    """Reads the signature from a ModelMetadataResponse."""
    called: list[list[str]] = [[], []]
    sides: list[list[dict[str, Any]]] = [[], []]
    reason = None
    try:
        for number, value in _fields(memoryview(message)):
            if number not in (4, 5):
                continue
            there, side = called[number - 4], sides[number - 4]
            datatype = _text(value, 2)
            if datatype not in (*_TYPES, "BYTES", "ANY"):
                reason = reason or f"its type {datatype!r} is not known here"
            there.append(_text(value, 1))
            # A name that is only the position counts as no name.
            own = "" if there[-1] == str(len(side)) else there[-1]
            side.append({"name": own, "role": "in", "keyword": True,
                         "type": _type(datatype, list(_numbers(_all(value, 3))))})
    except _BROKEN as error:
        raise Error(f"the metadata of {model!r} are none: {error!r}", "bad_result") from error
    shown = [", ".join(str(Param(each["name"], Type.read(each["type"]))) for each in side)
             for side in sides]
    document = {"name": model, "text": f"{model}({shown[0]}) -> ({shown[1]})",
                "callable": reason is None, "reason": reason,
                "arguments": sides[0], "results": sides[1]}
    return Model(Signature(document, casting), *called)


# ---------------------------------------------------------------------------
# Requests


def _strings(value: Any, path: str) -> tuple[tuple[int, ...], bytes]:
    """The shape and the elements of byte strings, or of lists of them."""
    array: numpy.ndarray[Any, Any] = numpy.empty(1, object)
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        array[0] = value
    else:
        array = numpy.array(value, object)
    data = [utf8(each, path) if isinstance(each, str) else bytes_of(Type("bytes"), each, path)
            for each in array.flat]
    return array.shape, b"".join(piece for each in data
                                 for piece in (len(each).to_bytes(4, "little"), each))


def _tensor(node: Type, value: Any, path: str,
            casting: str) -> tuple[str, tuple[int, ...], bytes | memoryview]:
    """The type, the shape and the bytes of an input."""
    if node.kind in ("bytes", "list") or node.kind == "unknown" and \
            isinstance(value, (str, bytes, bytearray, list, tuple)):
        shape, data = _strings(value, path)
        if node.kind == "bytes" and shape != (1,):
            raise fail("type_mismatch", f"expected bytes, found {type(value).__name__}", path,
                       "bytes", value)
        return "BYTES", shape, data
    if node.kind == "scalar":
        array = numpy.asarray(scalar_of(node.dtype or "f64", value, path))
    else:
        array, _ = _arrays.array_of(value, node.dtype, path, casting)
        check_shape(node, array, path)
    if node.dtype is None and array.dtype not in _NAMES:
        raise fail("unsupported_type", f"the protocol has nothing for {array.dtype}", path)
    datatype = _BY_TEXT[node.dtype] if node.dtype else _NAMES[array.dtype]
    return datatype, array.shape, \
        numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8).data


def _parameter(key: str, value: bool | int | str) -> bytes:
    chosen = _message((3, value.encode())) if isinstance(value, str) else \
        bytes([8 if isinstance(value, bool) else 16]) + _varint(value)
    return _message((1, key.encode()), (2, chosen))


def request(known: Model, model: str, version: str, args: tuple[Any, ...],
            kwargs: Mapping[str, Any], parameters: Parameters, id: str = "") -> bytes:
    """A ModelInferRequest."""
    signature = known.signature
    if not signature.callable:
        raise signature.refusal()
    heads: list[tuple[int, bytes | memoryview]] = []
    raws: list[tuple[int, bytes | memoryview]] = []
    for number, (param, value) in enumerate(zip(signature.inputs, signature.bind(args, kwargs))):
        datatype, shape, raw = _tensor(
            param.type, value, escape(param.name) or str(number), signature.casting)
        heads.append((5, _message((1, known.inputs[number].encode()), (2, datatype.encode()),
                                  (3, b"".join(map(_varint, shape))))))
        raws.append((7, raw))
    front = [(1, utf8(model, "model")), (2, version.encode()), (3, id.encode())]
    return _message(*front, *((4, _parameter(*each)) for each in parameters.items()),
                    *heads, *raws)


# ---------------------------------------------------------------------------
# Answers


def _split(raw: memoryview) -> list[memoryview]:
    found, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at:at + 4], "little")
        found.append(raw[at + 4:at + 4 + size])
        at += 4 + size
    if at != len(raw):
        raise ValueError("an element is longer than its tensor")
    return found


def _elements(datatype: str, contents: memoryview) -> numpy.ndarray[Any, Any]:
    """The values that a server sends in the field for their type."""
    number, text = _TYPES[datatype]
    values = _all(contents, number)
    if datatype in ("FP32", "FP64"):
        return numpy.frombuffer(bytearray().join(values), _arrays.dtype(text))
    return numpy.array(list(_numbers(values, text[0] == "s")), _arrays.dtype(text))


def _output(node: Type, head: memoryview, raw: memoryview | None) -> Any:
    datatype, shape = _text(head, 2), list(_numbers(_all(head, 3)))
    contents = memoryview(b"".join(_all(head, 5)))
    if datatype == "BYTES":
        strings = _all(contents, _BYTES) if raw is None else _split(raw)
        words = numpy.empty(len(strings), object)
        words[:] = [bytes(each) for each in strings]
        alone = node.kind == "bytes" or node.kind == "unknown" and shape == [1]
        return words.item() if alone else words.reshape(shape).tolist()
    text = _TYPES[datatype][1]
    array = _elements(datatype, contents) if raw is None else \
        numpy.frombuffer(raw, _arrays.dtype(text))
    if node.kind == "scalar":
        return Reader.scalar(node.dtype or text, array.item())
    return array.reshape(shape)


def answer(known: Model, message: bytes | bytearray | memoryview) -> Any:
    """The results in a ModelInferResponse. Arrays use its memory."""
    signature = known.signature
    whole = memoryview(message)
    try:
        heads, raws = _all(whole, 5), _all(whole, 6)
        if raws and len(raws) != len(heads):
            raise ValueError(f"{len(heads)} outputs, {len(raws)} of them raw")
        found = {_text(head, 1): (head, raw)
                 for head, raw in zip(heads, raws or [None] * len(heads))}
        return signature.together([
            _output(param.type, *found[called])
            for param, called in zip(signature.outputs, known.outputs)])
    except _BROKEN as error:
        raise Error(f"the answer is none of {signature.name}: {error!r}",
                    "bad_result") from error


def pointer(details: bytes) -> str | None:
    """The field that a google.rpc.Status names in a BadRequest."""
    try:
        for detail in _all(memoryview(details), 3):
            if _text(detail, 1).endswith("/google.rpc.BadRequest"):
                (violation,) = _all(_all(detail, 2)[0], 1)
                return _text(violation, 1)
    except _BROKEN:
        pass
    return None
