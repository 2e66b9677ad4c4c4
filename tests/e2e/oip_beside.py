# SPDX-License-Identifier: Apache-2.0
"""The reviewed list of how our answers differ from Triton's: triton/differences.json,
rows of what differs, which requests, and why ours is better."""
import fnmatch
import json

from oip_requests import FOLDER, ask, difference, read


def reviewed():
    return json.loads((FOLDER / "differences.json").read_text())


def row_of(rows, name, differs):
    for row in rows:
        if row["difference"] == differs and any(
                fnmatch.fnmatchcase(name, each) for each in row["requests"]):
            return row
    return None


def compare(server):
    """What differs and is in no row, and the rows that nothing needs."""
    rows, unknown, used = reviewed(), [], []
    for name, request in read().items():
        differs = difference(request["triton"], ask(server, request))
        row = differs and row_of(rows, name, differs)
        if row:
            used.append(row)
        elif differs:
            unknown.append((name, differs))
    return unknown, [row for row in rows if row not in used]
