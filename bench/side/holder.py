"""One holder: a process of bench/peers/peer_client, which is told what to do and says what it saw (bench/peers/orders.h)."""

import json
import os
import select
import signal
import subprocess
import time

from harness import Trouble, end
from real_redis import start

PATIENCE = 120
living = set()  # all holders that run, so that somebody who must stop can end them


class Holder:
    def __init__(self, command):
        self.process = start([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.read = b""
        self.said = None
        living.add(self)

    def tell(self, *words):
        """Without waiting for the answer."""
        self.said = " ".join(map(str, words))
        try:
            self.process.stdin.write(self.said.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has ended, as answer() says

    def answer(self, patience=PATIENCE):
        """Of the last order, also if it is an error."""
        until = time.monotonic() + patience
        while b"\n" not in self.read:
            if not select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Trouble(f"no answer to `{self.said}` in {patience} s")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            if not more:
                raise Trouble(f"the client ended when it was told `{self.said}`")
            self.read += more
        line, self.read = self.read.split(b"\n", 1)
        return json.loads(line)

    def try_to(self, *words, patience=PATIENCE):
        """The answer, which may be an error."""
        self.tell(*words)
        return self.answer(patience)

    def ask(self, *words, patience=PATIENCE):
        found = self.try_to(*words, patience=patience)
        if "error" in found:
            raise Trouble(f"`{self.said}`: {found['error']}")
        return found

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.stop()

    def stop(self):
        if self.process.poll() is None:
            self.thaw()
            end(self.process)
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        living.discard(self)


def end_all():
    for holder in list(living):
        holder.process.kill()
