# SPDX-License-Identifier: Apache-2.0
"""The other server of bench/fastapi: the function `mul4` of a .vmfb in FastAPI, written
as the documentation of FastAPI and IREE shows. One process, with uvloop and httptools.
It uses `async def`, because handing a call to a thread takes longer than the call.
"""
import sys

import fastapi
import numpy
import uvicorn
from iree import runtime

PATH, PORT = sys.argv[1:]
config = runtime.Config("local-sync")
module = runtime.load_vm_module(
    runtime.VmModule.mmap(config.vm_instance, PATH), config)
multiply = module["mul4"]
app = fastapi.FastAPI()


@app.post("/mul4")
async def mul4(args: list[list[float]]):
    given = [numpy.array(each, numpy.float32) for each in args]
    return {"results": [multiply(*given).to_host().tolist()]}


uvicorn.run(app, host="127.0.0.1", port=int(PORT), access_log=False,
            log_level="warning", loop="uvloop", http="httptools")
