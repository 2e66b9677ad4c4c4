# SPDX-License-Identifier: Apache-2.0
"""Makes strict JSON schemas for kubeconform: what they do not describe is refused.

    schemas.py SWAGGER KSERVE FOLDER CRD…

SWAGGER is Kubernetes' own OpenAPI document, KSERVE the file of crds.py, each CRD a
CustomResourceDefinition in YAML. A member that may have any value would not be checked.
So the program names it and fails, unless the definition wants that
(x-kubernetes-preserve-unknown-fields). Kubernetes' own kinds with such members get no
schema, so kubeconform refuses their documents.
"""
import json
import pathlib
import re
import sys

import yaml

NUMBER_OR_TEXT = {"anyOf": [{"type": "string"}, {"type": "number"}]}
METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
# Types of SWAGGER that may have any value. Users do not write managedFields.
ANY = {"io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"}
SAYS_WHAT = {"type", "$ref", "anyOf", "allOf", "oneOf", "enum"}
LEFT_OUT = {"description", "format", "default", "nullable"}


def strict(node, where, undescribed):
    """A schema without extensions, in which objects have only the listed members. The
    path of a member that may have any value is appended to `undescribed`."""
    if not isinstance(node, dict):
        return node
    if node.get("x-kubernetes-int-or-string") or node.get("format") == "int-or-string":
        return {**NUMBER_OR_TEXT, **{key: node[key] for key in ("pattern",) if key in node}}
    loose = node.get("x-kubernetes-preserve-unknown-fields")
    if not loose and not SAYS_WHAT & node.keys():
        undescribed.append(where)
    made = {}
    for key, value in node.items():
        if key == "properties":
            made[key] = {name: strict(each, f"{where}.{name}", undescribed)
                         for name, each in value.items()}
        elif key in ("items", "additionalProperties"):
            made[key] = strict(value, f"{where}[]", undescribed)
        elif key in ("anyOf", "allOf", "oneOf"):
            made[key] = [strict(each, where, undescribed) for each in value]
        elif key not in LEFT_OUT and not key.startswith("x-"):
            made[key] = value
    # An object without listed members must be empty: Kubernetes drops unknown members.
    if made.get("type") == "object" and not loose:
        made.setdefault("additionalProperties", False)
    if node.get("nullable") and "type" in made:
        made["type"] = [made["type"], "null"]
    return made


def kubernetes(path, undescribed):
    """The definitions, and {file: definition} of those that are resources."""
    document = json.loads(pathlib.Path(path).read_text())
    definitions, kinds = {}, {}
    for name, definition in document["definitions"].items():
        found = []
        definitions[name] = strict(definition, name, found)
        undescribed[name] = found
        for each in definition.get("x-kubernetes-group-version-kind", []):
            kinds[name_of(each["group"], each["version"], each["kind"])] = name
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = NUMBER_OR_TEXT
    for name in ANY:
        definitions[name], undescribed[name] = {}, []
    return definitions, kinds


def name_of(group, version, kind):
    """The name as in kubeconform's {{.ResourceKind}}{{.KindSuffix}}."""
    first = group.split(".")[0]
    return "-".join(filter(None, [kind.lower(), first, version.lower()]))


def of_crd(path):
    spec = yaml.safe_load(pathlib.Path(path).read_text())["spec"]
    for version in spec["versions"]:
        yield (name_of(spec["group"], version["name"], spec["names"]["kind"]),
               version["schema"]["openAPIV3Schema"])


def of_kserve(path, definitions, undescribed):
    """Like of_crd. Definitions that the schemas refer to are added to `definitions`."""
    document = json.loads(pathlib.Path(path).read_text())
    for name, each in document["definitions"].items():
        assert name not in definitions
        undescribed[name] = []
        definitions[name] = strict(each, name, undescribed[name])
    for title, schema in document["kinds"].items():
        version, kind = title.split()
        while "$ref" in schema:
            schema = document["definitions"][schema["$ref"].rpartition("/")[2]]
        yield name_of(*version.split("/"), kind), schema


def main():
    swagger, kserve, folder, *crds = sys.argv[1:]
    undescribed = {}
    definitions, kinds = kubernetes(swagger, undescribed)
    own = {*kinds}
    others = [*of_kserve(kserve, definitions, undescribed)]
    for path in crds:
        others += of_crd(path)
    for file, schema in others:
        assert file not in kinds
        kinds[file], undescribed[file] = file, []
        definitions[file] = strict(schema, file, undescribed[file])
        definitions[file]["properties"]["metadata"] = {"$ref": f"#/definitions/{METADATA}"}
    folder = pathlib.Path(folder)
    folder.mkdir()
    wrong = set()
    for file, name in kinds.items():
        needed = reached(definitions, name)
        anything = {where for each in needed for where in undescribed[each]}
        if not anything:
            (folder / f"{file}.json").write_text(json.dumps(
                {"$ref": f"#/definitions/{name}", "definitions": needed}))
        elif file not in own:
            wrong |= anything
    if wrong:
        sys.exit(f"schemas: {len(wrong)} members may have any value: "
                 + ", ".join(sorted(wrong)))
    print(f"schemas: {len([*folder.iterdir()])} kinds, every member described")


def reached(definitions, name):
    """The definitions that `name` needs."""
    found, left = {}, [name]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = definitions[name]
            left += re.findall(r'"#/definitions/([^"]+)"', json.dumps(found[name]))
    return found


if __name__ == "__main__":
    main()
