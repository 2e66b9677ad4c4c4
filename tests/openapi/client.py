# SPDX-License-Identifier: Apache-2.0
"""Has a digit read by the client that openapi-python-client made in ./generated."""
import json
import os
import sys

sys.path.insert(0, os.getcwd())
from generated import Client, models  # noqa: E402
from generated.api.digits import digits_classify  # noqa: E402

client = Client(base_url=sys.argv[1])
(image,) = json.load(open(sys.argv[2]))
arguments = models.DigitsClassifyArguments(image=image)
answer = digits_classify.sync(client=client,
                              body=models.DigitsClassifyNamed(kwargs=arguments))
assert isinstance(answer, models.DigitsClassifyAnswer), answer
assert answer.results[0].digit == 7, answer
assert digits_classify.sync(client=client, body=[image]) == answer
refused = digits_classify.sync(client=client, body=[image[1:]])
assert isinstance(refused, models.Problem), refused
assert refused.code == "shape_mismatch" and refused.pointer == "/0", refused
