# SPDX-License-Identifier: Apache-2.0
"""Signatures (docs/abi.md), and the Python types of their values.

A tuple or list in a signature is a list, a dict a dict, text a str, bytes are bytes, a
scalar is a number, a tensor an array. Several results are a tuple, with names if the
results have names. The extension knows only leaves: `flatten` splits arguments into
leaves, `build` makes results from leaves.
"""
from __future__ import annotations

import collections
import dataclasses
import functools
import inspect
import json
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from keyword import iskeyword
from typing import Annotated, Any

import numpy

from . import _arrays, _farcall
from ._error import Error

_NUMBERS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
_DEPTH_MAX = 32
_NAMES_SHOWN = 8


@dataclasses.dataclass(frozen=True, repr=False)
class Type:
    """A node of a signature's types."""
    kind: str
    dtype: str | None = None
    shape: tuple[int | None, ...] | None = None
    children: tuple[Type, ...] = ()  # of a list and a refarray: the one of its items
    keys: tuple[str, ...] = ()  # of a dict
    text: bool = False  # bytes that are UTF-8

    @staticmethod
    def read(node: Mapping[str, Any]) -> Type:
        kind = node["kind"]
        shape = node.get("shape")
        children: tuple[Type, ...] = ()
        keys: tuple[str, ...] = ()
        if kind == "dict":
            children = tuple(Type.read(each["type"]) for each in node["fields"])
            keys = tuple(each["name"] for each in node["fields"])
        elif kind == "tuple":
            children = tuple(map(Type.read, node["items"]))
        elif kind in ("list", "refarray"):
            children = (Type.read(node["items"]),)
        return Type(kind, node.get("dtype"), None if shape is None else tuple(shape),
                    children, keys, node.get("encoding") == "utf8")

    @property
    def splits(self) -> bool:
        """Whether its parts are separate leaves."""
        return self.kind in ("tuple", "dict") and bool(self.children)

    @property
    def plain(self) -> bool:
        """Whether the extension handles the type without help from Python."""
        return self.kind in ("scalar", "tensor", "vector") or \
            self.kind == "bytes" and not self.text

    def __repr__(self) -> str:
        return f"<type {self}>"

    def __str__(self) -> str:
        if self.kind in ("tensor", "vector"):
            return f"{self.kind}<{self._dims()}>"
        inner = [f"{key}: {child}" if key else str(child) for key, child in
                 zip(self.keys or [""] * len(self.children), self.children)]
        named = self.dtype or ("text" if self.text else self.kind)
        return f"{self.kind}<{', '.join(inner)}>" if inner else named

    def _dims(self) -> str:
        dims = "*x" if self.shape is None else "".join(
            f"{'?' if dim is None else dim}x" for dim in self.shape)
        return dims + (self.dtype or "?")

    @property
    def hint(self) -> Any:
        """The type hint."""
        if self.kind == "scalar":
            name = _arrays.dtype(self.dtype or "f64")
            return _NUMBERS.get(name.kind, float)
        if self.kind in ("tensor", "vector"):
            return Annotated[numpy.ndarray, self._dims()]
        if self.kind == "bytes":
            return str if self.text else bytes
        return {"list": list, "tuple": list, "dict": dict, "null": None}.get(
            self.kind, Any)


@dataclasses.dataclass(frozen=True, repr=False)
class Param:
    """An argument or a result. Its name may be ""."""
    name: str
    type: Type
    keyword: bool = False

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape of a tensor, with None for each dimension of any size; () for a
        scalar. None: any shape, or no array."""
        return () if self.type.kind == "scalar" else self.type.shape

    @property
    def dtype(self) -> numpy.dtype[Any] | None:
        """The dtype of the elements. None: any, or no array."""
        return _arrays.dtype(self.type.dtype) if self.type.dtype else None

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" if self.name else str(self.type)


def _again(names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Makes results from a pickle."""
    return results_of(names)(values)


@functools.lru_cache(maxsize=256)
def results_of(names: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
    """The type of a tuple of results with these names. Names are NFKC-normalized, as
    Python does. A name that is no identifier, or comes twice, becomes `_` and its
    number."""
    if not any(names):
        return tuple
    fields = [unicodedata.normalize("NFKC", name) for name in names]
    base: Any = collections.namedtuple("Results", fields, rename=True)  # type: ignore[misc]
    named: Any = type("Results", (base,), {
        "__slots__": (), "__doc__": "Results of a call.",
        "__reduce__": lambda self: (_again, (names, tuple(self)))})
    make: Callable[[Iterable[Any]], Any] = named._make
    return make


def fail(code: str, message: str, path: str, expected: str | None = None,
         got: Any = None) -> Error:
    return Error(_arrays.named(path, message), code, "/" + path, expected,
                 None if got is None else type(got).__name__)


def escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def no_such(what: str, name: str, names: Iterable[str], none: str) -> str:
    """The message for an unknown name, in the server's words. It suggests the nearest of
    `names`, or lists them; without names it is `none`."""
    shown = name.encode(errors="replace").decode()  # it may have half a character
    known = sorted(names)
    nearest = _farcall.nearest(shown, known)
    hint = f": {none}"
    if nearest:
        hint = f"; did you mean '{nearest}'?"
    elif known:
        some = ", ".join(f"'{_cut(each, 24)}'" for each in known[:_NAMES_SHOWN])
        hint = f"; there {'is' if len(known) == 1 else 'are'} {some}"
        if len(known) > _NAMES_SHOWN:
            hint += f" and {len(known) - _NAMES_SHOWN} more"
    return f"there is no {what} '{_cut(shown, 64)}'{hint}"


def parts(node: Type, path: str) -> Iterator[tuple[Type, str]]:
    """The children of a tuple or dict, with their paths in the library."""
    for index, child in enumerate(node.children):
        key = node.keys[index] if node.keys else ""
        yield child, f"{path}/{escape(key) if key else index}"


def values(node: Type, value: Any, path: str) -> list[Any]:
    """The parts of a value for a tuple or dict, in the type's order."""
    if node.kind == "dict":
        if not isinstance(value, Mapping):
            raise fail("type_mismatch",
                       f"expected a dict, found {type(value).__name__}", path, "a dict",
                       value)
        for key in value:
            if key not in node.keys:
                raise fail("unknown_key", no_such("key", str(key), node.keys,
                                                  "the dict has none"), path)
        for key in node.keys:
            if key not in value:
                raise fail("missing_key", f"key {key!r} is missing", path)
        return [value[key] for key in node.keys]
    found = items(value, path)
    if len(found) != len(node.children):
        raise fail("length_mismatch",
                   f"expected {len(node.children)} elements, found {len(found)}", path,
                   f"{len(node.children)} elements")
    return found


def items(value: Any, path: str) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or \
            not isinstance(value, (Sequence, numpy.ndarray)):
        raise fail("type_mismatch", f"expected a list, found {type(value).__name__}",
                   path, "a list", value)
    return list(value)


def utf8(value: str, path: str) -> bytes:
    """The bytes of text. A str may have surrogates, which UTF-8 cannot encode."""
    try:
        return value.encode()
    except UnicodeEncodeError as error:
        raise fail("type_mismatch", f"character {error.start} of the text is a surrogate, "
                   "which UTF-8 does not have", path, "UTF-8") from None


def _check_utf8(data: bytes, path: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise fail("type_mismatch", f"the bytes are not UTF-8 from byte {error.start} on, "
                   "the argument is text", path, "UTF-8") from None


def bytes_of(node: Type, value: Any, path: str) -> bytes:
    if isinstance(value, str) and node.text:
        return utf8(value, path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        if node.text:
            _check_utf8(data, path)
        return data
    wanted = "str" if node.text else "bytes"
    raise fail("type_mismatch", f"expected {wanted}, found {type(value).__name__}", path,
               wanted, value)


def check_shape(node: Type, array: numpy.ndarray[Any, Any], path: str) -> None:
    if node.shape is None:
        return
    if array.ndim != len(node.shape):
        raise fail("shape_mismatch", f"{array.ndim} dims, its type has {len(node.shape)}",
                   path)
    for dim, (size, wanted) in enumerate(zip(array.shape, node.shape)):
        if wanted not in (None, size):
            raise fail("shape_mismatch", f"dim {dim} is {size}, its type says {wanted}",
                       path)


def scalar_of(text: str, value: Any, path: str) -> Any:
    """Converts a number to a NumPy scalar."""
    if _NUMBERS.get(_arrays.dtype(text).kind) is int and not hasattr(value, "__index__"):
        raise fail("type_mismatch", f"expected an integer, found {type(value).__name__}",
                   path, text, value)
    if isinstance(value, numpy.generic) and value.dtype.kind in "biufc":
        value = value.item()  # a number like Python's
    array, _ = _arrays.array_of(value, text, path)
    if array.ndim:
        raise fail("type_mismatch", "expected a number, found an array", path, text)
    return array[()]


def null_of(node: Type, value: Any, path: str) -> None:
    empty: Any = {"null": None, "tuple": [], "dict": {}}[node.kind]
    if (list(value) if isinstance(value, tuple) else value) != empty:
        raise fail("type_mismatch", f"expected {empty}, found {type(value).__name__}",
                   path, str(empty), value)


def _refuse(node: Type, path: str) -> Error:
    return fail("unsupported_type", f"Python has nothing for {node.kind}", path)


def check_depth(depth: int, path: str) -> None:
    """Checks how deep lists are nested in an argument without a type."""
    if depth > _DEPTH_MAX:
        raise fail("type_mismatch", f"lists are nested deeper than {_DEPTH_MAX}", path)


def _untyped(value: Any, path: str, depth: int = 0) -> Any:
    """A value for an argument without a type."""
    check_depth(depth, path)
    if value is None:
        return None
    if isinstance(value, str):
        return utf8(value, path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [_untyped(each, f"{path}/{index}", depth + 1)
                for index, each in enumerate(value)]
    if isinstance(value, numpy.generic):
        return value
    return _arrays.array_of(value, None, path)[0]


def nested(node: Type, value: Any, path: str, casting: str) -> Any:
    """A value inside a list, in a form for the extension: None, bytes, an array, a NumPy
    scalar, or a list of these."""
    if node.kind == "scalar":
        return scalar_of(node.dtype or "f64", value, path)
    if node.kind in ("tensor", "vector"):
        array, _ = _arrays.array_of(value, node.dtype, path, casting)
        check_shape(node, array, path)
        return array
    if node.kind == "bytes":
        return bytes_of(node, value, path)
    if node.kind == "list":
        return [nested(node.children[0], each, f"{path}/{index}", casting)
                for index, each in enumerate(items(value, path))]
    if node.kind in ("tuple", "dict"):
        return [nested(child, each, where, casting) for each, (child, where)
                in zip(values(node, value, path), parts(node, path))]
    if node.kind == "null":
        return null_of(node, value, path)
    if node.kind == "unknown":
        return _untyped(value, path)
    raise _refuse(node, path)


def _flatten(node: Type, value: Any, path: str, casting: str,
             leaves: list[Any]) -> None:
    if node.splits:
        for each, (child, where) in zip(values(node, value, path), parts(node, path)):
            _flatten(child, each, where, casting, leaves)
    elif node.kind in ("scalar", "tensor", "vector"):
        leaves.append(value)
    else:
        leaves.append(nested(node, value, path, casting))


def typed(node: Type, value: Any) -> Any:
    """Converts a leaf, or a value in a list, to the caller's form."""
    if node.kind == "bytes" and node.text and isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError as error:
            raise Error(f"a result is text, and not UTF-8 from byte {error.start} on",
                        "bad_result") from None
    if not isinstance(value, list):
        return value
    if node.kind == "list":
        return [typed(node.children[0], each) for each in value]
    if node.kind in ("tuple", "dict") and len(value) != len(node.children):
        raise Error(f"a result has {len(value)} parts, its type {len(node.children)}",
                    "bad_result")
    if node.kind == "tuple":
        return [typed(*each) for each in zip(node.children, value)]
    if node.kind == "dict":
        return {key: typed(*each)
                for key, *each in zip(node.keys, node.children, value)}
    return value


def _build(node: Type, leaves: Iterator[Any]) -> Any:
    if node.splits:
        built = [_build(child, leaves) for child in node.children]
        return dict(zip(node.keys, built)) if node.keys else built
    if node.kind in ("tuple", "dict"):
        next(leaves)
        return {} if node.kind == "dict" else []
    return typed(node, next(leaves))


def _paths(node: Type, path: str) -> Iterator[str]:
    if not node.splits:
        yield path
        return
    for child, where in parts(node, path):
        yield from _paths(child, where)


def _one(results: Iterable[Any]) -> Any:
    """The single result, or None."""
    return next(iter(results), None)


class Signature:
    """The arguments and results of a function, read from its JSON document."""

    def __init__(self, document: str | Mapping[str, Any], casting: str) -> None:
        if isinstance(document, str):
            document = json.loads(document)
        assert isinstance(document, Mapping)
        self.document = document
        self.casting = casting
        self.name: str = document["name"]
        self.text: str = document["text"]
        self.callable: bool = document["callable"]
        self.reason: str | None = document.get("reason")
        self.examples: list[str] = document.get("examples", [])
        arguments = document["arguments"]
        self.inputs = [Param(each.get("name") or "", Type.read(each["type"]),
                             bool(each.get("keyword")) and bool(each.get("name")))
                       for each in arguments if each["role"] in ("in", "inout", "scratch")]
        finals = [each for each in arguments if each["role"] in ("out", "inout")]
        self.outputs = [Param(each.get("name") or "", Type.read(each["type"]))
                        for each in [*document["results"], *finals]]
        self.together = results_of(tuple(each.name for each in self.outputs)) \
            if len(self.outputs) > 1 else _one
        # The arguments of a SIP signature are a dict, so they are passed only by name.
        root = document.get("root")
        self.positional = 0 if root == "dict" else len(self.inputs)
        self.keywords = {param.name: number for number, param in enumerate(self.inputs)
                         if param.keyword}

    def __str__(self) -> str:
        return self.text if self.callable else f"{self.text}, not callable: {self.reason}"

    @property
    def doc(self) -> str:
        if not self.callable:
            return f"{self.text}\n\nIt cannot be called: {self.reason}"
        examples = ", ".join(map(repr, self.examples))
        return f"{self.text}\n\nExamples: {examples}" if examples else self.text

    def refusal(self) -> Error:
        """The error that says why the function cannot be called, in the library's
        words."""
        return Error(f"function '{self.name}' is not callable: {self.reason}",
                     "unsupported_type")

    def paths(self) -> tuple[str, ...]:
        """The paths of the result leaves, in order."""
        return tuple(path for number, output in enumerate(self.outputs)
                     for path in _paths(output.type, str(number)))

    @property
    def plain_inputs(self) -> bool:
        return all(param.type.kind in ("scalar", "tensor", "vector")
                   for param in self.inputs)

    def flatten(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        leaves: list[Any] = []
        for number, (param, value) in enumerate(zip(self.inputs, inputs)):
            _flatten(param.type, value, escape(param.name) or str(number), self.casting,
                     leaves)
        return tuple(leaves)

    def build(self, leaves: Sequence[Any]) -> Any:
        at = iter(leaves)
        return self.together([_build(param.type, at) for param in self.outputs])

    @property
    def builder(self) -> Callable[[tuple[Any, ...]], Any] | None:
        """The function that makes results from leaves. None: the leaf, or the tuple of
        leaves, is the result."""
        if not all(param.type.plain for param in self.outputs):
            return self.build
        return None if self.together in (_one, tuple) else self.together

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The inputs in order. The extension binds inputs itself, and calls this if they
        do not fit."""
        if len(args) > self.positional:
            raise Error(f"argument {self.positional}: the function takes "
                        f"{self.positional} by position", "extra_argument",
                        f"/{self.positional}", f"at most {self.positional} arguments")
        missing = object()
        inputs = [*args, *[missing] * (len(self.inputs) - len(args))]
        for name, value in kwargs.items():
            number = self.keywords.get(name)
            if number is None:
                raise self._unknown(name)
            if inputs[number] is not missing:
                raise self._refused("duplicate_argument", number, "given twice")
            inputs[number] = value
        for number, value in enumerate(inputs):
            if value is missing:
                raise self._refused("missing_argument", number, "missing")
        return inputs

    def _unknown(self, name: str) -> Error:
        none = "those of this function have no names, so they go by position" \
            if self.inputs else "the function takes none"
        return Error(no_such("argument", name, self.keywords, none), "unknown_argument",
                     "/" + escape(name), None, _cut(name, 64))

    def _refused(self, code: str, number: int, message: str) -> Error:
        name = self.inputs[number].name
        who = f"argument {number} ('{_cut(name, 64)}')" if name else f"argument {number}"
        return Error(f"{who}: {message}", code, "/" + (escape(name) or str(number)))

    def python(self) -> inspect.Signature:
        """For `inspect.signature`, help() and editors."""
        names = [param.name for param in self.inputs]
        usable = len(set(names)) == len(names) and all(
            name.isidentifier() and not iskeyword(name) for name in names)
        by_name = [usable and param.keyword for param in self.inputs]
        params = []
        for number, param in enumerate(self.inputs):
            kind: inspect._ParameterKind
            if self.positional == 0:
                kind = inspect.Parameter.KEYWORD_ONLY
            elif all(by_name[number:]):
                kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
            else:
                kind = inspect.Parameter.POSITIONAL_ONLY
            name = param.name if usable else f"arg{number}"
            params.append(inspect.Parameter(name, kind, annotation=param.type.hint))
        hints = [param.type.hint for param in self.outputs]
        returned = hints[0] if len(hints) == 1 else \
            tuple[tuple(hints)] if hints else None  # type: ignore[misc]
        return inspect.Signature(params, return_annotation=returned)
