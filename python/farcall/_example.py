# SPDX-License-Identifier: Apache-2.0
"""Examples of calls: the module's own, or generated ones."""
from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy

from . import _arrays
from ._error import Error, NameUnknownError
from ._structure import Signature, Type, no_such
from ._wire import Reader


class Example(NamedTuple):
    """Arguments that a function takes: `f(*example.args, **example.kwargs)`."""
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


Example.__module__ = "farcall"


def _numbers(value: Any, text: str) -> Any:
    """Converts JSON's numbers, and lists of them, to Python's."""
    kind = _arrays.dtype(text).kind
    if isinstance(value, list):
        if kind == "c" and value and not isinstance(value[0], list):
            return complex(*map(float, value))
        return [_numbers(each, text) for each in value]
    if kind == "b":
        return bool(value)
    # A float type that NumPy lacks has the kind of an integer here.
    return int(value) if kind in "iu" and text[0] in "iu" else float(value)


def _array(value: Any, text: str | None) -> numpy.ndarray[Any, Any]:
    if not isinstance(value, Mapping):
        return _arrays.array_of(_numbers(value, text or ""), text, "")[0]
    text = text or value["dtype"]
    if "b64" in value:
        data = bytearray(base64.b64decode(value["b64"]))
        return numpy.frombuffer(data, _arrays.dtype(text)).reshape(value["shape"])
    return _array(value["data"], text).reshape(value["shape"])


class _Given(Reader):
    """Reads values in any form that a caller may write, not only in the form that a
    server writes."""

    def value(self, node: Type, value: Any) -> Any:
        if node.kind in ("tensor", "vector"):
            return _array(value, node.dtype)
        return super().value(node, value)

    def untyped(self, value: Any) -> Any:
        if isinstance(value, Mapping) and "shape" in value:
            return _array(value, None)
        return super().untyped(value)

    def bytes(self, value: Any) -> bytes:
        if isinstance(value, list):
            return bytes(int(each) & 255 for each in value)
        return super().bytes(value)


def check(signature: Signature, name: str) -> None:
    """Raises an error if the function has no example of this name. "" is the first
    example or a generated one."""
    if name and name not in signature.examples:
        raise NameUnknownError(no_such("example", name, signature.examples,
                                       "the function has none"), "unknown_field",
                               None, None, name)


def read(signature: Signature, body: str | bytes) -> Example:
    """The arguments in a call document."""
    reader = _Given(memoryview(b""))
    types = {param.name: param.type for param in signature.inputs}
    try:
        document = json.loads(body)
        args = [reader.value(param.type, value) for param, value
                in zip(signature.inputs, document.get("args", []), strict=False)]
        kwargs = {name: reader.value(types[name], value)
                  for name, value in document.get("kwargs", {}).items()}
    except Error:  # which says what of it is wrong
        raise
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError,
            RecursionError) as error:
        raise Error(f"the example is none of {signature.name}: {error!r}",
                    "bad_result") from error
    return Example(tuple(args), kwargs)
