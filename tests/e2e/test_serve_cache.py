# SPDX-License-Identifier: Apache-2.0
"""The modules that farcall serve keeps. Each is made only once, completely or not at
all, again if anything it depends on changes, only used if nobody else can have
written it, and removed after some time. The compiler is a script that records its
runs, and continues when the test says so."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from conftest import BIN, ROOT
from console import user_environment

SOURCE = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x\n}\n"
COMPILER = """#!/bin/sh
echo run >> "$RUNS"
echo "$@" >> "$RUNS.words"
case " $* " in *-cpu=${FAILS:-nothing}\ *) exit 1; esac
while [ -e "$HOLD" ]; do sleep 0.02; done
while [ "$1" != -o ]; do shift; done
cat "$MADE" > "$2"
"""
DAY = 24 * 3600


class Cache:
    def __init__(self, folder):
        self.folder, self.cache = folder, folder / "cache"
        self.runs, self.hold = folder / "runs", folder / "hold"
        self.source = folder / "m.mlir"
        self.source.write_text(SOURCE)
        (folder / "tools").mkdir()
        self.compiler = folder / "tools/iree-compile"
        self.compiler.write_text(COMPILER)
        self.compiler.chmod(0o755)
        self.variables = {"RUNS": str(self.runs), "HOLD": str(self.hold),
                          "MADE": str(ROOT / "examples/iree/matmul.vmfb")}

    def run(self, *arguments, program=BIN / "farcall", **options):
        return subprocess.Popen(
            [program, "serve", "--tools=tools", "--cache=cache", *arguments],
            cwd=self.folder, text=True, env={**user_environment(), **self.variables},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def start(self, *arguments, **options):
        """With -t farcalld only checks its options, so it ends."""
        return self.run(self.source.name, "-t", *arguments, **options)

    def serve(self, *arguments):
        process = self.start(*arguments)
        _, said = process.communicate(timeout=60)
        return process.returncode, said

    def made(self):
        """How often the compiler ran."""
        return len(self.runs.read_text().split()) if self.runs.exists() else 0

    def entries(self):
        return sorted(each for each in self.cache.iterdir() if len(each.name) == 32)

    def leftovers(self):
        return [each.name for each in self.cache.iterdir() if each.name.startswith("new-")]

    def entry(self):
        entries = self.entries()
        assert len(entries) == 1
        return entries[0]


@pytest.fixture
def cache(tmp_path):
    made = Cache(tmp_path)
    code, said = made.serve()
    assert (code, made.made()) == (0, 1), said
    code, said = made.serve()
    assert (code, made.made()) == (0, 1) and "compiled before" in said, said
    return made


def until(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not come in a minute"
        time.sleep(0.02)


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def describe_otherwise(path):
    document = json.loads(path.read_text())
    document["functions"] = []
    path.write_text(json.dumps(document))


def link(path):
    shutil.copy(path, path.parent / "other")
    path.unlink()
    path.symlink_to("other")


DAMAGES = {
    "half a module": lambda entry: cut(entry / "m.vmfb"),
    "an empty module": lambda entry: (entry / "m.vmfb").write_bytes(b""),
    "a module with one bit turned": lambda entry: flip(entry / "m.vmfb"),
    "no module": lambda entry: (entry / "m.vmfb").unlink(),
    "a module that is a link": lambda entry: link(entry / "m.vmfb"),
    "a sidecar that was changed": lambda entry: describe_otherwise(entry / "m.farcall.json"),
    "no sidecar": lambda entry: (entry / "m.farcall.json").unlink(),
    "an empty entry": lambda entry: [each.unlink() for each in entry.iterdir()],
    "an entry that others may write to": lambda entry: entry.chmod(0o777),
    "a file in the entry's place": lambda entry: (shutil.rmtree(entry), entry.touch()),
    "a link in the entry's place":
        lambda entry: (entry.rename(entry.parent.parent / "kept"),
                       entry.symlink_to(entry.parent.parent / "kept")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_made_again(cache, name):
    entry = cache.entry()
    DAMAGES[name](entry)
    code, said = cache.serve()
    assert (code, cache.made()) == (0, 2), said
    assert f"note: compiling {cache.source.name}\n" in said
    assert (entry / "m.vmfb").read_bytes() == open(cache.variables["MADE"], "rb").read()
    assert not entry.is_symlink() and not cache.leftovers()
    code, said = cache.serve()
    assert (code, cache.made()) == (0, 2), said


def touch_compiler(cache):
    cache.compiler.write_text(COMPILER + "# newer\n")


def install_package(cache):
    info = cache.folder / "lib/python3.11/site-packages/iree_base_compiler-9.dist-info"
    info.mkdir(parents=True)


def weights(cache):
    """A source that contains the name of a file of weights; the name has more than 127
    bytes."""
    name = "w" * 200
    cache.source.write_bytes(SOURCE.encode() + b"//\x0A\x08location\x12\xC8\x01"
                             + name.encode())
    (cache.folder / name).write_bytes(b"1")
    assert cache.serve()[0] == 0
    # The new file has the same size and time of change: only its inode differs.
    info = (cache.folder / name).stat()
    (cache.folder / "new").write_bytes(b"2")
    os.utime(cache.folder / "new", ns=(info.st_atime_ns, info.st_mtime_ns))
    (cache.folder / "new").rename(cache.folder / name)


CHANGES = {
    "the source": (lambda cache: cache.source.write_text(SOURCE + "\n"), (), 2),
    "the source's time alone": (lambda cache: os.utime(cache.source, (1, 1)), (), 1),
    "the compiler": (touch_compiler, (), 2),
    "the compiler's package": (install_package, (), 2),
    "the level": (lambda cache: None, ("-O3",), 2),
    "the processor": (lambda cache: None, ("--cpu=x86-64-v3",), 2),
    "an option of farcalld": (lambda cache: None, ("--queue=7",), 1),
    "weights beside the source": (weights, (), 3),
}


PROCESSORS = {  # options, processor that the compiler fails at: those that it is asked for
    "this machine's": ((), "x", ["host"]),
    "any, where the compiler fails": ((), "host", ["host", "host", "generic"]),
    "any, at the level that was asked for": (("-O1",), "host", ["host", "generic"]),
    "one that was asked for": (("--cpu=generic",), "x", ["generic"]),
    "none but one that was asked for": (("--cpu=host",), "host", ["host", "host"]),
}


@pytest.mark.parametrize("name", PROCESSORS)
def test_for_which_processor(tmp_path, name):
    options, fails, asked = PROCESSORS[name]
    made = Cache(tmp_path)
    made.variables["FAILS"] = fails
    code, said = made.serve(*options)
    words = made.runs.with_suffix(".words").read_text()
    assert re.findall(r"-target-cpu=(\S+)", words) == asked
    assert (code == 0) == (asked[-1] != fails), said
    assert ("fails for this processor" in said) == (len(set(asked)) == 2), said


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_module_depends_on(cache, name):
    change, options, count = CHANGES[name]
    change(cache)
    code, said = cache.serve(*options)
    assert (code, cache.made()) == (0, count), said


def test_two_at_once_compile_once(cache):
    cache.source.write_text(SOURCE + "// two\n")
    cache.hold.touch()
    both = [cache.start(), cache.start()]
    until(lambda: cache.made() == 2)
    # One of the two prints that it is waiting; which one is random.
    said = [b"", b""]
    for process in both:
        os.set_blocking(process.stderr.fileno(), False)

    def one_waits():
        for i, process in enumerate(both):
            with contextlib.suppress(BlockingIOError):
                said[i] += os.read(process.stderr.fileno(), 1 << 16)
        return any(b"another farcall compiles" in text for text in said)
    until(one_waits)
    cache.hold.unlink()
    for process in both:
        os.set_blocking(process.stderr.fileno(), True)
        process.communicate(timeout=60)
    assert [process.returncode for process in both] == [0, 0]
    assert cache.made() == 2 and not cache.leftovers()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_compiler_too(cache, number):
    cache.source.write_text(SOURCE + "// signal\n")
    cache.hold.touch()
    process = cache.start()
    until(lambda: cache.made() == 2)
    children = open(f"/proc/{process.pid}/task/{process.pid}/children",
                    encoding="ascii").read().split()
    assert children
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number, said
    until(lambda: not any(os.path.exists(f"/proc/{child}") for child in children))
    assert len(cache.entries()) == 1 and not cache.leftovers()
    cache.hold.unlink()
    assert cache.serve()[0] == 0 and cache.made() == 3


def test_an_ignored_hangup_stays_ignored(cache):
    """nohup ignores the signal like this."""
    cache.source.write_text(SOURCE + "// nohup\n")
    cache.hold.touch()
    process = cache.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    until(lambda: cache.made() == 2)
    process.send_signal(signal.SIGHUP)
    cache.hold.unlink()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


def test_what_was_killed_leaves_nothing_that_counts(cache):
    cache.source.write_text(SOURCE + "// killed\n")
    cache.hold.touch()
    process = cache.start()
    until(lambda: cache.made() == 2)
    process.kill()
    process.communicate(timeout=60)
    cache.hold.unlink()
    assert len(cache.entries()) == 1 and len(cache.leftovers()) == 1
    # The entry of a process that was killed delays nobody, and is removed after a day.
    assert cache.serve()[0] == 0 and cache.made() == 3
    assert len(cache.leftovers()) == 1
    left = cache.cache / cache.leftovers()[0]
    os.utime(left, (time.time() - 2 * DAY,) * 2)
    cache.source.write_text(SOURCE + "// next\n")
    assert cache.serve()[0] == 0 and not cache.leftovers()


def test_a_source_that_changes_meanwhile_is_compiled_again(cache):
    cache.source.write_text(SOURCE + "// first\n")
    cache.hold.touch()
    process = cache.start()
    until(lambda: cache.made() == 2)
    cache.source.write_text(SOURCE + "// second\n")
    cache.hold.unlink()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and cache.made() == 3, said
    assert f"note: {cache.source.name} has changed meanwhile" in said
    assert len(cache.entries()) == 2
    assert cache.serve()[0] == 0 and cache.made() == 3


def test_what_nobody_uses_goes(cache):
    """Entries go that were unused for a month. If there are more than 64, all go that
    were not used during the last day."""
    used = cache.entry()
    ages = {f"{i:032x}": 2 + i / 100 for i in range(70)} | {"f" * 32: 31, "e" * 32: 0.5}
    for name, days in ages.items():
        (cache.cache / name).mkdir()
        os.utime(cache.cache / name, (time.time() - days * DAY,) * 2)
    (cache.cache / "a person's own").mkdir()
    os.utime(cache.cache / "a person's own", (1, 1))
    os.utime(used, (time.time() - 20 * DAY,) * 2)
    assert cache.serve()[0] == 0  # it is used, so it is young again
    cache.source.write_text(SOURCE + "// one more\n")
    assert cache.serve()[0] == 0
    left = {each.name for each in cache.entries()}
    assert used.name in left and "e" * 32 in left and "f" * 32 not in left
    assert left & set(f"{i:032x}" for i in range(70)) == {f"{i:032x}" for i in range(61)}
    assert (cache.cache / "a person's own").exists()


def uses(process):
    """How many descriptors of the process mark entries as used. -1: it is not farcalld
    yet."""
    if not os.readlink(f"/proc/{process.pid}/exe").endswith("/farcalld"):
        return -1
    found = [os.path.join(f"/proc/{process.pid}/fd", each)
             for each in os.listdir(f"/proc/{process.pid}/fd")]
    return sum(os.path.basename(os.readlink(each)) == "in-use" for each in found
               if os.path.islink(each))


def test_what_a_server_uses_stays(cache):
    second = cache.folder / "n.mlir"
    second.write_text(SOURCE + "// second\n")
    server = cache.run(cache.source.name, second.name, f"--listen=unix:{cache.folder}/socket")
    try:
        until(lambda: (cache.folder / "socket").exists())
        assert uses(server) == 1  # one for both
        used = cache.entries()
        assert len(used) == 2

        def compile_another(number):
            for each in used:
                if each.exists():
                    os.utime(each, (time.time() - 40 * DAY,) * 2)
            cache.source.write_text(SOURCE + f"// another {number}\n")
            code, said = cache.serve()
            assert code == 0 and "compiled" in said, said
        compile_another(1)
        assert set(used) <= set(cache.entries())
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
    compile_another(2)
    assert not set(used) & set(cache.entries())


def peak_of(pid):
    """The largest memory of a process so far, in MiB. 0: it has ended."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) >> 10 if found else 0


def test_a_folder_of_sources_takes_the_memory_of_one(cache):
    def peak(count):
        folder = cache.folder / f"of{count}"
        folder.mkdir()
        for number in range(count):
            text = f"// {number} of {count}\n" + "// a long comment of a long model\n" * 500_000
            (folder / f"m{number}.mlir").write_text(SOURCE + text)
        process = cache.run(folder, "-t")
        # Not measured by wait4: its figure includes the memory of the process that
        # started this one.
        most = 0
        while process.poll() is None:
            most = max(most, peak_of(process.pid))
            time.sleep(0.002)
        said = process.stderr.read()
        assert process.returncode == 0 and said.count("note: compiled ") == count, said
        return most
    # Memory that was freed must be given back at once, also with the address sanitizer.
    # Otherwise the C library may keep large blocks, depending on where other blocks
    # are.
    cache.variables["MALLOC_MMAP_THRESHOLD_"] = "131072"
    cache.variables["ASAN_OPTIONS"] = \
        os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
    assert peak(6) < peak(1) + 2 * 16


def test_a_name_that_cannot_be_served(cache):
    (cache.folder / "models").mkdir()
    (cache.folder / "models/b@d.mlir").write_text(SOURCE)
    _, said = cache.run("models", "-t").communicate(timeout=60)
    assert "b@d" in said and said.rstrip().endswith(": give the file another name"), said
    assert "-o FILE" not in said


# For a cache that root has made, such as that of an image: who else may have written to
# it.
BAKED = {
    "nobody else": (lambda entry: None, True),
    "others to a module": (lambda entry: (entry / "m.vmfb").chmod(0o666), False),
    "others to an entry": (lambda entry: entry.chmod(0o777), False),
    "a module of a third": (lambda entry: os.chown(entry / "m.vmfb", 4712, 4712), False),
}


@pytest.mark.parametrize("name", BAKED)
def test_a_cache_that_root_made(cache, name):
    if os.geteuid():
        pytest.skip("SKIPPED: only root can become another user")
    spoil, is_used = BAKED[name]
    with tempfile.TemporaryDirectory() as folder:
        # The folder must be readable for everybody.
        place = pathlib.Path(folder)
        shutil.copytree(cache.folder, place / "of", symlinks=True)
        for each in [place, *place.rglob("*")]:
            each.chmod(0o755 if each.is_dir() or os.access(each, os.X_OK) else 0o644)
        for program in "farcall", "farcalld":
            shutil.copy2(BIN / program, place)
        (place / "of/runs").chmod(0o666)
        baked = Cache.__new__(Cache)
        baked.__dict__.update(cache.__dict__, folder=place / "of", cache=place / "of/cache",
                              source=place / "of/m.mlir", runs=place / "of/runs")
        baked.variables = {**cache.variables, "RUNS": str(baked.runs), "TMPDIR": str(place)}
        # The program is part of the key.
        first = baked.run("m.mlir", "-t", program=place / "farcall")
        assert first.communicate(timeout=60) and first.returncode == 0
        [entry] = [each for each in baked.entries() if each.name != cache.entry().name]
        for each in [entry, *entry.iterdir()]:
            each.chmod(0o755 if each.is_dir() else 0o644)
        spoil(entry)
        process = baked.run("m.mlir", "-t", program=place / "farcall", user=4711, group=4711,
                            extra_groups=[])
        _, said = process.communicate(timeout=60)
        assert ("was compiled before" in said) == is_used, said
        assert (process.returncode == 0) == is_used, said


def give_away(folder):
    if os.geteuid():
        pytest.skip("SKIPPED: only root can give a folder away")
    os.chown(folder, 4711, 4711)


FOREIGN = {
    "open": (lambda folder: folder.chmod(0o777),
             "others may write to the cache {0}: `chmod go-w {0}`, or give --cache=DIR"),
    "given away": (give_away,
                   "the cache {0} belongs to another user (4711): give --cache=DIR"),
    "a file": (lambda folder: (shutil.rmtree(folder), folder.touch()),
               "no place for compiled modules, {0}: Not a directory: give --cache=DIR"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_cache_that_others_may_write_to_is_refused(cache, name):
    spoil, expected = FOREIGN[name]
    spoil(cache.cache)
    code, said = cache.serve()
    assert code == 1 and expected.format(cache.cache) in said, said
    assert cache.made() == 1


def test_folders_above_the_cache_are_made(cache):
    code, said = cache.serve("--cache=a/b/c")
    assert code == 0 and cache.made() == 2, said
    assert (cache.folder / "a/b/c").stat().st_mode & 0o777 == 0o700
