# SPDX-License-Identifier: Apache-2.0
"""The console blocks of a Markdown page: what a reader would type, and see.

In a ```console block a line that begins with `$ ` is a command, which goes on to
the line END if it ends in <<'END'; what follows is all it prints, stdout and
stderr as they come. A line `...` stands for any lines.
"""
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
