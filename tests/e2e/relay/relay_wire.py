"""The relay's protocol by hand (docs/discovery.md, proto/discovery.proto), for those who do what Holdfast never would.
Shares no code with it."""

import os
import socket
import struct

from harness import PATIENCE

# The kinds of a RelayMessage, by their field numbers.
PUBLISHER_HELLO, RELAY_HELLO, UPDATE, RESPONSE, OFFER = 1, 2, 3, 4, 5
REQUEST, OPENED, FAILED = 8, 10, 11
REGISTER = 1  # an action
VERSION = 1


class Fixed(int):
    """A number that is sent as eight bytes."""


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def encode(fields):
    """A Protobuf message from {number: value}."""
    out = b""
    for number, value in fields.items():
        if isinstance(value, Fixed):
            out += varint(number << 3 | 1) + struct.pack("<Q", value)
        elif isinstance(value, int):
            out += varint(number << 3) + varint(value)
        else:
            out += varint(number << 3 | 2) + varint(len(value)) + value
    return out


def decode(data):
    """{number: value} of a Protobuf message, the last value of each."""
    fields, at = {}, 0

    def number_at():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        tag = number_at()
        if tag & 7 == 0:
            fields[tag >> 3] = number_at()
        elif tag & 7 == 1:
            fields[tag >> 3] = struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            length = number_at()
            fields[tag >> 3] = data[at:at + length]
            at += length
    return fields


class Wire:
    """One connection to a relay."""

    def __init__(self, test, relay):
        host, port = relay.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), PATIENCE)
        test.addCleanup(self.socket.close)

    def say(self, kind, fields):
        body = encode({kind: encode(fields)})
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def hear(self):
        """The kind of the next message, and its fields."""
        [(kind, body)] = decode(self._read(struct.unpack(">I", self._read(4))[0])).items()
        return kind, decode(body)

    def hear_of(self, kind):
        """The next of this kind."""
        while True:
            heard, fields = self.hear()
            if heard == kind:
                return fields

    def _read(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            assert more, "the relay closed the connection"
            data += more
        return data


class WirePublisher(Wire):
    """A publisher that greeted the relay. `signer` has a public_key and can sign()."""

    def __init__(self, test, relay, signer):
        super().__init__(test, relay)
        self.signer = signer
        self.say(PUBLISHER_HELLO, {1: VERSION})
        hello = self.hear_of(RELAY_HELLO)
        self.life, self.time_ms = hello[2], hello[3]

    def signed(self, action, name, token=0):
        request = encode({1: action, 2: name.encode(), 3: Fixed(token), 9: Fixed(self.life), 10: self.time_ms,
                          11: Fixed(int.from_bytes(os.urandom(8), "big"))})
        return {1: request, 2: self.signer.public_key, 3: self.signer.sign(request), 4: 1}

    def answer_to(self, update):
        self.say(UPDATE, update)
        return self.hear_of(RESPONSE)[2].decode()

    def register(self, name):
        code = self.answer_to(self.signed(REGISTER, name))
        assert code == "ok", code


class Consumer(Wire):
    """Somebody who has asked for a service."""

    def __init__(self, test, relay, name):
        super().__init__(test, relay)
        self.say(REQUEST, {1: VERSION, 2: name.encode()})

    def opened(self):
        """The stream."""
        kind, fields = self.hear()
        assert kind == OPENED, fields
        return self.socket

    def failed(self):
        """Why there is none."""
        return self.hear_of(FAILED)[1].decode()
