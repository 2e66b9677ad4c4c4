# SPDX-License-Identifier: Apache-2.0
"""Shared by sip.py and v1.py: random texts and damaged ones are given to `forms`, and
its answers are compared with those of a reader that was written from the
specification."""
import collections
import json
import random
import subprocess


def damage(text, chance, pieces):
    """Makes one to three small changes to the text."""
    text = bytearray(text)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.randint(1, 4))
        change = chance.randrange(5)
        if change == 0:
            del text[at:end]
        elif change == 1:
            text[at:at] = chance.choice(pieces)
        elif change == 2:
            text[at:end] = chance.choice(pieces)
        elif change == 3:
            text[at:at] = text[chance.randrange(len(text) + 1):][:chance.randint(1, 8)]
        elif at < len(text):
            text[at] = chance.randrange(256)
    return bytes(text)


def answers(program, form, texts):
    lines = "".join(f"{form}\t{text.hex()}\n" for text in texts)
    done = subprocess.run([program], input=lines, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    replies = done.stdout.splitlines()
    assert len(replies) == len(texts), (len(replies), len(texts))
    for reply in replies:
        if reply == "no":
            yield None
        else:
            _, own, tree = reply.split(" ")
            yield bytes.fromhex(own), json.loads(bytes.fromhex(tree))


def compare(program, form, count, make, spoil, read, tree_of):
    """`make(chance)` makes a text, `spoil(text, chance)` damages it. `read(text)` is
    its canonical text and its tree, or None if it breaks a rule.
    `tree_of(signature)` is the tree of canonical JSON."""
    chance = random.Random(count)
    texts = [make(chance) for _ in range(count)]
    texts += [spoil(text, chance) for text in texts]
    seen = collections.Counter()
    for text, found in zip(texts, answers(program, form, texts)):
        wanted = read(text)
        seen["refused" if wanted is None else "read"] += 1
        if found is None or wanted is None:
            assert found is wanted, (text, wanted, found)
            continue
        assert found[0] == wanted[0], (text, wanted[0], found[0])
        assert tree_of(found[1]) == wanted[1], (text, wanted[1], found[1])
        again = read(found[0])
        assert again and again[0] == found[0], (text, found[0])
    print(f"{form}: {len(texts)} texts, {dict(seen)}")
    assert seen["read"] >= count and seen["refused"] > count / 4, seen
