# SPDX-License-Identifier: Apache-2.0
"""JSON schemas for kubeconform, strict: what is not described is refused.

    schemas.py [--no-kserve] SWAGGER FOLDER CRD…

SWAGGER is Kubernetes' own OpenAPI document, each CRD a CustomResourceDefinition in YAML.
Without --no-kserve, KServe's resources are written from the models of its Python package,
which name the type of each member; those of Kubernetes in them are SWAGGER's.
"""
import json
import pathlib
import re
import sys

import yaml

NUMBER_OR_TEXT = {"anyOf": [{"type": "string"}, {"type": "number"}]}
OPEN = {"type": "object"}


def strict(node):
    """A schema without extensions, of which objects have the members that are named."""
    if isinstance(node, list):
        return [strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("x-kubernetes-int-or-string") or node.get("format") == "int-or-string":
        return NUMBER_OR_TEXT
    loose = node.get("x-kubernetes-preserve-unknown-fields")
    made = {}
    for key, value in node.items():
        if key == "properties":
            made[key] = {name: strict(each) for name, each in value.items()}
        elif not key.startswith("x-") and key not in ("description", "format", "default",
                                                      "nullable"):
            made[key] = strict(value)
    if "properties" in made and not loose:
        made.setdefault("additionalProperties", False)
    if node.get("nullable") and "type" in made:
        made["type"] = [made["type"], "null"]
    return made


def kubernetes(path):
    """The definitions, and {file: definition} of those that are resources."""
    document = json.loads(pathlib.Path(path).read_text())
    definitions, kinds = {}, {}
    for name, definition in document["definitions"].items():
        definitions[name] = strict(definition)
        for each in definition.get("x-kubernetes-group-version-kind", []):
            kinds[name_of(each["group"], each["version"], each["kind"])] = name
    definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = NUMBER_OR_TEXT
    return definitions, kinds


def name_of(group, version, kind):
    """As kubeconform's {{.ResourceKind}}{{.KindSuffix}}."""
    first = group.split(".")[0]
    return "-".join(filter(None, [kind.lower(), first, version.lower()]))


def of_crd(path):
    document = yaml.safe_load(pathlib.Path(path).read_text())
    spec = document["spec"]
    for version in spec["versions"]:
        schema = strict(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = OPEN  # Kubernetes' own
        yield name_of(spec["group"], version["name"], spec["names"]["kind"]), schema


class Models:
    """Definitions made of the classes of the package kserve."""
    plain = {"str": {"type": "string"}, "bool": {"type": "boolean"},
             "int": {"type": "integer"}, "float": {"type": "number"}, "object": {},
             "ResourceQuantity": NUMBER_OR_TEXT, "ResourceQuantityJSON": NUMBER_OR_TEXT,
             "IntOrString": NUMBER_OR_TEXT}

    def __init__(self, definitions):
        import kserve.models
        self.package, self.definitions = kserve.models, definitions
        # V1Probe of a Python package is io.k8s.api.core.v1.Probe.
        self.others = {}
        for name in definitions:
            *_, version, kind = name.split(".")
            if ".api.core." in name or ".apimachinery." in name:
                self.others[version.capitalize() + kind] = name

    def type(self, text):
        if found := re.fullmatch(r"list\[(.*)\]", text):
            return {"type": "array", "items": self.type(found[1])}
        if found := re.fullmatch(r"dict\(str, (.*)\)", text):
            return {"type": "object", "additionalProperties": self.type(found[1])}
        if text in self.plain:
            return self.plain[text]
        name = self.others.get(text)
        if hasattr(self.package, text):
            name = "kserve." + text
            if name not in self.definitions:
                self.define(name, getattr(self.package, text))
        if name is None:
            print(f"schemas: the package does not describe {text}", file=sys.stderr)
            return {}
        return {"$ref": "#/definitions/" + name}

    def define(self, name, kind):
        made = self.definitions[name] = {"type": "object", "additionalProperties": False}
        made["properties"] = {kind.attribute_map[each]: self.type(text)
                              for each, text in kind.openapi_types.items()}
        required = []  # the setter of a member that is needed refuses None
        for each, key in kind.attribute_map.items():
            setter = getattr(kind, each).fset
            if f"Invalid value for `{each}`, must not be `None`" in setter.__code__.co_consts:
                required.append(key)
        if required:
            made["required"] = required


def main():
    words = sys.argv[1:]
    with_kserve = words[0] != "--no-kserve"
    swagger, folder, *crds = words if with_kserve else words[1:]
    definitions, kinds = kubernetes(swagger)
    folder = pathlib.Path(folder)
    folder.mkdir()
    if with_kserve:
        models = Models(definitions)
        for version, kind in (("v1alpha1", "ClusterServingRuntime"),
                              ("v1beta1", "InferenceService")):
            models.type(version.capitalize() + kind)
            kinds[name_of("serving.kserve.io", version, kind)] = \
                f"kserve.{version.capitalize()}{kind}"
    for file, name in kinds.items():
        (folder / f"{file}.json").write_text(json.dumps(
            {"$ref": f"#/definitions/{name}", "definitions": reached(definitions, name)}))
    for path in crds:
        for file, schema in of_crd(path):
            (folder / f"{file}.json").write_text(json.dumps(schema))


def reached(definitions, name):
    """Those that `name` needs."""
    found, left = {}, [name]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = definitions[name]
            left += re.findall(r'"#/definitions/([^"]+)"', json.dumps(found[name]))
    return found


if __name__ == "__main__":
    main()
