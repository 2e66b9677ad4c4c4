# SPDX-License-Identifier: Apache-2.0
"""The peer of bench/fastapi: the function `mul4` of a .vmfb behind FastAPI, written
as the pages of FastAPI and IREE show it. One process, uvloop and httptools; `async def`,
since handing a call to a thread costs more than the call."""
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
