# SPDX-License-Identifier: Apache-2.0
"""Iterations: a function is called many times in a row, and each step uses the results of
the previous one. This file has the request, the steps in this process, and the lines of a
server."""
from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy

from . import _arrays
from ._error import Error
from ._structure import Param, Signature, Type, no_such, results_of

TIMES_MAX = 10_000_000
Place = int | str  # of a result or an argument: its position or its name
Feed = Mapping[Place, Place]
Until = tuple[Place, Any]


def place_of(given: Place, params: Sequence[Param], what: str, path: str) -> int:
    if isinstance(given, str):
        names = [param.name for param in params]
        if given not in names or not given:
            raise Error(no_such(what, given, [each for each in names if each],
                                f"no {what} of this function has a name"), "unknown_key", path)
        return names.index(given)
    if isinstance(given, bool) or not isinstance(given, int):
        raise Error(f"a {what} is a position or a name, not {type(given).__name__}",
                    "type_mismatch", path)
    if not 0 <= given < len(params):
        raise Error(f"{what} {given}: the function has {len(params)}", "out_of_range", path,
                    f"a number below {len(params)}", str(given))
    return given


def _differs(result: Type, argument: Type) -> str:
    """Why values of one type cannot be used as values of the other; "" if they can."""
    def plain(text: str | None) -> str:
        text = (text or "").removeprefix("s")
        return "i64" if text == "index" else text
    one, other = plain(result.dtype), plain(argument.dtype)
    if (result.kind, result.keys, result.text, len(result.children)) != \
            (argument.kind, argument.keys, argument.text, len(argument.children)) or \
            result.kind not in ("scalar", "tensor", "vector", "bytes", "tuple", "dict", "null"):
        return "type_mismatch"
    if one and other and one != other:
        return "dtype_mismatch"
    dims, wanted = result.shape, argument.shape
    if dims is not None and wanted is not None:
        if len(dims) != len(wanted) or any(
                a is not None and b is not None and a != b for a, b in zip(dims, wanted)):
            return "shape_mismatch"
    parts = map(_differs, result.children, argument.children)
    return next((each for each in parts if each), "")


@dataclasses.dataclass(frozen=True)
class Repeat:
    """A checked request of `iterate`; results and arguments are given by position."""
    signature: Signature
    times: int
    feed: dict[int, int]
    until: tuple[int, Any] | None
    emit: list[int]
    together: Callable[[list[Any]], Any]  # makes a step's value from the emitted results

    @staticmethod
    def of(signature: Signature, times: int, feed: Feed | None, until: Until | None,
           emit: Iterable[Place] | None) -> Repeat:
        if not signature.callable:
            raise signature.refusal()
        if isinstance(times, bool) or not isinstance(times, int):
            raise Error(f"times is an int, not {type(times).__name__}", "type_mismatch",
                        "/repeat/times")
        if not 1 <= times <= TIMES_MAX:
            raise Error(f"{times} times: from 1 to {TIMES_MAX} are allowed", "out_of_range",
                        "/repeat/times", f"1 to {TIMES_MAX}", str(times))
        fed = dict(_fed(signature, one, other) for one, other in (feed or {}).items())
        if len(set(fed.values())) < len(fed):
            raise Error("an argument gets two results", "duplicate_argument", "/repeat/feed")
        stop = None if until is None else _until(signature, until)
        shown = list(range(len(signature.outputs))) if emit is None else \
            [place_of(each, signature.outputs, "result", "/repeat/emit") for each in emit]
        if len(set(shown)) < len(shown):
            raise Error("a result is given twice", "duplicate_argument", "/repeat/emit")
        together: Callable[[list[Any]], Any] = results_of(
            tuple(signature.outputs[each].name for each in shown)) if len(shown) > 1 else \
            lambda values: values[0] if values else None
        return Repeat(signature, times, fed, stop, shown, together)

    def document(self) -> dict[str, Any]:
        """The member `repeat` of a call document."""
        written: dict[str, Any] = {"times": self.times, "emit": self.emit,
                                   "feed": {str(one): other for one, other in self.feed.items()}}
        if self.until:
            written["until"] = {"result": self.until[0], "equals": self.until[1]}
        return written


def _until(signature: Signature, until: Until) -> tuple[int, Any]:
    if not isinstance(until, (list, tuple)) or len(until) != 2:
        raise Error("until is a result and a number: (0, 0.5)", "type_mismatch", "/repeat/until")
    result, value = until
    if isinstance(value, (list, tuple, dict)) or getattr(value, "ndim", False):
        raise Error(f"until is met by one number, not by {type(value).__name__}",
                    "type_mismatch", "/repeat/until/equals")
    return place_of(result, signature.outputs, "result", "/repeat/until/result"), value


def _fed(signature: Signature, result: Place, argument: Place) -> tuple[int, int]:
    one = place_of(result, signature.outputs, "result", "/repeat/feed")
    where = f"/repeat/feed/{one}"
    other = place_of(argument, signature.inputs, "argument", where)
    code = _differs(signature.outputs[one].type, signature.inputs[other].type)
    if code:
        raise Error(f"result {one} cannot be argument {other}: it is "
                    f"{signature.outputs[one].type}, not {signature.inputs[other].type}",
                    code, where)
    return one, other


# ---------------------------------------------------------------------------
# Steps in this process


def _stop_of(repeat: Repeat) -> Callable[[list[Any]], bool]:
    """Returns a function that tells whether the last step was made. A NaN equals a NaN,
    and 0 equals -0."""
    if repeat.until is None:
        return lambda values: False
    at, wanted = repeat.until
    node = repeat.signature.outputs[at].type
    if node.kind not in ("scalar", "tensor", "vector") or \
            any(dim not in (None, 1) for dim in node.shape or ()):
        raise Error(f"result {at} is no scalar and no tensor of one element", "type_mismatch",
                    "/repeat/until/result")
    if node.kind == "scalar" or node.dtype:
        try:
            wanted, _ = _arrays.array_of(wanted, node.dtype, "repeat/until/equals")
        except Error as error:
            raise type(error)(error.message.replace("argument 'repeat'", "until", 1),
                              *error.args[1:]) from None

    def stop(values: list[Any]) -> bool:
        value = numpy.asarray(values[at])
        if value.size != 1:
            raise Error(f"result {at} has {value.size} elements, 'until' compares one",
                        "shape_mismatch")
        equal = numpy.asarray(wanted).astype(value.dtype) if node.kind == "scalar" else wanted
        return bool(numpy.array_equal(value.reshape(()), numpy.asarray(equal).reshape(()),
                                      equal_nan=value.dtype.kind in "fc"))
    return stop


def here(call: Callable[..., Any], repeat: Repeat, inputs: list[Any]) -> Generator[Any, None, None]:
    """Makes the steps of a function in this process; each is a call."""
    signature = repeat.signature
    names = [param.name for param in signature.inputs]
    stop = _stop_of(repeat)

    def steps() -> Generator[Any, None, None]:
        for step in range(1, repeat.times + 1):
            try:
                got = call(*inputs) if signature.positional else \
                    call(**dict(zip(names, inputs)))
            except Error as error:
                if step == 1:
                    raise
                raise type(error)(f"step {step}: {error.message}", *error.args[1:]) from None
            values = list(got) if len(signature.outputs) > 1 else \
                [got] * len(signature.outputs)
            last = stop(values)
            for result, argument in repeat.feed.items():
                # The caller may write to the values that it gets.
                inputs[argument] = copy.deepcopy(values[result]) if repeat.emit \
                    else values[result]
            yield repeat.together([values[each] for each in repeat.emit])
            if last:
                return
    return steps()


# ---------------------------------------------------------------------------
# Steps of a server


class Lines:
    """Splits the bytes of an answer in parts into its documents."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.ended = False

    def take(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Yields the steps that are complete now. Raises the error that ends an answer."""
        end = data.rfind(b"\n") + 1
        self._rest.append(data[:end] if end else data)
        if not end:
            return
        whole, self._rest = b"".join(self._rest), [data[end:]]
        for line in whole.splitlines():
            document = self._read(line)
            if "step" in document and "results" in document:
                yield document
            elif "done" in document:
                self.ended = True
            else:
                raise problem(document, f"the server sent {line[:64]!r}")

    @staticmethod
    def _read(line: bytes) -> dict[str, Any]:
        try:
            document = json.loads(line)
        except ValueError:
            document = None
        return document if isinstance(document, dict) else {}

    def end(self) -> None:
        """Called when there are no more bytes."""
        if not self.ended:
            raise Error("the answer ends, and does not say why", "bad_result")


def problem(document: Any, otherwise: str, status: int | None = None) -> Error:
    """The error in a server's document."""
    try:
        code = document["code"]
    except (TypeError, KeyError):
        return Error(otherwise, "internal", http_status=status)
    return Error(document.get("detail") or document.get("title") or code, code,
                 document.get("pointer"), document.get("expected"), document.get("got"),
                 document.get("status", status))
