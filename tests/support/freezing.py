"""Stops processes that a test started, as a machine does that hangs, and lets them go on."""

import os
import signal
import time

PATIENCE = 60


def freeze(*pids):
    """Returns when no thread of them runs. The signal alone only asks for that: on a busy machine a thread may still
    answer a request afterwards."""
    for pid in pids:
        send(pid, signal.SIGSTOP)
    end = time.monotonic() + PATIENCE
    while not all(map(has_stopped, pids)):
        if time.monotonic() > end:
            raise AssertionError(f"did not stop in {PATIENCE} s: {pids}")
        time.sleep(0.005)


def thaw(*pids):
    for pid in pids:
        send(pid, signal.SIGCONT)


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def has_stopped(pid):
    """True also if it is gone."""
    try:
        return all(state_of(f"/proc/{pid}/task/{thread}/stat") in "TtZX" for thread in os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return True


def state_of(path):
    try:
        with open(path) as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
