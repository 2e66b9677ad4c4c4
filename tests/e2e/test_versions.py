# SPDX-License-Identifier: Apache-2.0
"""Versions of a module: which one a call gets, and what happens when versions are added
and removed."""
import http.client
import json
import random
import resource
import shutil
import subprocess
import threading
import time

import pytest

from conftest import BIN, ROOT, Server, user_environment
from reloading import SIDECAR, post_act, wait_until
from versioning import Versions, answers


CORPUS_VM = ROOT / "tests/corpus/vm"


@pytest.fixture
def versions(tmp_path):
    return Versions(tmp_path)


@pytest.mark.parametrize("load", ["start", "demand"])
def test_versions_come_and_go(serve, versions, load):
    for each in 2, 10, 9:
        versions.put(each)
    server = serve("--admin=loopback", f"--load={load}", versions.folder)

    def check(**wanted):
        for name, version in wanted.items():
            name = name.replace("_", "@")
            assert (name, answers(server, name)) == (name, version)

    check(m=10, m_2=2, m_9=9, m_10=10, m_3="version_not_found", n="module_not_found")
    unknown = server.call("m@3/number", [0]).json["detail"]
    assert all(f"'{each}'" in unknown for each in (2, 9, 10))
    model = server.get("/v2/models/m/versions/9").json
    assert model["versions"][0] == "9" and sorted(model["versions"]) == ["10", "2", "9"]
    assert server.get("/v2/models/m/versions/3").status == 404
    # A version that cannot be loaded removes no other one.
    versions.put(11, b"nonsense")
    server.request("POST", "/api/v1/reload")
    assert answers(server, "m@11") == "module_unavailable"
    check(m=10)
    versions.put(11)
    assert server.request("POST", "/api/v1/reload").status == 200
    check(m=11, m_11=11, m_10=10)
    versions.drop(11)
    assert server.request("POST", "/api/v1/reload").status == 200
    check(m=10, m_11="version_not_found")
    assert server.request("POST", "/api/v1/modules/m@10/unload").status == 200
    check(m=9, m_10="version_not_found")
    assert server.request("POST", "/api/v1/modules/m/load").json["version"] == "10"
    check(m=10)
    assert server.request("POST", "/api/v1/modules/m@2/unload").status == 200
    assert server.request("POST", "/api/v1/modules/m@2/load").json["version"] == "2"
    check(m=10, m_2=2)
    assert server.request("POST", "/api/v1/modules/m/unload").status == 200
    check(m="module_not_found", m_2="module_not_found")


def test_two_files_claim_one_version(serve, versions):
    versions.put(1)
    server = serve("--admin=loopback", "--watch-interval=50ms", versions.folder)
    (versions.folder / "m.farcall.json").write_text(json.dumps(SIDECAR))
    (versions.folder / "m.so").write_bytes(versions.code)
    wait_until(lambda: "two modules are called 'm': 'm/1/model.so' and 'm.so'" in [
        each["reason"] for each in server.get("/api/v1/modules").json["modules"]])
    assert answers(server, "m") == 1


def test_a_policy_says_which_are_served(serve, versions):
    for each in 1, 2, 3:
        versions.put(each)
    server = serve("--admin=loopback", "--versions=latest:2", versions.folder)
    assert [answers(server, f"m@{each}") for each in (1, 2, 3)] == \
        ["version_not_found", 2, 3]
    versions.put(4)
    assert server.request("POST", "/api/v1/reload").json == \
        {"loaded": 1, "unchanged": 1, "unloaded": 1}
    assert [answers(server, f"m@{each}") for each in (2, 3, 4)] == \
        ["version_not_found", 3, 4]


def act(server, verb, name, **body):
    return server.request("POST", f"/api/v1/modules/{name}/{verb}", json.dumps(body))


def decided(name, alias, version, before, persistent, unloaded=None):
    return {"name": name, "alias": alias, "version": version, "before": before,
            "unloaded": unloaded, "persistent": persistent}


def test_a_version_is_promoted_and_rolled_back(serve, versions, tmp_path):
    for each in 1, 2, 3:
        versions.put(each)
    state = tmp_path / "state"
    state.mkdir()
    flags = ["--admin=loopback", f"--state-dir={state}", versions.folder]
    server = serve(*flags)
    assert act(server, "promote", "m@2").json == decided("m", None, "2", "3", True)
    assert act(server, "promote", "m@3", alias="canary").json == \
        decided("m", "canary", "3", None, True)
    # TensorFlow's clients call an alias a label.
    label = "/v1/models/m.number/labels/canary"
    status = server.get(label).json["model_version_status"][0]
    assert (status["version"], status["state"]) == ("3", "AVAILABLE")
    assert server.get(label + "/metadata").json["model_spec"]["version"] == "3"
    called = server.request("POST", label + ":predict", '{"inputs":0}')
    assert called.json == {"outputs": 3}, called.body
    assert server.get(label + "s").json["code"] == "version_not_found"
    versions.put(4)  # a newer version does not take the name
    server.request("POST", "/api/v1/reload")
    assert [answers(server, name) for name in ("m", "m@canary", "m@4")] == [2, 3, 4]
    assert act(server, "promote", "m@4").json["before"] == "2"
    assert answers(server, "m") == 4
    assert act(server, "rollback", "m").json == decided("m", None, "2", "4", True, "4")
    gone = "version_not_found"
    assert [answers(server, name) for name in ("m", "m@4")] == [2, gone]
    assert act(server, "promote", "m@4").json["code"] == gone
    for name, code in [("x@1", "module_not_found"), ("m@9", gone)]:
        assert act(server, "promote", name).json["code"] == code
    assert act(server, "promote", "m@1", alias="9").status == 422
    assert server.stop() == 0

    # The rollback is remembered: the version that it took away is only served again
    # when its file changes.
    server = serve(*flags)
    assert [answers(server, name) for name in ("m", "m@4", "m@canary")] == [2, gone, 3]
    versions.put(4)
    server.request("POST", "/api/v1/reload")
    assert [answers(server, name) for name in ("m", "m@4")] == [2, 4]
    done = subprocess.run([BIN / "farcall", "promote", "m", "--server", server.url],
                          capture_output=True, text=True, env=user_environment())
    assert done.stdout == "m  leads to its highest version, before to 2\n"
    assert answers(server, "m") == 4
    # A promotion that cannot be saved is refused and changes nothing.
    (state / "modules.new").mkdir()
    refused = act(server, "promote", "m@1")
    assert refused.status == 503 and "cannot write" in refused.json["detail"]
    assert answers(server, "m") == 4


def test_a_damaged_directory_is_found_before_the_start(versions, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    for text, said in ("farcall 1\nend\n", None), ("farcall 1\nlead m\nend\n", "line 2"):
        (state / "modules").write_text(text)
        done = subprocess.run([BIN / "farcalld", "-t", f"--state-dir={state}"], text=True,
                              capture_output=True, timeout=60, env=user_environment())
        assert done.returncode == (64 if said else 0), done.stderr
        assert not said or f"{state}/modules: {said}" in done.stderr


def test_a_full_disk_loses_nothing(serve, versions, tmp_path):
    for each in 1, 2:
        versions.put(each)
    state = tmp_path / "state"
    state.mkdir()
    flags = ["--admin=loopback", f"--state-dir={state}", versions.folder]
    server = serve(*flags)
    assert act(server, "promote", "m@1").status == 200
    before = (state / "modules").read_bytes()
    (state / "modules.new").symlink_to("/dev/full")
    refused = act(server, "promote", "m@2")
    assert refused.status == 503
    assert "No space left on device" in refused.json["detail"]
    assert answers(server, "m") == 1 and (state / "modules").read_bytes() == before
    (state / "modules.new").unlink()
    assert act(server, "promote", "m@2").status == 200
    assert server.stop() == 0
    assert answers(serve(*flags), "m") == 2


def test_without_descriptors_the_old_version_serves(serve, versions):
    versions.put(1)
    server = serve("--admin=loopback", versions.folder)
    line = http.client.HTTPConnection(server.host, server.port)

    def ask(path, body):
        line.request("POST", path, body)
        answer = line.getresponse()
        return answer.status, json.loads(answer.read())

    call = ("/api/v1/functions/m/number", "[0]")
    assert ask(*call) == (200, {"results": [1]})
    versions.put(1, versions.numbered(11))
    versions.put(2)
    limits = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (8, limits[1]))
    status, error = ask("/api/v1/reload", "")
    assert status >= 400 and "Too many open files" in error["detail"]
    assert ask(*call) == (200, {"results": [1]})
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, limits)
    status, done = ask("/api/v1/reload", "")
    assert (status, done["loaded"], done["unloaded"]) == (200, 2, 0)
    assert ask(*call) == (200, {"results": [2]})
    assert answers(server, "m@1") == 11


@pytest.mark.parametrize("asked", ["request", "configuration"])
def test_a_rollback_leaves_what_an_alias_leads_to(serve, versions, tmp_path, asked):
    for each in 1, 2, 3:
        versions.put(each)
    state = tmp_path / "state"
    state.mkdir()
    aliases = {"aliases": "canary=3"} if asked == "configuration" else {}
    flags = ["--admin=loopback", f"--state-dir={state}", "-c", versions.config(m=aliases)]
    server = serve(*flags)
    if asked == "request":
        assert act(server, "promote", "m@3", alias="canary").status == 200
    assert act(server, "rollback", "m").json == decided("m", None, "2", "3", True)
    names = "m", "m@canary", "m@3"
    assert [answers(server, name) for name in names] == [2, 3, 3]
    assert server.stop() == 0
    server = serve(*flags)
    assert [answers(server, name) for name in names] == [2, 3, 3]
    # The alias now leads elsewhere, so version 3 is no longer needed.
    assert act(server, "promote", "m@1", alias="canary").json["version"] == "1"
    assert act(server, "promote", "m@3").status == 200
    assert act(server, "rollback", "m").json == decided("m", None, "2", "3", True, "3")
    assert [answers(server, name) for name in names] == [2, 1, "version_not_found"]


def test_without_a_directory_it_is_forgotten(serve, versions):
    for each in 1, 2:
        versions.put(each)
    server = serve("--admin=loopback", versions.folder)
    assert act(server, "rollback", "m").json == decided("m", None, "1", "2", False, "2")
    assert answers(server, "m") == 1
    assert act(server, "rollback", "m").json["code"] == "version_not_found"
    versions.put(3)  # a rollback leads to no later one
    server.request("POST", "/api/v1/reload")
    assert act(server, "rollback", "m").json["code"] == "version_not_found"
    assert [answers(server, name) for name in ("m", "m@3")] == [1, 3]


def test_a_killed_server_has_decided_or_not(versions, tmp_path):
    """A server is killed at a random moment of promotions and reloads. The next one
    serves the version from before a promotion or from after it, and never another
    one."""
    for each in 1, 2, 3:
        versions.put(each)
    state, draw = tmp_path / "state", random.Random(5)
    state.mkdir()
    last = 3
    for _ in range(50):
        server = Server("--admin=loopback", f"--state-dir={state}", versions.folder)
        assert answers(server, "m") == last
        said = [last, last]  # promoted for certain, and asked for

        def change():
            try:
                while True:
                    said[1] = said[0] % 3 + 1
                    versions.put(said[1])
                    server.request("POST", "/api/v1/reload")
                    if act(server, "promote", f"m@{said[1]}").status == 200:
                        said[0] = said[1]
            except OSError:
                pass

        worker = threading.Thread(target=change)
        worker.start()
        time.sleep(draw.random() * 0.05)  # each round ends at another moment
        server.process.kill()
        server.process.wait()
        worker.join()
        server = Server("--admin=loopback", f"--state-dir={state}", versions.folder)
        last = answers(server, "m")
        assert last in said
        server.process.kill()
        server.process.wait()


def test_folders_of_versions_are_watched(serve, versions):
    versions.put(1)
    server = serve("--watch", versions.folder)

    def until(expected, **wanted):
        wait_until(lambda: all(answers(server, name.replace("_", "@")) == version
                               for name, version in {"m": expected, **wanted}.items()))

    until(1)
    versions.put(2)  # a new folder, and its file
    until(2, m_1=1)
    versions.put(2, versions.numbered(22))  # replaced by another one
    until(22)
    versions.put(3, b"")  # a file that is about to be written
    versions.put(4)
    until(4, m_3="version_not_found")
    with open(versions.folder / "m" / "3" / "model.so", "wb") as file:
        file.write(versions.numbered(3)[:1000])
        file.flush()
        versions.put(4, versions.numbered(44))
        until(44, m_3="version_not_found")
        file.write(versions.numbered(3)[1000:])
    until(44, m_3=3)
    assert not [line for line in server.lines if '"error"' in line]
    versions.drop(4)
    until(3, m_4="version_not_found")
    shutil.rmtree(versions.folder / "m" / "3")
    until(22, m_3="version_not_found")
    # A link whose target changes, like ..data of a Kubernetes volume.
    other = versions.folder.parent / "other"
    shutil.copytree(versions.folder / "m" / "1", other / "7")
    (other / "7" / "model.so").write_bytes(versions.numbered(7))
    link = versions.folder / "link"
    link.symlink_to(versions.folder / "m")
    (versions.folder / "link.next").symlink_to(other)
    (versions.folder / "link.next").rename(link)
    wait_until(lambda: answers(server, "link") == 7)
    shutil.copytree(other / "7", other / "8")
    (other / "8" / "model.so").write_bytes(versions.numbered(8))
    wait_until(lambda: answers(server, "link") == 8)


def test_a_directory_vanishes_and_two_files_claim_a_version(serve, versions):
    """The modules stay, and the log says so once."""
    versions.put(1)
    server = serve("--watch", "--watch-interval=20ms", "--admin=loopback", versions.folder)
    versions.folder.rename(versions.folder.parent / "gone")
    gone = "cannot be read any more: its modules stay"
    wait_until(lambda: any(gone in line for line in server.lines))
    assert answers(server, "m") == 1
    for _ in range(3):
        server.request("POST", "/api/v1/reload")
    assert answers(server, "m") == 1
    assert len([line for line in server.lines
                if gone in line and '"act"' not in line]) == 1
    (versions.folder.parent / "gone").rename(versions.folder)
    versions.put(2)
    wait_until(lambda: answers(server, "m") == 2)


CRASHING = """
static volatile const long long number = %dLL;
long long _mlir_ciface_number(long long x) {
  if (x == -1) __builtin_trap();
  return x * 1000000 + number;
}
"""


def put_crashing(versions, work, number):
    """A version that crashes for -1, which causes a rollback."""
    source, made = work / "crashing.c", work / "crashing.so"
    source.write_text(CRASHING % number)
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", made, source], check=True)
    versions.put(number, made.read_bytes())


def crash(server, name, until=None):
    """Makes calls until `until` answers. The bodies differ, because a body that has
    crashed is refused."""
    codes = []

    def is_over():
        answer = server.call(f"{name}/number", "[-1]" + " " * len(codes))
        codes.append(answer.json.get("code") or answer.json["results"][0])
        return codes[-1] == until or (until is None and len(codes) == 4)
    wait_until(is_over)
    return codes


@pytest.mark.parametrize("load", ["start", "demand"])
def test_a_version_that_crashes_on_first_use_goes_back(versions, tmp_path, process_server,
                                                       load):
    state = tmp_path / "state"
    state.mkdir()
    for each in 1, 2:
        versions.put(each)
    words = ["--admin=loopback", f"--load={load}", "--state-dir", state, "--config",
             versions.config(m={"rollback": "on-crash"})]
    server = process_server(*words)
    assert answers(server, "m") == 2
    put_crashing(versions, tmp_path, 3)
    assert server.request("POST", "/api/v1/reload").status == 200
    assert answers(server, "m") == 3
    codes = crash(server, "m", until=-999998)
    assert codes.count("worker_crashed") >= 3, codes
    assert [answers(server, name) for name in ("m", "m@1", "m@2", "m@3")] == \
        [2, 1, 2, "version_not_found"]
    refused = server.get("/api/v1/modules/m").json["refused"]
    assert refused["code"] == "worker_crashed" and \
        "version 3 was rolled back: it crashed 3 times in its first 4 calls" in \
        refused["detail"]
    assert b"farcall_module_rollbacks_total 1" in server.get("/metrics").body
    # The version is refused until its file changes, also after a restart, and keeps no
    # other version loaded.
    assert post_act(server, "/api/v1/reload").status == 200
    assert answers(server, "m@3") == "version_not_found"
    assert server.stop() == 0
    acts = [json.loads(line) for line in server.lines if '"act":"rollback"' in line]
    assert [(each["module"], each["code"]) for each in acts] == [("m@3", "ok")]
    again = process_server(*words)
    assert [answers(again, name) for name in ("m", "m@3")] == [2, "version_not_found"]
    versions.put(3)
    assert again.request("POST", "/api/v1/reload").status == 200
    assert [answers(again, name) for name in ("m", "m@2")] == [3, 2]


def test_random_rows_that_crash_take_no_version_back(versions, tmp_path, process_server):
    """No client has called the function. It is only not batched."""
    server = process_server("--admin=loopback", "--config",
                            versions.config(m={"rollback": "on-crash"}))
    source, made = tmp_path / "rows.c", tmp_path / "rows.so"
    source.write_text(CRASHING % 3 + "void _mlir_ciface_rows(void) { __builtin_trap(); }")
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", made, source], check=True)
    functions = [{"name": f"{group}_bs{n}", "symbol": "_mlir_ciface_rows", "cc": "ciface",
                  "args": [{"type": f"memref<{n}xf32>"}],
                  "results": [{"type": f"memref<{n}xf32>"}]}
                 for group in "abc" for n in (1, 4)]
    versions.put(2)
    assert server.request("POST", "/api/v1/reload").status == 200
    versions.put(3, made.read_bytes())
    (versions.folder / "m/3/model.farcall.json").write_text(json.dumps(
        {**SIDECAR, "functions": SIDECAR["functions"] + functions}))
    assert server.request("POST", "/api/v1/reload").status == 200
    for group in "abc":
        said = server.get(f"/api/v1/functions/m/{group}").json["raw"]["attrs"]["batch"]
        assert said.startswith("off: random rows: "), said
    for _ in range(10):
        assert answers(server, "m") == 3
    assert b"farcall_module_rollbacks_total 0" in server.get("/metrics").body


def test_a_version_goes_back_from_where_its_name_led_alone(versions, tmp_path,
                                                           process_server):
    """No rollback for a version that was there at the start, that somebody promoted, or
    that the name does not lead to; nor if there is no lower version."""
    put_crashing(versions, tmp_path, 2)
    server = process_server("--admin=loopback", "--crash-limit=0", "--config",
                            versions.config(m={"rollback": "on-crash"}))
    put_crashing(versions, tmp_path, 1)  # takes no name
    put_crashing(versions, tmp_path, 3)
    assert server.request("POST", "/api/v1/reload").status == 200
    assert server.request("POST", "/api/v1/modules/m@3/promote").status == 200
    for name in "m@1", "m@2", "m":
        crash(server, name)
    assert [answers(server, name) for name in ("m@1", "m@2", "m", "m@3")] == [1, 2, 3, 3]
    assert b"farcall_module_rollbacks_total 0" in server.get("/metrics").body


def declare(versions, version, *variants):
    """Lists these variants in the sidecar of a version."""
    sidecar = versions.folder / "m" / str(version) / "model.farcall.json"
    sidecar.with_name("next").write_text(json.dumps({**SIDECAR, "variants": variants}))
    sidecar.with_name("next").rename(sidecar)


NEVER = {"file": "model-never.so", "cpu": ["xop", "amx-bf16"]}  # of two makers


@pytest.mark.parametrize("load", ["start", "demand"])
def test_the_variant_for_the_processor_is_the_version(serve, versions, load):
    versions.put(1)
    versions.put(2)
    folder = versions.folder / "m" / "2"
    (folder / "model-never.so").write_bytes(versions.numbered(7))
    (folder / "model-any.so").write_bytes(versions.numbered(8))
    declare(versions, 2, NEVER, {"file": "model-any.so", "cpu": []})
    server = serve("--admin=loopback", f"--load={load}", versions.folder)
    assert [answers(server, name) for name in ("m", "m@1", "m@2")] == [8, 1, 8]
    document = server.get("/api/v1/modules/m").json
    assert document["version"] == "2" and document["state"] == "ready"
    # A variant that is replaced counts as a new file of the version.
    (folder / "next").write_bytes(versions.numbered(9))
    (folder / "next").rename(folder / "model-any.so")
    assert server.request("POST", "/api/v1/reload").json["loaded"] == 1
    assert answers(server, "m") == 9
    # A variant that cannot run here is ignored. One that is missing is reported.
    (folder / "model-never.so").unlink()
    assert server.request("POST", "/api/v1/reload").json["loaded"] == 0
    (folder / "model-any.so").unlink()
    refused = server.request("POST", "/api/v1/reload")
    assert refused.status == 422 and "its variant 'model-any.so'" in refused.json["detail"]
    assert answers(server, "m") == 9
    declare(versions, 2, NEVER)
    assert server.request("POST", "/api/v1/reload").json["loaded"] == 1
    assert answers(server, "m") == 2


def test_two_files_that_one_sidecar_declares_are_one_version(serve, versions):
    """Machine code and bytecode: either of the two files may be the one that is loaded."""
    versions.put(1)
    folder = versions.folder / "m" / "1"
    shutil.copy(CORPUS_VM / "ops.vmfb", folder / "model.vmfb")
    server = serve("--admin=loopback", versions.folder)
    assert "two modules are called" in server.get("/api/v1/modules").body.decode()
    declare(versions, 1, {"file": "model.so"}, {"file": "model.vmfb"})
    server = serve("--admin=loopback", versions.folder)
    assert answers(server, "m") == 1
    assert len(server.get("/api/v1/modules").json["modules"]) == 1
    sidecar = folder / "model.farcall.json"
    sidecar.write_text(json.dumps({"farcall": 1, "abi": "module", "functions": [],
                                   "variants": [{"file": "model.so", "cpu": NEVER["cpu"]},
                                                {"file": "model.vmfb"}]}))
    server = serve("--admin=loopback", versions.folder)
    module = server.get("/api/v1/modules/m").json
    assert (module["kind"], module["state"]) == ("vm", "ready")
    assert len(server.get("/api/v1/modules").json["modules"]) == 1


def test_a_model_that_is_not_compiled_is_told_of(serve, versions):
    """Triton serves such a file; here it must be compiled."""
    versions.put(1)
    model = versions.folder / "m" / "2" / "model.onnx"
    model.parent.mkdir()
    model.write_bytes(b"")
    server = serve(versions.folder)
    told = lambda: [json.loads(line) for line in server.lines if "be compiled" in line]
    wait_until(told)
    line, = told()
    assert (line["level"], line["path"]) == ("warn", str(model))
    # Nothing else compiles a model of such a folder: farcall serve only does so of files.
    assert line["msg"].endswith(": farcall compile does it")
    assert answers(server, "m") == 1


def test_a_module_that_becomes_a_variant_is_told_of(serve, tmp_path, versions):
    """Once where it was served, and at each start if the configuration names it."""
    folder = tmp_path / "flat"
    folder.mkdir()
    (folder / "other.so").write_bytes(versions.numbered(1))
    (folder / "m.so").write_bytes(versions.numbered(2))
    for name in ("other", "m"):
        (folder / f"{name}.farcall.json").write_text(json.dumps(SIDECAR))
    server = serve("--admin=loopback", folder)
    assert [answers(server, name) for name in ("other", "m")] == [1, 2]
    told = lambda: [json.loads(line) for line in server.lines if "declared_by" in line]
    (folder / "m.farcall.json").write_text(
        json.dumps({**SIDECAR, "variants": [{"file": "other.so", "cpu": NEVER["cpu"]}]}))
    for _ in range(2):
        assert server.request("POST", "/api/v1/reload").status == 200
        assert server.get("/api/v1/modules/other").status == 404
        wait_until(told)
        assert [line["path"] for line in told()] == [str(folder / "other.so")]
        assert told()[0]["declared_by"] == str(folder / "m.so")
    (tmp_path / "conf").write_text('{"modules": {"other": {}}}')
    server = serve("-c", tmp_path / "conf", folder)
    wait_until(told)
    assert len(told()) == 1
