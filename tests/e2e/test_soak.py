# SPDX-License-Identifier: Apache-2.0
"""Many mixed calls leave nothing behind: every block that a module allocates is freed
once, whoever must free it, even if a call fails half-way."""
import json
import os
import re
import subprocess

from conftest import BIN
from corpus import CASES, Case

# More than a million calls; with the sanitizers fewer, because those are about ten
# times slower.
CALLS = 1_050_000
REFUSED = [
    ("tensor/matmul", [[[1, 2, 3]], [[1], [2]]]),  # a check in the module
    ("tensor/conv", [[[[[1]]]]]),
    ("ranks/r2_strided_trace", [[[1], [2], [3]]]),
    ("abi/s_i8", [300]),
    ("tensor/softmax", [[[1, 2], [3]]]),
    ("ownership/dangling", []),
]


def sanitized():
    data = (BIN / "farcall").read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


def test_nothing_is_left_after_a_million_calls(corpus, tmp_path):
    lines = [(c.function, "same", c.arguments) for c in CASES if isinstance(c, Case)]
    lines += [(f, "same", a) for f, a in REFUSED]
    lines.append(("ownership/counter", "any", []))
    (tmp_path / "documents").write_text("".join(
        f"{function}\t{kind}\t{json.dumps(arguments)}\n"
        for function, kind, arguments in lines))
    calls = CALLS // 20 if sanitized() else CALLS
    done = subprocess.run(
        [BIN.parent / "tests/soak", corpus, tmp_path / "documents", str(calls),
         str(min(4, os.cpu_count()))],
        capture_output=True, text=True, timeout=500)
    print(done.stdout)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    modules = re.findall(r"(\w+): (\d+) allocated, (\d+) live", done.stdout)
    assert len(modules) == 7
    assert all(live == "0" for _, _, live in modules)
    assert sum(int(allocated) for _, allocated, _ in modules) > calls / 10
