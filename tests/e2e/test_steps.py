# SPDX-License-Identifier: Apache-2.0
"""--iterate of run and call: lines as they come, compared with single calls; what is
refused; and answers that are cut."""
import contextlib
import json
import shlex
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import BIN, ROOT
from console import user_environment

MODULE = ROOT / "tests/corpus/iree/releases/scalars-3.13.0.vmfb"


@pytest.fixture
def scalars(serve):
    return serve(MODULE)


@pytest.fixture(params=["run", "call"])
def iterate(request, farcall):
    """Makes the same steps in process and with a server: iterate("hyp", …)."""
    server = request.param == "call" and request.getfixturevalue("scalars")

    def words(function):
        return (["call", f"{MODULE.stem}/{function}", "--server", server.url] if server
                else ["run", MODULE, function])

    def run(function, *options):
        return farcall(*words(function), *options)
    run.words = words
    return run


def test_a_function_is_iterated(iterate):
    done = iterate("hyp", "--input=3", "--input=4", '--iterate={"times":20,"feed":{"0":1}}')
    *steps, last = map(json.loads, done.stdout.splitlines())
    assert last == {"done": "times", "steps": 20}, done.stderr
    before = 4.0
    for number, step in enumerate(steps, 1):
        call = iterate("hyp", "--input=3", f"--input={before}")
        assert step == {"step": number, **json.loads(call.stdout)}
        before, = step["results"]
    stop = json.dumps(steps[4]["results"][0])
    until = {"times": 20, "feed": {"0": 1}, "emit": [], "until": {
        "equals": steps[4]["results"][0], "result": 0}}
    for options in [[f"--iterate={json.dumps(until)}"],
                    ["--iterate=20", "--feed=0:1", "--emit=", f"--until=0={stop}"]]:
        done = iterate("hyp", "--json= [3,4]", *options)
        assert done.stdout.splitlines() == [
            *(f'{{"step":{step},"results":[]}}' for step in range(1, 6)),
            '{"done":"until","steps":5}'], done.stderr


@pytest.mark.parametrize("options, repeat", [
    (["3"], {"times": 3}),
    (["3", "--feed=0:1,1:0"], {"times": 3, "feed": {"0": 1, "1": 0}}),
    (["3", "--feed", "0:1", "--feed=1:0"], {"times": 3, "feed": {"0": 1, "1": 0}}),
    (["3", "--emit=1,0", "--emit", "2"], {"times": 3, "emit": [1, 0, 2]}),
    (["3", "--until=1=-2.5e3", "--emit="],
     {"times": 3, "until": {"result": 1, "equals": -2500}, "emit": []}),
    (["3", "--until=0=true"], {"times": 3, "until": {"result": 0, "equals": True}}),
    (["3", "--until=0=-inf"], {"times": 3, "until": {"result": 0, "equals": "-Infinity"}}),
    (['{"times":3,"x":[1]}'], {"times": 3, "x": [1]})])
@pytest.mark.parametrize("document", ["[1,2]", ' {"args":[1,2]}'])
def test_what_the_options_say(farcall, options, repeat, document):
    done = farcall("call", "m/f", f"--json={document}", "--curl", "--iterate", *options)
    words = shlex.split(done.stdout)
    assert json.loads(words[-1]) == {"args": [1, 2], "repeat": repeat}, done.stderr
    assert words[1] == "-sSN" and words[-3].endswith("/api/v1/functions/m/f?iterate")


@pytest.mark.parametrize("document, repeat, message, lines", [
    ('{"args":[3,4]}', '{"times":3,"feed":{"0":1}}', ": call_failed: step 2: integer div", 1),
    (' {}', '{"times":3}', "missing_argument: argument 0", 0),
    ("[3,4]", '{"times":3,"feed":{"0":2}}', "argument 2: the function has 2, at /repeat/feed/0", 0),
    ("[3,4]", '10000001', "from 1 to 10000000 are allowed, at /repeat/times", 0),
    ("[3,4]", '{"times":', "json_syntax: ", 0),
    ("3", '{"times":3}', "json_schema: ", 0)])
def test_what_cannot_be_iterated(iterate, document, repeat, message, lines):
    done = iterate("divide", "--json", document, "--iterate", repeat)
    assert done.returncode == 1
    assert message in done.stderr and done.stdout.count("\n") == lines, done.stderr


@pytest.mark.parametrize("options, message", [
    (["--iterate=many"], "--iterate=many: it is a number of steps, or {"),
    (["--iterate="], "--iterate=: it is a number"),
    (["--iterate=2", "--feed=0"], "--feed=0: it is R:A,…"),
    (["--iterate=2", "--feed=0:1,x:1"], "--feed=0:1,x:1: it is R:A,…"),
    (["--iterate=2", "--feed=0:1,"], "--feed=0:1,: it is R:A,…"),
    (["--iterate=2", "--emit=0,"], "--emit=0,: it is R,…"),
    (["--iterate=2", "--emit=-1"], "--emit=-1: it is R,…"),
    (["--iterate=2", "--until=0"], "--until=0: it is R=VALUE"),
    (["--iterate=2", '--until=0="x"}'], "it is R=VALUE"),
    (["--until=0=1"], "--until is a part of --iterate=N"),
    (['--iterate={"times":2}', "--emit=0"], "--emit goes with a number of steps"),
    (["--iterate=2", "--print=none"], "--print is about one answer")])
def test_what_the_options_cannot_say(iterate, options, message):
    done = iterate("hyp", "--input=3", "--input=4", *options)
    assert done.returncode == 64 and message in done.stderr, done.stderr


# ---------------------------------------------------------------------------
# Answers that come bit by bit, or are incomplete


def loops(server):
    """The number of connections, without that of this request."""
    return server.get("/api/v1").json["in_flight"]["connections"] - 1


def test_steps_are_shown_as_they_come_and_ctrl_c_ends_them(scalars):
    child = subprocess.Popen(
        [BIN / "farcall", "call", f"{MODULE.stem}/hyp", "--server", scalars.url,
         "--json=[3,4]", "--iterate=10000000", "--feed=0:1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=user_environment())
    assert json.loads(child.stdout.readline()) == {"step": 1, "results": [5.0]}
    assert loops(scalars) == 1
    child.send_signal(signal.SIGINT)
    child.stdout.close()
    assert child.wait(60) == -signal.SIGINT
    child.stderr.close()
    deadline = time.monotonic() + 60
    while loops(scalars):
        assert time.monotonic() < deadline, "the loop goes on"
        time.sleep(0.02)


HEAD = ("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
        "Transfer-Encoding: chunked\r\n\r\n")
STEP = '{"step":1,"results":[]}\n'


def chunk(text):
    return f"{len(text):x}\r\n{text}\r\n"


@pytest.mark.parametrize("answer, status, shown, said", [
    (HEAD + chunk(STEP), 69, STEP, "half an answer from http://127.0.0.1"),
    (HEAD + chunk(STEP + '{"done":'), 69, STEP, "half an answer from"),
    (HEAD + chunk(STEP) + "0\r\n\r\n", 69, STEP, "answered 200, not as farcalld does"),
    (HEAD + chunk(STEP + '{"x":1}\n'), 69, STEP, "answered a line, not as farcalld does"),
    (HEAD + chunk('{"x":1}\n') + chunk(STEP), 69, "", "answered a line, not as farcalld"),
    (HEAD + chunk(STEP) + chunk('{"code":"call_failed","detail":"step 2: no"}\n'), 1, STEP,
     ": call_failed: step 2: no"),
    (HEAD + chunk('{"code":"call_failed","detail":"step 1: no"}\n' + STEP), 1, "",
     ": call_failed: step 1: no"),
    (HEAD + chunk('{"x":1}\n' + STEP), 69, "", "answered a line, not as farcalld does"),
    (HEAD + chunk(STEP + '{"done":"times"}\n' + STEP), 69, STEP + '{"done":"times"}\n',
     "answered a line, not as farcalld does: '{"),
    (HEAD + chunk(STEP[:9]) + chunk(STEP[9:]) + chunk('{"done":"times"}\n') + "0\r\n\r\n", 0,
     STEP + '{"done":"times"}\n', ""),
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", 69, "", "not as farcalld does: '[]'"),
    ("HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n\r\n", 69, "", "farcalld does")])
def test_answers_of_others(farcall, answer, status, shown, said):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def serve_one():
            with listener.accept()[0] as client:
                while b"}" not in client.recv(4096):
                    pass
                client.sendall(answer.encode())
        thread = threading.Thread(target=serve_one)
        thread.start()
        done = farcall("call", "m/f", "--json=[]", "--iterate=1", "--server",
                       f"http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert done.returncode == status and said in done.stderr, done.stderr
    assert done.stdout == shown


def test_what_comes_of_a_silent_server_is_shown(farcall):
    """--timeout limits the time in which nothing comes; that includes the first step."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        clients = []

        def serve_one():
            clients.append(listener.accept()[0])
            with contextlib.suppress(OSError):  # it had no time to wait
                clients[-1].sendall((HEAD + chunk(STEP)).encode())
        for seconds in [1, 10, 60]:
            thread = threading.Thread(target=serve_one)
            thread.start()
            done = farcall("call", "m/f", "--json=[]", "--iterate=1", f"--timeout={seconds}",
                           "--server", f"http://127.0.0.1:{listener.getsockname()[1]}")
            thread.join()
            clients[-1].close()
            if done.stdout:
                break
    assert (done.returncode, done.stdout) == (69, STEP)
    assert f"nothing came in {seconds} s" in done.stderr and "half an answer" in done.stderr


def test_lines_that_cannot_be_written_end_it(scalars):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [BIN / "farcall", "call", f"{MODULE.stem}/hyp", "--server", scalars.url,
             "--json=[3,4]", "--iterate=10000000", "--feed=0:1"], stdout=full, text=True,
            stderr=subprocess.PIPE, timeout=120, env=user_environment())
    assert done.returncode in (1, 69, 74) and "No space left" in done.stderr, done.stderr
