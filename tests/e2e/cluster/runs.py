"""`holdfast run` on a host, with work that says when it was at it."""

import os
import subprocess
import sys
import threading

from real_cluster import BIN, PATIENCE, eventually

PROBE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.py")


class Run:
    def __init__(self, test, host, servers, resource, *options, work=()):
        self.process = test.process(host, [BIN, "run", resource, "--server", servers, *options, "--", sys.executable, PROBE,
                                           *work], stderr=subprocess.PIPE)
        self.signs = []  # (token, instant in ns)
        self.said = []
        self.readers = [threading.Thread(target=self._read_signs, daemon=True),
                        threading.Thread(target=self._read_notes, daemon=True)]
        for reader in self.readers:
            reader.start()

    def _read_signs(self):
        with self.process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):
                    token, now = line.split()
                    self.signs.append((int(token), int(now)))

    def _read_notes(self):
        with self.process.stderr as lines:
            for line in lines:
                self.said.append(line.rstrip("\n"))

    def wait_until_at_work(self):
        eventually("the work begins", lambda: self.signs or self.process.poll() is not None)
        assert self.signs, (self.process.poll(), self.said)
        return self.signs[0][0]

    def wait_for_more(self, count):
        enough = len(self.signs) + count
        eventually("the work goes on", lambda: len(self.signs) >= enough or self.process.poll() is not None)
        assert len(self.signs) >= enough, (self.process.poll(), self.said)

    def wait(self):
        """The exit code, once all it said is here."""
        code = self.process.wait(PATIENCE)
        for reader in self.readers:
            reader.join(PATIENCE)
        return code
