# SPDX-License-Identifier: Apache-2.0
"""Modules in this process."""
from __future__ import annotations

import copy
import errno
import inspect
import io
import os
from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from . import _arrays, _farcall, _show
from ._error import Error, FileMissingError
from ._iterate import Feed, Place, Repeat, Until, here
from ._structure import Param, Signature, no_such

if TYPE_CHECKING:
    from ._example import Example
    from ._state import State


class Described:
    """The description of a function, in this process or on a server."""
    signature: Signature

    @property
    def __signature__(self) -> inspect.Signature:
        return self.signature.python()

    @property
    def inputs(self) -> list[Param]:
        """Its arguments: `name`, `shape`, `dtype` and `type` of each."""
        return self.signature.inputs

    @property
    def outputs(self) -> list[Param]:
        """Its results, described as `inputs` are."""
        return self.signature.outputs

    @property
    def examples(self) -> list[str]:
        """Names of its examples; `example(name)` returns one."""
        return list(self.signature.examples)

    def _repr_html_(self) -> str:
        return _show.function(self.signature)


class Function(_farcall.Function, Described):
    """A function of a module. Any thread may call it, and several may at once."""
    __name__: str
    __qualname__: str
    __doc__: str
    _source: _Source

    def __new__(cls, source: _Source, core: _farcall.Module, index: int,
                signature: Signature) -> Function:
        self: Function = super().__new__(
            cls, core, index, signature.positional, len(signature.inputs),
            signature.keywords, signature.paths(), signature.bind,
            None if signature.plain_inputs else signature.flatten,
            signature.builder, signature.casting)
        self.signature = signature
        self._source = source
        self.__name__ = signature.name
        self.__qualname__ = signature.name
        self.__doc__ = signature.doc
        return self

    def iterate(self, *args: Any, times: int, feed: Feed | None = None,
                until: Until | None = None, emit: Iterable[Place] | None = None,
                **kwargs: Any) -> Generator[Any, None, None]:
        """The results of each of `times` calls; each call uses results of the previous
        one. `feed` maps results to arguments, by position or by name. `until` is a result
        and the number that ends the iteration. `emit` names the results to return, all by
        default.

        >>> m = farcall.load("examples/iree/matmul.vmfb")
        >>> [int(each[0, 0]) for each in m.matmul.iterate([[2]], [[3]], times=3, feed={0: 0})]
        [6, 18, 54]
        """
        repeat = Repeat.of(self.signature, times, feed, until, emit)
        return here(self, repeat, self.signature.bind(args, kwargs))

    def example(self, name: str = "") -> Example:
        """The arguments of the example with this name; "" means the first, or a generated
        one if there is none.

        >>> m = farcall.load("examples/iree/digits.vmfb")
        >>> seven = m.classify.example("a seven")
        >>> m.classify(*seven.args, **seven.kwargs)["digit"]
        7
        """
        from . import _example
        _example.check(self.signature, name)
        return _example.read(self.signature, self.example_text(name))

    def __reduce__(self) -> Any:
        return _function_again, (self._source, self.__name__)

    def __repr__(self) -> str:
        return f"<function {self.signature}>"


def _function_again(source: _Source, name: str) -> Function:
    return source.module()[name]


class _Uncallable(Function):
    """A function that is listed but cannot be called: a call raises the reason."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise self.signature.refusal()


class Functions(Mapping[str, Function]):
    """The functions of a module by name. Each is made at its first use."""

    def __init__(self, source: _Source, core: _farcall.Module, casting: str) -> None:
        self._source = source
        self._core = core
        self._signatures: dict[str, tuple[int, Signature]] = {}
        for index, document in enumerate(core.signatures()):
            signature = Signature(document, casting)
            self._signatures.setdefault(signature.name, (index, signature))
        self._made: dict[str, Function] = {}

    def __getitem__(self, name: str) -> Function:
        made = self._made.get(name)
        if made is None:
            index, signature = self._signatures[name]
            kind = Function if signature.callable else _Uncallable
            made = self._made[name] = kind(self._source, self._core, index, signature)
        return made

    def __contains__(self, name: object) -> bool:
        return name in self._signatures

    def signatures(self) -> Iterator[Signature]:
        """The signatures of all functions, also after the module was closed."""
        return (signature for _, signature in self._signatures.values())

    def __iter__(self) -> Iterator[str]:
        return iter(self._signatures)

    def __len__(self) -> int:
        return len(self._signatures)

    def __repr__(self) -> str:
        return f"<functions {', '.join(self)}>"


F = TypeVar("F")


class Attributes(Generic[F]):
    """An object with functions as attributes. It is no Mapping, because `get` and `items`
    would hide functions of these names; `functions` is a Mapping."""
    name: str
    functions: Mapping[str, F]

    def _find(self, name: str) -> F:
        try:
            return self.functions[name]
        except KeyError:
            raise Error(no_such("function", name, self.functions, f"{self.name} has none"),
                        "function_not_found") from None

    def __getattr__(self, name: str) -> F:
        if name.startswith("__") or name in ("_core", "functions"):
            raise AttributeError(name)
        try:
            function = self._find(name)
        except (Error, ValueError) as error:  # a closed module makes no functions
            raise AttributeError(str(error)) from error
        self.__dict__[name] = function  # the next time it is found at once
        return function

    def __dir__(self) -> list[str]:
        """The public attributes, functions first."""
        return [*self.functions, *(each for each in super().__dir__()
                                   if not each.startswith("_"))]


class Named(Attributes[F]):
    """Like Attributes, with functions as items too."""

    def __getitem__(self, name: str) -> F:
        return self._find(name)

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __repr__(self) -> str:
        return f"<module {self.name}: {', '.join(self.functions)}>"

    def _repr_html_(self) -> str:
        functions: list[Any] = list(self.functions.values())
        return _show.module(self.name, [each.signature for each in functions])


Path = str | os.PathLike[str]
Parameters = Path | Mapping[str, Path] | None


def _archives(parameters: Parameters) -> list[tuple[str, str]]:
    """Pairs of a scope and the absolute path of its archive; scope "" is all of them."""
    given: Iterable[tuple[str, Path]] = ()
    if isinstance(parameters, Mapping):
        given = parameters.items()
    elif parameters:  # in the form of the option vm.parameters
        given = map(_archive, os.fspath(parameters).split(","))
    return [(scope, os.path.abspath(file)) for scope, file in given]


def _archive(text: str) -> tuple[str, str]:
    scope, equals, file = text.partition("=")
    return (scope, file) if equals and "/" not in scope else ("", text)


_MEMFD_NAME_MAX = 249  # bytes (memfd_create(2))


class _Source:
    """The origin of a module, and the options with which it was loaded. A module and its
    functions are pickled as their source. A source that was read from a pickle keeps the
    module that it makes, so that objects which share the source in one pickle share the
    module again. The source of a loaded module keeps no module."""

    def __init__(self, given: Path | bytes | bytearray | memoryview,
                 options: dict[str, Any]) -> None:
        self.path = ""
        self.file: io.FileIO | None = None
        self.sha256 = ""
        self.options = options
        self._keeps = False
        self._made: Module | None = None
        if isinstance(given, (bytes, bytearray, memoryview)):
            self._write(given)
        else:
            self.path = os.path.abspath(given)

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        """Writes the bytes to a file in memory, which the library opens like any
        other."""
        name = self.options["name"]
        if "\0" in name:
            raise ValueError(f"name {name!r} has a zero byte")
        shown = name.encode(errors="replace")[:_MEMFD_NAME_MAX]
        self.file = io.FileIO(os.memfd_create(shown), "r+")
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self.file.write(rest):]

    def __getstate__(self) -> tuple[Any, ...]:
        data = None
        if self.file:
            data = os.pread(self.file.fileno(), os.fstat(self.file.fileno()).st_size, 0)
        return self.path, data, self.sha256, self.options

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        path, data, sha256, options = state
        self.__init__(path if data is None else data, options)  # type: ignore[misc]
        self.sha256 = sha256
        self._keeps = True

    def module(self) -> Module:
        """Loads the module again. Its file must be unchanged."""
        if self._made:
            return self._made
        made = Module.__new__(Module)
        made._load(copy.copy(self))
        if self._keeps:
            self._made = made
        return made


def _module_again(source: _Source) -> Module:
    return source.module()


class Module(Named[Function]):
    """A loaded file. Its functions are attributes, or items if a name is no identifier:
    `m.main`, `m["jit.main"]`; `m.functions` has all of them.

    `path` is the file, "" for bytes; `name` is the file's name without its extension;
    `version` is "1" if the file has none; `kind` is "vm" or "native"; `sha256` is the
    hash of the file.

    The end of a `with` block closes the module. Its pickle has the path of the file and
    its SHA-256, or the bytes.
    """
    _closed = False
    functions: Functions

    def __init__(self, path: Path | bytes | bytearray | memoryview, *,
                 name: str = "module", native: bool = True,
                 parameters: Parameters = None, casting: str = "same_kind") -> None:
        self._load(_Source(path, {
            "name": name, "native": native, "parameters": _archives(parameters),
            "casting": _arrays.check_casting(casting)}), path)

    def _load(self, source: _Source, path: Any = None) -> None:
        """`path` is the file's name in messages; None: the path of its source."""
        self._source = source
        source._keeps = False
        core = self._core = _open(source, source.path if path is None else path)
        self.functions = Functions(source, core, source.options["casting"])
        self.name = source.options["name"] if source.file else core.name
        self.version = core.version
        self.path = "" if source.file else core.path
        self.kind = core.kind
        self.sha256 = source.sha256 = core.sha256

    def close(self) -> None:
        """Makes no more calls. The module's memory is freed when its running calls have
        ended and no results use it."""
        self._core.close()
        self._closed = True

    def state(self, *, max_bytes: int = 1 << 30) -> State:
        """Makes a state for its functions: `with m.state() as s: s.decode(…)`."""
        from ._state import State
        return State(self, max_bytes=max_bytes)

    def _repr_html_(self) -> str:
        heading = f"{self.name}, closed" if self._closed else self.name
        return _show.module(heading, self.functions.signatures())

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return _module_again, (self._source,)


def _open(source: _Source, path: Any) -> _farcall.Module:
    """Opens the file. If the source has a SHA-256, the file must have the same."""
    options, settings = source.options, {}
    if options["parameters"]:
        settings["vm.parameters"] = ",".join(
            f"{scope}={file}" if scope else file
            for scope, file in options["parameters"])
    if source.file:
        path = f"/proc/self/fd/{source.file.fileno()}"
    try:
        return _farcall.Module(path, options["native"], settings, source.sha256)
    except Error as error:
        message = str(error)
        if source.file:
            number, name = path.rsplit("/", 1)[1], options["name"]
            message = message.replace(path, name)
            if message.startswith(f"{number}: "):
                message = name + message[len(number):]
        elif error.code == "module_path" and not os.path.exists(path):
            missing = FileMissingError(message, error.code)
            missing.errno, missing.filename = errno.ENOENT, os.fspath(path)
            raise missing from None
        raise type(error)(message, *error.args[1:]) from None


def load(path: Path | bytes | bytearray | memoryview, *, name: str = "module",
         native: bool = True, parameters: Parameters = None,
         casting: str = "same_kind") -> Module:
    """Loads a `.vmfb` or a `.so`, or the bytes of one, which then need a `name`.

    `native=False` refuses machine code in a `.vmfb`. `parameters` names an archive of
    weights, or one for each scope: {"model": "weights.safetensors"}. `casting` is NumPy's
    rule for converting arrays with other elements; "no" converts none.

    >>> m = farcall.load("examples/iree/matmul.vmfb")
    >>> m.functions.keys()
    KeysView(...)
    >>> a = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    >>> m.matmul(a, [[1, 0], [0, 1], [1, 1]])
    array([[2., 3.],
           [8., 9.]], dtype=float32)
    """
    return Module(path, name=name, native=native, parameters=parameters,
                  casting=casting)
