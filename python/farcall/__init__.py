# SPDX-License-Identifier: Apache-2.0
"""Functions that MLIR or IREE compiled, called from Python.

    import farcall
    digits = farcall.load("digits.vmfb")
    digits.classify(image)

docs/python.md has the rest: modules of a server (`Client`, `AsyncClient`) and a server
for tests and notebooks (`serve`).
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _numpy

from . import _farcall
from ._arrays import aligned, coerce as _coerce, dtype, empty
from ._error import (ArgumentTypeError, ArgumentValueError, Error, FileMissingError,
                     NameUnknownError)

_farcall.given(Error, _numpy.ndarray, dtype, _coerce)

from ._module import Function, Module, load  # noqa: E402  (the extension is ready)
from ._example import Example  # noqa: E402
from ._serve import Server, program, serve  # noqa: E402
from ._state import Ref, State  # noqa: E402

if TYPE_CHECKING:
    from ._client import AsyncClient, Client

__version__: str = _farcall.version
__all__ = ["ArgumentTypeError", "ArgumentValueError", "AsyncClient", "Client", "Error",
           "Example", "FileMissingError", "Function", "Module", "NameUnknownError", "Ref", "Server",
           "State", "aligned", "dtype", "empty", "load", "program", "serve"]


def __getattr__(name: str) -> Any:
    # Clients need httpx, which `pip install farcall[client]` installs.
    if name in ("Client", "AsyncClient"):
        from . import _client
        return getattr(_client, name)
    raise AttributeError(f"module 'farcall' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
