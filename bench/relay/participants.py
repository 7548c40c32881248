"""Who takes part in the benchmark of the relay: the relay, nginx's stream proxy, and what is behind both."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "support"))

from free_ports import free_port  # noqa: E402

PATIENCE = 30


class Trouble(Exception):
    """Something that keeps the benchmark from running, for people."""


def find_nginx(root):
    """The binary and the module, from where `scripts/setup bench` has unpacked them or from the system."""
    for prefix in (root / "build" / "nginx", pathlib.Path("/")):
        binary, module = prefix / "usr/sbin/nginx", prefix / "usr/lib/nginx/modules/ngx_stream_module.so"
        if binary.exists() and module.exists():
            return binary, module
    raise Trouble("there is no nginx with its stream module: `scripts/setup bench` unpacks it")


class Process:
    """One process of the benchmark, which ends with it."""

    def __init__(self, command, **how):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-bench-relay-"))
        self.process = subprocess.Popen([str(word) for word in command(self.directory)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, **how)
        self.pid = self.process.pid

    def line(self, pattern):
        for line in self.process.stdout:
            if match := re.search(pattern, line):
                return match[1]
        self.close()
        raise Trouble(f"{self.process.args[0]} ended before it said {pattern}")

    def wait_until(self, what, condition):
        give_up_at = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > give_up_at:
                self.close()
                raise Trouble(f"{what} never came")
            time.sleep(0.02)

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Relay(Process):
    def __init__(self, binary):
        super().__init__(lambda directory: [binary, "serve", "--http", "127.0.0.1:0", "--resp", "off", "--relay",
                                            "127.0.0.1:0", "--state-dir", directory / "state"])
        self.url = self.line(r"serving on (http://\S+)")
        self.port = int(self.line(r"relays to services on 127\.0\.0\.1:(\d+)"))

    def has(self, service):
        with urllib.request.urlopen(f"{self.url}/v1/services?limit=1000", timeout=PATIENCE) as answer:
            return any(each["name"] == service and each["connected"] for each in json.load(answer)["services"])


class Nginx(Process):
    """One worker without a master, as the relay copies with one thread."""

    CONFIGURATION = """
        load_module {module}; daemon off; master_process off; worker_processes 1; pid {directory}/pid; error_log stderr error;
        worker_rlimit_nofile 60000; events {{ worker_connections 20000; }}
        stream {{ server {{ listen 127.0.0.1:{port} backlog=4096; proxy_pass 127.0.0.1:{backend}; tcp_nodelay on; }} }}
    """

    def __init__(self, found, backend):
        self.port = free_port()
        binary, module = found

        def command(directory):
            configuration = directory / "nginx.conf"
            configuration.write_text(self.CONFIGURATION.format(module=module, directory=directory, port=self.port,
                                                               backend=backend))
            return [binary, "-c", configuration, "-p", directory, "-e", "stderr"]

        super().__init__(command)
        self.wait_until("nginx", self.answers)

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


class Backend(Process):
    """`direct`: it is a publisher as well, and answers the relay's offers itself."""

    def __init__(self, load, relay=None):
        super().__init__(lambda _: [load, "backend", *([relay.port] if relay else [])])
        self.port = int(self.line(r"^(\d+)$"))


class Advertised(Process):
    """`holdfast advertise`, with a backend behind it."""

    def __init__(self, binary, relay, backend):
        def command(directory):
            return [binary, "advertise", "behind", "--to", f"127.0.0.1:{backend.port}", "--relay",
                    f"127.0.0.1:{relay.port}", "--identity", directory / "key"]

        super().__init__(command)
        self.wait_until("the service of holdfast advertise", lambda: relay.has("behind"))
