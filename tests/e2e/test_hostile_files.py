# SPDX-License-Identifier: Apache-2.0
"""Small files that state a few things very often, or that would never end. Each is
refused, or loads and is called, within the time and memory that a file of its size
may need; other modules are served meanwhile."""
import dataclasses
import json
import os
import resource
import struct
import subprocess
import threading
import typing

import pytest

from conftest import BIN, Server
from vmfb import IMPORT, REF, Code, module

SANITIZED = b"__asan_init" in (BIN / "farcalld").read_bytes()
SECONDS = 100 if SANITIZED else 10  # of the processor; without limits it is minutes
MEMORY = 200 << 20                  # without limits it is gigabytes


def nothing():
    return Code().give().function()


def endless():
    return Code().branch(0).function()


@dataclasses.dataclass
class File:
    name: str
    make: typing.Callable[[], bytes]
    refused: str = ""  # part of the reason; "": the file is loaded
    suffix: str = ".vmfb"
    functions: int = 0  # of the description beside a shared object


def often(function, count, name="f"):
    return module([function], [(name, 0)] * count)


def many_arguments():
    return often(Code().give().function("0" + "i" * 8000 + "_v"), 2000)


def long_attributes():
    return often(Code().give().function(attrs=[("k", "x" * 60000)]), 20000)


def many_attributes():
    return often(Code().give().function(attrs=[("k", "")] * 16000), 2000)


def sip_results():
    """More results than a signature has room for, and a tree that uses some of them."""
    count = 21000
    tree = "".join(f"k{i}_{16384 + 8 * i}" for i in range(8))
    tree = f"S{len(tree) + 1}!{tree}"
    raw = f"I1!R{3 * count + 1}!" + "S1!" * count
    attrs = [("abi", "sip"), ("sip", f"I1!R{len(tree) + 1}!{tree}"), ("f", raw)]
    code = Code().give(*[0] * count)
    return module([code.function("0v_" + "f" * count, 8, attrs=attrs)], [("f", 0)])


def shared_code():
    code = Code()
    for _ in range(1300):
        code.op(0x0C, 0)
    return module([code.give().function(cells=2)] * 65535, [("f", 0)])


def returned_views():
    """An analysis might keep a row of facts for each view that is returned."""
    count = 16000
    code = Code().call(IMPORT, [REF, 0, 2, 4, 5], [REF | 1], [1, 1, 1, 1, 1, 0])
    code.give(*[REF | 1] * count)
    return module([code.function("0r_" + "r" * count, 32766, 8000)], [("f", 0)],
                  imports=[("hal.buffer_view.create", "0rIIiiCID_r")])


def large_callee():
    """An analysis might look into the callee again for each of its calls."""
    caller, callee = Code(), Code()
    for _ in range(50000):
        caller.call(1, [REF])
    for _ in range(300000):
        callee.op(0x0C, 0)
    return module([caller.give().function("0r_v", refs=1),
                   callee.give().function("0r_v", 2, 1)], [("f", 0)])


def wide_branches():
    """An analysis might keep a row of facts for each case of a branch table, and repeat
    that for each fact."""
    code = Code().op(0x83, 0).u32(0).list()
    code.list()
    code.bytes[-2:] = (20000).to_bytes(2, "little")
    for _ in range(20000):
        code.u32(0).list()
    return module([code.function("0r_v", 32766, 8000)], [("f", 0)])


def shared_object(symbols=2, text=100, sections=4, entries=2):
    """All symbols but the last, `f`, have the same name of `text` bytes. All sections
    but four are writable data."""
    names = b"\0" + b"a" * text + b"\0f\0"
    symbol = b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, 0x1000, 8)
                      for name in [1] * (symbols - 1) + [len(names) - 2])
    dynamic = struct.pack("<QQ", 0x6FFFFEF5, 0) * entries
    tables, at = [], 120
    for data in symbol, names, dynamic:
        tables.append((at + 7) // 8 * 8)
        at = tables[-1] + len(data)
    end = (at + 7) // 8 * 8

    def section(kind, flags, offset, size, link=0):
        return struct.pack("<IIQQQQIIQQ", 0, kind, flags, offset, offset, size,
                           link, 0, 8, 0)
    headers = [bytes(64), section(11, 2, tables[0], len(symbol), 2),
               section(3, 2, tables[1], len(names)),
               section(6, 3, tables[2], len(dynamic), 2)]
    headers += [section(1, 3, tables[2], 4)] * (sections - len(headers))
    out = bytearray(end) + b"".join(headers)
    out[:64] = b"\x7fELF\2\1\1" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, end, 0, 64, 56, 1, 64, sections, 0)
    out[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, len(out), len(out), 4096)
    for place, data in zip(tables, [symbol, names, dynamic]):
        out[place:place + len(data)] = data
    return bytes(out)


def described(count):
    return json.dumps({"farcall": 1, "functions": [
        {"name": f"f{i}", "symbol": "f"} for i in range(count)]})


FILES = [
    File("names", lambda: often(nothing(), 2), "two are named 'f'"),
    File("exports", lambda: often(nothing(), 250000), "describe"),
    File("async", lambda: often(nothing(), 50000, "f$async"), "describe"),
    File("many_arguments", many_arguments, "describe"),
    File("long_attributes", long_attributes, "describe"),
    File("many_attributes", many_attributes, "describe"),
    File("sip_results", sip_results, "at most 16384 type nodes"),
    File("shared_code", shared_code, "bytes in all, at most"),
    File("returned_views", returned_views),
    File("large_callee", large_callee),
    File("wide_branches", wide_branches),
    File("symbols", lambda: shared_object(80000, 2000000), suffix=".so",
         functions=1000),
    File("sections", lambda: shared_object(sections=65000, entries=200000),
         suffix=".so", functions=1),
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_small_file_costs_little(file, tmp_path):
    path = tmp_path / (file.name + file.suffix)
    path.write_bytes(file.make())
    if file.suffix == ".so":
        path.with_suffix(".farcall.json").write_text(described(file.functions))
    process = subprocess.Popen(
        [str(BIN / "farcall"), "sig", str(path)], stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU,
                                              (SECONDS, SECONDS)))
    stderr = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == (65 if file.refused else 0), stderr
    assert file.refused in stderr
    assert SANITIZED or used.ru_maxrss << 10 < MEMORY


# ---------------------------------------------------------------------------
# Modules that are run

LOAD, DISPATCH = IMPORT, IMPORT | 1
LOADER = [("hal_loader.executable.load", "0rrr_r"),
          ("hal_loader.executable.dispatch", "0rIiiiCiDCrIID_v")]


def with_kernel(code, **kernel):
    """A module whose constant 1 is a module with a kernel that does nothing."""
    inner = module([Code().give().function("0rrriiiiiiiii_v", 16, 4)], [("k", 0)],
                   **kernel)
    return module([code.function(cells=8, refs=8)], [("f", 0)], LOADER,
                  ["!hal.executable"], [b"vmvx-bytecode-fb", inner, bytes(4)])


def load_kernel(code):
    return code.call(LOAD, [REF, REF | 1, REF | 2], [REF | 3])


def constants(code):
    return code.rodata(0, 0).rodata(1, 1).rodata(2, 2)


def empty_grid():
    code = load_kernel(constants(Code())).op(0x0E, 0)
    code.i32(2, 0).i32(3, -1).i32(4, 65535)
    code.call(DISPATCH, [REF | 3, 0, 2, 3, 4], [], [1, 1, 1, 1, 1, 0, 0])
    return with_kernel(code.give())


def many_executables():
    """As many executables as fit, each with 64 MiB of globals."""
    code = constants(Code()).i32(2, 100000).i32(3, 0).i32(5, 1)
    code.op(0x12).u32(0).raw(b"\2\0\4\x80").op(0x15, REF | 4, 2)
    again = code.mark()
    load_kernel(code).op(0x1B, REF | 4, 3, REF | 3).op(0x22, 3, 5, 3)
    return with_kernel(code.branch(again), global_bytes=64 << 20)


def hook(name):
    return module([nothing(), endless()], [("f", 0), (name, 1)])


def test_a_grid_without_workgroups_is_done(farcall, tmp_path):
    path = tmp_path / "grid.vmfb"
    path.write_bytes(empty_grid())
    done = farcall("run", path, "--function=f", timeout=300)
    assert done.stdout == '{"results":[]}\n', done.stderr


def test_executables_count_as_memory_of_their_module(farcall, tmp_path):
    path = tmp_path / "executables.vmfb"
    path.write_bytes(many_executables())
    done = farcall("run", path, "--function=f", "--module-heap=1G", timeout=300)
    assert done.returncode == 1
    assert "over the module's limit of 10737" in done.stderr


def test_deinit_comes_to_an_end(farcall, tmp_path):
    path = tmp_path / "deinit.vmfb"
    path.write_bytes(hook("__deinit"))
    done = farcall("run", path, "--function=f", timeout=300)
    assert done.stdout == '{"results":[]}\n', done.stderr


def test_an_endless_init_is_waited_for_once(tmp_path, host):
    (tmp_path / "endless.vmfb").write_bytes(hook("__init"))
    (tmp_path / "fine.vmfb").write_bytes(module([nothing()], [("f", 0)]))
    server = Server(host, "--workers=2", tmp_path)
    replies = []

    def call():
        replies.append(server.call("endless/f", []))
    callers = [threading.Thread(target=call) for _ in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert {reply.status for reply in replies} == {503}
    assert {reply.json["code"] for reply in replies} == {"module_unavailable"}
    assert "__init did not end" in replies[0].json["detail"]
    assert server.results("fine/f", []) == []
    assert server.stop() == 0

# ---------------------------------------------------------------------------
# Work and memory of the HAL

HAL = {"hal.devices.get": "0i_r", "hal.device.allocator": "0r_r",
       "hal.allocator.allocate": "0rIiiI_r", "hal.device.queue.fill": "0rIrrrIIIiI_v",
       "hal.command_buffer.create": "0riiIi_r",
       "hal.command_buffer.fill_buffer": "0rrIIiIiI_v",
       "hal.command_buffer.update_buffer": "0rrIrIIiI_v",
       "hal.command_buffer.finalize": "0r_v", "hal.device.queue.execute": "0rIrrrI_v"}
TYPES = ["!hal.command_buffer"]


def hal(code, name, arguments, results=()):
    ordinal = list(HAL).index("hal." + name)
    return code.call(IMPORT | ordinal, arguments, results)


def with_buffer(size):
    """Ref 0 is the device, ref 2 a buffer of `size` bytes, ref 3 an empty fence. Cell 0
    is 0 and cell 1 is 1; from cell 4 on there are 0, `size` and 1 as 64-bit numbers."""
    code = Code().i32(0, 0).i32(1, 1).i64(4, 0).i64(6, size).i64(8, 1)
    hal(code, "devices.get", [0], [REF])
    hal(code, "device.allocator", [REF], [REF | 1])
    hal(code, "allocator.allocate", [REF | 1, 4, 0, 0, 6], [REF | 2])
    return code.op(0x10, REF | 3)


def with_hal(code):
    return module([code.function(cells=24, refs=16)], [("f", 0)], list(HAL.items()),
                  TYPES)


def new_commands(code):
    return hal(code, "command_buffer.create", [REF, 0, 0, 4, 0], [REF | 5])


def endless_fills():
    code = with_buffer(256 << 20)
    again = code.mark()
    hal(code, "device.queue.fill",
        [REF, 4, REF | 3, REF | 3, REF | 2, 4, 6, 4, 1, 4])
    return with_hal(code.branch(again))


def many_commands():
    code = new_commands(with_buffer(256 << 20))
    for _ in range(5000):
        hal(code, "command_buffer.fill_buffer", [REF | 5, REF | 2, 4, 6, 0, 4, 1, 4])
    hal(code, "command_buffer.finalize", [REF | 5])
    hal(code, "device.queue.execute", [REF, 4, REF | 3, REF | 3, REF | 5, 4])
    return with_hal(code.give())


def recorded_data():
    """Command buffers, kept in a list, each with a copy of 64 MiB."""
    code = with_buffer(1).i64(10, 64 << 20).op(0x6C, 10, 1, REF | 6)
    code.i32(14, 100000).i32(15, 0)
    code.op(0x12).u32(0).raw(struct.pack("<HH", 14, REF | 7)).op(0x15, REF | 7, 14)
    again = code.mark()
    hal(new_commands(code), "command_buffer.update_buffer",
        [REF | 5, REF | 6, 4, REF | 3, 4, 10, 0, 4])
    code.op(0x1B, REF | 7, 15, REF | 5).op(0x22, 15, 1, 15)
    return with_hal(code.branch(again))


@pytest.mark.parametrize("make", [endless_fills, many_commands],
                         ids=lambda make: make.__name__)
def test_a_deadline_ends_work_on_large_buffers(make, serve, host, tmp_path):
    path = tmp_path / "m.vmfb"
    path.write_bytes(make())
    server = serve(host, path)
    reply = server.request("POST", "/api/v1/functions/m/f", "[]",
                           {"Farcall-Timeout-Ms": "1000"})
    assert (reply.status, reply.json["code"]) == (504, "deadline_exceeded")
    assert server.stop() == 0


def test_what_is_recorded_counts_as_memory_of_the_module(farcall, tmp_path):
    path = tmp_path / "recorded.vmfb"
    path.write_bytes(recorded_data())
    done = farcall("run", path, "--function=f", "--module-heap=1G", timeout=300)
    assert done.returncode == 1
    assert "over the module's limit of 10737" in done.stderr


def test_a_name_stays_on_its_line(farcall, serve, host, tmp_path):
    path = tmp_path / "m.vmfb"
    path.write_bytes(module([nothing()], [("f\nother\tvm\x1b[2J", 0)]))
    server = serve(host, path)
    done = farcall("ls", f"--server={server.url}")
    assert done.stdout == "m  vm      f\\u000aother\\u0009vm\\u001b[2J\n"
    assert server.stop() == 0
