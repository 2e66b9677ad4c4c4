# SPDX-License-Identifier: Apache-2.0
"""Lets IREE's programs believe that a hypervisor hides the features
FARCALL_HIDE_CPU_FEATURES. On such a machine `iree-compile
--iree-llvmcpu-target-cpu=host` first names what the processor's model has, then what
the machine has. Run as a program, this file is that compiler; its first argument is
the path of the real one."""
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
    """Returns `folder`, a virtual environment's bin. If features are hidden, returns a
    folder made in `top` instead, with links to the same programs and another
    iree-compile."""
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
    # Commands of pages are run without our variables, so they are set here.
    compiler.write_text(f"#!/bin/sh\nexport FARCALL_HIDE_CPU_FEATURES={','.join(HIDDEN)}\n"
                        f"exec '{sys.executable}' '{__file__}' "
                        f"'{folder}/iree-compile' \"$@\"\n")
    compiler.chmod(0o755)
    return view / "bin"


def host(compiler):
    """What `host` means: a processor and its list of features."""
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
