# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ and examples/: runs every command and compares its output.
console.py defines what a command is; the test starts farcalld. RUN_ELSEWHERE lists
pages that other tests run. Things that the commands of docs/build.md name must
exist, and so must files, folders and tests that any page names.
"""
import json
import os
import re
import shlex
import subprocess

import pytest

from conftest import BIN, ROOT, Server, end_servers
from console import commands, matches


DOCS = ROOT / "docs"


@pytest.fixture
def follow(shell, tmp_path):
    """Runs the commands of a page in a folder with the examples, and compares their
    output. `farcalld … &` or `farcall serve … &` starts a server on a port of its
    own; the page's address is replaced by the server's. Before that it is replaced
    by `first`."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    servers = []

    def type_in(command, first):
        if re.fullmatch(r"(farcalld|farcall serve) .* &", command):
            program, *words = shlex.split(command)[:-1]
            servers.append(Server(
                *(each for each in words[program == "farcall":]
                  if each != "--listen=127.0.0.1:8000"),
                program=(program, *words[:program == "farcall"]), cwd=tmp_path))
            shell.environment["FARCALL_SERVER"] = servers[-1].url
            # tests/e2e/test_serve.py tests that this line is printed.
            return "http://127.0.0.1:8000/" if program == "farcall" else ""
        if command == "kill %1":
            assert servers[-1].stop() == 0
            return ""
        if servers or first:
            address = ([first] + servers)[-1].url.removeprefix("http://")
            command = re.sub(r"(localhost|127\.0\.0\.1):8000", address, command)
        return shell(command)

    def follow(page, first=None):
        typed = commands(page)
        for number, command, wanted in typed:
            got = type_in(command, first)
            assert matches(wanted, got), f"{page.name}:{number}: prints\n{got}"
        assert not unseen_blocks(page)
        return len(typed)
    yield follow
    end_servers(servers)


# The number of commands of each page, so that console.py's pattern cannot silently
# match fewer.
COUNTS = {"cli": 31, "clients": 10, "compile": 5, "grpc": 5, "http": 2, "iterate": 4,
          "operate": 31, "quickstart": 20, "scale": 4, "secure": 13, "state": 8,
          "tune": 6}


@pytest.mark.parametrize("page", ["clients", "grpc", "iterate", "operate", "scale", "secure",
                                  "state", "tune"])
def test_page(follow, page):
    assert follow(DOCS / f"{page}.md") == COUNTS[page]


def test_http_page(follow, server):
    assert follow(DOCS / "http.md", server) == COUNTS["http"]


def test_quickstart(follow, shell, tmp_path, iree):
    page = DOCS / "quickstart.md"
    shell.environment["PATH"] = f"{BIN}:{iree.folder}:{os.environ['PATH']}"
    for kind, name in [("mlir", "norm.mlir"), ("c", "twice.c"),
                       ("json", "twice.farcall.json")]:
        (source,) = re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.M | re.S)
        (tmp_path / name).write_text(source)
    assert follow(page) == COUNTS["quickstart"]


RUN_ELSEWHERE = {
    "README.md": "tests/release/test_readme.py",
    "docs/index.md": "tests/release/test_readme.py",
    "docs/embedding.md": "tests/consumer/run.cmake",
    "examples/embedding/README.md": "tests/e2e/test_onnx_embedding_slow.py",
    "examples/jax/README.md": "tests/e2e/test_examples_jax_slow.py",
    "examples/onnx/README.md": "tests/e2e/test_onnx_examples.py",
    "examples/sklearn/README.md": "tests/e2e/test_examples_sklearn_peer.py",
    "examples/torch/README.md": "tests/e2e/test_examples_torch_peer.py"}


def test_every_console_block_is_run():
    pages = {str(page.relative_to(ROOT)) for page in PAGES if commands(page)}
    here = {f"docs/{name}.md" for name in COUNTS} | {f"examples/{name}" for name in EXAMPLES}
    assert pages == here | set(RUN_ELSEWHERE)
    for page, test in RUN_ELSEWHERE.items():
        name = page if page.startswith(("README", "docs")) else page.split("/")[1]
        assert name in (ROOT / test).read_text(), page


PAGES = [ROOT / "README.md", *sorted(DOCS.glob("**/*.md")),
         *sorted(ROOT.glob("examples/**/*.md")), ROOT / "CONTRIBUTING.md",
         ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", ROOT / "tests/README.md",
         ROOT / "tests/modules/mlir/README.md"]


def test_every_page_is_listed():
    """A page is listed on the first page and, for the site, in mkdocs.yml."""
    first, site = ((ROOT / each).read_text() for each in ["docs/index.md", "mkdocs.yml"])
    names = [page.name for page in DOCS.glob("*.md") if page.name != "index.md"]
    assert [name for name in names if f"({name})" not in first
            or f"docs/{name}" not in site] == []


def anchors(page):
    """The anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-")
            for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_places_to_change_are_there():
    """The files that docs/changing.md names exist, and contain the names that it gives
    after "FILE:"."""
    text = (DOCS / "changing.md").read_text()
    files = {each for each in re.findall(r"`([\w.-]+(?:/[\w.-]+)+)`", text)}
    assert len(files) > 40
    assert [each for each in sorted(files) if not (ROOT / each).exists()] == []
    lists = re.findall(r"`([\w./-]+)`:\s+((?:`\w+`(?:,\s+| and )?)+)", text)
    names = [(file, name) for file, given in lists for name in re.findall(r"`(\w+)`", given)]
    assert len(names) > 40
    assert [(file, name) for file, name in names
            if not re.search(DEFINED.format(name), (ROOT / file).read_text(), re.M)] == []


# A line that defines a name and does not call it: it is not indented, or it is a
# member's; and it does not end a statement. For C, Python, JavaScript and CMake.
DEFINED = (r"^(?:[A-Za-z_][\w\s*]*[\s*])?{0}\b(?:\(|\[| =|=)(?![^\n]*\);$)"
           r"|^#define {0}\b|^(?:async )?(?:def|class|function|const) {0}\b|^\}} {0}\b"
           r"|^    def {0}\(|^(?:set\(|string\(CONCAT ){0}\b")


def test_every_folder_of_tests_is_told():
    text = (ROOT / "tests/README.md").read_text()
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/*") if path.is_file()}
    assert len(folders) > 20
    assert [each for each in sorted(folders - {"__pycache__"})
            if not re.search(rf"`{each}\b/?", text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_table_is_cut(page):
    """An empty line ends a table. Rows after it have no head, so they would be shown as
    text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    tables = re.findall(r"(?:^[ ]*\|.*\n)+", text, re.M)
    assert [each for each in tables
            if not re.match(r"[^\n]*\n[ ]*\|[\s|:-]*\|\n", each)] == []


def test_a_server_on_loopback_answers_the_checks_of_haproxy(examples):
    checks = re.findall(r"http-check send meth GET uri (\S+) hdr Host (\S+)",
                        (ROOT / "config/haproxy/haproxy.cfg").read_text())
    assert len(checks) == 2
    for path, host in checks:
        assert examples.request("GET", path, headers={"Host": host}).status == 200


@pytest.fixture(scope="module")
def examples():
    server = Server(ROOT / "examples/iree")
    yield server
    assert server.stop() == 0


EXAMPLES = ["README.md", "digits/README.md"]


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples(shell, tmp_path, examples, page):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shell.environment["FARCALL_SERVER"] = examples.url
    address = examples.url.removeprefix("http://")
    seen = 0
    for number, command, wanted in commands(ROOT / "examples" / page):
        got = shell(command.replace("localhost:8000", address))
        assert matches(wanted, got), f"{page}:{number}: prints\n{got}"
        seen += 1
    assert seen >= 4


def unseen_blocks(page):
    """The kinds of code blocks on a page that no test reads: all but console blocks,
    sources and documents."""
    infos = re.findall(r"^```(.*)$", page.read_text(), re.M)[::2]
    return set(infos) - {"console", "mlir", "json", "c"}


def test_compile_and_cli_pages(shell, tmp_path, server):
    """The second page uses what the first has compiled."""
    shell.environment["FARCALL_SERVER"] = server.url
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for name in ["compile", "cli"]:
        page = DOCS / f"{name}.md"
        typed = commands(page)
        for number, command, wanted in typed:
            got = shell(command)
            if command == "farcall ls":  # the page shows one of the modules
                assert wanted[0].split() in [line.split() for line in got.splitlines()]
            else:
                assert matches(wanted, got), f"{page.name}:{number}: prints\n{got}"
        assert len(typed) == COUNTS[name]
        assert not unseen_blocks(page)


def test_build_page_names_what_there_is():
    text = (DOCS / "build.md").read_text()
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    names = {each["name"] for each in presets["configurePresets"]
             if not each.get("hidden")}
    assert set(re.findall(r"^\| `(\w+)` \| [^|]* \| [^|]* \|$", text, re.M)) == names
    assert set(re.findall(r"--preset (\w+)", text)) <= names
    options = "".join(each.read_text() for each in
                      [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")])
    for option in re.findall(r"-D(FARCALL_\w+)", text):
        assert option in options, option
    for target in re.findall(r"--target (fuzz_\w+)", text):
        assert (ROOT / f"tests/fuzz/{target}.c").exists(), target
    usage = re.search(r"scripts/deps ([\w|]+)", (ROOT / "scripts/deps").read_text())
    for words in re.findall(r"^    scripts/deps ([a-z]+)", text, re.M):
        assert words in usage[1].split("|"), words


BASES = [".", "core", "server", "include", "core/module/vm", "cli"]


def is_there(name):
    """True for a file, a folder, a pattern of these, and the name of a test."""
    if any(next((ROOT / base).glob(name.rstrip("/")), None) for base in BASES):
        return True
    layer, _, test = name.rpartition("/")
    folder = ROOT / "tests" / (layer if layer in ("e2e", "http") else "unit/" + layer)
    return any(folder.glob(f"test_{test}.*"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_are_there(page):
    if page.name == "CHANGELOG.md":  # tells of what was
        return
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    first = {each.name for base in BASES for each in (ROOT / base).iterdir()
             if each.is_dir()} | {"http", "e2e"}
    for name in re.findall(r"`([\w./*-]+)`", text):
        top, _, rest = name.partition("/")
        if not rest or top not in first or top == "build" or "X" in rest:
            continue
        assert is_there(name), name


def test_security_names_tests():
    """Each row of SECURITY.md names the tests that show it. A row without tests says
    that nothing stops the threat."""
    listed = json.loads(subprocess.run(
        ["ctest", "--test-dir", BIN.parent, "--show-only=json-v1"], check=True,
        capture_output=True, timeout=60).stdout)
    tests = {each["name"].partition("@")[0] for each in listed["tests"]}
    rows = [[cell.strip() for cell in line.strip("|\n").split(" |")]
            for line in (ROOT / "SECURITY.md").read_text().splitlines()
            if line.startswith("| ") and not line.startswith("| threat")]
    assert len(rows) > 25
    for threat, stops, shown, left in rows:
        named = re.findall(r"`([^`]+)`", shown)
        assert bool(stops) <= bool(named), threat
        assert stops or left, threat
        assert [name for name in named if name not in tests] == [], threat


def test_cli_page_knows_every_verb(shell):
    text = "".join((DOCS / name).read_text() for name in ["cli.md", "compile.md"])
    for line in shell("farcall --help").split("verbs:\n")[1].splitlines():
        if not re.match(r"  \w", line):  # it goes on with the text of a verb
            continue
        verb = line.split()[0]
        headings = re.findall(r"^## (.*)$", text, re.M)
        assert any(verb in re.split(r",? and |, ", h) for h in headings), verb
        options = re.findall(r"--([a-z]+(?:-[a-z]+)*)", shell(f"farcall {verb} --help"))
        section = text
        for option in set(options) - {"help"}:
            assert f"--{option}" in section or option in ("cconv", "raw"), option
