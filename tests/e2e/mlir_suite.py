# SPDX-License-Identifier: Apache-2.0
"""MLIR's own integration tests (mlir/test/Integration of LLVM's sources): reads their
RUN lines, by the rules of LLVM's test driver. Passes that lower are left out,
because `farcall compile` lowers. KEPT are passes that make or change the program
under test."""
import dataclasses
import re
import shlex

# Tests that only another processor, a GPU or an emulator can run.
ELSEWHERE = re.compile(r"/(GPU|CUDA|AMX|X86Vector|ArmSVE|ArmSME|ArmNeon|XeGPU|XeVM)/")
KEPT = {"transform-interpreter", "test-transform-dialect-erase-schedule",
        "test-arith-emulate-wide-int", "test-vector-scan-lowering"}
# With this pass, a failed assertion does not end the program. The passes before it tell
# which assertion failed, and where.
NOT_FATAL = "test-cf-assert"
# The part of MLIR's sparsifier that turns sparse tensors into loops over memrefs.
SPARSIFIER = ["--linalg-generalize-named-ops", "--sparsification-and-bufferization",
              "--canonicalize", "--sparse-storage-specifier-to-llvm"]
LINE = re.compile(r"//\s*(RUN|DEFINE|REDEFINE):(.*)")
NAMED = re.compile(r"%\{([\w-]+)\}")
# The lines that verifyMemRef prints for each difference. MLIR's library prints them to
# standard error, too.
DIFFERENCE = re.compile(r"^.* != .* offset = \d+\n", re.M)


@dataclasses.dataclass(frozen=True)
class Run:
    """What is called, and the options of FileCheck that judge its output."""
    passes: tuple  # of mlir-opt, before the compiler
    entry: str
    prints_result: bool
    check: tuple  # options of FileCheck; None: it must end well

    @property
    def checked(self):
        """True if the compiler adds its own assertions, which end a call."""
        return f"--{NOT_FATAL}" not in self.passes


def lines_of(text):
    """(keyword, text) of each line for the driver. Continued lines are joined."""
    before = ""
    for keyword, rest in LINE.findall(text):
        whole = f"{before} {rest.strip()}".strip()
        before = whole[:-1].strip() if whole.endswith("\\") else ""
        if not before:
            yield keyword, whole


def commands(text):
    """The RUN lines, in which names of DEFINE are replaced."""
    names = {}
    for keyword, line in lines_of(text):
        if keyword == "RUN":
            while NAMED.search(line):
                line = NAMED.sub(lambda name: names[name[1]], line)
            yield line
        else:
            name, _, value = line.partition("=")
            names[name.strip()[2:-1]] = value.strip()


def passes_of(words):
    options = ["--" + word.lstrip("-") for word in words if word.startswith("-")]
    if f"--{NOT_FATAL}" in options:
        return options[:options.index(f"--{NOT_FATAL}") + 1]
    if any(each.startswith("--sparsifier=") for each in options):
        return SPARSIFIER
    return [each for each in options if each[2:].partition("=")[0] in KEPT]


def option(words, name, otherwise):
    for word, after in zip(words, [*words[1:], ""]):
        if word.lstrip("-") == name:
            return after
        if word.lstrip("-").startswith(f"{name}="):
            return word.partition("=")[2]
    return otherwise


def runs_of(path):
    """The different Runs of a file, without those for other processors."""
    found, passes = {}, []
    for line in commands(path.read_text()):
        run, check = None, None
        for command in re.split(r"\s(?:\|+|&&)\s", f" {line} "):
            words = shlex.split(command)
            if "FileCheck" in words:
                check = tuple(word for word in words
                              if re.match("--?(check-prefix|match-full)", word))
            elif {"mlir-runner", "%lli"} & {*words}:
                run = words
            if "mlir-opt" in words:
                passes += passes_of(words)
        if run and not line.startswith("%if"):
            entry = option(run, "e", option(run, "entry-function", "main"))
            result = option(run, "entry-point-result", "void")
            found[Run(tuple(passes), entry, result != "void", check)] = None
        if run:
            passes = []
    return list(found)


def callable_text(text, entry):
    """(text, name). In the LLVM dialect, types do not tell how functions are called. So
    for such a program, a function that calls its entry is put before it."""
    name = f"call_{entry}"
    caller = (f"func.func @{name}() {{\n  llvm.call @{entry}() : () -> ()\n  return\n}}\n")
    text, count = re.subn(rf"^ *llvm\.func @{entry}\(\)", lambda found: caller + found[0],
                          text, flags=re.M)
    return text, name if count else entry


def printed(stderr):
    return DIFFERENCE.sub("", stderr)
