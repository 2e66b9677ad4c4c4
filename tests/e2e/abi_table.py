# SPDX-License-Identifier: Apache-2.0
"""The table of tests/modules/mlir/README.md: every sample function, its signature, and
one call with its answer. scripts/abi-table writes the table; test_corpus compares
it.
"""
import json
import pathlib

from corpus import CASES, ELSEWHERE, Case

PAGE = pathlib.Path(__file__).resolve().parents[2] / "tests/modules/mlir/README.md"
BEGIN = "<!-- begin of the table scripts/abi-table writes -->\n"
END = "<!-- end of the table -->\n"
NOTES = {
    "ownership/counter": "counts calls; they take turns",
    "ownership/dangling": "500 `bad_result`: a stack address",
}
LONGEST = 60


def cell(value):
    text = value if isinstance(value, str) else json.dumps(
        value, separators=(",", ":"))
    if len(text) > LONGEST:
        text = text[:LONGEST - 1] + "…"
    return "`" + text.replace("|", "\\|") + "`"


def table(server):
    seen = {}
    for case in CASES:
        seen.setdefault(case.function, case)
    lines = ["| function | signature | call | results |", "|---|---|---|---|"]
    for function in sorted([*seen, *ELSEWHERE]):
        signature = server.get("/api/v1/functions/" + function).json
        text = signature["text"].removeprefix(signature["name"])
        case = seen.get(function)
        if isinstance(case, Case):
            call = cell(case.arguments)
            answer = cell(server.results(function, case.arguments))
        else:
            call = ""
            answer = NOTES.get(function) or "not callable: " + signature["reason"]
        lines.append(f"| {function} | `{text}` | {call} | {answer} |")
    return "\n".join(lines) + "\n"


def written():
    text = PAGE.read_text()
    return text.split(BEGIN)[1].split(END)[0]


def write(new):
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + new + END + rest.split(END)[1])
