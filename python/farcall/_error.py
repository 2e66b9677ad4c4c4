# SPDX-License-Identifier: Apache-2.0
"""The one exception."""
from __future__ import annotations


class Error(Exception):
    """What a module, a call or a server refused.

    `code` is one of docs/errors.md and stays the same from release to release,
    `message` is for people. `pointer` leads to the value that was refused, as a JSON
    pointer; `expected` and `got` say what would fit and what was there. Each is None
    where there is nothing to say. `http_status` is a server's answer.

    >>> try:
    ...     farcall.load("nowhere.vmfb")
    ... except farcall.Error as error:
    ...     print(error.code)
    module_path
    """
    __module__ = "farcall"

    def __init__(self, message: str, code: str = "internal", pointer: str | None = None,
                 expected: str | None = None, got: str | None = None,
                 http_status: int | None = None) -> None:
        super().__init__(message, code, pointer, expected, got, http_status)
        self.message = message
        self.code = code
        self.pointer = pointer
        self.expected = expected
        self.got = got
        self.http_status = http_status

    def __str__(self) -> str:
        return self.message
