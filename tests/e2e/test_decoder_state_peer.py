# SPDX-License-Identifier: Apache-2.0
"""A decoder whose cache is state: prefill and 64 decodes do not mention the cache, and
give the bits of iree.runtime, which gets it as an argument. The functions write to
the cache in place: no byte of it is copied."""
import json
import subprocess

from conftest import BIN
from test_decoder_peer import PROMPT, STEPS, TOY, steps, toy  # noqa: F401  (fixtures)

STRIDE = 16


def test_every_step_has_the_bits_of_the_reference(toy, steps, tmp_path):  # noqa: F811
    module = tmp_path / "toy.vmfb"
    module.symlink_to(toy)
    cache = steps[f"cache{STEPS}"]
    state = {"kv": {"argument": 4, "initial": "zeros", "shape": cache.shape}}
    (tmp_path / "toy.farcall.json").write_text(json.dumps({
        "farcall": 1, "abi": "module",
        "functions": [{"name": name, "state": state}
                      for name in ("prefill_bs1", "decode_bs1")]}))
    done = subprocess.run(
        [BIN.parent / "tests/decoder_state", module, TOY / "weights.irpa",
         tmp_path / "out", str(STEPS), str(STRIDE), *map(str, PROMPT)],
        capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    copied, _least_ns = map(int, done.stdout.split())
    assert copied == 0
    found = (tmp_path / "out").read_bytes()
    at = 0
    for step in range(STEPS + 1):
        logits = steps[f"logits{step}"].tobytes()
        assert found[at:at + len(logits)] == logits, step
        at += len(logits)
    assert found[at:] == cache.tobytes()
