# SPDX-License-Identifier: Apache-2.0
"""Writes crds/kserve.json from the CustomResourceDefinitions of KServe:

    crds.py GIT COMMIT

GIT is the .git folder of a clone of https://github.com/kserve/kserve. The file has the
schema of each of KINDS, without texts, defaults, rules for merging lists, rules that a
cluster computes, and `status`, which users do not write. A schema that occurs several
times is written once, in `definitions`.
"""
import collections
import json
import pathlib
import subprocess
import sys

import yaml

FILE = pathlib.Path(__file__).resolve().parent / "crds/kserve.json"
KINDS = ["clusterservingruntimes", "servingruntimes", "inferenceservices"]
KEPT = {"type", "required", "enum", "pattern", "minimum", "maximum", "minLength",
        "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "nullable",
        "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
DROPPED = {"description", "default", "format", "x-kubernetes-list-type",
           "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
           "x-kubernetes-validations"}
SMALL = 60  # such a schema is shorter than what refers to it, or nearly


def shorter(schema):
    """`schema` with only the keywords of KEPT. An unknown keyword ends the program."""
    if not isinstance(schema, dict):
        return schema
    made = {}
    for key, value in schema.items():
        if key == "properties":
            made[key] = {name: shorter(each) for name, each in value.items()}
        elif key in ("items", "additionalProperties"):
            made[key] = shorter(value)
        elif key in ("anyOf", "allOf", "oneOf"):
            made[key] = [shorter(each) for each in value]
        elif key in KEPT:
            made[key] = value
        elif key not in DROPPED:
            sys.exit(f"crds: what is {key}?")
    return made


def text_of(schema):
    return json.dumps(schema, sort_keys=True, separators=(",", ":"))


class Shared:
    """Replaces each schema that occurs several times by a reference."""

    def __init__(self, schemas):
        self.count, self.made = collections.Counter(), {}
        self.definitions = {}
        for each in schemas:
            self.look_at(each)

    def look_at(self, schema):
        text = text_of(schema)
        self.count[text] += 1
        if self.count[text] == 1:
            for _, each in members(schema):
                self.look_at(each)

    def __call__(self, schema, name):
        """`schema`, which belongs to the member `name`, or a reference to it."""
        text = text_of(schema)
        if text in self.made:
            return self.made[text]
        made = dict(schema)
        if "properties" in made:
            made["properties"] = {key: self(each, key)
                                  for key, each in made["properties"].items()}
        for key in ("items", "additionalProperties"):
            if isinstance(made.get(key), dict):
                made[key] = self(made[key], name)
        if self.count[text] > 1 and len(text) > SMALL:
            free = (name + str(n or "") for n in range(len(self.made) + 1))
            name = next(each for each in free if each not in self.definitions)
            self.definitions[name] = made
            made = {"$ref": f"#/definitions/{name}"}
        self.made[text] = made
        return made


def members(schema):
    yield from schema.get("properties", {}).items()
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield key, schema[key]


def lines(entries):
    """A JSON object with one line for each member."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{text_of(value)}"
                              for key, value in sorted(entries.items())) + "}"


def main():
    git, commit = sys.argv[1:]
    found = {}
    for kind in KINDS:
        text = subprocess.run(
            ["git", f"--git-dir={git}", "show",
             f"{commit}:config/crd/full/serving.kserve.io_{kind}.yaml"],
            check=True, capture_output=True, text=True).stdout
        spec = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["spec"]
        for version in spec["versions"]:
            schema = shorter(version["schema"]["openAPIV3Schema"])
            del schema["properties"]["status"]
            found[f"{spec['group']}/{version['name']} {spec['names']['kind']}"] = schema
    shared = Shared(found.values())
    kinds = {name: shared(each, name.split()[1]) for name, each in found.items()}
    FILE.write_text(f'{{"kinds":{lines(kinds)},\n"definitions":'
                    f'{lines(shared.definitions)}}}\n')


main()
