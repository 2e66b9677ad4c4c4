# SPDX-License-Identifier: Apache-2.0
"""The reviewed list of differences between our answers and Triton's:
triton/differences.json. Each row says what differs, in which requests, and why our
answer is better."""
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
    """The differences that are in no row, and the rows that match no difference."""
    rows, unknown, used = reviewed(), [], []
    for name, request in read().items():
        differs = difference(request["triton"], ask(server, request))
        row = differs and row_of(rows, name, differs)
        if row:
            used.append(row)
        elif differs:
            unknown.append((name, differs))
    return unknown, [row for row in rows if row not in used]
