# SPDX-License-Identifier: Apache-2.0
"""Shared by the importers of `farcall compile`: the command line, error messages, and the
sidecar.

An importer is run as SCRIPT SOURCE ORIGINAL MLIR REPORT [DIM=]N,… …: it reads SOURCE, a
copy of the file ORIGINAL, and writes MLIR and REPORT. If it fails, it prints the reason
in lines `farcall-error: TEXT` and `farcall-hint: TEXT`, which `farcall compile` shows.
"""
import itertools
import json
import re
import sys
import traceback


class Refused(Exception):
    """The model cannot be compiled; `hint` is what to try."""

    def __init__(self, message, hint=""):
        super().__init__(message)
        self.hint = hint


def one_line(text):
    """The first line of a message that is not blank, shortened."""
    lines = [line.strip() for line in str(text).splitlines() if line.strip()]
    return (lines or ["no reason given"])[0][:400]


def run(main, install):
    """Calls main(source, original, mlir, report, sizes) and exits."""
    try:
        main(*sys.argv[1:5], sys.argv[5:])
    except Refused as refused:
        say("error", refused)
        if refused.hint:
            say("hint", refused.hint)
    except ImportError as missing:
        traceback.print_exc()
        say("missing", "yes")
        say("error", f"{sys.executable} has no package {missing.name or missing}: "
                     f"`{install}` installs it")
    except Exception as failure:  # whatever a framework raises
        traceback.print_exc()
        say("error", f"{type(failure).__name__}: {one_line(failure)}")
    else:
        return
    sys.exit(1)


def say(what, text):
    print(f"farcall-{what}: {one_line(text)}", file=sys.stderr)


def plain(name):
    """A function's name, changed so that it needs no quotes in a URL."""
    return re.sub(r"[^A-Za-z0-9_.$-]", "_", name) or "main"


def read_sizes(given, names, default):
    """The sizes of --batch: a list with a dict {dim: size} for every combination. `names`
    are the dims that can have sizes. A size without a dim is for the dim `default`."""
    chosen = {}
    for text in given:
        name, _, sizes = text.rpartition("=")
        if not name and default is None:
            raise Refused("--batch: the model has no dim without a size")
        name = name or default
        if name not in names:
            raise Refused(f"--batch={text}: the model has no dim '{name}'",
                          f"it has {', '.join(names)}" if names else "")
        chosen[name] = sorted({int(size) for size in sizes.split(",") if size})
    if not all(chosen.values()):
        raise Refused("--batch: no size is named")
    rows = [dict(zip(chosen, row)) for row in itertools.product(*chosen.values())]
    if len(rows) > 256:
        raise Refused(f"--batch: {len(rows)} combinations of sizes, at most 256")
    return rows


def varying(rows):
    """The dims that have different sizes in `rows`."""
    return {name for name in rows[0] if len({row[name] for row in rows}) > 1}


def sized_name(name, row):
    return "_".join([name, *(str(size) for size in row.values())])


def tensor(dtype, shape, names=None):
    """A tensor's type as a signature has it. `names` are the names of the dims; dims of
    one name are equal."""
    made = {"kind": "tensor", "dtype": dtype, "shape": shape}
    if names and any(names):
        made["dims"] = names
    return made


def write_report(path, functions, group=None, notes=()):
    """Writes the report. `functions` become the sidecar's functions. `group` is the name
    under which callers see them as one function, for several sizes."""
    sidecar = {"farcall": 1, "abi": "module", "functions": functions}
    if group and len(functions) > 1:
        sidecar["sizes"] = [group]
    with open(path, "w", encoding="utf-8") as report:
        json.dump({"sidecar": sidecar, "notes": list(notes)}, report)
