# SPDX-License-Identifier: Apache-2.0
"""The exceptions: Error, and its subclasses that are also exceptions of Python."""
from __future__ import annotations

from typing import Any


class Error(Exception):
    """An error of a module, a call or a server.

    `code` is one of docs/errors.md and stays the same from release to release; `message`
    is for people. `pointer` is a JSON pointer to the refused value; `expected` and `got`
    say what would be accepted and what was found. `http_status` is that of a server's
    answer. Each is None where it does not apply.

    By its code, an error is also Python's FileNotFoundError, KeyError, TypeError or
    ValueError.

    >>> try:
    ...     farcall.load("nowhere.vmfb")
    ... except FileNotFoundError as error:
    ...     print(error.code)
    module_path
    """
    __module__ = "farcall"

    def __new__(cls, message: str, code: str = "internal", *rest: Any,
                **others: Any) -> Error:
        return super().__new__(_KINDS.get(code, cls) if cls is Error else cls)

    def __init__(self, message: str, code: str = "internal", pointer: str | None = None,
                 expected: str | None = None, got: str | None = None,
                 http_status: int | None = None) -> None:
        super().__init__()
        self.args = (message, code, pointer, expected, got, http_status)
        self.message = message
        self.code = code
        self.pointer = pointer
        self.expected = expected
        self.got = got
        self.http_status = http_status

    def __str__(self) -> str:
        return self.message


class FileMissingError(Error, FileNotFoundError):
    """There is no such file."""
    __module__ = "farcall"

    def __reduce__(self) -> Any:
        """OSError's own __reduce__ takes `args` for the arguments of an OSError."""
        return type(self), self.args, {**self.__dict__, "errno": self.errno,
                                       "filename": self.filename}


class NameUnknownError(Error, KeyError):
    """No module, version, function, session or example has the name."""
    __module__ = "farcall"


class ArgumentTypeError(Error, TypeError):
    """An argument has another type, is missing, or is one too many."""
    __module__ = "farcall"


class ArgumentValueError(Error, ValueError):
    """An argument's value does not fit its type."""
    __module__ = "farcall"


_KINDS: dict[str, type[Error]] = {
    **dict.fromkeys(("module_not_found", "function_not_found", "version_not_found",
                     "session_not_found"),
                    NameUnknownError),
    **dict.fromkeys(("type_mismatch", "dtype_mismatch", "untyped_value", "reference_unknown",
                     "unsupported_type", "missing_argument", "extra_argument",
                     "unknown_argument", "duplicate_argument"), ArgumentTypeError),
    **dict.fromkeys(("out_of_range", "shape_mismatch", "length_mismatch", "missing_key",
                     "unknown_key", "data_length", "tensor_too_large"),
                    ArgumentValueError),
}
