from collections.abc import Callable
from typing import Any
import os

version: str

def given(error: type, ndarray: type, dtype: Callable[[str], Any],
          coerce: Callable[[Any, str | None, str], tuple[Any, str]]) -> None: ...
def memory(size: int) -> Memory: ...
def nearest(wanted: str, names: list[str]) -> str | None: ...

class Memory: ...
class Lease: ...

class Module:
    name: str
    version: str
    path: str
    kind: str
    sha256: str
    _leased: int
    def __new__(cls, path: str | os.PathLike[str], native: bool,
                settings: dict[str, str]) -> Module: ...
    def signatures(self) -> list[str]: ...

class Function:
    def __new__(cls, module: Module, index: int, positional: int, count: int,
                keywords: dict[str, int], paths: tuple[str, ...],
                bind: Callable[[tuple[Any, ...], dict[str, Any]], object],
                flatten: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None,
                build: Callable[[tuple[Any, ...]], Any] | None) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
