"""Fronts of one engine, all real: servers that keep nothing themselves, and the Redis, PostgreSQL or etcd that does."""

import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(HERE, "..", folder) for folder in ("server", "../support", "relay", "keys"))]

from engines import make_engine  # noqa: E402
from harness import BIN, PATIENCE, ServerTest, eventually, quoted  # noqa: E402, F401


class FrontsTest(ServerTest):
    """A test with an engine and any number of fronts. `kind` is set by whoever runs it."""

    kind = None

    def setUp(self):
        super().setUp()
        self.engine = make_engine(self.kind)
        self.addCleanup(self.engine.clean_up)

    def launch_front(self, **options):
        """One that may or may not come to serve."""
        return self.launch(store=self.engine.url("fronts"), **options)

    def front(self, **options):
        return self.launch_front(**options).wait_until_serving()

    def fronts(self, count=2):
        return [self.front() for _ in range(count)]


class Asking(threading.Thread):
    """A request that may take a while. Its answer is `result()`."""

    def __init__(self, server, method, path, body):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.asked = (method, path, body)
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self.connection.ask(*self.asked)
        finally:
            self.connection.close()

    def result(self):
        self.join(PATIENCE)
        assert self.answer is not None, "no answer"
        return self.answer


class Listening(threading.Thread):
    """The events of a front, as they come."""

    def __init__(self, test, server, query=""):
        super().__init__(daemon=True)
        self.connection = server.connect()
        self.connection.http.request("GET", "/v1/events" + query)
        self.response = self.connection.http.getresponse()
        assert self.response.status == 200
        self.events = []
        test.addCleanup(self.connection.close)
        self.start()

    def run(self):
        kind = None
        try:
            for line in self.response:
                text = line.decode().rstrip("\n")
                if text.startswith("event: "):
                    kind = text[len("event: "):]
                elif text.startswith("data: "):
                    self.events.append((kind, text[len("data: "):]))
        except (OSError, ValueError, AttributeError):
            pass  # the test is over

    def wait_for(self, kind, *texts):
        return eventually(f"{kind} {texts} in {self.events}", lambda: [
            data for of, data in list(self.events) if of == kind and all(text in data for text in texts)])
