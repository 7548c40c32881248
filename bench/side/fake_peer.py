"""A service of leases whose faults are known, and the client of it, which takes the orders of bench/peers/orders.h: what the
conformance table must tell apart. It is for parts_test.py.

    fake_peer.py FAULT HOLDER PORT

FAULT is one of those in FAULTS."""

import json
import socket
import socketserver
import sys
import threading
import time

FAULTS = {"none": set(), "ends early": {"expiry"}, "ends late": {"expiry"}, "tokens fall": {"token"},
          "releases without comparing": {"stale"}, "forgets": {"restart"}, "believes": {"stops"}}  # and the rules that it breaks
CONSEQUENCES = {"ends early": {"restart", "stops"}}  # if its next holder comes, and the old one wakes, in the time that is missing
MARGIN_NS = 50_000_000


class Service:
    """Leases by name, for one process that is told it was killed."""

    def __init__(self, fault):
        self.fault, self.leases, self.tokens, self.alive = fault, {}, 100, True
        self.lock = threading.Lock()
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]

    def _handler(service):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                for line in self.rfile:
                    with service.lock:
                        said = service.answer(*json.loads(line)) if service.alive else {"error": "nobody is there"}
                    self.wfile.write(json.dumps(said).encode() + b"\n")
        return Handler

    def current(self, name):
        lease = self.leases.get(name)
        return lease if lease and time.monotonic_ns() < lease["end"] else None

    def end_of(self, ttl_ms):
        return time.monotonic_ns() + int(1e6 * ttl_ms * {"ends early": 0.7, "ends late": 1.4}.get(self.fault, 1))

    def answer(self, order, name, holder, token, ttl_ms):
        lease = self.current(name)
        if order == "owner":
            return {"holder": lease["holder"] if lease else None}
        if order == "acquire":
            if lease:
                return {"granted": False, "why": "taken"}
            self.tokens += -1 if self.fault == "tokens fall" else 1
            self.leases[name] = {"holder": holder, "token": self.tokens, "end": self.end_of(ttl_ms)}
            return {"granted": True, "token": self.tokens}
        is_ours = lease is not None and (lease["token"] == token or self.fault == "releases without comparing" and order == "release")
        if is_ours and order == "release":
            del self.leases[name]
        elif is_ours:
            lease["end"] = self.end_of(ttl_ms)
        return {"released" if order == "release" else "renewed": is_ours}

    def kill(self):
        with self.lock:
            self.alive = False
            if self.fault == "forgets":
                self.leases.clear()

    def start(self):
        with self.lock:
            self.alive = True

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Client:
    def __init__(self, fault, holder, port):
        self.fault, self.holder, self.grants = fault, holder, {}
        self.stream = socket.create_connection(("127.0.0.1", port)).makefile("rw")

    def ask(self, order, name, token=None, ttl_ms=0):
        asked = time.monotonic_ns()
        self.stream.write(json.dumps([order, name, self.holder, token, ttl_ms]) + "\n")
        self.stream.flush()
        return {**json.loads(self.stream.readline()), "asked": asked, "answered": time.monotonic_ns()}

    def acquire(self, name, ttl_ms):
        found = self.ask("acquire", name, None, ttl_ms)
        if found.get("granted"):
            self.grants[name] = {"token": found["token"], "ttl_ms": ttl_ms, "asked": found["asked"]}
        return found

    def carry_out(self, order, name, *numbers):
        if order == "acquire":
            return self.acquire(name, numbers[0])
        if order == "await":
            until = time.monotonic_ns() + 1e6 * numbers[1]
            while not (found := self.acquire(name, numbers[0])).get("granted") and time.monotonic_ns() < until:
                time.sleep(0.005)
            return found
        if order == "owner":
            return self.ask("owner", name)
        grant = self.grants[name]
        if order == "held":
            known = time.monotonic_ns() < grant["asked"] + 1e6 * grant["ttl_ms"] - MARGIN_NS
            return {"held": known or self.fault == "believes", "at": time.monotonic_ns()}
        return self.ask(order, name, grant["token"], grant["ttl_ms"])


def main():
    client = Client(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    for line in sys.stdin:
        order, *words = line.split()
        if order == "quit":
            break
        print(json.dumps(client.carry_out(order, words[0], *map(int, words[1:]))), flush=True)


if __name__ == "__main__":
    main()
