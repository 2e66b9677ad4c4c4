# SPDX-License-Identifier: Apache-2.0
"""The kinds of scenarios: a server that is running, a server that starts, a command."""
import shutil
import signal
import subprocess
import time

from traced import FOREVER, PATIENCE, SKIPPED, Client, Defect, Server, Torn, symbols

LEAK = 70  # status of farcall_embed that found one


class Running:
    """A scenario with a running server: `steps(client)` runs while the fault is armed."""

    def __init__(self, name, words, steps, signals=(), prepare=None, skips=()):
        self.name, self.words, self.steps = name, words, steps
        self.signals, self.prepare, self.skips = signals, prepare, skips

    def open(self, bench):
        words = self.words(bench) if callable(self.words) else self.words
        if not any(str(each).startswith("--listen") for each in words):
            words = ["--listen=127.0.0.1:0", *words]
        self.server = Server(bench, ["--access-log=off", *words])
        if not self.server.wait():
            raise Defect("does not start: " + "".join(self.server.lines[-5:]))
        if self.prepare:
            self.prepare(self.server, bench)
        self.client = Client(self.server)
        self.rest()
        self.rest()
        self.rest()
        self.before = self.settle()

    def close(self):
        if self.server.process.poll() is None:
            status = self.server.stop(self.signals)
            if status:
                raise Defect(f"the server ended with {status}")

    def drop(self):
        self.server.kill()

    def rest(self):
        """Repeats the steps without a fault: they must work again within a short time."""
        self.client.calm = True
        end, late = time.monotonic() + 25, False
        while True:
            try:
                self.steps(self.client)
                return late
            except Torn as torn:
                self.server.check(self.signals)
                if time.monotonic() > end:
                    raise Defect(f"does not recover: {torn}") from None
                late = True
                time.sleep(0.02)

    def settle(self):
        """The server's resources, once they no longer change."""
        last, since = self.server.taken(), time.monotonic()
        while time.monotonic() - since < 0.15:
            time.sleep(0.02)
            now = self.server.taken()
            if now != last:
                last, since = now, time.monotonic()
        return last

    def grown(self):
        """What the server uses too much of, if that lasts."""
        end = time.monotonic() + 2.5
        while True:
            now = self.server.taken()
            if all(have <= had for have, had in zip(now, self.before)):
                return None
            if time.monotonic() > end:
                return now
            time.sleep(0.01)

    def count(self, fault):
        self.server.tracer.arm(fault, 0)
        self.client.calm = True
        try:
            self.steps(self.client)
        finally:
            seen, _ = self.server.tracer.disarm()
        self.sites = self.server.tracer.sites
        self.rest()
        return seen

    def once(self, fault, start):
        """(outcome, whether the fault was hit)"""
        self.client.calm = False
        self.client.outcomes.clear()
        self.server.tracer.arm_shortage(fault, start)
        try:
            self.steps(self.client)
        except Torn:
            pass
        finally:
            _, injected = self.server.tracer.disarm()
        outcomes = self.client.outcomes
        outcome = ("closed" if outcomes["closed"] else
                   "refused" if outcomes["refused"] else "done")
        self.server.check(self.signals)
        late = self.rest()
        self.server.check(self.signals)
        return ("late" if late else outcome), injected

    def run(self, fault, start):
        outcome, injected = self.once(fault, start)
        if not injected:
            return outcome, injected
        grown = self.grown()
        if grown:
            # Some growth may be normal. Growth that repeats each time is a leak.
            steps = 0
            for _ in range(4):
                self.once(fault, start)
                time.sleep(0.2)
                now = self.server.taken()
                steps += any(have > had for have, had in zip(now, grown))
                grown = now
            if steps >= 3:
                raise Defect(f"descriptors and processes grow: {self.before} -> {grown}")
            self.before = grown
        return outcome, injected

    def blocks(self):
        return self.server.tracer.page.blocks


class Starting(Running):
    """A server is started, asked and stopped while the fault is armed."""

    def open(self, bench):
        self.bench = bench
        self.server = None

    def close(self):
        pass

    def drop(self):
        if self.server and self.server.process.poll() is None:
            self.server.kill()

    def blocks(self):
        return 0

    def begin(self, fault, start):
        words = self.words(self.bench) if callable(self.words) else self.words
        if not any(str(each).startswith("--listen") for each in words):
            words = ["--listen=127.0.0.1:0", *words]
        tracer = self.bench.next_tracer()
        (tracer.arm_shortage if start else tracer.arm)(fault, start)
        self.server = Server(self.bench, ["--access-log=off", *words])
        self.client = Client(self.server)
        return self.server.wait()

    def count(self, fault):
        if not self.begin(fault, 0):
            raise Defect("does not start: " + "".join(self.server.lines[-5:]))
        if self.prepare:
            self.prepare(self.server, self.bench)
        self.rest()
        self.server.signal(signal.SIGTERM)
        self.server.process.wait(PATIENCE)
        self.sites = self.server.tracer.sites
        return self.server.tracer.disarm()[0]

    def run(self, fault, start):
        listens = self.begin(fault, start)
        tracer = self.server.tracer
        if not listens:
            status = self.server.process.wait(PATIENCE)
            _, injected = tracer.disarm()
            if status == SKIPPED:
                raise SystemExit(SKIPPED)
            if status == 0 or not "".join(self.server.lines).strip():
                raise Defect(f"status {status} and not a word")
            self.server.reader.join(PATIENCE)
            self.ended(tracer)
            return "ended", injected
        if self.prepare:
            self.prepare(self.server, self.bench)
        self.client.calm = False
        end = time.monotonic() + 1
        outcome = "refused"
        while time.monotonic() < end:
            try:
                self.steps(self.client)
                outcome = "done"
                break
            except Torn:
                self.server.check(self.signals)
                if self.has_failed():
                    outcome = "failed"
                    break
                time.sleep(0.01)
        if tracer.page.start and fault.times == FOREVER:
            tracer.relent()
        if outcome == "failed" or (outcome == "refused" and self.has_failed()):
            self.reload()
        self.rest()
        self.server.check(self.signals)
        self.server.signal(signal.SIGTERM)
        try:
            status = self.server.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Defect("the server does not end") from None
        injected = tracer.page.injected
        tracer.disarm()
        self.ended(tracer)
        if status:
            raise Defect(f"the server ended with {status}: "
                         + "".join(self.server.lines[-3:]))
        return outcome, injected

    def ended(self, tracer):
        for who, number, stack in tracer.endings():
            if number == signal.SIGKILL and who != "program":
                continue
            if number in self.signals and who == "worker":
                continue
            shown = symbols(stack, self.bench.bin / "farcalld")
            raise Defect(f"{who} ended by signal {number}: {shown}" if number
                         else f"{who} was left running")

    def modules(self):
        try:
            calm, self.client.calm = self.client.calm, False
            got = self.client.ask("GET", "/api/v1/modules", fields=self.fields())
            return got.json["modules"]
        except Torn:
            return None
        finally:
            self.client.calm = calm

    def fields(self):
        return getattr(self.server, "fields", {})

    def has_failed(self):
        """A module may fail to load at the start if the server says why."""
        modules = self.modules()
        if modules == [] and '"level":"error"' in "".join(self.server.lines):
            return True  # PATHs could not be listed, and the log says so
        failed = [each for each in modules or () if each["state"] == "failed"]
        for each in failed:
            if not each.get("reason"):
                raise Defect(f"a module failed without a word: {each}")
        return bool(failed)

    def reload(self):
        """Sends SIGHUP, as an operator does after reading why a module was not loaded."""
        self.server.signal(signal.SIGHUP)


# ---------------------------------------------------------------------------
# A command

class Command:
    """A program that ends by itself. Its output goes to a file. `made`: files that it
    writes. If it succeeds, it must have printed and written the same as without a
    fault, or `alike` must accept the output."""

    signals, skips = (), ()

    def __init__(self, name, words, status=0, made=(), alike=None, given=None, skips=(),
                 program="farcall"):
        self.name, self.words, self.status, self.made = name, words, status, made
        self.alike, self.given, self.skips = alike, given, skips
        self.program = program

    def open(self, bench):
        self.bench = bench
        self.folder = bench.folder / "work"
        self.right = None
        words = self.words(bench) if callable(self.words) else self.words
        if self.program == "farcall_embed":
            self.line = [str(bench.tools / self.program), *map(str, words)]
        else:
            self.line = [str(bench.bin / self.program), *map(str, words)]
        self.right = self.execute(None, 0)
        if self.right[0] != self.status:
            raise Defect(f"without a fault: {self.right}")

    def close(self):
        pass

    def drop(self):
        pass

    def blocks(self):
        return 0

    def execute(self, fault, start):
        """(status, output, errors, files)"""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        tracer = self.bench.tracer()
        if fault:
            tracer.arm(fault, start)
        self.tracer = tracer
        environment = {**self.bench.environment(), "TMPDIR": str(self.folder)}
        output = self.bench.folder / "output"
        with open(output, "w+b") as file:
            process = subprocess.Popen([*tracer.words, *self.line], cwd=self.folder,
                                       env=environment, stdout=file,
                                       stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                errors = process.communicate((self.given or "").encode(), timeout=30)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise Defect("does not end") from None
            except BrokenPipeError:
                errors = process.stderr.read()
                process.wait()
            file.seek(0)
            printed = file.read()
        for who, number, stack in tracer.endings():
            if who == "other":
                continue
            shown = symbols(stack, self.line[0])
            raise Defect(f"{who} ended by signal {number}: {shown}" if number
                         else f"{who} was left running")
        files = {str(each.relative_to(self.folder)): each.read_bytes()
                 for each in self.folder.rglob("*") if each.is_file()}
        return process.returncode, printed, errors, files

    def count(self, fault):
        self.execute(fault, 0)
        self.sites = self.tracer.sites
        return self.tracer.disarm()[0]

    def run(self, fault, start):
        status, printed, errors, files = self.execute(fault, start)
        _, injected = self.tracer.disarm()
        if status == SKIPPED:
            raise SystemExit(SKIPPED)
        if not injected:
            return "done", injected
        told = errors.decode(errors="replace")  # "cannot remove '/…/farcall-abc123'"
        extra = {each for each in set(files) - set(self.made)
                 if f"/{each.split('/')[0]}'" not in told}
        if extra and fault.times != FOREVER:  # or else removing them may be refused too
            raise Defect(f"leaves {sorted(extra)}; it said {errors[-300:]!r}")
        if status == LEAK:
            raise Defect(f"a leak: {errors[-300:]!r}")
        if status == self.status:
            alike = (self.alike(printed.decode(errors="replace")) if self.alike else
                     (printed, files) == (self.right[1], self.right[3]))
            if not alike and not (self.status and (errors or printed)):
                raise Defect(f"status {status} with another output: "
                             f"{printed[-200:]!r} {errors[-200:]!r} {sorted(files)}")
            return "done", injected
        if not errors.strip() and not printed.strip():
            raise Defect(f"status {status} and not a word")
        return "ended", injected
