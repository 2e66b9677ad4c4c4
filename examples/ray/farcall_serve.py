# SPDX-License-Identifier: Apache-2.0
"""Serves a module with Ray Serve; README.md shows how to use it. Each replica loads the
module into its process; callers get its functions with their signatures."""
import asyncio
import base64
import concurrent.futures
import json
import math
import os

import farcall
import numpy
import ray.exceptions
from ray import serve
from starlette.responses import JSONResponse

THREADS = 2  # calls of a replica that run at once: num_cpus of an application
STATUS = {"function_not_found": 404, "unsupported_type": 501}  # others: 422


@serve.deployment(
    name="module", max_ongoing_requests=16, max_queued_requests=256,
    ray_actor_options={"num_cpus": THREADS},
    autoscaling_config={"min_replicas": 2, "max_replicas": 8,
                        "target_ongoing_requests": 4})
class Served:
    """A replica. A call that crashes takes its replica with it, and Ray starts another."""

    def __init__(self, path, parameters=None):
        self.module = farcall.load(path, parameters=parameters)
        self.threads = concurrent.futures.ThreadPoolExecutor(THREADS)

    async def call(self, function, args, kwargs):
        """Python's global lock is released meanwhile, so calls run side by side."""
        return await asyncio.get_running_loop().run_in_executor(
            self.threads, lambda: self.module[function](*args, **kwargs))

    def signatures(self):
        return {name: (each.__signature__, each.__doc__)
                for name, each in self.module.functions.items()}

    def where(self):
        """The node and the process of this replica."""
        return ray.get_runtime_context().get_node_id(), os.getpid()

    async def __call__(self, request):
        """HTTP: POST PREFIX/FUNCTION with a list of arguments, or a dict by name."""
        try:
            args, kwargs = arguments(await request.body())
        except farcall.Error as error:
            return refusal(error, 400)
        try:
            got = await self.call(request.url.path.rsplit("/", 1)[1], args, kwargs)
        except farcall.Error as error:
            return refusal(error, STATUS.get(error.code, 422))
        results = got if isinstance(got, tuple) else () if got is None else (got,)
        return JSONResponse({"results": plain(results)})


def refusal(error, status):
    return JSONResponse({"code": error.code, "error": str(error),
                         "pointer": error.pointer}, status)


def no_number(text):
    raise ValueError(f"JSON has no bare {text}")


def arguments(body):
    """The arguments of a call, by position and by name, from an unchecked body."""
    try:
        given = json.loads(body.decode(), parse_constant=no_number)
    except ValueError as error:  # also what is no UTF-8, and numbers without end
        raise farcall.Error(str(error), "json_syntax") from None
    except RecursionError:
        raise farcall.Error("nested too deep", "json_too_deep") from None
    if isinstance(given, dict):
        return (), given
    if isinstance(given, list):
        return given, {}
    raise farcall.Error("expected an array of arguments or an object", "json_schema")


def plain(value):
    """A result in the types of JSON, as farcalld writes it."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        if value.dtype.kind == "V":  # bf16 and f8, of ml_dtypes
            value = value.astype("f4")
        easy = value.dtype.kind in "biu" or \
            value.dtype.kind == "f" and numpy.isfinite(value).all()
        return value.tolist() if easy else plain(value.tolist())
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


class Function:
    """A function of the module, called like one of this process. `remote` returns Ray's
    response, which can be awaited or kept."""

    def __init__(self, handle, name, signature, text, attempts):
        self.handle, self.attempts = handle, attempts
        self.__name__ = self.__qualname__ = name
        self.__signature__, self.__doc__ = signature, text

    def remote(self, *args, **kwargs):
        self.__signature__.bind(*args, **kwargs)  # what does not fit is not sent
        return self.handle.call.remote(self.__name__, args, kwargs)

    def __call__(self, *args, **kwargs):
        """Makes the call, up to `attempts` times if a replica dies. That is right for a
        module that keeps nothing from call to call; for others, use `attempts=1`.
        `remote` makes a call only once."""
        for left in reversed(range(self.attempts)):
            try:
                return self.remote(*args, **kwargs).result()
            except ray.exceptions.RayActorError:
                if not left:
                    raise


class Functions:
    """The functions of an application, by its handle, as attributes and items."""

    def __init__(self, handle, attempts=4):
        self.handle = handle
        for name, (signature, text) in handle.signatures.remote().result().items():
            setattr(self, name, Function(handle, name, signature, text, attempts))

    def __getitem__(self, name):
        return getattr(self, name)


def run(path, name=None, **options):
    """Serves the module in a file under /NAME, on the Ray that runs, and returns its
    functions. `options` are options of a deployment, such as autoscaling_config and
    num_replicas."""
    name = name or os.path.basename(path).rsplit(".", 1)[0]
    application = Served.options(**options).bind(os.path.abspath(path))
    return Functions(serve.run(application, name=name, route_prefix=f"/{name}"))
