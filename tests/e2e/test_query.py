# SPDX-License-Identifier: Apache-2.0
"""Queries about functions: every form of every function of the example module and of
two IREE modules, an example of each that is called, and entity tags."""
import hashlib
import json

import jsonschema
import pytest

from conftest import ROOT, Server

RELEASES = ROOT / "tests/corpus/iree/releases"
VMFB = [RELEASES / "versions-3.13.0-llvm-cpu.vmfb",
        RELEASES / "scalars-3.13.0.vmfb"]
FORMATS = {
    "json": "application/json",
    "text": "text/plain; charset=utf-8",
    "mlir": "text/plain; charset=utf-8",
    "sip": "text/plain; charset=utf-8",
    "v1": "application/json",
    "jsonschema": "application/schema+json",
}
# A word of the reason why a function cannot be written in a form. None: it can. SIP
# cannot express a structure in one raw value; neither SIP nor V1 has arguments that are
# also results.
def lacks(form, signature):
    if form in ("sip", "v1") and signature["name"] == "scale_inplace":
        return "is written to; this form has inputs alone"
    kinds = {value["type"]["kind"]
             for side in ("arguments", "results") for value in signature[side]}
    if form == "sip" and kinds & {"list", "tuple", "dict", "refarray"}:
        return "is a structure in one raw value"
    return None


# Examples are zeros, which these functions refuse with the texts of their sources.
REFUSED = {"scalars-3.13.0/divide": "division by zero",
           "tensor/conv": "the image must be at least 3x3"}


@pytest.fixture(scope="module")
def asked(tmp_path_factory, farcall):
    folder = tmp_path_factory.mktemp("query")
    done = farcall("compile", ROOT / "examples/tensor.mlir",
                   "-o", folder / "tensor.so")
    assert done.returncode == 0, done.stderr
    server = Server(folder / "tensor.so", *VMFB)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def functions(asked):
    """[(module, signature)] of everything that is served."""
    modules = asked.get("/api/v1/modules?signatures=1").json["modules"]
    found = [(module, function)
             for module in modules for function in module["functions"]]
    assert len(found) == 9 + 6 + 6
    return found


def path_of(signature):
    return f"/api/v1/functions/{signature['module']}/{signature['name']}"


def test_every_form_of_every_function(asked, functions):
    for module, signature in functions:
        path, name = path_of(signature), signature["name"]
        for form, content_type in FORMATS.items():
            reply = asked.get(f"{path}?format={form}")
            reason = lacks(form, signature)
            if reason:
                assert reply.status == 406, (path, form, reply.body)
                assert reply.json["code"] == "not_acceptable"
                assert reason in reply.json["detail"]
                continue
            assert reply.status == 200, (path, form, reply.body)
            assert reply.headers["Content-Type"] == content_type
        get = lambda form: asked.get(f"{path}?format={form}")
        assert get("json").json == signature
        assert get("text").body.decode() == signature["text"]
        assert get("mlir").body.decode().startswith(
            f"func.func private @{name}(")
        assert get("json").body == asked.get(path).body
        written = signature["raw"]["attrs"].get("iree.abi")
        if written:  # the compiler wrote one: ours says the same
            assert get("v1").json == json.loads(written), path


def test_every_v1_form_reads_back_as_the_same_tree(asked, functions, farcall):
    for _, signature in functions:
        if lacks("v1", signature):
            continue
        form = asked.get(f"{path_of(signature)}?format=v1").body.decode().strip()
        tree = farcall("abi", "parse", "v1", form)
        assert tree.returncode == 0, (form, tree.stderr)
        again = farcall("abi", "mangle", "v1", tree.stdout.strip())
        assert again.stdout.strip() == form


def test_an_unknown_form_names_those_there_are(asked):
    for form in ["xml", "", "JSON", "text%20"]:
        reply = asked.get(f"/api/v1/functions/tensor/matmul?format={form}")
        assert reply.status == 400
        assert reply.json["code"] == "unknown_field"
        assert reply.json["expected"] == ", ".join(FORMATS)


def test_every_example_works(asked, functions):
    for _, signature in functions:
        path = path_of(signature)
        reply = asked.get(path + "/example")
        assert reply.status == 200, (path, reply.body)
        assert reply.headers["Content-Type"] == "application/json"
        answer = asked.request("POST", path, reply.body,
                               {"Content-Type": "application/json"})
        key = f"{signature['module']}/{signature['name']}"
        if key in REFUSED:
            assert answer.status == 422, (path, answer.body)
            assert answer.json["code"] == "call_failed"
            assert REFUSED[key] in answer.json["detail"]
        else:
            assert answer.status == 200, (path, reply.body, answer.body)
            outputs = sum(argument["role"] in ("out", "inout")
                          for argument in signature["arguments"])
            assert (len(answer.json["results"])
                    == len(signature["results"]) + outputs)


def test_every_schema_accepts_its_example_and_no_other(asked, functions):
    for _, signature in functions:
        path = path_of(signature)
        schema = asked.get(path + "?format=jsonschema").json
        kind = jsonschema.Draft202012Validator
        kind.check_schema(schema)
        validator = kind(schema)
        example = asked.get(path + "/example").json
        validator.validate(example)
        for wrong in [7, {"args": [[["x"]] * 9]}, {"arguments": []},
                      {"kwargs": {"nobody": 1}}]:
            assert not validator.is_valid(wrong), (path, wrong)
            assert asked.call(path.split("functions/")[1], wrong).status >= 400


def test_the_entity_tag_is_the_digest_the_docs_say(asked, functions):
    tags = set()
    for module, signature in functions:
        path = path_of(signature)
        reply = asked.get(path)
        content = module["sha256"].encode() + reply.body
        wanted = '"' + hashlib.sha256(content).hexdigest()[:32] + '"'
        assert reply.headers["ETag"] == wanted
        for other in ["?format=text", "?format=jsonschema", "/example"]:
            assert asked.get(path + other).headers["ETag"] == wanted
        tags.add(wanted)
    assert len(tags) == len(functions)


def test_what_did_not_change_is_not_sent(asked):
    path = "/api/v1/functions/tensor/matmul"
    tag = asked.get(path).headers["ETag"]

    def status(value, path=path, method="GET"):
        return asked.request(method, path, None, {"If-None-Match": value})
    for value in [tag, "W/" + tag, "*", f'"x", {tag}']:
        reply = status(value)
        assert reply.status == 304 and reply.body == b""
        assert reply.headers["ETag"] == tag
        assert status(value, method="HEAD").status == 304
        assert status(value, path + "/example").status == 304
    for value in ['"x"', tag.strip('"'), ""]:
        assert status(value).status == 200
    module = asked.get("/api/v1/modules/tensor").headers["ETag"]
    assert module != tag
    assert status(module, "/api/v1/modules/tensor").status == 304


def test_a_call_of_another_function_than_was_asked_about(asked):
    path = "/api/v1/functions/tensor/matmul"
    tag = asked.get(path).headers["ETag"]
    other = asked.get("/api/v1/functions/tensor/mlp").headers["ETag"]

    def call(value):
        return asked.request("POST", path, "[[[1]],[[2]]]", {
            "Content-Type": "application/json", "If-Match": value})
    for value in [tag, "*", f"{other}, {tag}"]:
        reply = call(value)
        assert reply.status == 200 and reply.json["results"] == [[[2.0]]]
    for value in [other, "W/" + tag, tag.strip('"'), "", '"*"']:
        reply = call(value)
        assert reply.status == 412, (value, reply.body)
        assert reply.json["code"] == "precondition_failed"
        assert reply.json["stop"] == "admit"
        assert reply.json["expected"] == tag


def test_a_changed_module_has_another_tag(tmp_path, farcall, serve):
    """The same function compiled without checks is another file, so it has another tag."""
    tags = []
    for flags in [[], ["--unchecked"]]:
        done = farcall("compile", ROOT / "examples/add.mlir", *flags,
                       "-o", tmp_path / "add.so")
        assert done.returncode == 0, done.stderr
        server = serve(tmp_path / "add.so")
        tags.append([server.get("/api/v1/functions/add/add").headers["ETag"],
                     server.get("/api/v1/modules/add").headers["ETag"]])
        assert server.stop() == 0
    assert tags[0][0] != tags[1][0] and tags[0][1] != tags[1][1]


def test_sig_passes_the_format_on(asked, farcall):
    for form in FORMATS:
        name = "scalars-3.13.0/swap"
        done = farcall("sig", name, f"--format={form}", "--server", asked.url)
        reply = asked.get(f"/api/v1/functions/{name}?format={form}")
        if reply.status == 200:
            assert (done.returncode, done.stdout) == (0, reply.body.decode() + "\n")
        else:
            assert done.returncode == 1 and "406 not_acceptable" in done.stderr
    done = farcall("sig", "tensor/mlp", "--format=x", "--server", asked.url)
    assert done.returncode == 1 and "400 unknown_field" in done.stderr
    done = farcall("sig", "tensor", "--format=text", "--server", asked.url)
    assert done.returncode == 64 and "MODULE/FUNCTION" in done.stderr


def test_sig_of_a_file_is_that_of_a_server(asked, farcall):
    for file in VMFB:
        lines = farcall("sig", file)
        served = farcall("sig", file.stem, "--server", asked.url)
        assert lines.returncode == 0 and lines.stdout == served.stdout
        for line in lines.stdout.splitlines():
            name = line.split("/")[1].split("(")[0]
            local = farcall("sig", file, f"--function={name}")
            remote = farcall("sig", f"{file.stem}/{name}", "--server", asked.url)
            assert local.returncode == 0 and local.stdout == remote.stdout
            assert local.stdout.startswith(line)
            source = asked.get(f"/api/v1/functions/{file.stem}/{name}").json["source"]
            assert f"  source: {source}" in local.stdout.splitlines()
    swap = farcall("sig", VMFB[1], "--function=swap").stdout
    assert swap.splitlines()[1:] == [
        "  argument 0 x: dict", "    p: f32", "    q: i32",
        "  result 0: tuple", "    [0] i32", "    [1] f32", "  source: iree.abi"]
    done = farcall("sig", VMFB[1], "--function=swp")
    assert done.returncode == 64 and "did you mean 'swap'" in done.stderr
    assert farcall("sig", "absent.vmfb").returncode == 65
