# SPDX-License-Identifier: Apache-2.0
"""--trust as an operator uses it: only files whose sums are listed are loaded."""
import hashlib
import json
import shutil
import signal
import subprocess

import pytest

from conftest import BIN, RELEASES
from console import user_environment
from reloading import SIDECAR, wait_until
from versioning import Versions, answers

MODULE = RELEASES / "scalars-3.13.0.vmfb"


def sum_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(trusted, *paths):
    """Writes the output of `sha256sum` for these paths."""
    trusted.write_text("".join(f"{sum_of(each)}  {each}\n" for each in paths))
    trusted.chmod(0o644)
    return trusted


def hang_up(server):
    """Makes the server read its files again, and waits until it has acted on them."""
    told = lambda: sum('"act":"reload"' in each for each in server.lines)
    before = told()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: told() > before)


def reason(server, name):
    """Why a module is not served, or why its newest file is not. The generation that
    served before is also listed until its processes have ended."""
    said = [each["reason"] or each.get("refused", {}).get("detail", "")
            for each in server.get("/api/v1/modules").json["modules"]
            if each["name"] == name]
    return next(filter(None, said), "")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "modules"
    folder.mkdir()
    for name in ("yes", "no"):
        shutil.copy(MODULE, folder / f"{name}.vmfb")
        with open(folder / f"{name}.vmfb", "ab") as file:
            file.write(bytes(len(name)))  # so that the sums differ
    return folder


@pytest.mark.parametrize("load", ["start", "demand"])
def test_nothing_else_is_loaded_or_described(serve, folder, tmp_path, load):
    trusted = write(tmp_path / "trusted", folder / "yes.vmfb")
    server = serve("--admin=loopback", f"--trust={trusted}", f"--load={load}", folder)
    assert server.results("yes/fact", [5]) == [120]
    refused = server.call("no/fact", [5])
    assert (refused.status, refused.json["code"]) == (503, "module_unavailable")
    said = reason(server, "no")
    assert sum_of(folder / "no.vmfb") in said and "--trust" in said
    assert server.get("/api/v1/modules/no").json["functions"] == []
    act = server.request("POST", "/api/v1/modules/no/load")
    assert (act.status, act.json["code"]) == (422, "module_untrusted")
    # An operator adds the file's sum; SIGHUP is enough.
    write(trusted, folder / "yes.vmfb", folder / "no.vmfb")
    hang_up(server)
    wait_until(lambda: server.call("no/fact", [5]).status == 200)
    # The operator removes the sum of the other file.
    write(trusted, folder / "no.vmfb")
    hang_up(server)
    wait_until(lambda: server.call("yes/fact", [5]).status == 503)
    assert sum_of(folder / "yes.vmfb") in reason(server, "yes")
    assert server.results("no/fact", [5]) == [120]
    # A file with a mistake changes nothing.
    trusted.write_text("nonsense\n")
    hang_up(server)
    wait_until(lambda: any(f"{trusted}:1:1: a SHA-256" in each for each in server.lines))
    assert server.results("no/fact", [5]) == [120]


def test_a_file_that_replaces_another_is_looked_at(serve, folder, tmp_path):
    trusted = write(tmp_path / "trusted", folder / "yes.vmfb")
    server = serve("--admin=loopback", "--watch-interval=50ms", f"--trust={trusted}",
                   folder / "yes.vmfb")
    shutil.copy(folder / "no.vmfb", folder / "next")
    (folder / "next").rename(folder / "yes.vmfb")
    wait_until(lambda: "--trust" in reason(server, "yes"))
    assert server.results("yes/fact", [5]) == [120]  # as it was


def test_sidecars_and_variants_are_looked_at(serve, tmp_path):
    versions = Versions(tmp_path)
    versions.put(1)
    place = versions.folder / "m" / "1"
    other, module, sidecar = (place / name for name in
                              ("other.so", "model.so", "model.farcall.json"))
    other.write_bytes(versions.numbered(2))
    trusted = write(tmp_path / "trusted", module)
    server = serve("--admin=loopback", f"--trust={trusted}", versions.folder)
    assert "its sidecar: its SHA-256" in reason(server, "m")
    write(trusted, module, sidecar)
    hang_up(server)
    wait_until(lambda: answers(server, "m") == 1)
    # The variant is what runs, so its sum counts.
    sidecar.write_text(json.dumps({**SIDECAR, "variants": [{"file": "other.so"}]}))
    write(trusted, module, sidecar)
    hang_up(server)
    assert sum_of(other) in reason(server, "m")
    write(trusted, other, sidecar)
    hang_up(server)
    wait_until(lambda: answers(server, "m") == 2)


def test_a_sidecar_can_be_taken_back(serve, tmp_path):
    versions = Versions(tmp_path)
    versions.put(1)
    place = versions.folder / "m" / "1"
    module, sidecar = place / "model.so", place / "model.farcall.json"
    trusted = write(tmp_path / "trusted", module, sidecar)
    server = serve("--admin=loopback", f"--trust={trusted}", versions.folder)
    assert answers(server, "m") == 1
    write(trusted, module)
    hang_up(server)
    wait_until(lambda: server.call("m/number", [5]).status == 503)
    said = reason(server, "m")
    assert "its sidecar: " in said and sum_of(sidecar) in said


def test_libraries_beside_a_module_are_refused(serve, tmp_path):
    folder = tmp_path / "modules"
    folder.mkdir()
    made = BIN.parent / "tests/modules/native"
    for name in ("origin.so", "origin.farcall.json"):
        shutil.copy(made / name, folder / name)
    trusted = write(tmp_path / "trusted", *folder.iterdir())
    server = serve(f"--trust={trusted}", folder)
    assert "$ORIGIN" in reason(server, "origin")


@pytest.mark.parametrize("words, refused", [
    (["-Wl,-rpath,{work}", "-Wl,--no-as-needed", "-L{work}", "-lother"], True),
    (["-Wl,--no-as-needed", "{work}/libother.so"], True),
    (["-Wl,-rpath,/usr/lib/llvm-22/lib"], False),
    (["-Wl,-rpath,/usr/lib:/usr/../{work}"], True),
    (["-Wl,--audit,libother.so"], True)])
def test_libraries_elsewhere_are_refused(serve, tmp_path, words, refused):
    folder, source = tmp_path / "modules", tmp_path / "one.c"
    folder.mkdir()
    source.write_text("long long _mlir_ciface_one(void) { return 1; }\n")
    compile_ = ["cc", "-shared", "-fPIC", source]
    subprocess.run([*compile_, "-o", tmp_path / "libother.so"], check=True)
    words = [each.replace("{work}", str(tmp_path)) for each in words]
    subprocess.run([*compile_, "-o", folder / "m.so", *words], check=True)
    (folder / "m.farcall.json").write_text(json.dumps(
        {"farcall": 1, "abi": "mlir-memref", "functions": [
            {"name": "one", "symbol": "_mlir_ciface_one", "cc": "ciface",
             "results": [{"type": "i64"}]}]}))
    trusted = write(tmp_path / "trusted", *folder.iterdir())
    server = serve(f"--trust={trusted}", folder)
    assert ("outside the system's folders" in reason(server, "m")) == refused
    assert server.call("m/one", []).status == (503 if refused else 200)


@pytest.mark.parametrize("text, mode, said", [
    ("x\n", 0o600, ":1:1: a SHA-256 sum is 64 digits of hex"),
    ("", 0o622, "others than its owner may write it (mode 0622)"),
    (None, 0, "No such file"),
])
def test_a_wrong_file_is_told_before_anything_starts(tmp_path, text, mode, said):
    trusted = tmp_path / "trusted"
    if text is not None:
        trusted.write_text(text)
        trusted.chmod(mode)
    for words in (["-t"], []):
        done = subprocess.run([BIN / "farcalld", *words, "--listen=127.0.0.1:0",
                               f"--trust={trusted}", MODULE], text=True,
                              env=user_environment(), capture_output=True, timeout=60)
        assert done.returncode == 64 and said in done.stderr
