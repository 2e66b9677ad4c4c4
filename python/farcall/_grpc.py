# SPDX-License-Identifier: Apache-2.0
"""Models of a server that speaks the Open Inference Protocol over gRPC. Needs grpcio."""
from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

try:
    import grpc  # type: ignore
except ImportError as error:
    raise ImportError("grpc:// needs grpcio: pip install farcall[grpc]") from error

from . import _client, _message
from ._error import Error
from ._message import Model
from ._module import Described
from ._structure import Signature

_SERVICE = "/inference.GRPCInferenceService/"


def _problem(error: Any) -> Error:
    """The error of a failed call. Servers other than farcalld report only a gRPC
    status."""
    there = dict(error.trailing_metadata() or ())
    code = there.get("farcall-error-code", error.code().name.lower())
    return Error(error.details() or code, code,
                 _message.pointer(there.get("grpc-status-details-bin", b"")))


class _Sequence:
    """A sequence of calls that share their state. The first call begins it."""

    def __init__(self, id: int | str | None, begun: bool) -> None:
        self.begun = begun
        self.id = id if id is not None else secrets.randbelow((1 << 63) - 1) + 1

    def parameters(self, last: bool) -> dict[str, bool | int | str]:
        return {"sequence_id": self.id, **({} if self.begun else {"sequence_start": True}),
                **({"sequence_end": True} if last else {})}


class _Function(Described):
    """A model, or a prefix of model names: the models whose names follow a dot are its
    attributes."""

    def __init__(self, client: Any, name: str, version: str,
                 sequence: _Sequence | None = None) -> None:
        self.__name__ = self.__qualname__ = name
        self._client = client
        self._version = version
        self._sequence = sequence
        self._known: Model | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        self.__dict__[name] = found = self[name]  # the next time it is found at once
        return found

    def __getitem__(self, name: str) -> Any:
        return type(self)(self._client, f"{self.__name__}.{name}", self._version,
                          self._sequence)

    def __repr__(self) -> str:
        return f"<function {self.__name__} of {self._client.url}>"

    def __reduce__(self) -> Any:
        return type(self), (self._client, self.__name__, self._version, self._sequence)

    def _keep(self, message: bytearray) -> Model:
        self._known = _message.metadata(self.__name__, message, self._client.casting)
        return self._known

    @property
    def _asked(self) -> bytes:
        return _message.name(self.__name__, self._version)

    def _request(self, known: Model, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
        parameters = self._sequence.parameters(kwargs.pop("last", False)) \
            if self._sequence else {}
        return _message.request(known, self.__name__, self._version, args, kwargs, parameters)

    def _results(self, known: Model, answer: bytearray) -> Any:
        if self._sequence:
            self._sequence.begun = True
        return _message.answer(known, answer)


class GrpcFunction(_Function):
    """Any thread may call the model. In a sequence, `last=True` marks the last call."""

    @property
    def _model(self) -> Model:
        return self._known or self._keep(self._client._ask("ModelMetadata", self._asked))

    @property
    def signature(self) -> Signature:  # type: ignore[override]
        """The signature, requested from the server only once."""
        return self._model.signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        known = self._model
        request = self._request(known, args, kwargs)
        return self._results(known, self._client._ask("ModelInfer", request))


class AsyncGrpcFunction(_Function):
    """Like GrpcFunction, with `await`. `signature` is known after a call, or after `await
    function.ask()`."""

    async def ask(self) -> AsyncGrpcFunction:
        if not self._known:
            self._keep(await self._client._ask("ModelMetadata", self._asked))
        return self

    @property
    def signature(self) -> Signature:  # type: ignore[override]
        if not self._known:
            raise Error(f"the signature of {self.__name__} is not known yet: await its ask()",
                        "not_ready")
        return self._known.signature

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        await self.ask()
        assert self._known
        request = self._request(self._known, args, kwargs)
        return self._results(self._known, await self._client._ask("ModelInfer", request))


class _Base(_client._Base):
    _calls: Any  # what makes channels
    _kind: type[_Function]

    def __init__(self, url: str, *, timeout: float | None = 30, casting: str = "same_kind",
                 headers: Mapping[str, str] | None = None, credentials: Any = None,
                 options: Iterable[tuple[str, Any]] = ()) -> None:
        super().__init__(url, timeout, casting, {
            "headers": headers, "credentials": credentials, "options": options})
        parts = urlsplit(url)
        secure = parts.scheme == "grpcs"
        target = parts.netloc if parts.port else f"{parts.netloc}:{443 if secure else 80}"
        options = [("grpc.max_receive_message_length", -1),
                   ("grpc.max_send_message_length", -1), *options]
        self.channel = self._calls.secure_channel(
            target, credentials or grpc.ssl_channel_credentials(), options) if secure else \
            self._calls.insecure_channel(target, options)
        self._with = {"timeout": timeout, "metadata": [
            (name.lower(), value) for name, value in (headers or {}).items()]}
        self._models: dict[str, Any] = {}

    def _call(self, method: str, message: bytes) -> Any:
        return self.channel.unary_unary(
            _SERVICE + method, response_deserializer=bytearray)(message, **self._with)

    def _make(self, name: str, sequence: _Sequence | None = None) -> Any:
        model, _, version = name.partition("@")
        return self._kind(self, model, version, sequence)

    def sequence(self, name: str, id: int | str | None = None, *, begun: bool = False) -> Any:
        """Begins a sequence: calls of a model that share their state. Its name is a
        random number, or `id`. With `begun` the calls continue the existing sequence of
        this id."""
        return self._make(name, _Sequence(id, begun))


class GrpcClient(_Base):
    """A server: `client["digits.classify"](image)`, or `client["digits"].classify(image)`."""
    _calls = grpc
    _kind = GrpcFunction

    def _ask(self, method: str, message: bytes) -> bytearray:
        try:
            answer: bytearray = self._call(method, message)
        except grpc.RpcError as error:
            raise _problem(error) from error
        return answer

    def modules(self) -> list[str]:
        """The names of all models."""
        return _message.names(self._ask("RepositoryIndex", b""))

    def module(self, name: str) -> GrpcFunction:
        """One model, whose signature is requested again; `name@3` is its version 3."""
        made: GrpcFunction = self._make(name)
        return made

    def __getitem__(self, name: str) -> GrpcFunction:
        """The model as `module()` returns it, whose signature is requested only once."""
        if name not in self._models:
            self._models[name] = self.module(name)
        made: GrpcFunction = self._models[name]
        return made

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> GrpcClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncGrpcClient(_Base):
    """The same for asyncio."""
    _calls = grpc.aio
    _kind = AsyncGrpcFunction

    async def _ask(self, method: str, message: bytes) -> bytearray:
        try:
            answer: bytearray = await self._call(method, message)
        except grpc.RpcError as error:
            raise _problem(error) from error
        return answer

    async def modules(self) -> list[str]:
        """The names of all models."""
        return _message.names(await self._ask("RepositoryIndex", b""))

    async def module(self, name: str) -> AsyncGrpcFunction:
        """One model; `name@3` is its version 3."""
        made: AsyncGrpcFunction = self._make(name)
        return made

    async def close(self) -> None:
        await self.channel.close()

    async def __aenter__(self) -> AsyncGrpcClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
