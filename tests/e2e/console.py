# SPDX-License-Identifier: Apache-2.0
"""The console blocks of a Markdown page, what a reader would type and see; and the
reader's environment.

In a ```console block a line that begins with `$ ` is a command, which goes on to
the line END if it ends in <<'END'; what follows is all it prints, stdout and
stderr as they come. A line `...` stands for any lines.
"""
import os
import re


def commands(page):
    """(line number, command, lines it prints) of every command of `page`."""
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
    """This process's environment, less the variables that tests and builds are told
    things by: farcalld refuses a FARCALL_* it does not know."""
    return {name: value for name, value in os.environ.items()
            if not name.startswith("FARCALL_") or name == "FARCALL_ISOLATION"}
