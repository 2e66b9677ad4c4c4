from collections.abc import Callable
from typing import Any, final
import os
from typing_extensions import disjoint_base

version: str

def given(error: type, ndarray: type, dtype: Callable[[str], Any],
          coerce: Callable[[Any, str | None, str, str], tuple[Any, str]]) -> None: ...
def memory(size: int) -> memoryview: ...
def nearest(wanted: str, names: list[str]) -> str | None: ...

@final
class Memory: ...

@final
class Lease: ...

@final
class Module:
    name: str
    version: str
    path: str
    kind: str
    sha256: str
    _leased: int
    def __new__(cls, path: str | os.PathLike[str], native: bool,
                settings: dict[str, str], sha256: str) -> Module: ...
    def signatures(self) -> list[str]: ...
    def close(self) -> None: ...

@disjoint_base
class Function:
    def __new__(cls, module: Module, index: int, positional: int, count: int,
                keywords: dict[str, int], paths: tuple[str, ...],
                bind: Callable[[tuple[Any, ...], dict[str, Any]], object],
                flatten: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None,
                build: Callable[[tuple[Any, ...]], Any] | None,
                casting: str) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def call_with(self, state: State, args: tuple[Any, ...],
                  kwargs: dict[str, Any]) -> Any: ...

@final
class State:
    size: int
    def __new__(cls, module: Module, size_max: int) -> State: ...
    def value(self, name: str) -> Any: ...
    def reset(self) -> None: ...
    def close(self) -> None: ...
