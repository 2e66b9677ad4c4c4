# SPDX-License-Identifier: Apache-2.0
"""test_batches.py at the size that is promised, all at once: every dialect, calls of
one row and of more, and calls that are late, dropped, refused by a check in the code
or crash; the last two in 1 of 1,000 rows. BATCH_CALLS is the number of calls,
BATCH_SEED chooses them."""
import os
import re
import shutil

from test_batches import (BACKENDS, CHECK, CHECKED, LATE, LEAVE, MODULES, SIZES, Recorder,
                          compile_rows, load, record, row)
from test_rows import folder, inputs  # noqa: F401

CALLS = int(os.environ.get("BATCH_CALLS", 10**7))
SEED = os.environ.get("BATCH_SEED", "1")
AT_ONCE = 128
PROCESSES = os.environ["FARCALL_ISOLATION"] == "process"
# For a second after a crash, a module's calls are made one by one. So there are many
# modules, each of which crashes rarely.
CRASHING = [f"crashing{i}" for i in range(16)] if PROCESSES else []
HARMLESS = 4000
LIMITS = ["--workers=2", "--lane=never", "--crash-limit=0"]


def write_modules(iree, path):
    text = "".join(CHECKED.format(n=n, checks="".join(CHECK.format(i=i, n=n)
                                                      for i in range(n))) for n in SIZES)
    shutil.copy(iree.compile_text("checked", f"module {{{text}}}", *BACKENDS["bytecode"]),
                path / "checked.vmfb")
    for name in CRASHING:
        (path / "one").mkdir()
        compile_rows(path / "one")
        for each in (path / "one").iterdir():
            each.rename(path / (name + each.name[1:]))
        (path / "one").rmdir()


def record_harmless(server, recorder):
    for _ in range(4):
        for name in MODULES:
            record(server, f"{name}/good", recorder)
    for count in range(400):
        x, y = inputs(10**6 + count)
        recorder.call(f"{MODULES[count % len(MODULES)]}/good",
                      [x[:1].tolist(), y[:1].tolist()], [LEAVE, LATE][count % 2])
    for first in range(100, 100 + HARMLESS):
        recorder.call("checked/f", [[[first, 1.5]]])
        for name in CRASHING:
            recorder.call(f"{name}/f", row(first))
        if len(recorder.cases) >= HARMLESS:
            return


def record_all(server, recorder):
    """Of 16,000 calls, 16 crash and 16 are refused."""
    record_harmless(server, recorder)
    recorder.cases *= 4
    for i in range(16):
        recorder.call("checked/f", [[[13, i]]])
    for name in CRASHING:
        recorder.call(f"{name}/f", row(13))


def total(server, metric):
    return sum(float(each) for each in re.findall(
        rf"^{metric}{{.*}} (\S+)$", server.get("/metrics").body.decode(), re.M))


def test_ten_million_calls(serve, iree, folder, tmp_path):  # noqa: F811
    write_modules(iree, folder)
    alone = serve(*LIMITS, "--batch=off", folder)
    recorder = Recorder(alone)
    record_all(alone, recorder)
    server = serve(*LIMITS, "--batch=auto", folder)
    done = load(server, recorder, tmp_path / "cases", CALLS, AT_ONCE, SEED, timeout=3500)
    batched = total(server, "farcall_batched_calls_total")
    print(f"{batched:.0f} computed with others, {total(server, 'farcall_worker_crashes_total'):.0f} "
          f"crashes, {total(server, 'farcall_batches_unlike_total'):.0f} batches unlike")
    assert done["sent"] >= CALLS and done["failed"] > CALLS / 10**4
    assert batched > CALLS / 4
    assert total(server, "farcall_batches_unlike_total") == 0
