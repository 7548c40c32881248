"""What benchmarks have in common: processes and what they cost, load generators, and turns."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))

START_SECONDS = 60
TTL_MS = 300_000  # longer than any stretch of load, so that nothing expires under the measurement


class Trouble(Exception):
    """Something that ends the run, told in a sentence."""


def progress(text):
    """A line on standard error; on a terminal always the same one."""
    if sys.stderr.isatty():
        print(f"\033[K{text}", end="\r", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def in_turns(names, turn):
    """A B, B A, …: what changes over time, as a machine's clock or a neighbour, falls on all alike."""
    return names if turn % 2 == 0 else names[::-1]


def fetch(port, path, method="GET", body=None, timeout=5):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, data=body,
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return answer.read().decode()


def family(pid):
    """A process and all that it started, and they."""
    found = [pid]
    for children in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                found += family(int(child))
        except OSError:
            pass  # a thread that has just ended
    return found


class Meter:
    """The user and system time that processes take from now on, with those they start and all threads."""

    def __init__(self, processes):
        self.processes = processes
        self.before = self._nanoseconds()

    def _nanoseconds(self):
        """By thread, by the scheduler's count, of which the ticks in /proc/PID/stat are the rounded form."""
        counts = {}
        for pid in {each for process in self.processes for each in family(process.pid)}:
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*"):
                try:
                    counts[task.name] = int((task / "schedstat").read_text().split()[0])
                except OSError:
                    pass
        return counts

    def seconds(self):
        return sum(count - self.before.get(task, 0) for task, count in self._nanoseconds().items()) / 1e9


def end(process, patience=20):
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Load:
    """A load generator at work on servers (bench/common/load.h), and what these cost meanwhile."""

    def __init__(self, name, command, clients, ports, servers, locks_each=100, attempt_ms=1000):
        """servers: {what they are: processes}"""
        self.name = name
        self.servers = servers
        words = [*command, clients, locks_each, TTL_MS, attempt_ms, ",".join(map(str, ports))]
        if not pathlib.Path(words[0]).exists():
            raise Trouble(f"there is no {words[0]}: the benchmark's target of make builds it")
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def begin(self, operation, seconds):
        """Returns when the clients are at work."""
        try:
            self.process.stdin.write(f"{operation} {seconds}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, as the next line says
        if self.process.stdout.readline() != "ready\n":
            raise Trouble(f"the load generator for {self.name} ended")
        self.meters = {what: Meter(processes) for what, processes in self.servers.items()}
        self.own_meter = Meter([self.process])

    def result(self):
        line = self.process.stdout.readline()  # the generator ends by itself
        if not line:
            raise Trouble(f"the load generator for {self.name} ended")
        found = json.loads(line)
        found["per_second"] = found["good"] / found["seconds"]
        each = 1e6 / max(1, found["good"])
        found["cpu_us_of"] = {what: each * meter.seconds() for what, meter in self.meters.items()}
        found["cpu_us"] = sum(found["cpu_us_of"].values())
        found["client_cpu_us"] = each * self.own_meter.seconds()
        return found

    def run(self, operation, seconds):
        self.begin(operation, seconds)
        return self.result()

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def find_etcd(root):
    """Debian's, wherever scripts/setup put it."""
    unpacked = root / "build" / "etcd" / "usr" / "bin" / "etcd"
    found = shutil.which("etcd") or (str(unpacked) if unpacked.exists() else None)
    if not found:
        raise Trouble("there is no etcd: `scripts/setup bench` gets Debian's")
    return found
