# SPDX-License-Identifier: Apache-2.0
"""The explorer's files, as they are sent. tests/browser uses it in a browser."""
import gzip
import re

import pytest

from conftest import ROOT, Server

FILES = {"/": "text/html; charset=utf-8", "/explorer.js": "text/javascript; charset=utf-8",
         "/explorer.css": "text/css; charset=utf-8", "/explorer.svg": "image/svg+xml"}
HTML = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
SIZE_MAX = 60 << 10  # of all, compressed


@pytest.fixture(scope="module")
def asked():
    server = Server(ROOT / "examples/iree/matmul.vmfb")
    yield server
    assert server.stop() == 0


@pytest.mark.parametrize("path", FILES)
def test_a_file_is_the_same_in_each_coding(asked, path):
    plain = asked.request("GET", path, headers=HTML)
    packed = asked.request("GET", path, headers={**HTML, "Accept-Encoding": "gzip, br"})
    assert plain.status == packed.status == 200
    assert plain.headers["Content-Type"] == FILES[path]
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert b"SPDX-License-Identifier" in plain.body
    source = ROOT / "server/explorer" / ("index.html" if path == "/" else path[1:])
    if path != "/explorer.js":
        assert plain.body == source.read_bytes()
    same = asked.request("GET", path, headers={**HTML, "If-None-Match": plain.headers["ETag"]})
    assert (same.status, same.body) == (304, b"")


def test_every_script_is_in_it(asked):
    whole = asked.get("/explorer.js").body
    scripts = sorted((ROOT / "server/explorer").rglob("*.js"))
    assert sum(each.stat().st_size for each in scripts) == len(whole)
    assert all(each.read_bytes() in whole for each in scripts)


def test_it_is_small(asked):
    headers = {**HTML, "Accept-Encoding": "gzip"}
    assert sum(len(asked.request("GET", path, headers=headers).body)
               for path in FILES) < SIZE_MAX


def test_it_needs_nothing_its_policy_forbids(asked):
    for path in FILES:
        reply = asked.request("GET", path, headers=HTML)
        text = reply.body.decode()
        assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert set(re.findall(r"https?://[^\s\"'`)<>]+", text)) <= {"http://www.w3.org/2000/svg"}
        assert not re.search(r"\beval\(|new Function|innerHTML|outerHTML|insertAdjacent|"
                             r"document\.write|\son\w+=\"|\sstyle=", text)
    page = asked.request("GET", "/", headers=HTML).body.decode()
    assert not re.search(r"<script(?![^>]*src=)|<style", page)


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/html, application/json",
                                    "text/html;q=0.5, application/json"])
def test_others_get_the_routes(asked, accept):
    reply = asked.request("GET", "/", headers={"Accept": accept} if accept else {})
    assert reply.headers["Content-Type"] == "application/json"
    assert reply.json["status"] == "alive"
    assert {"path": "/explorer.js", "methods": "GET, HEAD"} in reply.json["routes"]
