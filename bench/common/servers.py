"""Single servers that benchmarks start. Loopback only, free ports, stopped by pid."""

import os
import pathlib
import subprocess
import tempfile
import time

from harness import START_SECONDS, Trouble, end, fetch
import engines
import real_postgres
import real_redis
import redis_scripts
from free_ports import free_ports

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("HOLDFAST_SOURCE", str(ROOT))  # where engines looks for what was unpacked


class Front:
    """A server of Holdfast: on an engine, or by itself."""

    def __init__(self, binary, directory, store=None):
        self.http, self.resp = free_ports(2)
        where = [*(["--store", store, "--new-store"] if store else []), "--state-dir", str(directory / f"state-{self.http}")]
        self.command = [str(binary), "serve", *where, "--http", f"127.0.0.1:{self.http}", "--resp", f"127.0.0.1:{self.resp}",
                        "--relay", "off", "--log-level", "warn"]
        self.directory = directory
        self.start()

    def start(self):
        """With what it has kept, if it has run before."""
        log = self.directory / f"front-{self.http}.log"
        with open(log, "ab") as out:
            self.process = real_redis.start(self.command, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise Trouble(f"holdfast serve does not answer:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.02)

    def _answers(self):
        try:
            return fetch(self.http, "/health") != ""
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            end(self.process)


class RedisInMemory(engines.RedisEngine):
    def launch(self):
        return real_redis.start_redis(self.port, self.directory)


def load_redis_scripts(port):
    """The names that Redis gives to the scripts by which a lock is renewed and released."""
    return [subprocess.run(["redis-cli", "-p", str(port), "SCRIPT", "LOAD", script], check=True, capture_output=True, text=True,
                           timeout=START_SECONDS).stdout.strip() for script in (redis_scripts.RENEW, redis_scripts.RELEASE)]


class PostgresOnDisk(engines.PostgresEngine):
    def launch(self):
        return real_postgres.start_postgres(self.port, self.directory, durable=True,
                                            settings=("shared_buffers=128MB", "synchronous_commit=on"))


def data_folder(preferred):
    """On the disk of the build, unless nobody else may go there: a PostgreSQL that root starts runs as somebody else."""
    preferred.mkdir(parents=True, exist_ok=True)
    passable = all(each.stat().st_mode & 0o001 for each in (preferred.resolve(), *preferred.resolve().parents))
    return preferred if passable or os.geteuid() != 0 else pathlib.Path(tempfile.gettempdir())
