# SPDX-License-Identifier: Apache-2.0
"""Reads the console blocks of a Markdown page: what a reader would type and see. Also
the reader's environment.

In a ```console block, a line that begins with `$ ` is a command. If it ends in <<'END'
it continues up to the line END. The lines after it are all that it prints, stdout and
stderr together. A line `...` stands for any number of lines.
"""
import os
import re


def commands(page):
    """(line number, command, printed lines) of every command of `page`."""
    found, block, document = [], False, False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if document:
            found[-1][1] += "\n" + line
            document = line != "END"
        elif line.startswith("```"):
            block = line == "```console"
        elif block and line.startswith("$ "):
            found.append([number, line[2:], []])
            document = line.endswith("<<'END'")
        elif block:
            found[-1][2].append(line)
    return found


def matches(expected, got):
    pattern = "\n".join(".*" if line == "..." else re.escape(line)
                        for line in expected)
    return re.fullmatch(pattern, got.rstrip("\n"), re.S) is not None


def user_environment():
    """This process's environment without the variables that configure tests and builds:
    farcalld refuses a FARCALL_* that it does not know."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("FARCALL_") or name == "FARCALL_ISOLATION"}
