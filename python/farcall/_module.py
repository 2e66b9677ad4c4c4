# SPDX-License-Identifier: Apache-2.0
"""Modules in this process."""
from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from . import _farcall
from ._error import Error
from ._structure import Signature


class Function(_farcall.Function):
    """A function of a module. Any thread may call it; while it runs, others do."""
    __name__: str
    __qualname__: str
    __doc__: str
    signature: Signature

    def __new__(cls, core: _farcall.Module, index: int,
                signature: Signature) -> Function:
        self: Function = super().__new__(
            cls, core, index, signature.positional, len(signature.inputs),
            signature.keywords, signature.paths(), signature.bind,
            None if signature.plain_inputs else signature.flatten,
            None if signature.plain_outputs else signature.build)
        self.signature = signature
        self.__name__ = signature.name
        self.__qualname__ = signature.name
        self.__doc__ = signature.doc
        return self

    @property
    def __signature__(self) -> inspect.Signature:
        return self.signature.python()

    def __repr__(self) -> str:
        return f"<function {self.signature}>"


class _Uncallable(Function):
    """It is listed, and says why when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.signature.refusal()


class Functions(Mapping[str, Function]):
    """The functions of a module by name, made when they are asked for."""

    def __init__(self, core: _farcall.Module) -> None:
        self._core = core
        self._signatures: dict[str, tuple[int, Signature]] = {}
        for index, document in enumerate(core.signatures()):
            signature = Signature(document)
            self._signatures.setdefault(signature.name, (index, signature))
        self._made: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        made = self._made.get(name)
        if made is None:
            index, signature = self._signatures[name]
            kind = Function if signature.callable else _Uncallable
            made = self._made[name] = kind(self._core, index, signature)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)


F = TypeVar("F")


class Named(Generic[F]):
    """What has functions, as attributes and items. It is no Mapping, whose `get` and
    `items` would hide functions of these names: `functions` is one."""
    name: str
    functions: Mapping[str, F]

    def __getitem__(self, name: str) -> F:
        try:
            return self.functions[name]
        except KeyError:
            raise Error(f"no function '{name}' in {self.name}; there are "
                        f"{', '.join(self.functions)}", "function_not_found") from None

    def __getattr__(self, name: str) -> F:
        if name.startswith("__") or name in ("_core", "functions"):
            raise AttributeError(name)
        try:
            function = self[name]
        except Error as error:
            raise AttributeError(str(error)) from error
        self.__dict__[name] = function  # the next time it is found at once
        return function

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def __repr__(self) -> str:
        return f"<module {self.name}: {', '.join(self.functions)}>"


class Module(Named[Function]):
    """A loaded file. Its functions are attributes, or items where a name is none:
    `m.main`, `m["jit.main"]`; `m.functions` has all of them.

    `path` is the file, `name` the file's without its extension, `version` "1" if it has
    none, `kind` "vm" or "native", `sha256` that of the file.
    """

    def __init__(self, path: str | os.PathLike[str], *, native: bool = True,
                 parameters: str | os.PathLike[str] |
                 Mapping[str, str | os.PathLike[str]] | None = None) -> None:
        settings = {}
        if parameters is not None:
            if not isinstance(parameters, Mapping):
                parameters = {"": parameters}
            settings["vm.parameters"] = ",".join(
                f"{scope}={os.fspath(file)}" if scope else os.fspath(file)
                for scope, file in parameters.items())
        core = self._core = _farcall.Module(path, native, settings)
        self.functions = Functions(core)
        self.name = core.name
        self.version = core.version
        self.path = core.path
        self.kind = core.kind
        self.sha256 = core.sha256


def load(path: str | os.PathLike[str], *, native: bool = True,
         parameters: str | os.PathLike[str] |
         Mapping[str, str | os.PathLike[str]] | None = None) -> Module:
    """Loads a `.vmfb` or a `.so`.

    `native=False` refuses machine code in a `.vmfb`. `parameters` names an archive of
    weights, or one for each scope: {"model": "weights.safetensors"}.

    >>> m = farcall.load("examples/iree/matmul.vmfb")
    >>> m.functions.keys()
    KeysView(...)
    >>> a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    >>> m.matmul(a, [[1, 0], [0, 1], [1, 1]])
    array([[2., 3.],
           [8., 9.]], dtype=float32)
    """
    return Module(path, native=native, parameters=parameters)
