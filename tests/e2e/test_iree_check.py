# SPDX-License-Identifier: Apache-2.0
"""Programs that check themselves, compiled by IREE, some of them wrong. `farcall test`
says which ones fail and why, and exits with 1. There is a right program for each
wrong one, so that a test which passes or fails everything does not pass here."""
import pytest

# (check, type, left, right, right or wrong, a part of the message)
CHECKS = [
    ("expect_eq", "4xi32", "[1, 2, 3, 4]", "[1, 2, 3, 4]", True, None),
    ("expect_eq", "4xi32", "[1, 2, 3, 4]", "[1, 2, 3, 5]", False, "element 3"),
    ("expect_eq", "2x2xf32", "[[1., 2.], [3., 4.]]", "[[1., 2.], [3., 4.]]", True,
     None),
    ("expect_eq", "2x2xf32", "[[1., 2.], [3., 4.]]", "[[1., 9.], [3., 4.]]", False,
     "element 1"),
    ("expect_almost_eq", "3xf32", "[1., 2., 3.]", "[1., 2., 3.00001]", True, None),
    ("expect_almost_eq", "3xf32", "[1., 2., 3.]", "[1., 2., 3.5]", False,
     "element 2"),
    ("expect_almost_eq", "2xf32", "[0x7FC00000, 1.]", "[1., 1.]", False,
     "element 0"),
    ("expect_all_true", "3xi32", "[1, 1, 1]", None, True, None),
    ("expect_all_true", "3xi32", "[1, 0, 1]", None, False, "element 1"),
]


def function(number, row):
    check, kind, left, right, fine, _ = row
    values = f"""
  func.func @{'right' if fine else 'wrong'}_{number}() {{
    %0 = util.unfoldable_constant dense<{left}> : tensor<{kind}>"""
    operands, types = "%0", f"tensor<{kind}>"
    if right:
        values += f"""
    %1 = util.unfoldable_constant dense<{right}> : tensor<{kind}>"""
        operands = "%0, %1"
    return values + f"""
    check.{check}({operands}) : {types}
    return
  }}"""


@pytest.fixture(scope="module", params=["vmvx", "llvm-cpu"])
def module(iree, request):
    text = "module {" + "".join(map(function, range(len(CHECKS)), CHECKS)) + "\n}"
    return iree.compile_text(
        "checks", text, "--iree-hal-target-device=local",
        f"--iree-hal-local-target-device-backends={request.param}")


def test_a_wrong_expectation_fails(farcall, module):
    run = farcall("test", module)
    assert run.returncode == 1, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    for number, (check, _, _, _, fine, word) in enumerate(CHECKS):
        name = f"{'right' if fine else 'wrong'}_{number}"
        line = next(line for line in lines if name in line)
        assert ("failed" in line) == (not fine), f"{check}: {line}"
        if not fine:
            assert word in line, f"{check}: {line}"
