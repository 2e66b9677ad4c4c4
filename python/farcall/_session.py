# SPDX-License-Identifier: Apache-2.0
"""Sessions of a server: related calls, and values that stay between them
(docs/state.md)."""
from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from . import _wire
from ._client import (AsyncClient, AsyncFunction, Client, RemoteModule, SyncFunction, _check,
                      _document, _Function, _MODULES, _no_pickle, send, send_async)
from ._error import Error
from ._iterate import Place, place_of
from ._module import Attributes
from ._state import Ref
from ._structure import Type

Keep = Mapping[Place, str]


def _wish(ttl: float | None, max_bytes: int | None, checkpoint: bool,
          data: bytes | None) -> dict[str, Any]:
    """The options for httpx of the request that makes a session."""
    wish: dict[str, Any] = {"checkpoint": True} if checkpoint else {}
    if ttl is not None:
        wish["ttl_ms"] = max(1, round(ttl * 1000))
    if max_bytes is not None:
        wish["max_bytes"] = max_bytes
    if data is None:
        return {"json": wish}
    return {"params": wish, "content": data, "headers": {"Content-Type": _SAFETENSORS}}


def _path(module: str, *rest: str) -> str:
    return "/".join([_MODULES, *(quote(each, safe="@", errors="surrogatepass")
                                 for each in (module, "sessions", *rest))])


def _cut(slice: str | None) -> dict[str, str]:
    return {} if slice is None else {"slice": slice}


def _put(value: Any, if_absent: bool) -> dict[str, Any]:
    fields, body = _wire.write_value(value)
    return {"content": body,
            "headers": {**fields, "If-None-Match": "*"} if if_absent else fields}


def _kept(answer: Any) -> Ref:
    """The Ref in the answer of a call that keeps one result."""
    (kept,) = answer["results"]
    return Ref(kept["ref"], Type.read(kept["type"]))


def _value(answer: httpx.Response) -> Any:
    _check(answer, answer.content)
    return _wire.read_value(answer.headers.get(_wire.LENGTH), answer.content)


def _file(answer: httpx.Response) -> bytes:
    _check(answer, answer.content)
    return answer.content


_ACCEPT = {"Accept": _wire.TYPE}
_SAFETENSORS = "application/x-safetensors"


class _InSession(_Function):
    """A function that is called in a session."""

    def __init__(self, session: Any, module: str, signature: Any) -> None:
        super().__init__(session._client, module, signature)
        self._session = session

    def __reduce__(self) -> Any:
        return _function_again, (self._session, self.signature.name)

    def _of_session(self, args: tuple[Any, ...], kwargs: Mapping[str, Any],
                    keep: Keep | None, if_absent: bool, step: int | None) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if keep:
            options["keep"] = {
                str(place_of(each, self.outputs, "result", "/options/keep")): name
                for each, name in keep.items()}
        if if_absent:
            options["if_absent"] = True
        request = self._request(args, kwargs, options)
        request["headers"]["Farcall-Session"] = self._session.id
        if step is not None:
            request["headers"]["Farcall-Session-Step"] = str(step)
        return request


class SessionFunction(_InSession, SyncFunction):
    """`keep` maps results, by position or name, to the names under which the session
    keeps them; with `if_absent`, only if the session has no value of that name. `step` is
    the step at which the session is expected to be."""

    def __call__(self, *args: Any, keep: Keep | None = None, if_absent: bool = False,
                 step: int | None = None, **kwargs: Any) -> Any:
        return send(self, self._of_session(args, kwargs, keep, if_absent, step))


class AsyncSessionFunction(_InSession, AsyncFunction):
    async def __call__(self, *args: Any, keep: Keep | None = None, if_absent: bool = False,
                       step: int | None = None, **kwargs: Any) -> Any:
        """Makes the call, like SessionFunction, with `await`."""
        return await send_async(
            self, self._of_session(args, kwargs, keep, if_absent, step))


S = TypeVar("S", bound=_InSession)


class _Base(Attributes[S]):
    def __init__(self, client: Any, module: RemoteModule[Any], kind: type[S],
                 id: str) -> None:
        self.name = module.name
        self.id = id
        self._client = client
        self._module = module
        self.functions = {name: kind(self, module.name, each.signature)
                          for name, each in module.functions.items()}

    def __getitem__(self, name: str) -> Ref:
        """Returns a Ref, which stands for the value of that name in a call."""
        return Ref(name)

    def __repr__(self) -> str:
        return f"<session of {self.name} at {self._client.url}>"


def _is_over(error: Error) -> bool:
    return error.code == "session_not_found"


class Session(_Base[SessionFunction]):
    """Related calls of a server: `session.decode(session["kv"])`.

    The module's functions are attributes, and `session.functions` has all of them. `id`
    names the session, for Client.session elsewhere: keep it secret, like a token. The end
    of a `with` block ends the session.
    """

    def __init__(self, client: Client, module: RemoteModule[Any], id: str) -> None:
        super().__init__(client, module, SessionFunction, id)

    def __reduce__(self) -> Any:
        return _again, (self._client, self.name, self.id)

    def _send(self, method: str, *rest: str, **options: Any) -> httpx.Response:
        answer: httpx.Response = self._client.http.request(
            method, _path(self.name, self.id, *rest), **options)
        return answer

    def _ask(self, method: str, *rest: str) -> Any:
        return _document(self._send(method, *rest))

    def describe(self) -> dict[str, Any]:
        """Its step, its times, and its values with their types and sizes."""
        document: dict[str, Any] = self._ask("GET")
        return document

    def fork(self) -> Session:
        """Another session with the same values. Nothing is copied until one is written."""
        return Session(self._client, self._module, self._ask("POST", "fork")["session"])

    def reset(self) -> None:
        """Lets its values go."""
        self._ask("POST", "reset")

    def get(self, name: str, slice: str | None = None) -> Any:
        """A value, or the part of it at `slice`: "2,0:4" has an index or a range for each
        of the first dims."""
        return _value(self._send("GET", "values", name, params=_cut(slice), headers=_ACCEPT))

    def put(self, name: str, value: Any, *, if_absent: bool = False) -> Ref:
        """Puts a value, or a copy of the one that a Ref stands for."""
        return _kept(_document(self._send("PUT", "values", name, **_put(value, if_absent))))

    def export(self) -> bytes:
        """All values as a safetensors file, for Client.session(data=…)."""
        return _file(self._send("GET", "export"))

    def remove(self, name: str) -> None:
        """Lets one value go."""
        self._ask("DELETE", "values", name)

    def end(self) -> None:
        self._ask("DELETE")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.end()
        except Error as error:
            if kind is None and not _is_over(error):
                raise
        except httpx.HTTPError:
            if kind is None:  # what went wrong in the block is said instead
                raise


class AsyncSession(_Base[AsyncSessionFunction]):
    """Like Session, for asyncio: `async with client.session("toy") as session`."""

    def __init__(self, client: AsyncClient, module: RemoteModule[Any], id: str) -> None:
        super().__init__(client, module, AsyncSessionFunction, id)

    def __reduce__(self) -> Any:
        raise _no_pickle("session")

    async def _send(self, method: str, *rest: str, **options: Any) -> httpx.Response:
        answer: httpx.Response = await self._client.http.request(
            method, _path(self.name, self.id, *rest), **options)
        return answer

    async def _ask(self, method: str, *rest: str) -> Any:
        return _document(await self._send(method, *rest))

    async def describe(self) -> dict[str, Any]:
        """Its step, its times, and its values with their types and sizes."""
        document: dict[str, Any] = await self._ask("GET")
        return document

    async def fork(self) -> AsyncSession:
        """Another session with the same values. Nothing is copied until one is written."""
        made = await self._ask("POST", "fork")
        return AsyncSession(self._client, self._module, made["session"])

    async def reset(self) -> None:
        """Lets its values go."""
        await self._ask("POST", "reset")

    async def get(self, name: str, slice: str | None = None) -> Any:
        """A value, or the part of it at `slice`."""
        return _value(await self._send("GET", "values", name, params=_cut(slice),
                                       headers=_ACCEPT))

    async def put(self, name: str, value: Any, *, if_absent: bool = False) -> Ref:
        """Puts a value, or a copy of the one that a Ref stands for."""
        return _kept(_document(
            await self._send("PUT", "values", name, **_put(value, if_absent))))

    async def export(self) -> bytes:
        """All values as a safetensors file."""
        return _file(await self._send("GET", "export"))

    async def remove(self, name: str) -> None:
        """Lets one value go."""
        await self._ask("DELETE", "values", name)

    async def end(self) -> None:
        await self._ask("DELETE")

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            await self.end()
        except Error as error:
            if kind is None and not _is_over(error):
                raise
        except httpx.HTTPError:
            if kind is None:
                raise


class Making:
    """A session that is being made, for `await` and `async with`."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, AsyncSession]]) -> None:
        self._make = make
        self._made: AsyncSession | None = None

    def __await__(self) -> Generator[Any, Any, AsyncSession]:
        return self._make().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._made = await self._make()
        return self._made

    async def __aexit__(self, *what: object) -> None:
        assert self._made
        await self._made.__aexit__(*what)


def open_session(client: Client, module: str, ttl: float | None, max_bytes: int | None,
                 checkpoint: bool, id: str | None, data: bytes | None) -> Session:
    known, wish = client.module(module), _wish(ttl, max_bytes, checkpoint, data)
    if id is None:
        id = _document(client.http.post(_path(module), **wish))["session"]
    return Session(client, known, id)


def open_async(client: AsyncClient, module: str, ttl: float | None, max_bytes: int | None,
               checkpoint: bool, id: str | None, data: bytes | None) -> Making:
    wish = _wish(ttl, max_bytes, checkpoint, data)

    async def make() -> AsyncSession:
        known, named = await client.module(module), id
        if named is None:
            named = _document(await client.http.post(_path(module), **wish))["session"]
        return AsyncSession(client, known, named)
    return Making(make)


def _again(client: Client, module: str, id: str) -> Session:
    return open_session(client, module, None, None, False, id, None)


def _function_again(session: Session, name: str) -> SessionFunction:
    return session.functions[name]
