# SPDX-License-Identifier: Apache-2.0
"""requests and numpy, without a client library: plain.py http://HOST:PORT MODEL."""
import json
import sys

import numpy
import requests

url, model = sys.argv[1:]
values = {name: numpy.arange(16, dtype=numpy.int32).reshape(1, 16)
          for name in ("INPUT0", "INPUT1")}
head = json.dumps({
    "inputs": [{"name": name, "shape": value.shape, "datatype": "INT32",
                "parameters": {"binary_data_size": value.nbytes}}
               for name, value in values.items()],
    "parameters": {"binary_data_output": True}}).encode()
answer = requests.post(
    f"{url}/v2/models/{model}/infer", head + b"".join(map(bytes, values.values())),
    headers={"Inference-Header-Content-Length": str(len(head))}, timeout=60)
answer.raise_for_status()
size = int(answer.headers["Inference-Header-Content-Length"])
rest = answer.content[size:]
for each in json.loads(answer.content[:size])["outputs"]:
    count = each["parameters"]["binary_data_size"]
    print(each["name"], numpy.frombuffer(rest[:count], numpy.int32)[:4])
    rest = rest[count:]
