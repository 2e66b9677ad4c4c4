# SPDX-License-Identifier: Apache-2.0
"""Versions of a module: which one a call gets, and what happens when they come and go."""
import json
import struct
import subprocess

import pytest

from reloading import MARK, SIDECAR, SOURCE


@pytest.fixture
def versions(tmp_path):
    return Versions(tmp_path)


class Versions:
    """Files of the module `m`; a version returns its number."""

    def __init__(self, work):
        source, template = work / "m.c", work / "m.template"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-o", template, source],
                       check=True)
        self.code = template.read_bytes()
        self.folder = work / "modules"
        self.folder.mkdir()

    def put(self, version, code=None):
        place = self.folder / "m" / str(version)
        place.mkdir(parents=True, exist_ok=True)
        (place / "model.farcall.json").write_text(json.dumps(SIDECAR))
        (place / "next").write_bytes(code or self.code.replace(
            struct.pack("<q", MARK), struct.pack("<q", version)))
        (place / "next").rename(place / "model.so")

    def drop(self, version):
        (self.folder / "m" / str(version) / "model.so").unlink()


def answers(server, name):
    """The version that answers a call of `name`, or the code of the error."""
    reply = server.call(f"{name}/number", [0])
    return reply.json["results"][0] if reply.status == 200 else reply.json["code"]


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
    # One that cannot be loaded takes nothing away.
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
    assert server.request("POST", "/api/v1/modules/m/unload").status == 200
    check(m="module_not_found", m_2="module_not_found")


def test_two_files_claim_one_version(serve, versions):
    versions.put(1)
    server = serve("--admin=loopback", "--watch-interval=50ms", versions.folder)
    (versions.folder / "m.farcall.json").write_text(json.dumps(SIDECAR))
    (versions.folder / "m.so").write_bytes(versions.code)
    answer = server.request("POST", "/api/v1/reload")
    assert answer.status == 422 or "'m.so'" in server.get("/api/v1/modules").body.decode()
    reasons = [each["reason"] for each in server.get("/api/v1/modules").json["modules"]]
    assert "two modules are called 'm': 'm/1/model.so' and 'm.so'" in reasons
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
