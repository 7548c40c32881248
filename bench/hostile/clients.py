"""Clients that send as much work as they can: what each kind asks for, and a process that drives many of them."""

import json
import multiprocessing
import selectors
import socket
import struct
import time

HELD = 100_000  # leases in the store, of which a hundred holders have a thousand each
RECEIVE_BYTES = 256 * 1024


def command(*words):
    encoded = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded)


def request(method, path, body=None):
    text = b"" if body is None else json.dumps(body).encode()
    return (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n\r\n").encode() + text


def frame(body):
    return struct.pack(">I", len(body)) + body


def message(number, body):
    """One of proto/discovery.proto's, in a RelayMessage. Shorter than 128 bytes."""
    return frame(bytes([number << 3 | 2, len(body)]) + body)


TAKE_ALL = ("for i, key in ipairs(KEYS) do if redis.call('exists', key) == 1 then return 0 end end "
            "for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end return #KEYS")
SIGNED_UPDATE = message(3, b"\x0a\x02xx" + b"\x12\x20" + b"k" * 32 + b"\x1a\x40" + b"s" * 64)

# Of each kind the bytes that are sent again and again.
RESP = {
    "PING": command("PING") * 4000,
    "ACQUIRE, RELEASE": b"".join(command("SET", f"hostile:{i}", "v", "PX", 60000) + command("DEL", f"hostile:{i}")
                                 for i in range(1000)),
    "KEYS *": command("KEYS", "*") * 500,
    "KEYS, slow pattern": command("KEYS", "*a*b*c*d*e*f*") * 500,
    "SCAN 10,000": command("SCAN", 0, "MATCH", "*zz*", "COUNT", 10_000) * 500,
    "EXISTS 9,999": command("EXISTS", *range(9_999)) * 4,
    "SADD 256": command("SADD", "hostile:set", *range(256)) * 50,
    "EVAL 256 keys": command("EVAL", TAKE_ALL, 256, *range(256), "v", 60000) * 50,
    "EVAL, long": command("EVAL", "return " + "1 + " * 200_000 + "1", 0) * 2,
    "LEASE.LIST": command("LEASE.LIST", "LIMIT", 1000) * 500,
    "LEASE.VERIFY": command("LEASE.VERIFY", *(word for i in range(1000) for word in (f"held/{i}", i + 1))) * 10,
    "LEASE.RENEW 1,000": command("LEASE.RENEW", "none", 1, "nobody", "ALSO",
                                 *(word for i in range(999) for word in (f"none/{i}", i + 1))) * 10,
}
HTTP = {
    "list": request("GET", "/v1/leases?limit=1000") * 100,
    "HEAD of a list": request("HEAD", "/v1/leases?limit=1000") * 500,
    "manifest of 256": request("POST", "/v1/leases", {"holder": "hostile", "ttl_ms": 60000, "intents": [
        {"resource": f"held/{i}", "predicate": "MUTATES"} for i in range(256)]}) * 20,
    "body of 1 MiB": request("POST", "/v1/leases", {"holder": "hostile", "intents": [
        {"resource": "x" * 100, "predicate": "MUTATES"}] * 6000}),
    "heartbeat of all": request("POST", "/v1/heartbeat", {"holder": "many"}) * 20,
    "verify all": request("POST", "/v1/verify", {"holder": "many"}) * 20,
    "metrics": request("GET", "/metrics") * 200,
    "health": request("GET", "/health") * 500,
}
RELAY = {
    "hello": message(1, b"\x08\x01") * 5000,
    "updates of nobody": message(1, b"\x08\x01") + SIGNED_UPDATE * 500,
}
DOORS = {"resp": RESP, "http": HTTP, "relay": RELAY}


class Client:
    """One hostile connection, which connects again when it is closed."""

    def __init__(self, port, payload, reads):
        self.port = port
        self.payload = payload
        self.reads = reads
        self.connect()

    def connect(self):
        self.sent = 0
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.socket.setblocking(False)

    def fileno(self):
        return self.socket.fileno()

    def write(self):
        self.sent += self.socket.send(self.payload[self.sent:self.sent + 256 * 1024])
        self.sent %= len(self.payload)

    def read(self, room):
        if self.socket.recv_into(room) == 0:
            raise ConnectionResetError


def drive(clients, until):
    room = bytearray(RECEIVE_BYTES)
    with selectors.DefaultSelector() as selector:
        interest = selectors.EVENT_READ | selectors.EVENT_WRITE
        for client in clients:
            selector.register(client, interest if client.reads else selectors.EVENT_WRITE)
        while time.monotonic() < until:
            for key, events in selector.select(0.1):
                client = key.fileobj
                try:
                    if events & selectors.EVENT_READ:
                        client.read(room)
                    if events & selectors.EVENT_WRITE:
                        client.write()
                except BlockingIOError:
                    pass
                except OSError:
                    selector.unregister(client)
                    client.socket.close()
                    client.connect()
                    selector.register(client, interest if client.reads else selectors.EVENT_WRITE)


def run(ports, kinds, until):
    """kinds: (door, name, whether it reads its answers), one for each connection."""
    drive([Client(ports[door], DOORS[door][name], reads) for door, name, reads in kinds], until)


def start(ports, kinds, seconds, processes=2):
    """The processes that drive these connections for so many seconds."""
    until = time.monotonic() + seconds
    started = [multiprocessing.Process(target=run, args=(ports, kinds[i::processes], until)) for i in range(processes)]
    for process in started:
        process.start()
    return started
