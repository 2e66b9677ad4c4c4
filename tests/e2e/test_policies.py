# SPDX-License-Identifier: Apache-2.0
"""The policies of single modules in the configuration file, and their effects."""
import json
import re
import shutil
import signal
import subprocess

import pytest

from conftest import BIN, ROOT, user_environment
from reloading import wait_until
from versioning import Versions, answers


@pytest.fixture
def versions(tmp_path):
    made = Versions(tmp_path)
    for each in 1, 2, 3:
        made.put(each)
    return made


def names(server):
    return {each["label"]: each["names"] for each in
            server.get("/api/v1/modules?conditions=1").json["modules"]}


def test_versions_and_aliases(serve, versions):
    config = versions.config(m={"versions": "2+3", "aliases": "stable=2,gone=1"})
    server = serve("-c", config, "--admin=loopback")
    assert [answers(server, f"m{each}") for each in ("", "@1", "@stable", "@gone")] == \
        [3, "version_not_found", 2, "version_not_found"]
    assert server.get("/v2/models/m/versions/2/config").json["version_policy"] == \
        {"specific": {"versions": [2, 3]}}
    assert names(server) == {"m@2": ["m@stable"], "m@3": ["m"]}
    # A promotion overrides the file.
    server.request("POST", "/api/v1/modules/m@3/promote", json.dumps({"alias": "stable"}))
    assert answers(server, "m@stable") == 3
    server.request("POST", "/api/v1/modules/m@2/promote")
    assert names(server) == {"m@2": ["m"], "m@3": ["m@stable"]}
    told = subprocess.run([BIN / "farcall", "ls", "--long", f"--server={server.url}"], text=True,
                          capture_output=True, env=user_environment()).stdout
    assert re.search(r"\n\nNAME +LEADS TO\n(m +m@2\nm@stable +m@3|m@stable +m@3\nm +m@2)\n", told)


@pytest.mark.parametrize("versions_option, written", [
    ("all", {"all": {}}), ("latest:2", {"latest": {"num_versions": 2}})])
def test_options_of_all(serve, versions, versions_option, written):
    config = versions.config(m={"aliases": "old=1,new=3"})
    server = serve("-c", config, f"--versions={versions_option}")
    first = 1 if versions_option == "all" else "version_not_found"
    assert [answers(server, f"m@{each}") for each in ("old", "new")] == [first, 3]
    assert server.get("/v2/models/m/config").json["version_policy"] == written


@pytest.mark.parametrize("load", ["start", "demand"])
def test_functions_that_are_not_exposed(serve, tmp_path, load):
    shutil.copy(ROOT / "tests/corpus/vm/ops.vmfb", tmp_path / "n.vmfb")
    everything = serve(tmp_path).get("/api/v1/functions/n").json["functions"]
    names = [each["name"] for each in everything]
    assert len(names) > 1
    shown = names[0]
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"modules": {"n": {"functions": shown}}}))
    server = serve("-c", config, f"--load={load}", tmp_path)
    hidden = server.get(f"/api/v1/functions/n/{names[1]}")
    assert (hidden.status, hidden.json["code"]) == (404, "function_not_found")
    called = server.call(f"n/{names[1]}", [])
    assert (called.status, called.json["code"]) == (404, "function_not_found")
    assert names[1] not in hidden.json["detail"].replace(f"'{names[1]}'", "", 1)
    assert server.get(f"/api/v1/functions/n/{shown}").status == 200
    for path in ("/api/v1/functions/n", "/api/v1/functions"):
        assert [each["name"] for each in server.get(path).json["functions"]] == [shown]
    assert server.get("/api/v1/modules/n").json["functions"] == [shown]
    for name, status in (("n", 200), (f"n.{shown}", 200), (f"n.{names[1]}", 404)):
        assert server.get(f"/v2/models/{name}").status == status, name


def test_each_module_has_its_host(serve, versions):
    shutil.copytree(versions.folder / "m", versions.folder / "n")
    config = versions.config('"isolation": "process", "workers": 2,',
                             m={"isolation": "thread"}, n={"workers": 1})
    server = serve("-c", config, "--isolation=process")

    def host(name):
        return server.get(f"/api/v1/modules/{name}").json["host"]["isolation"]

    assert (host("m"), host("n")) == ("thread", "process")
    assert (answers(server, "m"), answers(server, "n")) == (3, 3)


def test_each_module_has_its_timeout(serve, tmp_path):
    shutil.copy(ROOT / "tests/corpus/vm/endless.vmfb", tmp_path / "a.vmfb")
    config = tmp_path / "farcalld.conf"
    config.write_text(json.dumps({"timeout": "1000s", "paths": [str(tmp_path)],
                                  "modules": {"a": {"timeout": "50ms"}}}))
    server = serve("-c", config)
    late = server.call("a/branch", [])
    assert late.json["code"] == "deadline_exceeded"


def test_each_version_has_its_policy(serve, versions):
    config = versions.config(
        m={"isolation": "process", "functions": "number"},
        **{"m@1": {"isolation": "thread"}, "m@2": {"functions": "other"}})
    server = serve("-c", config)

    def host(name):
        return server.get(f"/api/v1/modules/{name}").json["host"]["isolation"]

    assert [host(each) for each in ("m", "m@1", "m@2", "m@3")] == \
        ["process", "thread", "process", "process"]
    assert [answers(server, f"m{each}") for each in ("", "@1", "@2", "@3")] == \
        [3, 1, "function_not_found", 3]
    # The printed options are a file with the same meaning.
    done = subprocess.run([BIN / "farcalld", "-T", "-c", config], text=True, check=True,
                          capture_output=True, env=user_environment())
    config.write_text(done.stdout)
    versions.config(m={"isolation": "process"})
    hang_up(server, '"act":"reload","by":"SIGHUP"')
    assert [answers(server, f"m{each}") for each in ("@1", "@2")] == [1, 2]
    assert host("m@1") == "process"


@pytest.mark.parametrize("load", ["start", "demand"])
def test_a_file_of_calls_that_has_changed_is_made_again(serve, versions, tmp_path, load):
    calls = tmp_path / "calls.jsonl"
    calls.write_text('{"args":[0],"results":[3]}')
    config = versions.config(m={"self-test": "off"}, **{"m@3": {"self-test": str(calls)}})
    server = serve("-c", config, "--admin=loopback", f"--load={load}")
    assert answers(server, "m") == 3

    def document():
        return server.get("/api/v1/modules/m@3").json

    first = document()["generation"]
    assert server.request("POST", "/api/v1/reload").json["unchanged"] == 3
    calls.write_text('{"args":[1],"results":[3]}')
    reply = server.request("POST", "/api/v1/reload")
    assert (reply.status, reply.json["code"]) == (422, "self_test_failed"), reply.body
    assert document()["generation"] == first and "refused" in document()
    assert answers(server, "m") == 3
    calls.write_text('{"args":[1],"results":[1000003]}')
    reply = server.request("POST", "/api/v1/reload").json
    assert (reply["loaded"], reply["unchanged"]) == (1, 2)
    assert document()["generation"] > first and "refused" not in document()


def test_a_mistake_serves_nothing(versions):
    config = versions.config(m={"aliases": "stable"})
    for flag in "-t", "--print-config":
        done = subprocess.run([BIN / "farcalld", flag, "-c", config], text=True,
                              capture_output=True, env=user_environment())
        assert done.returncode == 64
        assert f"{config}:2:" in done.stderr and "\"aliases\" of module 'm'" in done.stderr


UNKNOWN = "no PATH has a module 'mm': did you mean 'm'?"


def test_a_name_that_no_module_has_is_told(serve, versions):
    config = versions.config(m={"timeout": "9s"}, mm={"timeout": "9s"})
    server = serve("-c", config)
    told = [line for line in server.lines if "no PATH has" in line]
    assert len(told) == 1 and '"level":"warn"' in told[0] and UNKNOWN in told[0]
    assert f"{config}:2:" in told[0] and answers(server, "m") == 3
    done = look_at(config)
    assert done.returncode == 0 and done.stderr.count("no PATH has") == 1
    assert f"farcalld: {config}:2:" in done.stderr and UNKNOWN in done.stderr


def look_at(config, *flags):
    return subprocess.run([BIN / "farcalld", "-t", *flags, "-c", config], text=True,
                          capture_output=True, env=user_environment())


@pytest.mark.parametrize("key, said", [
    ("paths", "PATH '{}': there is no such file"),
    ("state-dir", "--state-dir: no decision can be kept: {}: No such file or directory")])
def test_what_is_not_there_is_told_before(tmp_path, key, said):
    config, there = tmp_path / "farcalld.conf", tmp_path / "m.so"
    told = said.format(tmp_path / "gone")
    shutil.copy(ROOT / "tests/corpus/vm/ops.vmfb", there)
    good = {"paths": [str(there)], "state-dir": str(tmp_path)}
    config.write_text(json.dumps(good))
    assert look_at(config).stderr == "farcalld: the options are right\n"
    gone = str(tmp_path / "gone")
    config.write_text(json.dumps(good | {key: [gone] if key == "paths" else gone}))
    done = look_at(config)
    assert done.stderr == f"farcalld: {told}\nfarcalld: the options are right\n"
    assert done.returncode == 0
    strict = look_at(config, "--strict-load")
    assert strict.returncode == (64 if key == "paths" else 0) and told in strict.stderr


def hang_up(server, says):
    """Sends SIGHUP and waits until the log has this line."""
    before = len(server.lines)
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: any(says in line for line in server.lines[before:]))
    return server.lines[before:]


def test_what_holds_for_all_is_read_again(serve, versions):
    """Modules that the file does not name are loaded again, too, once."""
    server = serve("-c", versions.config())
    done = '"act":"reload","by":"SIGHUP"'
    generations = [server.get("/api/v1/modules/m").json["generation"]]
    versions.config(f'"parameters": "{ROOT}/tests/corpus/irpa/data.irpa",')
    for _ in range(2):
        hang_up(server, done)
        generations.append(server.get("/api/v1/modules/m").json["generation"])
    assert generations[0] < generations[1] == generations[2]
    assert answers(server, "m") == 3


def test_the_file_is_read_again(serve, versions):
    config = versions.config('"timeout": "9s", "max-body": "1M",', m={"aliases": "a=1"})
    server = serve("-c", config)
    done = '"act":"reload","by":"SIGHUP"'
    assert server.get("/api/v1").json["limits"]["timeout_ms"] == 9000
    versions.config('"timeout": "8s", "max-body": "2M", "connections": 7,',
                    m={"aliases": "a=2", "versions": "2", "isolation": "thread"})
    said = hang_up(server, done)
    kept = [line for line in said if "needs a restart" in line]
    assert [key for key in ("max-body", "connections", "timeout", "paths")
            if any(f'"{key}"' in line for line in kept)] == ["max-body", "connections"]
    assert len(kept) == 2
    assert [answers(server, name) for name in ("m", "m@a", "m@1")] == \
        [2, 2, "version_not_found"]
    assert server.get("/api/v1").json["limits"]["timeout_ms"] == 8000
    assert server.get("/api/v1/modules/m").json["host"]["isolation"] == "thread"

    # A module whose host changes is loaded again; another one is not.
    before = server.get("/api/v1/modules/m").json["generation"]
    versions.config('"timeout": "8s",', m={"versions": "2", "isolation": "process"})
    hang_up(server, done)
    module = server.get("/api/v1/modules/m").json
    assert module["host"]["isolation"] == "process" and module["generation"] > before
    versions.config('"timeout": "7s",', m={"versions": "2", "isolation": "process"})
    hang_up(server, done)
    assert server.get("/api/v1/modules/m").json["generation"] == module["generation"]

    # A mistake changes nothing, and is reported with its place.
    config.write_text('{ "timeout": "6s",\n "modules": { "m": { "version": 1 } } }')
    said = hang_up(server, "nothing has changed")
    assert any(f"{config}:2:22: unknown key 'version': did you mean 'versions'?" in line
               for line in said)
    assert not any(done in line for line in said)
    assert server.get("/api/v1").json["limits"]["timeout_ms"] == 7000
    assert answers(server, "m") == 2
