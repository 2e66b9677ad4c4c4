# SPDX-License-Identifier: Apache-2.0
"""Element types and arrays.

An array is accepted if its elements have the argument's type, or one that NumPy's casting
rule converts to it. Numbers and lists of numbers are accepted if the type can hold each
of them. Floats are rounded. Nothing is wrapped, cut or guessed.
"""
from __future__ import annotations

import functools
from typing import Any

import numpy

from . import _farcall
from ._error import Error

# Maps the text of a type to NumPy's name. The types of `_BEYOND` are from ml_dtypes.
_NUMPY = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "si8": "int8", "si16": "int16", "si32": "int32", "si64": "int64",
    "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64",
    "index": "int64", "f16": "float16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}
_BEYOND = {
    "bf16": "bfloat16", "f8E5M2": "float8_e5m2", "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E8M0FNU": "float8_e8m0fnu", "f8E4M3": "float8_e4m3", "f8E3M4": "float8_e3m4",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn", "f4E2M1FN": "float4_e2m1fn",
}
# Integers of other widths are stored in the next power of two of bytes.
_NARROW = {f"{sign}{bits}": f"{kind}{max(8, 1 << (bits - 1).bit_length())}"
            for bits in range(1, 64)
            for sign, kind in (("i", "int"), ("si", "int"), ("ui", "uint"))
            if f"{sign}{bits}" not in _NUMPY}
# Floats without infinity and NaN, each with the least number that is too large to round
# to a finite value.
_FINITE = {"f4E2M1FN": 7.0, "f6E2M3FN": 7.75, "f6E3M2FN": 30.0}
# NumPy's rules except "unsafe", which cuts.
CASTINGS = ("no", "equiv", "safe", "same_kind")
_TEXTS = {**{name: text for text, name in reversed(_NUMPY.items())},
          **{name: text for text, name in _BEYOND.items()}}


@functools.cache
def _ml_dtypes() -> Any:
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes


@functools.cache
def dtype(text: str) -> numpy.dtype[Any]:
    """The NumPy type of elements. Without ml_dtypes, `bf16` and the floats of one byte
    are unsigned integers with the same bits.

    >>> farcall.dtype("f32")
    dtype('float32')
    """
    if text in _BEYOND:
        ml_dtypes = _ml_dtypes()
        bits = "uint16" if text == "bf16" else "uint8"
        return numpy.dtype(getattr(ml_dtypes, _BEYOND[text], bits))
    return numpy.dtype(_NUMPY.get(text) or _NARROW[text])


def _bits(text: str) -> int:
    return int(text.lstrip("siu"))


@functools.cache
def _names(text: str) -> tuple[str, ...]:
    """The names of the NumPy types whose arrays are accepted for a type."""
    name = dtype(text).name
    if text in _NARROW:
        return name, ("uint" if text[0] == "u" else "int") + str(_bits(text))
    if text[0] == "i" and text[1:].isdigit() and text != "i1":
        return name, "u" + name  # signless
    return (name,)


def check_casting(casting: str) -> str:
    if casting not in CASTINGS:
        raise ValueError(f"casting {casting!r} is none of {', '.join(CASTINGS)}")
    return casting


def named(path: str, message: str) -> str:
    """The message, after the name of the argument at `path`."""
    who = path.split("/", 1)[0].replace("~1", "/").replace("~0", "~")
    who = who if len(who) <= 64 else f"{who[:64]}…"
    return f"argument {who}: {message}" if who.isdigit() else f"argument '{who}': {message}"


def refused(message: str, code: str, path: str, expected: str | None = None,
            got: str | None = None) -> Error:
    return Error(named(path, message), code, "/" + path, expected, got)


def _may_advise(given: numpy.dtype[Any], text: str) -> bool:
    """Whether `astype` keeps the meaning of the elements: it cuts and wraps nothing, and
    the elements are not bits of floats that came as integers."""
    wanted = dtype(text)
    if text in _BEYOND:
        return given.kind == "f" and bool(_ml_dtypes())
    return numpy.can_cast(given, wanted, "safe") or \
        wanted.kind in "fc" and numpy.can_cast(given, wanted, "same_kind")


def _mismatch(array: numpy.ndarray[Any, Any], text: str, path: str) -> Error:
    advice = f": astype('{dtype(text).name}') makes them that" \
        if _may_advise(array.dtype, text) else ""
    return refused(f"elements of {array.dtype.name}, the function takes {text}{advice}",
                   "dtype_mismatch", path, text, array.dtype.name)


def _may_cast(given: numpy.dtype[Any], text: str, casting: Any) -> bool:
    if text in _BEYOND:  # bits that come as integers are no numbers
        return given.kind == "f" and casting == "same_kind" and bool(_ml_dtypes())
    return given.kind in "biufc" and numpy.can_cast(given, dtype(text), casting) or \
        given.name in _TEXTS and given.kind == "V" and dtype(text).kind in "fc" and \
        casting == "same_kind"


def _cast(array: numpy.ndarray[Any, Any], text: str, path: str,
          casting: str) -> numpy.ndarray[Any, Any]:
    if not _may_cast(array.dtype, text, casting):
        raise _mismatch(array, text, path)
    cast = _fitted(array, dtype(text), text)
    if cast is None:
        raise refused(f"an element of {array.dtype.name} is no {text}", "out_of_range",
                      path, text)
    return cast


def _check_narrow(array: numpy.ndarray[Any, Any], text: str, path: str) -> None:
    bits = _bits(text)
    low, high = (0, 2**bits - 1) if text[0] == "u" else (-2**(bits - 1), 2**(bits - 1) - 1)
    values = array.view(dtype(text))
    if values.size and (values.min() < low or values.max() > high):
        raise refused(f"an element is no {text}", "out_of_range", path,
                      f"{text} in [{low},{high}]")


def _of_array(array: numpy.ndarray[Any, Any], text: str | None, path: str,
              casting: str) -> tuple[numpy.ndarray[Any, Any], str]:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if text is None:
        known = _TEXTS.get(array.dtype.name)
        if known is None:
            raise refused(f"elements of {array.dtype.name}, which is no element type",
                          "dtype_mismatch", path)
        text = known
    elif array.dtype.name not in _names(text):
        array = _cast(array, text, path, casting)
    if text in _NARROW:
        _check_narrow(array, text, path)
    return array, text


def _fit_integers(array: numpy.ndarray[Any, Any], wanted: numpy.dtype[Any]) -> bool:
    if array.dtype.kind == "f":
        return bool(numpy.isfinite(array).all() and (numpy.trunc(array) == array).all()
                    and _fit_integers(array.astype(object), wanted))
    if array.dtype.kind not in "iuO":
        return False
    limits = numpy.iinfo(wanted)
    return all(limits.min <= int(each) <= limits.max
               for each in (array.min(), array.max()))


def _fits(array: numpy.ndarray[Any, Any], rounded: numpy.ndarray[Any, Any]) -> bool:
    """Whether each float stayed finite, infinite or NaN. Floats of ml_dtypes are checked
    like NumPy's."""
    if rounded.dtype.kind == "c":
        return _fits(array.real, rounded.real) and _fits(array.imag, rounded.imag)
    if array.dtype.kind == "O":  # integers
        return bool(numpy.isfinite(rounded).all())
    if rounded.dtype.kind == "V":
        rounded = rounded.astype(numpy.float32)
    if array.dtype.kind == "V":
        array = array.astype(numpy.float32)
    return all(bool((of(array) == of(rounded)).all())
               for of in (numpy.isinf, numpy.isnan))


def _fitted(array: numpy.ndarray[Any, Any], wanted: numpy.dtype[Any],
            text: str) -> numpy.ndarray[Any, Any] | None:
    """The numbers as elements of the type, or None if the type cannot hold one of them; a
    float may be rounded."""
    kind = array.dtype.kind
    if wanted.kind == "b":
        fits = kind == "b" or kind in "iu" and bool(numpy.isin(array, (0, 1)).all())
        return array.astype(wanted) if fits or array.size == 0 else None
    if wanted.kind in "iu" and text not in _BEYOND:
        fits = array.size == 0 or kind == "b" or _fit_integers(array, wanted)
        return array.astype(wanted) if fits else None
    if text in _FINITE and not (numpy.abs(array) < _FINITE[text]).all():
        return None
    with numpy.errstate(over="ignore", invalid="ignore"):
        rounded = array.astype(wanted)
    return rounded if _fits(array, rounded) else None


def _is_kind(array: numpy.ndarray[Any, Any], wanted: numpy.dtype[Any],
             text: str) -> bool:
    """Whether Python's numbers can be numbers of the type. True is not accepted for 1."""
    kind = array.dtype.kind
    if array.size == 0 or wanted.kind == "b":
        return True
    if wanted.kind in "iu" and text not in _BEYOND:
        return bool(kind != "b")
    return kind in ("iufc" if wanted.kind == "c" else "iuf")


def _of_numbers(value: Any, text: str | None,
                path: str) -> tuple[numpy.ndarray[Any, Any], str]:
    try:
        array = numpy.asarray(value)
    except ValueError as error:
        raise refused(f"no array: {error}", "shape_mismatch", path) from None
    if text is None:
        raise refused("the element type is not known: give an array", "untyped_value",
                      path, "an array", type(value).__name__)
    wanted = dtype(text)
    if text in _BEYOND and not _ml_dtypes():
        raise refused(f"numbers are made {text} by ml_dtypes, which is not installed",
                      "unsupported_type", path)
    if array.dtype.kind not in "biufcO" or array.dtype.kind == "O" and \
            not all(isinstance(each, int) for each in array.flat):
        raise refused(f"expected numbers, found {type(value).__name__}",
                      "type_mismatch", path, text, type(value).__name__)
    try:
        fitted = _fitted(array, wanted, text) if _is_kind(array, wanted, text) else None
    except (OverflowError, TypeError, ValueError):
        fitted = None
    if fitted is None:
        raise refused(f"a number is no {text}", "out_of_range", path, text)
    array = fitted
    if text in _NARROW:
        _check_narrow(array, text, path)
    return array, text


def _from_dlpack(value: Any, path: str) -> numpy.ndarray[Any, Any]:
    """The array of an object that supports DLPack, in this machine's memory. DLPack does
    not know some types, such as bf16: these may come by __array__, whose errors are
    clearer."""
    try:
        return numpy.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError) as error:
        reason: Exception = error
    if hasattr(value, "__array__"):
        try:
            return numpy.asarray(value)
        except (RuntimeError, TypeError, ValueError) as error:
            reason = error
    raise refused(f"{type(value).__name__} gives no array: {reason}", "type_mismatch",
                  path) from None


def array_of(value: Any, text: str | None, path: str,
             casting: str = "same_kind") -> tuple[numpy.ndarray[Any, Any], str]:
    """An array of the type, and the text of the type. It is not a copy if the elements
    already have the type. `text` None: any type."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return _of_array(numpy.asarray(value), text, path, casting)
    if hasattr(value, "__dlpack__"):
        return _of_array(_from_dlpack(value, path), text, path, casting)
    if hasattr(value, "__array_interface__") or hasattr(value, "__array__") or \
            isinstance(value, memoryview):
        return _of_array(numpy.asarray(value), text, path, casting)
    return _of_numbers(value, text, path)


def coerce(value: Any, text: str | None, path: str,
           casting: str) -> tuple[numpy.ndarray[Any, Any], str]:
    """Like array_of, for the extension: the array has a buffer, which arrays of ml_dtypes
    lack."""
    array, text = array_of(value, text, path, casting)
    if text in _BEYOND or text in _NARROW:
        array = array.view(f"u{array.itemsize}")
    return array, text


def empty(shape: int | tuple[int, ...], dtype: Any = numpy.float32) -> \
        numpy.ndarray[Any, Any]:
    """An array like numpy.empty's, aligned to 64 bytes: functions use it without a copy.

    >>> x = farcall.empty((2, 3))
    >>> x.ctypes.data % 64
    0
    """
    dtype = numpy.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    size = dtype.itemsize
    for dim in shape:
        size *= dim
    return numpy.ndarray(shape, dtype, _farcall.memory(size))


def aligned(array: Any) -> numpy.ndarray[Any, Any]:
    """The array itself if it is dense and aligned to 64 bytes, else a copy that is.

    >>> farcall.aligned(numpy.arange(3.0))
    array([0., 1., 2.])
    """
    given: numpy.ndarray[Any, Any] = numpy.asarray(array)
    if given.flags.c_contiguous and given.ctypes.data % 64 == 0:
        return given
    copy = empty(given.shape, given.dtype)
    copy[...] = given
    return copy
