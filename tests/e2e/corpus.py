# SPDX-License-Identifier: Apache-2.0
"""Every public function of the samples: how it is called, and its results.

The expected values are NumPy's, or were derived by hand from the source in
tests/modules/mlir; none comes from farcall. A case is (function, arguments, expected
results). The results are exact unless the case allows a number of units in the last
place of f32.
"""
import dataclasses
import math
import typing

import numpy as np

INF = "Infinity"
NAN = "NaN"


@dataclasses.dataclass
class Case:
    function: str
    arguments: list
    results: list
    ulp: int = 0  # of f32


@dataclasses.dataclass
class Listed:
    """A function that is listed, but not callable."""
    function: str
    reason: str  # part of the reason that farcall gives


def iota(*shape):
    return np.arange(math.prod(shape), dtype=np.float32).reshape(shape)


def floats(array):
    """The numbers as JSON has them: the shortest text of each in its own type."""
    array = np.asarray(array)
    if array.ndim:
        return [floats(each) for each in array]
    return float(str(array[()]))


def abi():
    yield Case("abi/s_i1", [False], [True])
    yield Case("abi/s_i1", [1], [False])
    yield Case("abi/s_i4", [3], [6])
    yield Case("abi/s_i4", [7], [-2])
    yield Case("abi/s_i4", [-8], [0])
    yield Case("abi/s_i8", [56], [112])
    yield Case("abi/s_i8", [100], [-56])
    yield Case("abi/s_i8", [-128], [0])
    yield Case("abi/s_i16", [2768], [5536])
    yield Case("abi/s_i16", [32767], [-2])
    yield Case("abi/s_i32", [-7], [-14])
    yield Case("abi/s_i32", [2147483647], [-2])
    yield Case("abi/s_i64", [2**40], [2**41])
    yield Case("abi/s_i64", [2**62 + 1], [-(2**63) + 2])
    yield Case("abi/s_i64", ["4611686018427387903"], [2**63 - 2])
    yield Listed("abi/s_i128", "i128")
    yield Case("abi/s_index", [21], [42])
    yield Case("abi/s_i8ext", [-128], [-128])
    yield Case("abi/s_i1ext", [True], [1])
    yield Case("abi/s_f16", [1.5], [3.0])
    yield Case("abi/s_f16", [0.1], [floats(np.float16(0.1) * np.float16(2))])
    yield Case("abi/s_f16", [40000], [INF])
    yield Case("abi/s_bf16", [1.5], [3.0])
    yield Case("abi/s_bf16", [1e38], [2.0e38])
    yield Case("abi/s_f32", [0.1], [0.2])
    yield Case("abi/s_f32", [NAN], [NAN])
    yield Case("abi/s_f32", [-0.0], [-0.0])
    yield Case("abi/s_f64", [0.1], [0.2])
    yield Case("abi/s_f64", [1e308], [INF])
    yield Case("abi/s_c32", [[1, 2]], [[2.0, 4.0]])
    yield Case("abi/s_c64", [[0.1, "-Infinity"]], [[0.2, "-Infinity"]])
    yield Case("abi/s_v4", [[1, 2, 3, -4]], [[2.0, 4.0, 6.0, -8.0]])
    yield Listed("abi/s_v22", "vector")
    yield Case("abi/s_void", [], [])
    yield Case("abi/s_f8", [1.5], [1.5])
    yield Case("abi/s_f8", [448], [450.0])  # its shortest text in this type
    yield Case("abi/s_mixed", [-3, 0.5, True, 0.25, 10], [8.75])
    yield Case("abi/m_i32_i64", [-1, 2**50], [-1, 2**50])
    yield Case("abi/m_i8_f64_i1", [-3, 0.5, True], [-3, 0.5, True])
    yield Case("abi/m_f32x3", [2.5], [2.5, 2.5, 2.5])
    yield Case("abi/m_scalar_memref", [-3, [1, 2, 3], 1.5],
               [-3, [1.0, 2.0, 3.0], 1.5])
    yield Case("abi/m_2memref", [[1, 2], [[1, 2, 3], [4, 5, 6]]],
               [[1.0, 2.0], [[1, 2, 3], [4, 5, 6]]])
    yield Case("abi/m_v_i8", [-3, [1, 2, 3, 4.5]], [-3, [1.0, 2.0, 3.0, 4.5]])
    yield Listed("abi/m_i128_i8", "i128")
    yield Case("abi/r0", [5], [5.0])
    yield Case("abi/r1", [[1, 2, 3]], [[1.0, 2.0, 3.0]])
    yield Case("abi/r1", [[]], [[]])
    yield Case("abi/r2s", [[[1, 2, 3], [4, 5, 6]]],
               [[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]])
    yield Case("abi/ru", [[[1, 2, 3]]], [[[1.0, 2.0, 3.0]]])
    yield Case("abi/ru", [7], [7.0])
    yield Case("abi/ru2", [[1, 2]], [[1.0, 2.0], 7, [1.0, 2.0]])
    yield Case("abi/priv", [-7], [-7])
    yield Case("abi/bare_noiface", [[1, 2, 3], 9], [[1.0, 2.0, 3.0]])


def ranks():
    yield Case("ranks/r0_inc", [1], [2.0])
    yield Case("ranks/r0_id", [-2.5], [-2.5])
    yield Case("ranks/r1_sum", [[1, 2, 3, 4]], [10.0])
    yield Case("ranks/r1_sum", [[]], [0.0])
    yield Case("ranks/r2_static", [[[0, 1, 2], [3, 4, 5.25]]], [5.25])
    square = iota(5, 5)
    yield Case("ranks/r2_strided_trace", [floats(square)],
               [float(np.trace(square))])
    yield Case("ranks/r3_shape", [iota(1, 4, 3).astype(int).tolist()],
               [1, 4, 3])
    five = np.arange(36, dtype=np.int8).reshape(1, 2, 2, 3, 3)
    yield Case("ranks/r5_id", [five.tolist()], [five.tolist()])
    yield Case("ranks/ru_rank", [[[[1]]]], [3])
    yield Case("ranks/ru_rank", [1.5], [0])
    yield Case("ranks/ru_id", [[[1, 2], [3, 4]]], [[[1.0, 2.0], [3.0, 4.0]]])
    yield Case("ranks/ru_mixed", [[[5]]], [[[5.0]], 7, [[5.0]]])


def dtypes():
    def same(name, values, back=None):
        return Case("dtypes/" + name, [values], [values if back is None else back])
    yield same("t_i1", [True, False, 1, 0], [True, False, True, False])
    yield same("t_i4", [-8, 7, 0, -1])
    yield same("t_i8", [-128, 127, 0])
    yield same("t_ui8", [0, 255, 128])
    yield same("t_si16", [-32768, 32767])
    yield same("t_i32", [-2**31, 2**31 - 1])
    yield same("t_i64", [-2**63, 2**63 - 1, 2**53 + 1])
    yield same("t_index", [-2**63, 2**63 - 1])
    # 448 is the largest f8 value and 2^-9 the smallest. They are printed with the
    # shortest text, like 0.1.
    yield same("t_f8", [448, -448, 0.001953125, NAN, -0.0],
               [450.0, -450.0, 0.002, NAN, -0.0])
    half = np.float16([0.1, 65504, 6e-8, -2.5])
    yield same("t_f16", [0.1, 65504, 6e-8, -2.5], floats(half))
    yield same("t_bf16", [1.0, 3.140625, 1e38, INF], [1.0, 3.14, 1e38, INF])
    tiny = [5e-324, 1.7976931348623157e308, 0.1, -0.0]
    yield same("t_f64", tiny)
    yield same("t_c64", [[1, -2], [0.5, INF]], [[1.0, -2.0], [0.5, INF]])
    yield same("t_i24", [-8388608, 8388607, 0, -1])
    yield Case("dtypes/t_ui7", [[0, 127]], [[0, 127]])
    yield same("t_i48", [-2**47, 2**47 - 1, -1])
    yield same("t_f4", [6, -6, 0.5, -0.0, 1.5], [6.0, -6.0, 0.5, -0.0, 1.5])
    yield same("t_f8e3", [15.5, -0.25, INF, NAN], [15.5, -0.25, INF, NAN])
    yield same("t_f8b11", [30, -0.125, NAN], [30.0, -0.13, NAN])
    yield Case("dtypes/add_i24", [[8388607, 0, -1], 1], [[-8388608, 1, 0], -8388607, 1])
    yield Case("dtypes/min_i50", [[-2**49, 5], 2**49 - 1], [-2**49, [2**49 - 1, 5]])
    yield Case("dtypes/s_i7", [-40], [48])
    yield Case("dtypes/s_f4", [-3], [-3.0])
    yield Case("dtypes/s_f8e3", [[1, -15.5]], [-15.5])
    rows = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]
    yield Case("dtypes/t_v4", [rows], [rows])


def ownership():
    yield Case("ownership/alias_arg", [[1, 2]], [[1.0, 2.0]])
    yield Case("ownership/alias_ro", [], [[1.0, 2.0, 3.0, 4.0]])
    # test_corpus.py has its own tests for `counter` and `dangling`: see ELSEWHERE.
    yield Case("ownership/fresh", [4], [[5.0] * 4])
    yield Case("ownership/fresh", [0], [[]])
    yield Case("ownership/fresh_aligned", [3], [[6.0] * 3])
    yield Case("ownership/two_same", [2], [[7.0] * 2, [7.0] * 2])
    yield Case("ownership/two_halves", [],
               [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]])
    board = iota(8, 8)
    yield Case("ownership/view_arg", [floats(board)],
               [floats(board[3:7:2, 1:9:2])])
    yield Case("ownership/transposed", [floats(iota(2, 3))],
               [floats(iota(2, 3).T)])
    yield Case("ownership/empty", [], [[]])
    yield Case("ownership/unranked_fresh", [3], [[8.0] * 3])
    yield Case("ownership/unranked_alias", [[[1], [2]]], [[[1.0], [2.0]]])
    yield Case("ownership/maybe_alias", [[1, 2, 3, 4], True],
               [[1.0, 2.0, 3.0, 4.0]])
    yield Case("ownership/maybe_alias", [[1, 2, 3, 4], False], [[9.0] * 4])
    yield Case("ownership/reversed", [[0, 1, 2, 3]], [[3.0, 2.0, 1.0, 0.0]])
    raw = np.zeros(64, np.int8)
    raw[16:48] = np.float32([1, -2, 3.5, 0, 1e-3, 7, 8, 9]).view(np.int8)
    yield Case("ownership/bytes_view", [raw.tolist()],
               [[1.0, -2.0, 3.5, 0.0, 0.001, 7.0, 8.0, 9.0]])
    yield Case("stride0/broadcast0", [4], [[3.5] * 4])


def outparam():
    x, y = np.float32([1, 2, 3]), np.float32([10, 20, 30])
    yield Case("outparam/axpy", [0.5, floats(x), floats(y)],
               [floats(np.float32(0.5) * x + y)])
    yield Case("outparam/fill_out", [-9], [[[-9, -9], [-9, -9]]])
    yield Case("outparam/transpose_out", [floats(iota(2, 3)), floats(iota(3, 2))],
               [floats(iota(2, 3).T)])


def softmax(rows):
    rows = np.asarray(rows, np.float64)
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.float32(powers / powers.sum(axis=1, keepdims=True))


def edges(image):
    """The 3x3 Laplacian of tensor/conv on an NHWC image, without padding."""
    image = np.asarray(image, np.float32)[0, :, :, 0]
    inner = (4 * image[1:-1, 1:-1] - image[:-2, 1:-1] - image[2:, 1:-1]
             - image[1:-1, :-2] - image[1:-1, 2:])
    return inner[None, :, :, None]


def mlp(rows):
    w0 = np.array([[1, -1, 0.5], [0, 2, 0.5], [1, 0, -0.5], [-1, 1, 0.25]])
    w1 = np.array([[1, 2], [-1, 0.5], [0.25, -0.75]])
    hidden = np.maximum(np.asarray(rows) @ w0 + [0.1, -0.2, 0.3], 0)
    return np.float32(hidden @ w1 + [0.5, -0.5])


def tensor():
    yield Case("tensor/matmul", [[[1, 2, 3], [4, 5, 6]], [[1, 0], [0, 1], [1, 1]]],
               [[[4.0, 5.0], [10.0, 11.0]]])
    left, right = iota(7, 5), iota(5, 3)
    yield Case("tensor/matmul", [floats(left), floats(right)],
               [floats(left @ right)])
    yield Case("tensor/matmul", [{"dtype": "f32", "shape": [0, 3], "data": []},
                                 floats(iota(3, 2))], [[]])
    yield Case("tensor/mlp", [[[1, 2, 3, 4]]], [[[-5.8750005, 2.125]]])
    yield Case("tensor/mlp", [floats(iota(3, 4))], [floats(mlp(iota(3, 4)))],
               ulp=4)
    rows = [[1, 2, 3, 4], [0, 0, 0, 0], [-50, 0, 50, 0.5]]
    yield Case("tensor/softmax", [rows], [floats(softmax(rows))], ulp=4)
    image = (iota(1, 4, 4, 1)) ** 2
    yield Case("tensor/conv", [floats(image)],
               [[[[[-34.0], [-34.0]], [[-34.0], [-34.0]]]]])
    image = (iota(1, 9, 6, 1) * 5) % 17
    yield Case("tensor/conv", [floats(image)], [floats(edges(image))])
    yield Case("tensor/stats", [[1, 2, 3, 4]], [10.0, [1.0, 4.0, 9.0, 16.0]])
    yield Case("tensor/identity", [[1.5]], [[1.5]])
    yield Case("tensor/constant", [], [[1.0, 2.0, 3.0]])
    board = iota(8, 8)
    yield Case("tensor/slice", [floats(board)], [floats(board[3:7:2, 1:9:2])])
    # The argument is writable, so its changed contents are returned, too, after the
    # result.
    yield Case("tensor/scale_inplace", [[1, 2, 3], 2.5],
               [[2.5, 5.0, 7.5], [2.5, 5.0, 7.5]])


CASES: list[typing.Union[Case, Listed]] = [
    *abi(), *ranks(), *dtypes(), *ownership(), *outparam(), *tensor()]
# test_corpus.py has tests of its own that call these.
ELSEWHERE = ["ownership/counter", "ownership/dangling"]


def distance(got, wanted):
    """The distance in units in the last place of f32."""
    def key(value):
        bits = int(np.float32(value).view(np.int32))
        return bits if bits >= 0 else -(bits & 0x7FFFFFFF)
    return abs(key(got) - key(wanted))


def differs(got, wanted, ulp=0, where=""):
    """Why `got` is not `wanted`, or None. Kinds count: 1 is not 1.0."""
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            return f"{where or '/'}: {got!r} is not {wanted!r}"
        for index, pair in enumerate(zip(got, wanted)):
            why = differs(*pair, ulp, f"{where}/{index}")
            if why:
                return why
        return None
    same = type(got) is type(wanted) and got == wanted
    if same and isinstance(got, float):
        same = math.copysign(1, got) == math.copysign(1, wanted)
    if not same and ulp and isinstance(got, float):
        same = distance(got, wanted) <= ulp
    return None if same else f"{where or '/'}: {got!r} is not {wanted!r}"
