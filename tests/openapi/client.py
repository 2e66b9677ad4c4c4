# SPDX-License-Identifier: Apache-2.0
"""Has a digit recognized, and computes powers of a matrix in a loop, with the client
that openapi-python-client made in ./generated."""
import json
import os
import sys

sys.path.insert(0, os.getcwd())
from generated import Client, models  # noqa: E402
from generated.api.digits import digits_classify  # noqa: E402
from generated.api.matmul import matmul_matmul, matmul_matmul_iterate  # noqa: E402
from generated.api.sessions import end_session, make_session, show_session  # noqa: E402

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

fibonacci = models.MatmulMatmulRepeatedPlaced(
    args=[[[1, 1], [1, 0]]] * 2,
    repeat=models.Repeat(times=3, feed=models.RepeatFeed.from_dict({"0": 0})))
steps = matmul_matmul_iterate.sync(client=client, body=fibonacci)
assert [json.loads(line) for line in steps.splitlines()] == [
    {"step": 1, "results": [[[2, 1], [1, 1]]]},
    {"step": 2, "results": [[[3, 2], [2, 1]]]},
    {"step": 3, "results": [[[5, 3], [3, 2]]]},
    {"done": "times", "steps": 3}], steps
fibonacci.repeat.feed["0"] = 2
refused = matmul_matmul_iterate.sync(client=client, body=fibonacci)
assert isinstance(refused, models.Problem) and refused.code == "out_of_range", refused

# A product is kept in a session, where the next call uses it.
session = make_session.sync("matmul", client=client, body=models.NewSession(ttl_ms=60000))
assert isinstance(session, models.Session) and session.step == 0, session
options = models.Options(keep=models.OptionsKeep.from_dict({"0": "y"}))
kept = matmul_matmul.sync(client=client, farcall_session=session.session,
                          body=models.MatmulMatmulPlaced(args=[[[1, 1], [1, 0]]] * 2,
                                                         options=options))
assert kept.results == [kept.results[0]] and kept.results[0].ref == "y", kept
answer = matmul_matmul.sync(client=client, farcall_session=session.session,
                            body=[models.Reference(ref="y"), [[1], [1]]])
assert answer.results == [[[3], [2]]], answer
shown = show_session.sync("matmul", session.session, client=client)
assert shown.step == 2 and shown.values["y"].bytes_ == 16, shown
refused = matmul_matmul.sync(client=client, body=[models.Reference(ref="y"), [[1], [1]]])
assert isinstance(refused, models.Problem) and refused.code == "reference_unknown", refused
end_session.sync("matmul", session.session, client=client)
gone = show_session.sync("matmul", session.session, client=client)
assert isinstance(gone, models.Problem) and gone.code == "session_not_found", gone
