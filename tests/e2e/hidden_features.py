# SPDX-License-Identifier: Apache-2.0
"""IREE's programs as on a machine whose hypervisor hides FARCALL_HIDE_CPU_FEATURES:
there `iree-compile --iree-llvmcpu-target-cpu=host` names what the processor's model
has, then what the machine has. Run as a program this is that compiler: the real one's
path comes first."""
import os
import pathlib
import re
import subprocess
import sys

HIDDEN = [name for name in os.environ.get("FARCALL_HIDE_CPU_FEATURES", "").split(",")
          if name]
CPU = "--iree-llvmcpu-target-cpu="
LOCAL = ["--iree-hal-target-device=local",
         "--iree-hal-local-target-device-backends=llvm-cpu"]


def masked(folder, top):
    """`folder`, a virtual environment's bin; where features are hidden, a stand-in made
    in `top`, with links to the same programs and another iree-compile."""
    if not HIDDEN:
        return folder
    view = top / folder.parent.name
    (view / "bin").mkdir(parents=True)
    for entry in folder.parent.iterdir():
        if entry != folder:
            (view / entry.name).symlink_to(entry)
    for program in folder.iterdir():
        if program.name != "iree-compile":
            (view / "bin" / program.name).symlink_to(program)
    compiler = view / "bin/iree-compile"
    # Commands of pages are run without our variables.
    compiler.write_text(f"#!/bin/sh\nexport FARCALL_HIDE_CPU_FEATURES={','.join(HIDDEN)}\n"
                        f"exec '{sys.executable}' '{__file__}' "
                        f"'{folder}/iree-compile' \"$@\"\n")
    compiler.chmod(0o755)
    return view / "bin"


def host(compiler):
    """What `host` stands for: a processor and its list of features."""
    done = subprocess.run(
        [compiler, "-", *LOCAL, CPU + "host", "--compile-to=preprocessing"],
        input="func.func @f() { return }", capture_output=True, text=True, check=True)
    return [re.search(rf'\b{key} = "([^"]*)"', done.stdout)[1]
            for key in ("cpu", "cpu_features")]


def main(compiler, *arguments):
    arguments = list(arguments)
    if CPU + "host" in arguments:
        model, features = host(compiler)
        features = ",".join([features, *("-" + name for name in HIDDEN)])
        at = arguments.index(CPU + "host")
        arguments[at:at + 1] = [CPU + model, f"{CPU.rstrip('=')}-features={features}"]
    os.execv(compiler, [compiler, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])
