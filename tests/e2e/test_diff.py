# SPDX-License-Identifier: Apache-2.0
"""`farcall diff` and `farcall test` with real modules: releases that others compiled,
and files that differ in one thing."""
import json
import re
import shutil
import subprocess
import time

import pytest

from conftest import RELEASES, ROOT

SOURCE = """
double _mlir_ciface_scale(double x) { return x * FACTOR; }
long long _mlir_ciface_peek(_Bool a, char b, char c, char d) { return a + b + c + d; }
long long _mlir_ciface_count(long long x) { return x * (int)FACTOR; }
long long _mlir_ciface_divide(long long x, long long y) { return (y ? x / y : 0) + PLUS; }
"""
SCALE = {"name": "scale", "symbol": "_mlir_ciface_scale", "cc": "ciface",
         "args": [{"type": "f64", "name": "x"}], "results": [{"type": "f64"}]}
DIVIDE = {"name": "divide", "symbol": "_mlir_ciface_divide", "cc": "ciface",
          "args": [{"type": "i64"}, {"type": "i64"}], "results": [{"type": "i64"}]}

COUNT = {"name": "count", "symbol": "_mlir_ciface_count", "cc": "ciface",
         "args": [{"type": "i64"}], "results": [{"type": "i64"}]}


@pytest.fixture
def build(tmp_path):
    (tmp_path / "scaled.c").write_text(SOURCE)

    def make(release, functions=(SCALE, DIVIDE), factor="3.0", plus="0", **members):
        folder = tmp_path / release
        folder.mkdir()
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", f"-DFACTOR={factor}",
                        f"-DPLUS={plus}", "-o", folder / "scaled.so",
                        tmp_path / "scaled.c"], check=True)
        (folder / "scaled.farcall.json").write_text(json.dumps(
            {"farcall": 1, "abi": "mlir-memref", "functions": list(functions), **members}))
        return folder / "scaled.so"
    return make


@pytest.fixture
def calls(tmp_path):
    def write(*lines):
        path = tmp_path / "calls.jsonl"
        path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each)
                                  for each in lines))
        return path
    return write


def lines_of(done, *kinds):
    return [line for line in done.stdout.splitlines() if line.split()[0] in kinds]


def test_releases_of_one_program_are_the_same(farcall, calls):
    document = calls({"function": "fact", "args": [10]},
                     {"function": "pair", "args": [7, 0.5]})
    for release in ["2.9.0", "3.4.0", "3.13.0"]:
        done = farcall("diff", RELEASES / f"scalars-{release}.vmfb",
                       RELEASES / "scalars-3.13.0.vmfb", document)
        assert done.returncode == 0, done.stdout + done.stderr
        assert [line.split()[:2] for line in done.stdout.splitlines()] == [
            ["time", "fact"], ["time", "pair"]]


def test_two_programs_are_not(farcall):
    done = farcall("diff", RELEASES / "scalars-3.0.0.vmfb",
                   RELEASES / "versions-3.0.0-vmvx.vmfb")
    assert done.returncode == 1, done.stderr
    assert "removed   hyp" in done.stdout and "added     matmul" in done.stdout


def test_values_that_differ(farcall, build, calls):
    old, new = build("old"), build("new", factor="3.0000000000000004", plus="1")
    document = calls({"function": "scale", "args": [1.5]},
                     {"function": "scale", "args": [1.5], "tolerance": {"ulp": 1}},
                     {"function": "divide", "args": [7, 2]})
    done = farcall("diff", old, new, document)
    assert done.returncode == 1, done.stderr
    assert lines_of(done, "values") == [
        "values    scale line 1: 1 of 1 differ, at most by 8.88178e-16 and 1 ulp, "
        "first at /results/0: was 4.5, is 4.500000000000001",
        "values    divide line 3: 1 of 1 differ, at most by 1 and 1 ulp, "
        "first at /results/0: was 3, is 4"]
    assert "values    divide: 1 of 1 differ" in farcall("diff", old, new).stdout
    assert farcall("diff", old, old, document).returncode == 0


TIMED = """
#include <time.h>
double _mlir_ciface_scale(double x) {
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1000000000LL + now.tv_nsec - begin.tv_nsec < NS);
  return x;
}
"""


@pytest.fixture
def timed(tmp_path):
    """A module whose call takes this many ns, or more."""
    def make(name, ns):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "timed.c").write_text(TIMED)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", f"-DNS={ns}LL", "-o",
                        folder / "timed.so", folder / "timed.c"], check=True)
        (folder / "timed.farcall.json").write_text(json.dumps(
            {"farcall": 1, "abi": "mlir-memref", "functions": [SCALE]}))
        return folder / "timed.so"
    return make


def test_times_are_of_the_old_file_and_of_the_new_one(farcall, calls, timed):
    """One file needs 50 ms, the other almost nothing. A machine may be slow, but never
    too fast."""
    files = [timed("slow", 50_000_000), timed("quick", 0)]
    document = calls({"function": "scale", "args": [1.5]})
    for old, new, slow in (*files, 0), (*files[::-1], 1):
        begin = time.monotonic()
        done = farcall("diff", old, new, document)
        most = (time.monotonic() - begin) * 1e6
        (line,) = lines_of(done, "time")
        figures = re.fullmatch(r"time      scale line 1: was ([\d.]+) us, is ([\d.]+) us: "
                               r"(longer|shorter)", line)
        assert figures[3] == ("longer" if slow else "shorter")
        assert 50_000 <= float(figures[slow + 1]) < most
        assert float(figures[2 - slow]) < most - 50_000


def test_times_of_one_file_do_not_differ(farcall, timed, calls):
    """The two are measured in turn, so other load on the machine affects both. Each is
    called before: the first call of a process costs several times as much."""
    module = timed("same", 2_000_000)
    document = calls({"function": "scale", "args": [1.5]})
    for words in ([document], []):
        (line,) = lines_of(farcall("diff", module, module, *words), "time")
        assert re.fullmatch(r"time      scale( line 1)?: was [\d.]+ us, is [\d.]+ us: "
                            "no difference", line), line


def test_numbers_are_drawn(farcall, build):
    """With zeros as arguments, a changed factor would not be noticed."""
    old, new = build("old"), build("new", factor="5.0")
    done = farcall("diff", old, new)
    assert done.returncode == 1
    (line,) = lines_of(done, "values")
    found = re.fullmatch(r"values    scale: 1 of 1 differ, at most by \S+ and \d+ ulp, first "
                         r"at /results/0: was (\S+), is (\S+)", line)
    assert float(found[1]) / 3 == float(found[2]) / 5 != 0


def test_integers_are_drawn_for_code_that_checks(farcall, build):
    """Zeros would hide the changed factor. Random integers are used only if both files
    check them."""
    for old, new in [(True, True), (True, False), (False, True)]:
        files = [build(f"{name}-{old}-{new}", [COUNT], factor=factor, checked=checked)
                 for name, factor, checked in [("old", "3.0", old), ("new", "5.0", new)]]
        done = farcall("diff", *files)
        assert len(lines_of(done, "values")) == (old and new), done.stdout + done.stderr


@pytest.mark.parametrize("where", ["scalar", "tensor"])
def test_no_index_is_drawn_for_code_that_does_not_check_it(farcall, tmp_path, where):
    """The example has one row of 4 MB. The memory after it is not mapped."""
    (tmp_path / "row.c").write_text("""
typedef struct { float *allocated, *aligned; long long offset, sizes[2], strides[2]; } rows_t;
typedef struct { long long *allocated, *aligned, offset, sizes[1], strides[1]; } list_t;
float _mlir_ciface_scalar(rows_t *rows, long long at) {
  return rows->aligned[at * rows->strides[0]];
}
float _mlir_ciface_tensor(rows_t *rows, list_t *at) {
  return rows->aligned[at->aligned[0] * rows->strides[0]];
}
""")
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", tmp_path / "row.so",
                    tmp_path / "row.c"], check=True)
    at = {"scalar": {"type": "index"}, "tensor": {"type": "memref<2xi64>"}}[where]
    (tmp_path / "row.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": where, "symbol": f"_mlir_ciface_{where}", "cc": "ciface",
             "args": [{"type": "memref<?x1000000xf32>"}, at],
             "results": [{"type": "f32"}]}]}))
    done = farcall("diff", tmp_path / "row.so", tmp_path / "row.so")
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = lines_of(done, "time")
    assert line.split()[1] == f"{where}:"


def test_drawn_numbers_that_are_refused_are_not_told(farcall, build):
    """`peek` accepts numbers of two bits, so random ones are refused; its example is
    timed."""
    strict = {"name": "peek", "symbol": "_mlir_ciface_peek", "cc": "ciface",
              "args": [{"type": "i1"}, {"type": "si2"}, {"type": "ui2"}, {"type": "si2"}],
              "results": [{"type": "i64"}]}
    module = build("old", [strict], checked=True)
    done = farcall("diff", module, module)
    assert done.returncode == 0 and len(lines_of(done, "time")) == 1, done.stdout + done.stderr
    assert not lines_of(done, "untried", "outcome")


def test_a_function_that_refuses_what_is_made_up(farcall, calls, tmp_path):
    module = shutil.copy(ROOT / "examples/iree/filter.vmfb", tmp_path)  # without examples
    done = farcall("diff", module, module)
    assert done.returncode == 0 and "untried   edges: neither file answers its example, but " \
        "call_failed" in done.stdout.splitlines(), done.stdout
    given = calls({"function": "edges", "args": [[[0, 0, 1]] * 3]})
    assert len(lines_of(farcall("diff", module, module, given), "time")) == 1


def test_a_first_example_has_its_own_tolerance(farcall, build):
    """The example's result differs by 1. The random arguments that follow it have no
    tolerance."""
    example = {"function": "scale", "name": "one", "args": [100]}
    new = build("new", [SCALE], factor="3.01")
    for tolerance, named in ((0.5, True), (2, False)):
        old = build(f"within-{tolerance}", [SCALE],
                    examples=[{**example, "tolerance": {"abs": tolerance}}])
        done = farcall("diff", old, new)
        (line,) = lines_of(done, "values")
        assert done.returncode == 1 and ("was 300.0, is 301.0" in line) == named, line


def test_signatures_that_differ(farcall, build, calls):
    none = calls()
    dynamic = {**SCALE, "args": [{"type": "f64", "name": "y"}]}
    old, new = build("old"), build("new", [dynamic])
    done = farcall("diff", old, new, none)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "narrowed  scale: function 'scale': an argument has another name or role",
        "removed   divide"]
    unnamed = {**SCALE, "args": [{"type": "f64"}]}
    done = farcall("diff", build("unnamed", [unnamed]), old, none)
    assert done.stdout.splitlines() == ["widened   scale", "added     divide"]


def test_trouble_is_2(farcall, build, calls, tmp_path):
    old = build("old")
    for words in [[old], [old, tmp_path / "none.so"], [old, old, tmp_path / "none"],
                  [old, old, calls("{")], [old, old, calls({"function": "non"})]]:
        done = farcall("diff", *words)
        assert done.returncode == 2 and done.stderr.startswith("farcall: "), done.stdout
    assert "line 1: the old file: there is no function 'non'" in done.stderr


def test_a_file_is_tested(farcall, build, calls):
    module = build("old")
    good = {"function": "scale", "args": [1.5], "results": [4.5]}
    done = farcall("test", module, calls(good, {"function": "divide", "args": [6, 3]}))
    assert (done.returncode, done.stdout) == (0, "2 of 2 ok\n"), done.stderr
    done = farcall("test", module, calls(
        good, {**good, "results": [4]},
        {"function": "scale", "args": ["x"], "error": "type_mismatch"},
        {"function": "scale", "args": ["x"]}, {"args": [1]}))
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "failed line 2 ('scale'), /results/0: expected 4, got 4.5",
        done.stdout.splitlines()[1],
        "failed line 5: function_not_found: which function is not said",
        "2 of 5 ok"]
    assert done.stdout.splitlines()[1].startswith(
        "failed line 4 ('scale'): type_mismatch: ")
    done = farcall("test", module, calls({"result": [1]}))
    assert done.returncode == 65 and "did you mean 'results'?" in done.stderr


def test_what_a_module_brings_is_tested(farcall, build):
    """A module's self_test is run, and those of its examples that have results."""
    good = {"function": "scale", "args": [1.5], "results": [4.5]}
    wrong = {"function": "divide", "name": "six", "args": [6, 3], "results": [3]}
    done = farcall("test", build("good", self_test=[good], examples=[
        {"function": "divide", "name": "any", "args": [6, 3]}]))
    assert (done.returncode, done.stdout) == (0, "1 of 1 ok\n"), done.stderr
    done = farcall("test", build("wrong", self_test=[good], examples=[wrong]))
    assert (done.returncode, done.stdout.splitlines()) == (1, [
        "failed example 'six' ('divide'), /results/0: expected 3, got 2", "1 of 2 ok"])
    done = farcall("test", build("odd", self_test=[{"result": [1]}]))
    assert done.returncode == 65 and "did you mean 'results'?" in done.stderr
    done = farcall("test", build("none"))
    assert done.returncode == 65 and "brings no calls" in done.stderr
