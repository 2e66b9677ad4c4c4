# SPDX-License-Identifier: Apache-2.0
"""bench/lowering.py IREE FARCALL FOLDER CPU: see bench/lowering; for one processor. IREE
is the folder of IREE's programs, FOLDER is for modules.
"""
import pathlib
import subprocess
import sys
import time

import numpy

import farcall

MATMUL = """func.func @run(%a: tensor<SHAPExFROM>, %b: tensor<SHAPExFROM>) -> tensor<SHAPExTO> {
  %zero = arith.constant ZERO : TO
  %empty = tensor.empty() : tensor<SHAPExTO>
  %init = linalg.fill ins(%zero : TO) outs(%empty : tensor<SHAPExTO>) -> tensor<SHAPExTO>
  %0 = linalg.matmul ins(%a, %b : tensor<SHAPExFROM>, tensor<SHAPExFROM>)
      outs(%init : tensor<SHAPExTO>) -> tensor<SHAPExTO>
  return %0 : tensor<SHAPExTO>
}
"""
CHAIN = """func.func @run(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.mulf %a, %b : tensor<?xf32>
  %1 = arith.addf %0, %a : tensor<?xf32>
  %2 = arith.mulf %1, %1 : tensor<?xf32>
  %3 = arith.subf %2, %b : tensor<?xf32>
  %4 = arith.divf %3, %a : tensor<?xf32>
  %5 = arith.maximumf %4, %b : tensor<?xf32>
  return %5 : tensor<?xf32>
}
"""
SMOOTH = """func.func @run(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %0 = arith.mulf %a, %b : tensor<?xf32>
  %1 = arith.addf %0, %a : tensor<?xf32>
  %2 = math.exp %1 : tensor<?xf32>
  %3 = arith.subf %2, %b : tensor<?xf32>
  %4 = math.tanh %3 : tensor<?xf32>
  %5 = arith.maximumf %4, %a : tensor<?xf32>
  return %5 : tensor<?xf32>
}
"""


def matmul(shape, element, result):
    source = MATMUL.replace("SHAPE", shape).replace("FROM", element).replace("TO", result)
    return source.replace("ZERO", "0.0" if element[0] == "f" else "0")


random = numpy.random.default_rng(1)
PROGRAMS = [
    ("matmul 512 f32", matmul("512x512", "f32", "f32"), (512, 512), "f4"),
    ("matmul 512 i8", matmul("512x512", "i8", "i32"), (512, 512), "i1"),
    ("arithmetic 1M f32", CHAIN, (1 << 20,), "f4"),
    ("exp and tanh 1M f32", SMOOTH, (1 << 20,), "f4"),
]
ROADS = [("mlir", [], ".so"), ("iree", [], ".vmfb"), ("unchecked", ["--unchecked"], ".so")]


def draw(shape, dtype):
    if dtype[0] == "i":
        return random.integers(-128, 128, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def compile_for(command, tools, folder, cpu, source):
    functions = {}
    (folder / "m.mlir").write_text(source)
    for name, options, suffix in ROADS:
        road = "iree" if name == "iree" else "mlir"
        options = options + (["--tools", tools] if road == "iree" else [])
        module = folder / f"{name}{suffix}"
        subprocess.run([command, "compile", folder / "m.mlir", f"--road={road}",
                        f"--cpu={cpu}", "-o", module, *options], check=True,
                       stdout=subprocess.DEVNULL)
        functions[name] = farcall.load(module).run
    return functions


def measure(function, arguments):
    count, begin = 0, time.process_time()
    while True:
        function(*arguments)
        count += 1
        spent = time.process_time() - begin
        if spent > 0.1:
            return spent / count * 1e3


def main(tools, command, folder, cpu):
    print(f"{cpu:24} {'mlir/ms':>9} {'iree/ms':>9} {'ratio':>6} {'unchecked/ms':>13}")
    for name, source, shape, dtype in PROGRAMS:
        functions = compile_for(command, tools, pathlib.Path(folder), cpu, source)
        arguments = [draw(shape, dtype), draw(shape, dtype)]
        expected, got = functions["iree"](*arguments), functions["mlir"](*arguments)
        assert numpy.allclose(got, expected, rtol=1e-3, atol=1e-3), name
        best = {road: float("inf") for road in functions}
        for _ in range(7):
            for road, function in functions.items():
                best[road] = min(best[road], measure(function, arguments))
        print(f"{name:24} {best['mlir']:9.3f} {best['iree']:9.3f} "
              f"{best['mlir'] / best['iree']:6.2f} {best['unchecked']:13.3f}", flush=True)


main(*sys.argv[1:])
