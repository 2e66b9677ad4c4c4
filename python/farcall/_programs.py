# SPDX-License-Identifier: Apache-2.0
"""`farcalld` and `farcall`, the programs of the package, as commands."""
from __future__ import annotations

import os
import sys
from typing import NoReturn

from ._serve import program


def _become(name: str) -> NoReturn:
    os.execv(program(name), [name, *sys.argv[1:]])


def farcalld() -> NoReturn:
    _become("farcalld")


def farcall() -> NoReturn:
    _become("farcall")
