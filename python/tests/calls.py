# SPDX-License-Identifier: Apache-2.0
"""Calls that test_local.py makes in its own process and test_remote.py over HTTP, with
the results that NumPy computes."""
import inspect

import farcall
import numpy
import pytest

from conftest import EXAMPLES, HALF, SCALARS, VERSIONS

F32 = numpy.float32
RANDOM = numpy.random.default_rng(7)
A, B = (RANDOM.standard_normal(shape).astype(F32) for shape in [(17, 5), (5, 9)])
X, Y = (RANDOM.standard_normal(4).astype(F32) for _ in range(2))
SIGNAL = RANDOM.standard_normal(31).astype(F32)
TAPS = numpy.array([0.25, 0.5, 0.25], F32)

# (file, function, arguments by position, by name, result)
CALLS = [
    (VERSIONS, "mul4", (X, Y), {}, X * Y),
    (VERSIONS, "mul4", (X[::-1], numpy.broadcast_to(Y[:1], 4)), {}, X[::-1] * Y[0]),
    (VERSIONS, "mul4", ([1, 2, 3, 4], (0.5, 1, 1.5, 2)), {},
     numpy.array([0.5, 2, 4.5, 8], F32)),
    (VERSIONS, "mul4", (X.astype(float), numpy.array([1, 2, 3, 4])), {},
     X * numpy.array([1, 2, 3, 4], F32)),
    (VERSIONS, "mul4", (numpy.array([float("inf"), 1e-300, -2, 0.1]), Y), {},
     numpy.array([float("inf"), 0, -2, 0.1], F32) * Y),
    (VERSIONS, "mul4", (numpy.array([True, False] * 2), Y), {},
     numpy.array([1, 0, 1, 0], F32) * Y),
    (VERSIONS, "matmul", (A, B), {}, A @ B),
    (VERSIONS, "matmul", (A.T.copy().T, B), {}, A @ B),
    (VERSIONS, "matmul", (numpy.zeros((0, 5), F32), B), {}, numpy.zeros((0, 9), F32)),
    (VERSIONS, "mixed", ([1, 2, 100], numpy.array([7, 8], numpy.int16), 14, 1.5), {},
     (numpy.array([2, 4, -56], numpy.int8), numpy.array([14, 16], numpy.int16), 42,
      2.25)),
    (VERSIONS, "mixed", (numpy.array([1, 2, 255], numpy.uint8), [1, 2], numpy.int64(-1),
                         numpy.float32(2)), {},
     (numpy.array([2, 4, -2], numpy.int8), numpy.array([2, 4], numpy.int16), -3, 4.0)),
    (VERSIONS, "mixed", (numpy.array([-128, 2, 127]), numpy.array([7, 8]),
                         numpy.int32(14), numpy.float64(1.5)), {},
     (numpy.array([0, 4, -2], numpy.int8), numpy.array([14, 16], numpy.int16), 42,
      2.25)),
    (SCALARS, "fact", (10,), {}, 3628800),
    (SCALARS, "fact", (20,), {}, 2432902008176640000),
    (SCALARS, "hyp", (3, 4), {}, 5.0),
    (SCALARS, "pair", (3,), {"b": 2.5}, {"a": 3, "b": 2.5}),
    (SCALARS, "pair", (), {"b": -1, "a": -2}, {"a": -2, "b": -1.0}),
    (SCALARS, "swap", (), {"x": {"q": 3, "p": 1.5}}, [3, 1.5]),
    (SCALARS, "swap", ({"p": float("inf"), "q": -1},), {}, [-1, float("inf")]),
    (EXAMPLES / "filter.vmfb", "fir", (SIGNAL, TAPS), {},
     numpy.convolve(SIGNAL, TAPS, "valid").astype(F32)),
]

# (file, function, arguments, code, words of the message)
REFUSED = [
    (VERSIONS, "mul4", (X,), "missing_argument", ["argument 1"]),
    (VERSIONS, "mul4", (X, Y, X), "extra_argument", ["argument 2", "takes 2"]),
    (VERSIONS, "mul4", (X, Y.astype(numpy.complex64)), "dtype_mismatch",
     ["argument 'input1'", "complex64", "f32$"]),
    (VERSIONS, "mul4", (X, numpy.full(4, 1e39)), "out_of_range", ["'input1'", "f32"]),
    (VERSIONS, "mixed", (X[:3], [1, 2], 1, 1.0), "dtype_mismatch", ["float32", "i8"]),
    (VERSIONS, "mixed", (numpy.array([1, 2, 128]), [1, 2], 1, 1.0), "out_of_range",
     ["i8"]),
    (VERSIONS, "mul4", (X, [1, 2, 3]), "shape_mismatch", ["3", "4"]),
    (VERSIONS, "mul4", (X, [[1, 2], [3]]), "shape_mismatch", []),
    (VERSIONS, "mul4", (X, ["1", "2", "3", "4"]), "type_mismatch", ["list"]),
    (VERSIONS, "mul4", (X, [1, 2, 3, 1e39]), "out_of_range", ["f32"]),
    (VERSIONS, "mixed", ([1, 2, 128], [1, 2], 1, 1.0), "out_of_range", ["i8"]),
    (VERSIONS, "mixed", ([1, 2, 0.5], [1, 2], 1, 1.0), "out_of_range", ["i8"]),
    (VERSIONS, "mixed", ([1, 2, 3], [1, 2], 1 << 63, 1.0), "out_of_range", ["i64"]),
    (VERSIONS, "mixed", ([1, 2, 3], [1, 2], "1", 1.0), "type_mismatch", []),
    (SCALARS, "divide", (7, 0), "call_failed", ["integer division by zero"]),
    (SCALARS, "swap", ({"p": 1.5},), "missing_key", ["'q'"]),
    (SCALARS, "swap", ({"p": 1.5, "q": 1, "r": 1},), "unknown_key",
     ["there is no key 'r'; there are 'p', 'q'"]),
    (SCALARS, "swap", ({"p": 1.5, "q": 1, "qq": 1},), "unknown_key",
     ["there is no key 'qq'; did you mean 'q'"]),
    (SCALARS, "swap", ([1.5, 1],), "type_mismatch", ["dict", "list"]),
]


# Calls whose arguments do not fit the function's names. They are refused with the
# server's message: (file, function, arguments by position, by name, code, message,
# pointer)
UNBOUND = [
    (SCALARS, "pair", (1,), {"c": 3}, "unknown_argument",
     "there is no argument 'c'; there are 'a', 'b'", "/c"),
    (SCALARS, "pair", (1,), {"bb": 3}, "unknown_argument",
     "there is no argument 'bb'; did you mean 'b'?", "/bb"),
    (SCALARS, "pair", (1,), {"x" * 99: 3}, "unknown_argument",
     f"there is no argument '{'x' * 64}…'; there are 'a', 'b'", f"/{'x' * 99}"),
    (SCALARS, "swap", (), {"y": 3}, "unknown_argument",
     "there is no argument 'y'; there is 'x'", "/y"),
    (VERSIONS, "next", (), {"b": 1}, "unknown_argument",
     "there is no argument 'b': the function takes none", "/b"),
    (SCALARS, "pair", (1, 2), {"b": 3}, "duplicate_argument",
     "argument 1 ('b'): given twice", "/b"),
    (SCALARS, "pair", (1,), {}, "missing_argument", "argument 1 ('b'): missing", "/b"),
    (SCALARS, "pair", (), {"b": 2}, "missing_argument", "argument 0 ('a'): missing", "/a"),
    (SCALARS, "pair", (1, 2, 3), {}, "extra_argument",
     "argument 2: the function takes 2 by position", "/2"),
    (VERSIONS, "next", (1,), {}, "extra_argument",
     "argument 0: the function takes 0 by position", "/0"),
]

# Functions of some_so: (function, its signature in Python, words of the reason why it
# cannot be called)
UNCALLABLE = [
    ("wide", ["a"], "i128: integers of this width"),
    ("rows", ["m", "x"], "vector<3xf32>: as elements, vectors have rows"),
]


def check_uncallable(module):
    """A function that cannot be called is listed like the others, and a call gives the
    reason."""
    names = [name for name, _, _ in UNCALLABLE]
    assert list(module.functions) == list(module) == ["twice", *names]
    assert [each.__name__ for each in module.functions.values()] == list(module)
    assert dict(module.functions.items()).keys() == set(module)
    assert "wide" in module and "wide" in module.functions and "wide" in dir(module)
    assert "fakt" not in module and module.functions.get("fakt") is None
    assert module.functions.get("twice") is module["twice"] is module.twice
    for name, params, why in UNCALLABLE:
        function = getattr(module, name)
        assert list(inspect.signature(function).parameters) == params
        assert why in repr(function) and why in function.__doc__
        assert function.__doc__.startswith(f"{name}(")
        for args in [(), (1,), (1, 2, 3)]:
            with pytest.raises(farcall.Error, match=f"'{name}' is not callable: .*{why}") \
                    as caught:
                function(*args)
            assert caught.value.code == "unsupported_type"
    assert module.twice(2) == 4


def same(got, wanted):
    """Equal and of the same type. Floats may differ a little: machine code may fuse and
    reorder."""
    if isinstance(wanted, tuple):
        return isinstance(got, tuple) and len(got) == len(wanted) and \
            all(map(same, got, wanted))
    if isinstance(wanted, numpy.ndarray):
        return isinstance(got, numpy.ndarray) and got.dtype == wanted.dtype and \
            got.shape == wanted.shape and numpy.allclose(got, wanted, 1e-5, 1e-6)
    return type(got) is type(wanted) and got == wanted
