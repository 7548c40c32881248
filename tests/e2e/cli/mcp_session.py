"""A host of the Model Context Protocol, for tests: it speaks the protocol itself, so that nothing hides what is sent."""

import json
import subprocess

from processes import BINARY, PATIENCE, Lines, eventually


class Session:
    """What a host does: starts the server as a child and speaks JSON-RPC, one message per line."""

    def __init__(self, test, *arguments, version="2025-06-18", cwd=None, **environment):
        self.process = subprocess.Popen([BINARY, "mcp", *arguments], env=test.environment(**environment), text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        cwd=cwd or test.scratch)
        test.started.append(self.process)
        test.addCleanup(self.process.stdin.close)
        self.out, self.err = Lines(self.process.stdout), Lines(self.process.stderr)
        self.last_id = 0
        self.seen = 0
        if version:
            self.greeting = self.request("initialize", protocolVersion=version, capabilities={},
                                         clientInfo={"name": "test", "version": "1"})["result"]
            self.notify("notifications/initialized")

    def send_text(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def send(self, message):
        self.send_text(json.dumps(message) + "\n")

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method, **params):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.last_id

    def answer(self, id):
        """Waits for the answer to a request; every line must be a message of the protocol."""
        def find():
            for line in list(self.out.lines):
                message = json.loads(line)
                if isinstance(message, dict) and message.get("id") == id and type(message.get("id")) is type(id):
                    return message
            return None
        return eventually(find, f"an answer to {id} in {self.out.lines}, {self.err.lines}")

    def next(self):
        """The next message that was not looked at by next() before."""
        eventually(lambda: len(self.out.lines) > self.seen, f"another message after {self.out.lines}")
        self.seen += 1
        return json.loads(self.out.lines[self.seen - 1])

    def request(self, method, **params):
        return self.answer(self.start(method, **params))

    def call(self, tool, **arguments):
        return self.result(self.start("tools/call", name=tool, arguments=arguments))

    def result(self, id):
        answer = self.answer(id)
        assert "result" in answer, answer
        return answer["result"]

    def claim(self, *resources, **more):
        return self.call("claim_intents", intents=[{"resource": resource} for resource in resources], **more)

    def end(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)
