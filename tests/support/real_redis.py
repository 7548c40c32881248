"""A real Redis for tests, on a free port of loopback, and processes that die with the test that started them."""

import ctypes
import shutil
import signal
import subprocess

from free_ports import free_port  # noqa: F401

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def start(command, **options):
    """Starts a process that dies with this one, also if this one is killed."""
    return subprocess.Popen(command, preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), **options)


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def start_redis(port, directory, durable=False):
    """A Redis that keeps nothing, or loses nothing. Debian's redis-tools has the server under another name; it acts by what it is called."""
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", directory,
               "--appendonly", "yes" if durable else "no", "--appendfsync", "always"]
    return start(command, executable=shutil.which("redis-server") or shutil.which("redis-check-rdb"),
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
