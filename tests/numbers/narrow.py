# SPDX-License-Identifier: Apache-2.0
"""narrow.py PROGRAM: every float of up to 8 bits is printed and read.

The oracle is ml_dtypes: which number an element is, and which element a number becomes.
"""
import json
import math
import random
import subprocess
import sys

import ml_dtypes
import numpy as np

TYPES = {"f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3", "f8E4M3FN": "float8_e4m3fn",
         "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
         "f8E5M2": "float8_e5m2", "f8E5M2FNUZ": "float8_e5m2fnuz",
         "f6E2M3FN": "float6_e2m3fn", "f6E3M2FN": "float6_e3m2fn",
         "f4E2M1FN": "float4_e2m1fn"}
SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def bits_of(array):
    return int(array.view(np.uint8))


def value_of(dtype, bits):
    return float(np.uint8(bits).view(dtype))


def expected(dtype, number):
    """The bits in hex of the element that `number` becomes, or the error."""
    element = np.float64(number).astype(dtype)
    if not math.isfinite(float(element)):
        return "out_of_range"
    # In ml_dtypes a type without infinities saturates. We refuse such numbers.
    greatest = float(ml_dtypes.finfo(dtype).max)
    below = value_of(dtype, bits_of(np.float64(greatest).astype(dtype)) - 1)
    saturates = ml_dtypes.finfo(dtype).bits < 8
    if saturates and abs(number) >= greatest + (greatest - below) / 2:
        return "out_of_range"
    return f"{bits_of(element):x}"


def literals(dtype, rng):
    """Numbers that f64 holds exactly: all elements, all middles, and some others."""
    finite = sorted({value for value in (value_of(dtype, b) for b in range(256))
                     if math.isfinite(value)})
    middles = [(a + b) / 2 for a, b in zip(finite, finite[1:])]
    step = finite[-1] - finite[-2]
    beyond = [finite[-1] + step * part for part in (0.25, 0.5, 0.75, 1, 4)]
    others = [rng.uniform(finite[0], finite[-1]) for _ in range(500)]
    return [*finite, *middles, *beyond, *[-each for each in beyond], *others, 0.0, -0.0]


def main():
    rng = random.Random(30)
    lines, checks = [], []
    for name, dtype in TYPES.items():
        dtype = getattr(ml_dtypes, dtype)
        width = int(name[1])
        for bits in range(256):
            # Above an element's width, a module may leave anything.
            want = value_of(dtype, bits & (1 << width) - 1)
            lines.append(f"{name} #{bits:x}")
            checks.append(("prints", want))
        for number in literals(dtype, rng):
            lines.append(f"{name} {number!r}")
            checks.append(("reads", expected(dtype, number)))
    done = subprocess.run([sys.argv[1]], input="\n".join(lines) + "\n", text=True,
                          capture_output=True, check=True)
    wrong = []
    for line, (kind, want), got in zip(lines, checks, done.stdout.splitlines(), strict=True):
        if kind == "prints":
            value = json.loads(got)
            value = SPECIAL.get(value, value)
            same = math.isnan(value) if math.isnan(want) else (
                value == want and math.copysign(1, value) == math.copysign(1, want)
                or near(line, value, want))
        else:
            same = got == want
        if not same:
            wrong.append(f"{line}: {got}, not {want}")
    print(f"{len(lines)} lines, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:20])


def near(line, value, want):
    """True if both are the same element: the shortest text may be another number than
    the element."""
    dtype = getattr(ml_dtypes, TYPES[line.split()[0]])
    return float(np.float64(value).astype(dtype)) == want


if __name__ == "__main__":
    main()
