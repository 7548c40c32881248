"""The servers that are compared, and the load generators that drive them. Loopback only, free ports, stopped by pid."""

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))

from harness import START_SECONDS, Trouble, end  # noqa: E402
from free_ports import free_port  # noqa: E402
from redis_scripts import RELEASE, RENEW  # noqa: E402

TTL_MS = 2 * 3600 * 1000  # longer than any run, so that nothing expires under the measurement


class Server:
    """A server process: its port, and what it costs."""

    def __init__(self, name, command, port, executable=None):
        self.name = name
        self.port = port
        self.directory = tempfile.mkdtemp(prefix=f"bench-resp-{name}-")
        self.log = open(pathlib.Path(self.directory, "log"), "w+b")
        self.process = subprocess.Popen(command(port, self.directory), executable=executable, cwd=self.directory,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)

    def wait_until_it_answers(self):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            try:
                if self.ask("PING") == b"+PONG":
                    return
            except OSError:
                time.sleep(0.05)
        self.log.seek(0)
        raise Trouble(f"{self.name} does not answer on port {self.port}:\n{self.log.read().decode(errors='replace')}")

    def ask(self, *words):
        """The first line of the reply, or the text of it."""
        encoded = [word.encode() for word in words]
        command = b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            connection.sendall(command)
            reply = connection.makefile("rb")
            line = reply.readline().rstrip()
            if line.startswith(b"-"):
                raise Trouble(f"{self.name} says to {words[0]}: {line[1:].decode()}")
            return reply.readline().rstrip() if line.startswith(b"$") else line

    def resident_bytes(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise Trouble(f"{self.name} has no resident memory: it is gone")

    def stop(self):
        end(self.process)
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)


def start_redis(name):
    binary = shutil.which("redis-check-rdb")  # in Debian's redis-tools; it is the server when called so
    if not binary:
        raise Trouble("there is no Redis: scripts/setup installs Debian's redis-tools")
    return Server(name, lambda port, directory: ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "",
                                                 "--dir", directory], free_port(), executable=binary)


def start_holdfast(name, binary):
    if not pathlib.Path(binary).exists():
        raise Trouble(f"there is no {binary}: `make build` builds it")
    http = free_port()
    server = Server(name, lambda port, directory: [str(binary), "serve", "--http", f"127.0.0.1:{http}", "--resp",
                                                   f"127.0.0.1:{port}", "--relay", "off", "--state-dir", directory],
                    free_port())
    try:
        server.wait_until_it_answers()
        subprocess.run([str(binary), "--server", f"http://127.0.0.1:{http}", "policy", "set", "--ttl-max",
                        f"{TTL_MS // 1000}s"], check=True, capture_output=True, timeout=START_SECONDS)
    except subprocess.CalledProcessError as error:
        server.stop()
        raise Trouble(f"holdfast policy set: {error.stderr.decode()}") from error
    except BaseException:
        server.stop()
        raise
    return server


class Load:
    """A load generator and the server it drives: the locks, how they are asked for, the connections."""

    def __init__(self, server, generator, speaks, connections, locks, holder=None):
        self.server = server
        self.locks = locks
        words = [str(generator), server.port, server.process.pid, speaks, connections, locks, TTL_MS]
        if speaks == "redis":
            words += [server.ask("SCRIPT", "LOAD", script).decode() for script in (RENEW, RELEASE)]
            words += [holder] if holder else []
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def run(self, operation, pipeline, requests, first=0):
        """Requests per second, and the server's CPU time for one in microseconds."""
        self.process.stdin.write(f"{operation} {pipeline} {requests} {first % self.locks}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()  # the generator gives up by itself
        if not line:
            raise Trouble(f"the load generator for {self.server.name} ended")
        result = json.loads(line)
        if result["trouble"] or result["other"]:
            raise Trouble(f"{self.server.name}, {operation}: {result['other']} of {requests} went wrong: "
                          f"{result['trouble'] or result['first_other']}")
        return {"per_second": requests / result["seconds"], "cpu_us": 1e6 * result["cpu_seconds"] / requests,
                "busy": result["cpu_seconds"] / result["seconds"]}

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
