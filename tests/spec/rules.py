# SPDX-License-Identifier: Apache-2.0
"""Every rule in rules.md names tests, and each named test must exist: as a function of
a test file, or as a table row whose name begins so. Tests that are still missing are
counted; their number may only fall."""
import collections
import pathlib
import re

TESTS = pathlib.Path(__file__).parent.parent
OPEN = 0
ROW = re.compile(r"\| (?P<rule>[^|]+) \| (?P<tests>[^|]+) \|")
TEST = re.compile(r"(?P<open>open )?`(?P<file>\S+) (?P<name>[^`]+)`")


def is_there(file, name):
    path = TESTS / file
    if not path.exists():
        return False
    text = path.read_text()
    if f"static void {name}(" in text:
        return f"FC_TEST({name})" in text  # it is run
    if re.fullmatch(r"\w+", name) and path.suffix == ".py":
        return re.search(rf"^def {name}\(", text, re.M) is not None
    return f'"{name}"' in text


def main():
    rules, wrong, came, opened = collections.Counter(), [], [], set()
    for line in (TESTS / "spec/rules.md").read_text().splitlines():
        row = ROW.fullmatch(line)
        if not row or row["rule"] == "rule" or row["rule"].startswith("---"):
            continue
        rules[row["rule"]] += 1
        found = list(TEST.finditer(row["tests"]))
        rest = TEST.sub("", row["tests"]).replace(",", "").strip()
        if not found or rest:
            wrong.append(f"{row['rule']}: cannot read '{row['tests']}'")
        for test in found:
            there = is_there(test["file"], test["name"])
            shown = f"{row['rule']}: {test['file']} {test['name']}"
            if test["open"]:
                opened.add((row["rule"], test["name"]))
                came += [shown] if there else []
            elif not there:
                wrong.append(shown)
    wrong += [f"{rule}: comes twice" for rule, count in rules.items() if count > 1]
    print(f"{len(rules)} rules, {len(opened)} tests are open")
    assert len(rules) > 80
    assert not wrong, "no such test:\n" + "\n".join(wrong)
    assert not came, "no longer open:\n" + "\n".join(came)
    assert len(opened) == OPEN, f"OPEN is {OPEN}, rules.md has {len(opened)}"


if __name__ == "__main__":
    main()
