# SPDX-License-Identifier: Apache-2.0
"""Makes the n-th system call, or the n-th allocation, of a scenario fail, for n = 1, 2, …
until the scenario runs without meeting the fault, and reports what each fault causes.

    torture.py BIN TOOLS [--short] [--jobs N] [--only SCENARIO] [--fault FAULT] [--list]
                         [--every STEP:FIRST] [--seconds N] [--rest RATIO]

BIN has farcalld and farcall; TOOLS has torture_tracer, libtorture_preload.so and
farcall_embed. scenarios.py is the table of scenarios, kinds.py says how they are run,
faults.def is the table of faults.

For each scenario and fault, all n are counted, but only some are tried. A site is the
call together with its callers on the stack. The first and the last n of each site are
tried, until the site has failed --everywhere times in all scenarios of one process.
--most limits how many are tried; these are drawn with a fixed seed. --every tries FIRST,
FIRST+STEP, … instead. With --seconds, nothing new begins after that time. With --rest,
each run is followed by a pause of RATIO times its own duration, for a machine that others
use, too.

Each run must end in time and by no signal. Its answer must be right, or an error that
says what is wrong. Afterwards the same must work without the fault, and no descriptor,
process or memory may be left behind. Exit status 1: one of these failed; 77: this machine
does not allow tracing of processes."""
import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

# For certificates, a collector, and the processes in /proc.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from kinds import Command, Running  # noqa: E402
from traced import FOREVER, Defect, Fault, Torn, Tracer  # noqa: E402


class Bench:
    """What scenarios share: programs, modules, certificates, folders."""

    def __init__(self, arguments, folder):
        self.bin, self.tools = arguments.bin.resolve(), arguments.tools.resolve()
        self.folder = folder
        self.sanitized = b"__asan_init" in (self.bin / "farcalld").read_bytes()
        self.made, self.pending = 0, None

    def environment(self):
        found = {name: value for name, value in os.environ.items()
                 if not name.startswith("FARCALL_")}
        if self.sanitized:  # leaks cannot be looked for in a process that is traced
            found["ASAN_OPTIONS"] = "detect_leaks=0:abort_on_error=1:handle_abort=0"
        return found

    def next_tracer(self):
        """The tracer for the next program. It must be armed before the program starts."""
        self.made += 1
        self.pending = Tracer(self.tools, self.folder / f"tracer{self.made % 50}",
                              not self.sanitized)
        return self.pending

    def tracer(self):
        made, self.pending = self.pending or self.next_tracer(), None
        return made


class Choice:
    """Chooses the values of n that are tried."""

    def __init__(self, arguments):
        self.most, self.everywhere = arguments.most, arguments.everywhere
        self.seed, self.every = arguments.seed, arguments.every
        self.tried = collections.Counter()

    def make(self, scenario, fault, count, sites):
        if self.every:
            step, first = self.every
            return list(range(first, count + 1, step))
        ends = {}  # the first and the last call of each site
        for number, site in enumerate(sites, 1):
            ends[site] = (ends.get(site, (number,))[0], number)
        chosen = set(range(len(sites) + 1, count + 1))  # more than sites are kept of
        for site, numbers in ends.items():
            tried = self.tried[fault.name, site]
            if tried < self.everywhere:
                chosen.update(numbers)
                self.tried[fault.name, site] += len(set(numbers))
        chosen = sorted(chosen)
        if not self.most or len(chosen) <= self.most:
            return chosen
        drawn = random.Random(f"{scenario.name} {fault.name} {self.seed}")
        first = chosen[:self.most // 3]
        return first + sorted(drawn.sample(chosen[len(first):], self.most - len(first)))


class Torture:
    def __init__(self, bench, arguments):
        self.bench, self.arguments = bench, arguments
        self.choice = Choice(arguments)
        self.ends = time.monotonic() + arguments.seconds
        self.outcomes = collections.Counter()
        self.runs = self.injected = self.pairs = self.all = self.sites = 0
        self.defects = []
        self.faults = []
        listed = subprocess.run([str(bench.tools / "torture_tracer"), "--faults"],
                                capture_output=True, text=True, check=True)
        for number, line in enumerate(listed.stdout.splitlines(), 1):
            name, times, place = line.split()
            self.faults.append(Fault(name, number,
                                     FOREVER if times == "-1" else int(times), place))

    def faults_of(self, scenario, at):
        chosen = [each for each in self.faults
                  if each.name not in scenario.skips
                  and not (each.place == "preload" and self.bench.sanitized)
                  and not (self.bench.sanitized and each.name not in SANITIZED)]
        if self.arguments.fault:
            chosen = [each for each in chosen if each.name in self.arguments.fault]
        elif self.arguments.short:
            count = 1 if self.bench.sanitized else 2
            chosen = [chosen[(2 * at + i * 7) % len(chosen)] for i in range(count)]
        return chosen

    def note(self, scenario, fault, start, defect):
        where = ""
        try:
            tracer = (scenario.server.tracer if getattr(scenario, "server", None)
                      else scenario.tracer)
            program = (scenario.line[0] if isinstance(scenario, Command)
                       else self.bench.bin / "farcalld")
            where = tracer.where(program)
        except AttributeError:
            pass
        lines = getattr(getattr(scenario, "server", None), "lines", [])
        if lines:
            where += "\n    " + "    ".join(lines[-6:])
        self.defects.append(f"{scenario.name} {fault.name if fault else ''} {start}: "
                            f"{defect}\n    {where}")
        print("DEFECT " + self.defects[-1], flush=True)

    def pair(self, scenario, fault):
        """Returns whether the scenario's server is as it was before."""
        start = 0
        try:
            count = scenario.count(fault)
            self.pairs += 1
            self.all += count
            sites = scenario.sites
            self.sites += len(set(sites))
            chosen = ([int(each) for each in self.arguments.n] if self.arguments.n
                      else self.choice.make(scenario, fault, count, sites))
            before = scenario.blocks()
            for start in chosen:
                began = time.monotonic()
                if began > self.ends:
                    break
                outcome, injected = scenario.run(fault, start)
                if type(scenario) is Running and time.monotonic() - began > 2:
                    # The delay before a worker starts again was doubled. Another server
                    # takes over, so that such delays do not add up.
                    scenario.close()
                    scenario.open(self.bench)
                    before = scenario.blocks()
                self.runs += 1
                self.injected += injected
                self.outcomes[outcome if injected else "not met"] += 1
                time.sleep((time.monotonic() - began) * self.arguments.rest)
            grown = scenario.blocks() - before
            if grown > max(20, 0.8 * len(chosen)):
                self.look_for_leak(scenario, fault, chosen)
            return True
        except (Defect, OSError) as defect:
            self.runs += 1
            self.note(scenario, fault, start, defect)
            scenario.drop()
            return False

    def look_for_leak(self, scenario, fault, chosen):
        for start in chosen:
            counts = [scenario.blocks()]
            for _ in range(6):
                scenario.once(fault, start)
                counts.append(scenario.blocks())
            if all(a < b for a, b in zip(counts[1:], counts[2:])):
                self.note(scenario, fault, start, Defect(f"heap blocks grow: {counts}"))
                return

    def scenario(self, scenario, at):
        began, runs, opened = time.monotonic(), self.runs, False
        for fault in self.faults_of(scenario, at):
            if time.monotonic() > self.ends:
                break
            try:
                if not opened:
                    scenario.open(self.bench)
                opened = True
            except (Defect, Torn) as defect:
                self.note(scenario, None, 0, defect)
                scenario.drop()
                return
            started = time.monotonic()
            opened = self.pair(scenario, fault)
            if time.monotonic() - started > 20:
                print(f"  {fault.name} took {time.monotonic() - started:.0f} s", flush=True)
        try:
            if opened:
                scenario.close()
        except Defect as defect:
            self.note(scenario, None, 0, defect)
            scenario.drop()
        print(f"{scenario.name}: {self.runs - runs} runs, "
              f"{time.monotonic() - began:.1f} s", flush=True)


# The sanitizer's own calls are not affected by these faults.
SANITIZED = {"emfile", "enfile", "enospc", "enospc_watch", "eagain", "less", "less_on",
             "reset", "aborted", "eintr"}


def torture_some(arguments, names, next_one, ends):
    """One process of --jobs: runs scenarios until there are none left."""
    import scenarios
    table = {each.name: each for each in scenarios.SCENARIOS}
    with tempfile.TemporaryDirectory(prefix="torture") as folder:
        os.chmod(folder, 0o711)  # workers of another user find what is theirs
        bench = Bench(arguments, pathlib.Path(folder))
        try:
            scenarios.prepare(bench)
            torture = Torture(bench, arguments)
            while True:
                with next_one.get_lock():
                    at = next_one.value
                    next_one.value += 1
                if at >= len(names):
                    break
                torture.scenario(table[names[at]], at)
            ends.put({name: getattr(torture, name) for name in SUMS})
        except SystemExit as end:
            ends.put(end.code)
        except BaseException:
            ends.put(1)
            raise
        finally:
            scenarios.finish(bench)


SUMS = ("pairs", "all", "sites", "runs", "injected", "outcomes", "defects")


def all_of(arguments, names):
    """Tortures all scenarios. Returns the findings of all processes together, or a
    number: the status of a process that could not continue."""
    next_one, ends = multiprocessing.Value("q", 0), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=torture_some,
                                         args=(arguments, names, next_one, ends))
                 for _ in range(arguments.jobs)]
    for each in processes:
        each.start()
    found = [ends.get() for _ in processes]
    for each in processes:
        each.join()
    for each in found:
        if not isinstance(each, dict):
            return each
    sums = found[0]
    for more in found[1:]:
        for name in SUMS:
            sums[name] += more[name]
    return sums


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("tools", type=pathlib.Path)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", action="append")
    parser.add_argument("--fault", action="append")
    parser.add_argument("--n", action="append")
    parser.add_argument("--most", type=int)
    parser.add_argument("--everywhere", type=int, default=6)
    parser.add_argument("--seed", default=1)
    parser.add_argument("--every", type=lambda text: tuple(map(int, text.split(":"))))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--rest", type=float, default=0)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.short and not arguments.most:
        arguments.most = 2
    return arguments


def main():
    arguments = parse()
    import scenarios
    slow = ("watched", "compile.*", "large_json.*", "late.*", ".*fresh") if arguments.short else ()
    names = [each.name for each in scenarios.SCENARIOS]
    chosen = [each for each in names
              if not arguments.only or any(re.fullmatch(one, each)
                                           for one in arguments.only)]
    chosen = [each for each in chosen if not any(re.fullmatch(one, each) for one in slow)]
    if arguments.list:
        print("\n".join(chosen))
        return 0
    began = time.monotonic()
    sums = all_of(arguments, chosen)
    if not isinstance(sums, dict):
        return sums
    print(f"{len(chosen)} scenarios: {sums['pairs']} pairs with a fault, {sums['all']} calls "
          f"that could fail at {sums['sites']} sites, {sums['runs']} runs, "
          f"{sums['injected']} faults put in, {time.monotonic() - began:.0f} s")
    print("outcomes: " + ", ".join(f"{count} {name}" for name, count
                                   in sums["outcomes"].most_common()))
    print(f"{len(sums['defects'])} defects")
    for each in sums["defects"]:
        print("- " + each)
    return 1 if sums["defects"] or not sums["runs"] else 0


if __name__ == "__main__":
    sys.exit(main())
