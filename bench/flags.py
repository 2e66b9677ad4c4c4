# SPDX-License-Identifier: Apache-2.0
"""bench/flags.py FARCALL FOLDER WHEEL MODEL…: see bench/flags. This Python has the
packages of tests/requirements-models.txt, and can import tests/models.
"""
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import nets
import numpy

# Options of farcall compile, and flags of iree-compile that are added to those of
# farcall.
UKERNELS = ["--iree-llvmcpu-enable-ukernels=all"]
CONVOLUTIONS = "--iree-dispatch-creation-experimental-set-data-tiling-ops=convolution"
WAYS = [
    ("-O2 --cpu=host", []),
    ("-O0 --cpu=host", []),
    ("-O1 --cpu=host", []),
    ("-O3 --cpu=host", []),
    ("-O2 --cpu=generic", []),
    ("-O2 --cpu=x86-64-v3", []),
    # If a flag is given twice, the last value counts.
    ("-O2 --cpu=host", ["--iree-global-opt-use-im2col-for-convs=false"]),
    ("-O2 --cpu=host", UKERNELS),
    ("-O2 --cpu=host", [*UKERNELS, "--iree-global-opt-use-im2col-for-convs=false",
                        CONVOLUTIONS]),
]


def add_flags(said, flags, module):
    """Compiles again with the command that farcall has shown, and with `flags`. farcall
    has kept its work files."""
    (command,) = (shlex.split(line) for line in said.splitlines() if "iree-llvmcpu" in line)
    command = command[command.index(next(each for each in command
                                         if each.endswith("iree-compile"))):]
    (work,) = (line.split(" are in ")[1] for line in said.splitlines() if " are in " in line)
    without = [each for each in command
               if each.split("=")[0] not in {flag.split("=")[0] for flag in flags}]
    without[without.index("-o") + 1] = str(module)
    done = subprocess.run([*without, *flags], cwd=work, capture_output=True, text=True)
    shutil.rmtree(work)
    module.with_suffix(".farcall.json").unlink()  # it is that of the file before
    return done.returncode == 0


def compiled(command, source, module, options, flags):
    """Compiles. Returns whether it succeeded."""
    done = subprocess.run(
        [command, "compile", source, "-o", module, *options.split(), "-v",
         *(["--keep"] if flags else []), "--tools", pathlib.Path(sys.executable).parent],
        capture_output=True, text=True)
    if done.returncode:
        return False
    return add_flags(done.stderr, flags, module) if flags else True


def call(command, module, inputs):
    """The milliseconds of the fastest of five calls."""
    done = subprocess.run([command, "run", module, *inputs, "--repeat=5", "--print=none",
                           "--save=-"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["min_ns"] / 1e6


def measure(command, folder, wheel, name):
    arguments = nets.write(name, folder, pathlib.Path(wheel).parent)
    inputs = []
    for number, each in enumerate(arguments):
        numpy.save(folder / f"{number}.npy", each)
        inputs.append(f"--input=@{folder}/{number}.npy")
    modules = []
    for number, (options, flags) in enumerate(WAYS):
        module = folder / f"m{number}.vmfb"
        if compiled(command, folder / f"{name}.onnx", module, options, flags):
            modules.append((" ".join([options, *flags]), module))
        else:
            print(f"{name:18} {'-':>9} {'':>6}  {options} {' '.join(flags)}", flush=True)
    best = {way: float("inf") for way, _ in modules}
    for _ in range(int(os.environ.get("ROUNDS", "5"))):
        for way, module in modules:
            best[way] = min(best[way], call(command, module, inputs))
    for way, _ in modules:
        print(f"{name:18} {best[way]:9.3f} {best[way] / best[WAYS[0][0]]:6.2f}  {way}",
              flush=True)


def main(command, folder, wheel, *names):
    print(f"{'model':18} {'ms':>9} {'times':>6}  farcall compile")
    for name in [each for given in names for each in given.split()]:
        measure(command, pathlib.Path(folder), wheel, name)


main(*sys.argv[1:])
