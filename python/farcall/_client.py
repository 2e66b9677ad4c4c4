# SPDX-License-Identifier: Apache-2.0
"""Modules of a server, called like those of this process. Needs httpx."""
from __future__ import annotations

import functools
import inspect
import json
from collections.abc import (AsyncGenerator, AsyncIterator, Generator, Iterable,
                             Mapping)
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

try:
    import httpx
except ImportError as error:
    raise ImportError("clients need httpx: pip install farcall[client]") from error

from . import _arrays, _example, _show, _wire
from ._example import Example
from ._iterate import Feed, Lines, Place, Repeat, Until, problem
from ._module import Described, Named
from ._structure import Param, Signature

if TYPE_CHECKING:
    from ._session import Making, Session


def _options(url: str, transport: Any, timeout: float | None,
             options: dict[str, Any]) -> dict[str, Any]:
    """The options for httpx. `unix:PATH` is a socket of this machine."""
    options = dict(options)
    if url.startswith("unix:"):
        options.setdefault("transport", transport(uds=url.removeprefix("unix:")))
        url = "http://localhost"
    # The server's own deadline passes first, so that its answer gives the reason.
    wait = None if timeout is None else timeout + 5
    return {"base_url": url, "timeout": wait, **options}


def _check(answer: httpx.Response, body: bytes | bytearray) -> None:
    if answer.status_code < 300:
        return
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    raise problem(document, f"{answer.status_code} {answer.reason_phrase}",
                  answer.status_code)


def _document(answer: httpx.Response) -> Any:
    _check(answer, answer.content)
    return answer.json()


def _names(answer: httpx.Response) -> list[str]:
    return [each["name"] for each in _document(answer)["modules"]]


def _path(*names: str) -> str:
    # Python's text may have a surrogate. It becomes bytes that the server refuses.
    return "/api/v1/functions/" + "/".join(
        quote(name, safe="@", errors="surrogatepass") for name in names)


class _Function(Described):
    """A function of a server's module."""

    def __init__(self, client: Any, module: str, signature: Signature) -> None:
        self.signature = signature
        self._client = client
        self._module = module
        self._url = _path(module, signature.name)
        self.__name__ = self.__qualname__ = signature.name
        self.__doc__ = signature.doc

    def __reduce__(self) -> Any:
        return _function_again, (self._client, self._module, self.signature.name)

    def __repr__(self) -> str:
        return f"<function {self.signature} of {self._client.url}>"

    def _request(self, args: tuple[Any, ...], kwargs: Mapping[str, Any],
                 options: Mapping[str, Any] | None = None) -> dict[str, Any]:
        if not self.signature.callable:
            raise self.signature.refusal()
        fields, body = _wire.write(self.signature, args, kwargs, options)
        return {"url": self._url, "headers": {**fields, **self._client.deadline},
                "content": body}

    def _steps(self, repeat: Repeat, args: tuple[Any, ...],
               kwargs: Mapping[str, Any]) -> dict[str, Any]:
        fields, body = _wire.write_steps(repeat, args, kwargs)
        return {"url": f"{self._url}?iterate", "content": body,
                "headers": {**fields, **self._client.deadline, "Accept-Encoding": "identity"}}

    def _ask_example(self, name: str) -> dict[str, Any]:
        _example.check(self.signature, name)
        return {"url": f"{self._url}/example", "params": {"name": name} if name else {}}

    def _example(self, answer: httpx.Response) -> Example:
        _check(answer, answer.content)
        return _example.read(self.signature, answer.content)

    def _results(self, answer: httpx.Response, parts: list[bytes]) -> Any:
        body = bytearray().join(parts)  # nobody else's: results may be written to
        _check(answer, body)
        return _wire.read(self.signature, answer.headers.get(_wire.LENGTH), body)


class SyncFunction(_Function):
    def example(self, name: str = "") -> Example:
        """The arguments of the example with this name; "" means the first, or a generated
        one if there is none."""
        return self._example(self._client.http.get(**self._ask_example(name)))


class AsyncFunction(_Function):
    async def example(self, name: str = "") -> Example:
        """Like RemoteFunction.example, with `await`."""
        return self._example(await self._client.http.get(**self._ask_example(name)))


def send(function: _Function, request: dict[str, Any]) -> Any:
    """Makes a call, and returns its results."""
    with function._client.http.stream("POST", **request) as answer:
        return function._results(answer, list(answer.iter_bytes()))


class RemoteFunction(SyncFunction):
    """Any thread may call the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return send(self, self._request(args, kwargs))

    def iterate(self, *args: Any, times: int, feed: Feed | None = None,
                until: Until | None = None, emit: Iterable[Place] | None = None,
                **kwargs: Any) -> Generator[Any, None, None]:
        """The results of each step of an iteration on the server, as they come. Closing
        the generator ends the iteration."""
        repeat = Repeat.of(self.signature, times, feed, until, emit)
        return self._iterate(repeat, self._steps(repeat, args, kwargs))

    def _iterate(self, repeat: Repeat, request: dict[str, Any]) -> Generator[Any, None, None]:
        lines = Lines()
        with self._client.http.stream("POST", **request) as answer:
            if answer.status_code != 200:
                _check(answer, answer.read())
            for data in answer.iter_bytes():
                for step in lines.take(data):
                    yield _wire.read_step(repeat, step)
        lines.end()


class _Pieces:
    """A body for httpx.AsyncClient, which may have to send it twice."""

    def __init__(self, pieces: list[bytes | memoryview]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes | memoryview]:
        for each in self._pieces:
            yield each


async def send_async(function: _Function, request: dict[str, Any]) -> Any:
    if isinstance(request["content"], list):
        request["content"] = _Pieces(request["content"])
    async with function._client.http.stream("POST", **request) as answer:
        return function._results(answer, [each async for each in answer.aiter_bytes()])


class AsyncRemoteFunction(AsyncFunction):
    def __reduce__(self) -> Any:
        raise _no_pickle("function")

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return await send_async(self, self._request(args, kwargs))

    def iterate(self, *args: Any, times: int, feed: Feed | None = None,
                until: Until | None = None, emit: Iterable[Place] | None = None,
                **kwargs: Any) -> AsyncGenerator[Any, None]:
        """Like RemoteFunction.iterate, with `async for`."""
        repeat = Repeat.of(self.signature, times, feed, until, emit)
        return self._iterate(repeat, self._steps(repeat, args, kwargs))

    async def _iterate(self, repeat: Repeat,
                       request: dict[str, Any]) -> AsyncGenerator[Any, None]:
        lines = Lines()
        async with self._client.http.stream("POST", **request) as answer:
            if answer.status_code != 200:
                _check(answer, await answer.aread())
            async for data in answer.aiter_bytes():
                for step in lines.take(data):
                    yield _wire.read_step(repeat, step)
        lines.end()


def _no_pickle(what: str) -> TypeError:
    """The error for pickling: unpickling would have to wait for an answer of the server,
    and cannot."""
    return TypeError(f"a {what} of an AsyncClient cannot be pickled: pickle the client, "
                     "or use farcall.Client")


R = TypeVar("R", bound=_Function)


class RemoteModule(Named[R]):
    """The functions of a server's module, as attributes and items."""

    def __init__(self, client: Any, name: str, document: Any, kind: type[R]) -> None:
        self.name = name
        self._client = client
        signatures = [Signature(each, client.casting) for each in document["functions"]]
        self.functions = {each.name: kind(client, name, each) for each in signatures}

    def __reduce__(self) -> Any:
        if isinstance(self._client, AsyncClient):
            raise _no_pickle("module")
        return _module_again, (self._client, self.name)


def _module_again(client: Client, name: str) -> RemoteModule[RemoteFunction]:
    return client[name]


def _function_again(client: Client, module: str, name: str) -> RemoteFunction:
    return client[module][name]


class _Base:
    def __init__(self, url: str, timeout: float | None, casting: str,
                 options: dict[str, Any]) -> None:
        plain = url.startswith("unix:") or "://" in url
        self.url = url if plain else f"http://{url}"
        self.casting = _arrays.check_casting(casting)
        self._again = {"timeout": timeout, "casting": casting, **options}
        self.deadline = {} if timeout is None else \
            {"Farcall-Timeout-Ms": str(max(1, round(timeout * 1000)))}

    def __reduce__(self) -> Any:
        """Connections are not pickled: another process opens its own."""
        return functools.partial(type(self), self.url, **self._again), ()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"


def _is_grpc(url: str) -> bool:
    return url.startswith(("grpc://", "grpcs://"))


def _grpc(kind: str) -> Any:
    from . import _grpc
    return getattr(_grpc, kind)


_MODULES = "/api/v1/modules"
_WHOLE = {"signatures": "1"}


class Client(_Base):
    """A server: `client["digits"].classify(image)`.

    `url` is `http://…`, `https://…`, `HOST:PORT` or `unix:PATH`; `timeout` is the seconds
    that a call may take; `casting` is NumPy's rule for converting arrays with other
    elements. Further options are those of httpx.Client, such as `verify` and `headers`.
    With `grpc://…` or `grpcs://…` it makes a GrpcClient, for any server of the Open
    Inference Protocol.
    """

    def __new__(cls, url: str = "", **options: Any) -> Any:
        return _grpc("GrpcClient")(url, **options) if _is_grpc(url) else super().__new__(cls)

    def __init__(self, url: str = "http://127.0.0.1:8000", *,
                 timeout: float | None = 30, casting: str = "same_kind",
                 **options: Any) -> None:
        super().__init__(url, timeout, casting, options)
        self.http = httpx.Client(
            **_options(self.url, httpx.HTTPTransport, timeout, options))
        self._modules: dict[str, RemoteModule[RemoteFunction]] = {}

    def modules(self) -> list[str]:
        """The names of all modules."""
        return _names(self.http.get(_MODULES))

    def module(self, name: str) -> RemoteModule[RemoteFunction]:
        """One module, its signatures as they are now; `name@3` is its version 3."""
        document = _document(self.http.get(_path(name), params=_WHOLE))
        return RemoteModule(self, name, document, RemoteFunction)

    def __getitem__(self, name: str) -> RemoteModule[RemoteFunction]:
        """The module as `module()` returns it, which is requested only once."""
        if name not in self._modules:
            self._modules[name] = self.module(name)
        return self._modules[name]

    def session(self, module: str, *, ttl: float | None = None,
                max_bytes: int | None = None, checkpoint: bool = False,
                id: str | None = None, data: bytes | None = None) -> Session:
        """Makes a session of a module: `with client.session("toy") as s: s.decode(…)`.
        The session ends after `ttl` seconds without a call, and its values may take
        `max_bytes`. With `checkpoint`, a call that fails changes no value. `id` names an
        existing session. `data` has the values, as `export()` returned them."""
        from ._session import open_session
        return open_session(self, module, ttl, max_bytes, checkpoint, id, data)

    def close(self) -> None:
        self.http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Base):
    """The same for asyncio: `digits = await client.module("digits")`, then
    `await digits.classify(image)`."""

    def __new__(cls, url: str = "", **options: Any) -> Any:
        return _grpc("AsyncGrpcClient")(url, **options) if _is_grpc(url) else \
            super().__new__(cls)

    def __init__(self, url: str = "http://127.0.0.1:8000", *,
                 timeout: float | None = 30, casting: str = "same_kind",
                 **options: Any) -> None:
        super().__init__(url, timeout, casting, options)
        self.http = httpx.AsyncClient(
            **_options(self.url, httpx.AsyncHTTPTransport, timeout, options))

    async def modules(self) -> list[str]:
        """The names of all modules."""
        return _names(await self.http.get(_MODULES))

    async def module(self, name: str) -> RemoteModule[AsyncRemoteFunction]:
        """One module, its signatures as they are now; `name@3` is its version 3."""
        document = _document(await self.http.get(_path(name), params=_WHOLE))
        return RemoteModule(self, name, document, AsyncRemoteFunction)

    def session(self, module: str, *, ttl: float | None = None,
                max_bytes: int | None = None, checkpoint: bool = False,
                id: str | None = None, data: bytes | None = None) -> Making:
        """Like Client.session, for `async with` or `await`."""
        from ._session import open_async
        return open_async(self, module, ttl, max_bytes, checkpoint, id, data)

    async def close(self) -> None:
        await self.http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
