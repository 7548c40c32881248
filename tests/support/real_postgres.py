"""A real PostgreSQL for tests, on a free port of loopback, with its data in a directory of the test's. It never runs as root:
if the test does, the server is nobody's, and the directory with it. Anyone on this machine may connect as anybody."""

import functools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import freezing
from real_redis import start

USER = "holdfast"


@functools.lru_cache
def programs():
    """The folder of its programs, where the user that it runs as can execute them."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/postgres-programs")
    found = subprocess.run([script], stdout=subprocess.PIPE, text=True)
    if found.returncode != 0:
        raise FileNotFoundError("there is no PostgreSQL here: scripts/setup unpacks one")
    return found.stdout.strip()


def as_nobody():
    """What to put in front of a command so that it does not run as root; it still dies with the test, as start() has it."""
    if os.geteuid() != 0:
        return []
    group = pwd.getpwnam("nobody").pw_gid
    return ["setpriv", "--reuid=nobody", f"--regid={group}", "--clear-groups", "--pdeathsig=KILL", "--"]


def start_postgres(port, directory, durable=False, settings=()):
    """Starts one with the data that is in the directory; makes them first if there are none. Ready when is_ready() says so."""
    data = os.path.join(directory, "postgres")
    if not os.path.exists(data):
        os.mkdir(data)
        if os.geteuid() == 0:
            shutil.chown(data, "nobody")
            for folder in parents(data):
                os.chmod(folder, os.stat(folder).st_mode | 0o011)
        subprocess.run(as_nobody() + [programs() + "/initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8",
                                      "--locale=C", "--no-sync"], check=True, cwd=data, stdout=subprocess.DEVNULL)
    command = as_nobody() + [programs() + "/postgres", "-D", data]
    for setting in (f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=16MB",
                    "max_connections=200", f"fsync={'on' if durable else 'off'}", *settings):
        command += ["-c", setting]
    with open(os.path.join(directory, "postgres.log"), "ab") as log:
        return start(command, cwd=data, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def parents(path):
    """The folders of the test's around a path, which nobody must be able to pass. Those that hold everyone's are left alone."""
    folder = os.path.dirname(path)
    while folder not in ("/", "/tmp", "/dev/shm", tempfile.gettempdir()) and os.stat(folder).st_uid == os.geteuid():
        yield folder
        folder = os.path.dirname(folder)


def url(port, schema="holdfast", user=USER, database="postgres"):
    return f"postgres://{user}@127.0.0.1:{port}/{database}?schema={schema}"


def is_ready(port):
    """True if it takes connections."""
    return subprocess.run([programs() + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode == 0


def processes(server):
    """The pids of all that belongs to a server, itself first."""
    with open(f"/proc/{server.pid}/task/{server.pid}/children") as children:
        return [server.pid, *map(int, children.read().split())]


def signal_all(server, number):
    for pid in processes(server):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def freeze(server):
    freezing.freeze(server.pid)  # first, so that it starts no more of them
    freezing.freeze(*processes(server))


def thaw(server):
    freezing.thaw(*processes(server))


def kill(server):
    """All of it at once. Its next life may find that the memory is still in use for a moment, and end: start it again."""
    freeze(server)
    signal_all(server, signal.SIGKILL)
    server.wait(60)
