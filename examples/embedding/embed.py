#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks farcalld for embeddings of sentences and prints how alike they are.

    embed.py [--server=URL] [--vocab=FILE] SENTENCE SENTENCE…

Needs nothing but Python: how words become tokens is below, and a call is one
POST of two arrays of numbers.
"""
import argparse
import json
import os
import pathlib
import unicodedata
import urllib.request

FUNCTION = "/api/v1/functions/embedding/embed"
LONGEST_WORD = 100


def is_chinese(c):
    return any(low <= ord(c) <= high for low, high in (
        (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF),
        (0x2F800, 0x2FA1F)))


def is_punctuation(c):
    """All of ASCII that is no letter, digit or space counts as punctuation."""
    return (c.isascii() and c.isprintable() and not c.isalnum() and c != " " or
            unicodedata.category(c).startswith("P"))


def words(text):
    """Lower case without accents, split at spaces and around punctuation."""
    spaced = []
    for c in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(c)
        if kind == "Mn" or c == "\ufffd":
            continue
        if c.isspace():
            spaced.append(" ")
        elif kind.startswith("C"):
            continue
        elif is_punctuation(c) or is_chinese(c):
            spaced.append(f" {c} ")
        else:
            spaced.append(c)
    return "".join(spaced).split()


def pieces(word, vocab):
    """The longest pieces of the vocabulary, from the left; all but the first
    are written with ##. A word that no pieces make up is unknown as a whole."""
    found, begin = [], 0
    while begin < len(word):
        mark = "##" if begin else ""
        end = next((end for end in range(len(word), begin, -1)
                    if mark + word[begin:end] in vocab), None)
        if end is None or len(word) > LONGEST_WORD:
            return [vocab["[UNK]"]]
        found.append(vocab[mark + word[begin:end]])
        begin = end
    return found


def tokens(text, vocab, count):
    """(ids, mask) of `count` each; what is too long is cut."""
    ids = [piece for word in words(text) for piece in pieces(word, vocab)]
    ids = [vocab["[CLS]"], *ids[:count - 2], vocab["[SEP]"]]
    rest = count - len(ids)
    return ids + [vocab["[PAD]"]] * rest, [1] * len(ids) + [0] * rest


def load_vocab(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    return {piece: index for index, piece in enumerate(lines)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("sentences", nargs="+")
    parser.add_argument("--server",
                        default=os.environ.get("FARCALL_SERVER",
                                               "http://127.0.0.1:8000"))
    parser.add_argument("--vocab", type=pathlib.Path, default="vocab.txt")
    options = parser.parse_args()
    url = options.server + FUNCTION
    vocab = load_vocab(options.vocab)

    with urllib.request.urlopen(url) as answer:
        _, count = json.load(answer)["arguments"][0]["type"]["shape"]
    vectors = []
    for sentence in options.sentences:
        ids, mask = tokens(sentence, vocab, count)
        body = json.dumps([[ids], [mask]]).encode()
        with urllib.request.urlopen(url, body) as answer:
            ((vector,),) = json.load(answer)["results"]
        vectors.append(vector)
    for sentence, one in zip(options.sentences, vectors):
        alike = (sum(a * b for a, b in zip(one, other)) for other in vectors)
        print(*(f"{each:6.3f}" for each in alike), "", sentence)


if __name__ == "__main__":
    main()
