# SPDX-License-Identifier: Apache-2.0
"""Values that stay between calls: the values of a module in this process, and the names
of values in a server's session."""
from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

from . import _farcall
from ._module import Attributes, Described, Function, Module
from ._structure import Type

if TYPE_CHECKING:
    from ._example import Example


@dataclasses.dataclass(frozen=True)
class Ref:
    """Stands for the value of that name in a call of a session. A call that keeps a
    result returns a Ref, with the value's `type`."""
    name: str
    type: Type | None = dataclasses.field(default=None, compare=False)


class StateFunction(Described):
    """A function of a module, with a state."""

    def __init__(self, function: Function, state: State) -> None:
        self.signature = function.signature
        self._function = function
        self._state = state
        self.__name__ = self.__qualname__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.signature.callable:
            raise self.signature.refusal()
        with self._state._turn:
            return self._function.call_with(self._state._core, args, kwargs)

    def example(self, name: str = "") -> Example:
        """Like `example` of the module's function."""
        return self._function.example(name)

    def __repr__(self) -> str:
        return f"<function {self.signature} with a state>"


class State(Attributes[StateFunction]):
    """Values that functions of a module keep from call to call, by name. Each value is
    zero at first.

    The module's functions are attributes: `state.decode(…)` uses this state, and
    `state.functions` has all of them. `state["kv"]` is a copy of a value. Only one thread
    uses the state at a time; others wait. The values may take `max_bytes`, 1 GiB by
    default. The end of a `with` block closes the state.
    """

    def __init__(self, module: Module, *, max_bytes: int = 1 << 30) -> None:
        if not 0 < max_bytes < 1 << 60:
            raise ValueError(f"max_bytes is {max_bytes}: 1 to 2**60 - 1")
        self._core = _farcall.State(module._core, max_bytes)
        self._turn = threading.RLock()
        self.name = module.name
        self.functions = {name: StateFunction(function, self)
                          for name, function in module.functions.items()}

    def __getitem__(self, name: str) -> Any:
        with self._turn:
            return self._core.value(name)

    @property
    def bytes(self) -> int:
        """The memory of its values in bytes, in whole pages."""
        with self._turn:
            return self._core.size

    def reset(self) -> None:
        """Removes all values: they are zero again."""
        with self._turn:
            self._core.reset()

    def close(self) -> None:
        """Frees the memory. No more calls can use the state."""
        with self._turn:
            self._core.close()

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<state of {self.name}>"
