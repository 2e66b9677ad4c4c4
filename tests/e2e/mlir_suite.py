# SPDX-License-Identifier: Apache-2.0
"""MLIR's own integration tests, mlir/test/Integration of LLVM's sources: what their RUN
lines say, by the rules of LLVM's test driver. Passes that lower are left out, since
`farcall compile` lowers; KEPT are those that make or change the program under test."""
import dataclasses
import re
import shlex

# What only another processor, a GPU or an emulator runs.
ELSEWHERE = re.compile(r"/(GPU|CUDA|AMX|X86Vector|ArmSVE|ArmSME|ArmNeon|XeGPU|XeVM)/")
KEPT = {"transform-interpreter", "test-transform-dialect-erase-schedule",
        "test-arith-emulate-wide-int", "test-vector-scan-lowering"}
# Makes failed assertions go on. Passes before it say what is asserted, and where.
NOT_FATAL = "test-cf-assert"
# The part of MLIR's sparsifier that turns sparse tensors into loops over memrefs.
SPARSIFIER = ["--linalg-generalize-named-ops", "--sparsification-and-bufferization",
              "--canonicalize", "--sparse-storage-specifier-to-llvm"]
LINE = re.compile(r"//\s*(RUN|DEFINE|REDEFINE):(.*)")
NAMED = re.compile(r"%\{([\w-]+)\}")
# What verifyMemRef says of each difference: on standard error in MLIR's library, too.
DIFFERENCE = re.compile(r"^.* != .* offset = \d+\n", re.M)


@dataclasses.dataclass(frozen=True)
class Run:
    """What is called, and by which words of the file its output is judged."""
    passes: tuple  # of mlir-opt, before the compiler
    entry: str
    prints_result: bool
    check: tuple  # options of FileCheck; None: it must end well

    @property
    def checked(self):
        """Whether the compiler puts in its own assertions, which end a call."""
        return f"--{NOT_FATAL}" not in self.passes


def lines_of(text):
    """(keyword, text) of each line that is for the driver, continued ones joined."""
    before = ""
    for keyword, rest in LINE.findall(text):
        whole = f"{before} {rest.strip()}".strip()
        before = whole[:-1].strip() if whole.endswith("\\") else ""
        if not before:
            yield keyword, whole


def commands(text):
    """The RUN lines: names of DEFINE are replaced by what they stand for."""
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
    """The Runs of a file, each once, without those for other processors."""
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
    """(text, name): a program of the LLVM dialect has no types that say how its functions
    are called, so one that calls its entry is put before it."""
    name = f"call_{entry}"
    caller = (f"func.func @{name}() {{\n  llvm.call @{entry}() : () -> ()\n  return\n}}\n")
    text, count = re.subn(rf"^ *llvm\.func @{entry}\(\)", lambda found: caller + found[0],
                          text, flags=re.M)
    return text, name if count else entry


def printed(stderr):
    return DIFFERENCE.sub("", stderr)
