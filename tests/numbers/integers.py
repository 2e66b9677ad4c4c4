# SPDX-License-Identifier: Apache-2.0
"""integers.py PROGRAM: JSON numbers in every form, read as every integer type.

The oracle is exact: decimal says whether a literal is an integer, and which.
"""
import random
import subprocess
import sys
from decimal import Decimal

TYPES = [("i1", 0, 1, 1)]
for bits in (2, 3, 4, 7, 8, 9, 16, 17, 24, 31, 32, 33, 48, 53, 54, 63, 64):
    half, size = 1 << (bits - 1), 1
    while 8 * size < bits:
        size *= 2
    TYPES += [(f"i{bits}", -half, half - 1, size),
              (f"si{bits}", -half, half - 1, size),
              (f"ui{bits}", 0, 2 * half - 1, size)]
TYPES += [("index", -(1 << 63), (1 << 63) - 1, 8)]

ERRORS = "type_mismatch", "out_of_range"

# With a larger exponent a value is out of every range, or is no integer.
EXPONENT_MAX = 60


def integer(literal):
    """The value. None: it is a fraction. A value that is too large becomes an enormous
    one."""
    sign, digits, exponent = Decimal(literal).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    exponent += len(text) - len(stripped)
    if not stripped:
        return 0
    if exponent < 0:
        return None
    value = int(stripped) * 10 ** min(exponent, EXPONENT_MAX)
    return -value if sign else value


def expected(name, low, high, size, literal):
    value = integer(literal)
    if value is None:
        return ERRORS[0]
    if not low <= value <= high:
        return ERRORS[1]
    return f"{value & (1 << 8 * size) - 1:x}"


def forms(value, rng):
    """Literals of `value`, and some of nearly that value."""
    sign, digits = "-" if value < 0 else "", str(abs(value))
    yield sign + digits
    yield sign + digits + "." + "0" * rng.randint(1, 30)
    yield sign + digits + "." + "0" * rng.randint(0, 30) + "1"
    yield sign + digits + rng.choice(["e0", "E+0", "e-0", ".0e0"])
    # The point is moved, and an exponent moves it back.
    for shift in rng.sample(range(-45, 46), 4):
        padded = "0" * max(shift + 1 - len(digits), 0) + digits
        if shift <= 0:
            body = padded + "0" * -shift if value else "0"
            if rng.random() < 0.3:
                body += "." + "0" * rng.randint(1, 3)
        else:
            body = padded[:-shift] + "." + padded[-shift:]
            body += "0" * rng.choice([0, 0, 3, 25])
        yield f"{sign}{body}{rng.choice('eE')}{shift:{rng.choice(['', '+'])}d}"
    short = digits.rstrip("0") or "0"
    yield f"{sign}{short}e{len(digits) - len(short)}"
    yield f"{sign}{short}e{rng.choice([-1, 1, 19, 20, 400, -400, 10 ** 17])}"


def rows():
    rng = random.Random(20240)
    for name, low, high, size in TYPES:
        values = {0, 1, -1, 10 ** 16, 10 ** 18, 2 ** 53, 2 ** 53 + 1}
        for edge in (low, high, low // 10, high // 10, high * 10):
            values.update(range(edge - 3, edge + 4))
        values.update(rng.randint(low, high) for _ in range(40))
        for value in sorted(values):
            for literal in forms(value, rng):
                yield literal, (name, low, high, size)


def main():
    cases = list(rows())
    text = "".join(f"{kind[0]} {literal}\n" for literal, kind in cases)
    answers = subprocess.run([sys.argv[1]], input=text, capture_output=True,
                             text=True, check=True).stdout.split()
    assert len(answers) == len(cases), (len(answers), len(cases))
    wanted = [expected(*kind, literal) for literal, kind in cases]
    wrong = [row for row in zip(cases, answers, wanted) if row[1] != row[2]]
    for (literal, kind), got, want in wrong[:20]:
        print(f"{literal} as {kind[0]} is {got}, not {want}")
    fits = sum(want not in ERRORS for want in wanted)
    assert 0.2 < fits / len(cases) < 0.8, fits
    print(f"{len(cases)} literals, {fits} of them integers that fit: "
          f"{len(wrong)} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
