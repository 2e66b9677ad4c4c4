# SPDX-License-Identifier: Apache-2.0
"""The content of the wheel and the sdist, and what they need."""
import base64
import csv
import hashlib
import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import zipfile

import farcall
import pytest

from conftest import BUILD, ROOT, SANITIZED

(WHEEL,) = (BUILD / "python/dist").glob("*.whl")


def needed(path):
    out = subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                         check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.*?)\]", out))


def test_one_wheel_for_every_python():
    name, version, python, abi, platform = WHEEL.stem.split("-")
    assert (name, version) == ("farcall", farcall.__version__)
    assert (python, abi) == ("cp311", "abi3")
    if not SANITIZED:
        assert re.fullmatch(r"manylinux_2_\d+_x86_64(\.manylinux_2_\d+_x86_64)*",
                            platform), platform
    with zipfile.ZipFile(WHEEL) as wheel:
        names = wheel.namelist()
    for wanted in ("farcall/_farcall.abi3.so", "farcall/_farcall.pyi", "farcall/py.typed",
                   "farcall/bin/farcalld", "farcall/bin/farcall"):
        assert wanted in names
    assert not [each for each in names if "test" in each.lower()]


@pytest.mark.skipif(SANITIZED, reason="a wheel for the sanitizer has no libraries")
def test_it_brings_its_libraries(tmp_path):
    """The wheel uses only the system's C library and zlib, which every Linux has."""
    with zipfile.ZipFile(WHEEL) as wheel:
        wheel.extractall(tmp_path)
    brought = {path.name for path in (tmp_path / "farcall.libs").iterdir()}
    for wanted in ("ffi", "nettle", "yyjson", "uv", "llhttp"):
        assert any(re.match(f"lib{wanted}", each) for each in brought), wanted
    assert not any(re.match("lib(ssl|crypto)", each) for each in brought)
    system = {"libc.so.6", "libm.so.6", "libz.so.1", "ld-linux-x86-64.so.2"}
    files = [tmp_path / "farcall/_farcall.abi3.so", *(tmp_path / "farcall/bin").iterdir(),
             *(tmp_path / "farcall.libs").iterdir()]
    assert len(files) >= 8
    for path in files:
        assert needed(path) <= system | brought, path


@pytest.mark.skipif(SANITIZED, reason="a wheel for the sanitizer has no libraries")
def test_each_library_has_its_licence():
    """All licences that are named are included as texts: the LGPL requires it."""
    with zipfile.ZipFile(WHEEL) as wheel:
        names = wheel.namelist()
        (top,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        texts = {name.removeprefix(f"{top}/licenses/"): wheel.read(name).decode()
                 for name in names
                 if name.startswith(f"{top}/licenses/") and not name.endswith("/")}
        fields = wheel.read(f"{top}/METADATA").decode().split("\n\n")[0]
    libraries = {re.match(r"farcall\.libs/(\w+)-\w+\.so", name)[1] for name in names
                 if name.startswith("farcall.libs/lib")}
    assert len(libraries) >= 5
    wanted = {"LICENSE", *(f"{each}/copyright" for each in libraries)}
    for text in texts.values():
        wanted |= set(re.findall(r"/usr/share/(common-licenses/[\w.-]*\w)", text))
    assert set(texts) == wanted
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in texts["common-licenses/LGPL"]
    assert set(re.findall(r"^License-File: (.*)$", fields, re.M)) == wanted


def test_extras():
    found = importlib.metadata.metadata("farcall").get_all("Provides-Extra")
    assert sorted(found) == ["client", "grpc", "types"]


def test_the_record_is_right():
    with zipfile.ZipFile(WHEEL) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/")]
        (record,) = (name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(wheel.read(record).decode().splitlines()))
        for name, digest, size in rows:
            data = wheel.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            assert name == record or \
                (digest, size) == (f"sha256={wanted.decode()}", str(len(data))), name
    assert sorted(name for name, _, _ in rows) == sorted(names)


def test_the_extension_exports_what_modules_import():
    path = pathlib.Path(farcall.__file__).with_name("_farcall.abi3.so")
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True,
                         text=True, check=True).stdout
    names = {line.split()[-1].split("@")[0] for line in out.splitlines()}
    wanted = set(re.findall(r"(\w+);", (ROOT / "cmake/exports.list").read_text()))
    assert names == wanted | {"PyInit__farcall"}


def test_the_package_comes_from_the_wheel():
    assert pathlib.Path(farcall.__file__).is_relative_to(BUILD / "python/venv")
    assert ROOT / "python" not in map(pathlib.Path, sys.path)


def test_sdist(tmp_path):
    """The sdist has everything that a build reads: the folders that CMake enters, and the
    scripts."""
    import scikit_build_core.build as backend
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        name = backend.build_sdist(str(tmp_path))
    finally:
        os.chdir(here)
    with tarfile.open(tmp_path / name) as sdist:
        names = {each.split("/", 1)[1] for each in sdist.getnames()}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True,
                             text=True, check=True).stdout.split()
    for path in tracked:
        if path.split("/")[0] in ("core", "tls", "server", "cli", "include", "cmake", "python"):
            assert path in names, path
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "docs/python.md"} <= names
    assert not [each for each in names if each.startswith(("tests/", "build/", "bench/"))]
    assert (tmp_path / name).stat().st_size < 4 << 20
