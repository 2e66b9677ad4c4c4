# SPDX-License-Identifier: Apache-2.0
"""Reads and writes SIP signatures by the grammar of the specification and the rules
that docs/abi.md adds, without using core/abi:
  sig := I(value?) R(value?)   value := '_'n | 'S'(('k'i value)*) | 'D'(('K'(name)
  value)*)
A tree is a raw index, a list (with None for gaps), or a dict."""
import sys

from forms import compare, damage

DEPTH = 32        # nested structures
NODES = 16384     # of one signature, gaps included
SIZE = 1 << 16    # bytes of a text
INT = 1 << 31


class Broken(Exception):
    pass


class Reader:
    def __init__(self, text, start=0, end=None):
        self.text, self.at = text, start
        self.end = len(text) if end is None else end

    def need(self, good):
        if not good:
            raise Broken

    def tag(self):
        self.need(self.at < self.end)
        self.at += 1
        return self.text[self.at - 1:self.at]

    def digits(self):
        start = self.at
        while self.at < self.end and self.text[self.at:self.at + 1] in b"0123456789":
            self.at += 1
        self.need(self.at > start)
        return int(self.text[start:self.at])

    def integer(self):
        negative = self.text[self.at:self.at + 1] == b"-" and self.at < self.end
        self.at += negative
        number = -self.digits() if negative else self.digits()
        self.need(-INT <= number < INT)
        return number

    def span(self):
        size = self.digits()
        self.need(1 <= size <= self.end - self.at)
        self.need(self.text[self.at:self.at + 1] == b"!")
        inner = Reader(self.text, self.at + 1, self.at + size)
        self.at += size
        return inner

    def done(self):
        return self.at == self.end

    def rest(self):
        return self.text[self.at:self.end]


class Side:
    def __init__(self):
        self.leaves, self.nodes = [], 0

    def value(self, reader, depth=0):
        tag = reader.tag()
        self.nodes += 1
        if tag == b"_":
            number = reader.integer()
            reader.need(number >= 0)
            self.leaves.append(number)
            return number
        reader.need(tag in b"SD" and depth < DEPTH)
        inner = reader.span()
        return (self.sequence if tag == b"S" else self.dictionary)(inner, depth + 1)

    def sequence(self, reader, depth):
        items = []
        while not reader.done():
            reader.need(reader.tag() == b"k")
            index = reader.integer()
            reader.need(index >= len(items))
            self.nodes += index - len(items)
            reader.need(self.nodes <= NODES)
            items += [None] * (index - len(items))
            items.append(self.value(reader, depth))
        return items

    def dictionary(self, reader, depth):
        items = {}
        while not reader.done():
            reader.need(reader.tag() == b"K")
            name = reader.span().rest()
            reader.need(b"\0" not in name and name not in items)
            try:
                name.decode()
            except UnicodeDecodeError:
                raise Broken from None
            items[name] = self.value(reader, depth)
        return items


def read_side(reader, tag, used_once):
    reader.need(reader.tag() == tag)
    inner, side = reader.span(), Side()
    tree = None if inner.done() else side.value(inner)
    reader.need(inner.done())
    if used_once:
        reader.need(sorted(side.leaves) == list(range(len(side.leaves))))
    else:
        reader.need(all(number < NODES for number in side.leaves))
    return tree, side.nodes


def span(tag, content):
    return tag + str(len(content) + 1).encode() + b"!" + content


def write_value(tree):
    if isinstance(tree, int):
        return b"_%d" % tree
    if isinstance(tree, list):
        return span(b"S", b"".join(b"k%d" % index + write_value(item)
                                   for index, item in enumerate(tree) if item is not None))
    return span(b"D", b"".join(span(b"K", name) + write_value(item)
                               for name, item in sorted(tree.items())))


def write(inputs, results):
    return b"".join(span(tag, b"" if tree is None else write_value(tree))
                    for tag, tree in ((b"I", inputs), (b"R", results)))


def read(text):
    if len(text) > SIZE:
        return None
    try:
        reader = Reader(text)
        inputs, inputs_nodes = read_side(reader, b"I", True)
        results, results_nodes = read_side(reader, b"R", False)
        reader.need(reader.done() and inputs_nodes + results_nodes <= NODES)
    except Broken:
        return None
    return write(inputs, results), (inputs, results)


def type_tree(kind):
    if kind["kind"] == "tuple":
        return [type_tree(item) for item in kind["items"]]
    if kind["kind"] == "dict":
        return {field["name"].encode(): type_tree(field["type"]) for field in kind["fields"]}
    return None if kind["kind"] == "null" else kind["raw_index"]


def tree_of(signature):
    arguments = signature["arguments"]
    root = signature.get("root")
    if root == "tuple":
        inputs = [type_tree(each["type"]) for each in arguments]
    elif root == "dict":
        inputs = {each["name"].encode(): type_tree(each["type"]) for each in arguments}
    else:
        inputs = type_tree(arguments[0]["type"]) if arguments else None
    results = signature["results"]
    return inputs, type_tree(results[0]["type"]) if results else None


NAMES = ["", "a", "b", "a!1", "0", "input_ids", "é", "x" * 9, "x" * 10, "-1", "K1!"]


def number(chance, value):
    """A number of the grammar; it may have leading zeros."""
    return b"0" * (chance.random() < 0.1) + b"%d" % value


def make_value(chance, raw, depth):
    if depth == 0 or chance.random() < 0.3:
        return b"_" + number(chance, raw())
    content, count = b"", chance.choice([0, 1, 1, 2, 2, 3, 5])
    if chance.random() < 0.5:
        for name in chance.sample(NAMES, count):
            content += span(b"K", name.encode()) + make_value(chance, raw, depth - 1)
        return span(b"D", content)
    index = 0
    for _ in range(count):
        index += chance.choice([0, 0, 0, 0, 1, 7])
        content += b"k" + number(chance, index) + make_value(chance, raw, depth - 1)
        index += 1
    return span(b"S", content)


def make(chance):
    """Each raw input is used once, in any order, so their indices are shuffled
    afterwards."""
    while True:
        used = []

        def once():
            used.append(len(used))
            return 900 + used[-1]  # three digits for each, mended below
        depth = chance.randrange(6)
        inputs = b"" if chance.random() < 0.1 else make_value(chance, once, depth)
        if len(used) < 90:
            break
    order = used[:]
    chance.shuffle(order)
    for index, raw in enumerate(order):
        inputs = inputs.replace(b"_%d" % (900 + index), b"_%03d" % raw) \
                       .replace(b"_0%d" % (900 + index), b"_%04d" % raw)
    results = b"" if chance.random() < 0.1 else \
        make_value(chance, lambda: chance.randrange(12), chance.randrange(5))
    return span(b"I", inputs) + span(b"R", results)


PIECES = [b"_0", b"k0", b"k1", b"K1!", b"K2!a", b"S1!", b"D1!", b"R1!", b"I1!", b"!", b"-",
          b"0", b"9", b"1", b"k-1", b"_-1", b"_-0", b"\0", b"\xff", b"_99999999999", b"+1"]

if __name__ == "__main__":
    compare(sys.argv[1], "sip", int(sys.argv[2]), make,
            lambda text, chance: damage(text, chance, PIECES), read, tree_of)
