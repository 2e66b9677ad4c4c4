# SPDX-License-Identifier: Apache-2.0
"""Reads and writes V1 metadata by the specification's list of type records and the
rules that docs/abi.md adds, without using core/abi. A tree is the parsed JSON,
without types that have no name."""
import copy
import json
import re
import sys

from forms import compare, damage

DEPTH = 32
KEY = 1024
NUMBERED = re.compile(r"[if][0-9]+")
OTHERS = ("bf16", "complex<f32>", "complex<f64>", "unknown")


class Broken(Exception):
    pass


def need(good):
    if not good:
        raise Broken


class Record:
    """Writes records. `depth` is the number of records around one; `keys` must be text."""

    def __init__(self, argument):
        self.argument = argument
        self.keyword = None
        self.kwargs = False

    def key(self, key):
        need(isinstance(key, str) and len(json.dumps(key, ensure_ascii=False)) <= KEY)
        return key

    def word(self, word):
        need(isinstance(word, str) and (NUMBERED.fullmatch(word) or word in OTHERS))
        return word

    def dims(self, rest):
        need(rest)
        rank, dims = rest[0], rest[1:]
        if rank is None:
            need(not dims)
            return [None]
        sizes = [whole(each) for each in [rank, *[dim for dim in dims if dim is not None]]]
        need(sizes[0] <= 32 and sizes[0] == len(dims))
        given = iter(sizes[1:])
        return [sizes[0], *[None if dim is None else next(given) for dim in dims]]

    def value(self, record, depth=0):
        if record is None:
            return None
        if isinstance(record, str):
            return self.word(record)
        need(isinstance(record, list) and record and isinstance(record[0], str))
        tag, rest = record[0], record[1:]
        if tag == "ndarray" and rest and not isinstance(rest[0], list):
            return [tag, None if rest[0] is None else self.word(rest[0]), *self.dims(rest[1:])]
        need(depth < DEPTH)
        if tag == "named":
            need(self.argument and depth == 0 and len(rest) == 2)
            self.keyword = self.key(rest[0])
            slot = self.value(rest[1], depth + 1)
            return ["named", self.keyword, slot] if self.keyword else slot
        if tag == "ndarray":
            need(rest)
            return [tag, self.value(rest[0], depth + 1), *self.dims(rest[1:])]
        if tag in ("slist", "stuple"):
            return [tag, *[self.value(item, depth + 1) for item in rest]]
        if tag == "py_homogeneous_list":
            need(len(rest) == 1)
            return [tag, self.value(rest[0], depth + 1)]
        need(tag == "sdict" or tag == "sdict_kwargs" and self.argument and depth == 0)
        self.kwargs |= tag == "sdict_kwargs"
        need(all(isinstance(item, list) and len(item) == 2 for item in rest))
        keys = [self.key(item[0]) for item in rest]
        need(len(set(keys)) == len(keys))
        return [tag, *[[key, self.value(item[1], depth + 1)]
                       for key, item in zip(keys, rest)]]


def whole(number):
    need(isinstance(number, (int, float)) and not isinstance(number, bool))
    need(number == int(number) if abs(number) < float("inf") else False)
    need(0 <= number < 1 << 63)
    return int(number)


def members(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a member comes twice")
    return dict(pairs)


def refuse(word):
    raise ValueError(word)


def read(text):
    try:
        text = text.decode()
        document = json.loads(text, object_pairs_hook=members, parse_constant=refuse)
        json.dumps(document, ensure_ascii=False).encode()  # no half of a pair
    except (ValueError, RecursionError):
        return None
    try:
        need(isinstance(document, dict) and isinstance(document.get("a"), list) and
             isinstance(document.get("r"), list))
        arguments, names = [], []
        for number, record in enumerate(document["a"]):
            reader = Record(True)
            arguments.append(reader.value(record))
            if reader.keyword:
                names.append(reader.keyword)
            need(not reader.kwargs or number + 1 == len(document["a"]))
        need(len(set(names)) == len(names))
        results = [Record(False).value(record) for record in document["r"]]
    except (Broken, OverflowError):
        return None
    tree = {"a": arguments, "r": results, "v": 1}
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False).encode(), tree


def record_of(kind):
    """The record for a type of canonical JSON."""
    name, shape = kind["kind"], kind.get("shape", [])
    dims = [None] if shape is None else [len(shape), *shape]
    if name == "scalar":
        return kind["dtype"]
    if name == "opaque":
        return kind["type"]
    if name == "tensor":
        return ["ndarray", kind["dtype"], *dims]
    if name == "refarray":
        return ["ndarray", record_of(kind["items"]), *dims]
    if name == "list":
        return ["py_homogeneous_list", record_of(kind["items"])]
    if name == "tuple":
        return ["slist" if kind["flavor"] == "list" else "stuple",
                *map(record_of, kind["items"])]
    if name == "dict":
        return ["sdict_kwargs" if kind.get("flavor") else "sdict",
                *[[field["name"], record_of(field["type"])] for field in kind["fields"]]]
    return None if name == "null" else "unknown"


def tree_of(signature):
    arguments = [record_of(each["type"]) for each in signature["arguments"]]
    named = [["named", each["name"], record] if each.get("name") else record
             for each, record in zip(signature["arguments"], arguments)]
    return {"a": named, "r": [record_of(each["type"]) for each in signature["results"]],
            "v": 1}


WORDS = ["i1", "i8", "i16", "i32", "i64", "f16", "f32", "f64", "bf16", "complex<f32>",
         "complex<f64>", "unknown", "i7", "i24", "i128", "f80", "f128", "i08"]
KEYS = ["a", "b", "", "0", "é", "a\"b", "x" * 40, "\u2028"]


def make_record(chance, depth):
    kind = chance.randrange(8 if depth else 3)
    if kind == 0:
        return chance.choice([*WORDS, None])
    if kind in (1, 2, 3):
        element = chance.choice([*WORDS, None])
        if kind == 3:
            element = make_record(chance, depth - 1)
        rank = chance.choice([None, 0, 1, 2, 4])
        return ["ndarray", element, rank,
                *[chance.choice([None, 0, 1, 3, 1 << 40]) for _ in range(rank or 0)]]
    if kind == 4:
        return ["py_homogeneous_list", make_record(chance, depth - 1)]
    count = chance.randrange(4)
    if kind == 5:
        return ["sdict", *[[key, make_record(chance, depth - 1)]
                           for key in chance.sample(KEYS, count)]]
    return [chance.choice(["slist", "stuple"]),
            *[make_record(chance, depth - 1) for _ in range(count)]]


def make(chance):
    arguments = [make_record(chance, chance.randrange(5)) for _ in range(chance.randrange(4))]
    named = chance.sample(KEYS[:2] + KEYS[3:], len(arguments))
    arguments = [["named", name, record] if chance.random() < 0.3 else record
                 for name, record in zip(named, arguments)]
    if chance.random() < 0.2:
        arguments.append(["sdict_kwargs", *[[key, make_record(chance, 2)]
                                            for key in chance.sample(KEYS, 2)]])
    document = {"a": arguments, "r": [make_record(chance, chance.randrange(5))
                                      for _ in range(chance.randrange(4))]}
    if chance.random() < 0.7:
        document["v"] = 1
    return json.dumps(document, ensure_ascii=chance.random() < 0.5).encode()


PIECES = [b"null", b",", b"[", b"]", b'"i32"', b'"unknown"', b'"named"', b'"slist"', b'["sdict"',
          b'"sdict_kwargs"', b"1", b"0", b"-1", b"1.0", b"1e2", b'"a"', b"{", b"}", b":", b'"',
          b"\\", b"\xff", b"\\ud800", b" ", b"true", b"NaN", b'["ndarray","f32",1,2]']

VALUES = [None, True, -1, 0, 1, 33, 1.0, 1.5, 1e300, "a", "i32", "f", "i", "int32", "named",
          "sdict", "sdict_kwargs", "ndarray", "slist", [], {}, [[]], ["named", "n", "i32"],
          ["sdict_kwargs"], ["slist"], ["ndarray"], ["ndarray", "f32", 1, 2],
          ["ndarray", ["slist"], 1, 2], ["py_homogeneous_list"], ["a", "i32"]]


def spoil(text, chance):
    """Changes bytes, or changes a record so that the text usually stays JSON."""
    if chance.random() < 0.3:
        return damage(text, chance, PIECES)
    document = json.loads(text)
    for _ in range(chance.randint(1, 2)):
        inner = document[chance.choice("ar")]
        while inner and chance.random() < 0.7:
            lists = [each for each in inner if isinstance(each, list)]
            if not lists:
                break
            inner = chance.choice(lists)
        at = chance.randrange(len(inner) + 1)
        inner[at:at + chance.randrange(2)] = copy.deepcopy(chance.choices(VALUES, k=chance.randrange(2)))
    return json.dumps(document).encode()


if __name__ == "__main__":
    compare(sys.argv[1], "v1", int(sys.argv[2]), make, spoil, read, tree_of)
