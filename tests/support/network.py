"""Hosts with a network of their own, for tests of what crosses a network: each is a network namespace of the kernel, and
each two have a cable between them that can be cut, in both directions or in one.

The namespaces have no names: they are gone once the last process in them and this one have ended, however they end.
Nothing is added to the network that the machine has."""

import ctypes
import os
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def reason_why_not():
    """Why there can be no such hosts here, or None."""
    try:
        Network(["one", "other"]).close()
    except (OSError, subprocess.SubprocessError) as error:
        return f"no network namespace can be made here, which takes root and iproute2: {error}"
    return None


def _call(result):
    if result != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def _namespace_of_this_thread():
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _new_namespace():
    made = []

    def make():  # in a thread of its own, for it is the thread that moves
        try:
            _call(libc.unshare(CLONE_NEWNET))
            made.append(_namespace_of_this_thread())
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


class Host:
    """Within `with host:`, the sockets that this thread makes and the processes that it starts are this host's."""

    def __init__(self, name, number):
        self.name = name
        self.address = f"10.77.0.{number}"
        self.namespace = _new_namespace()
        self.entered = threading.local()
        try:
            self.ip(f"link set lo up\naddress add {self.address}/32 dev lo")
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        if not hasattr(self.entered, "ways_back"):
            self.entered.ways_back = []
        self.entered.ways_back.append(_namespace_of_this_thread())
        _call(libc.setns(self.namespace, CLONE_NEWNET))
        return self

    def __exit__(self, *_):
        back = self.entered.ways_back.pop()
        _call(libc.setns(back, CLONE_NEWNET))
        os.close(back)

    def connect(self, address, timeout):
        """A TCP connection from this host."""
        with self:
            connection = socket.socket()
        connection.settimeout(timeout)
        try:
            connection.connect(address)
        except BaseException:
            connection.close()
            raise
        return connection

    def ip(self, commands):
        """Lines for `ip`, on this host."""
        with self:
            done = subprocess.run(["ip", "-batch", "-"], input=commands, text=True, capture_output=True,
                                  pass_fds=[self.namespace])
        if done.returncode != 0:
            raise OSError(f"ip {commands!r}: {done.stderr.strip()}")

    def close(self):
        os.close(self.namespace)


class Network:
    """Hosts, by name, and a cable between each two of them."""

    def __init__(self, names):
        self.hosts = {}
        try:
            for number, name in enumerate(names, start=1):
                self.hosts[name] = Host(name, number)
            for one, other in self.pairs():
                self._lay_cable(self.hosts[one], self.hosts[other])
        except BaseException:
            self.close()
            raise

    def pairs(self):
        names = list(self.hosts)
        return [(one, other) for i, one in enumerate(names) for other in names[i + 1:]]

    def _lay_cable(self, one, other):
        there = f"/proc/{os.getpid()}/fd/{other.namespace}"
        one.ip(f"link add to-{other.name} type veth peer name to-{one.name} netns {there}")
        for near, far in ((one, other), (other, one)):
            near.ip(f"link set to-{far.name} up")
        for near, far in ((one, other), (other, one)):
            near.ip(self._route(near, far))

    @staticmethod
    def _route(near, far):
        return f"route replace {far.address}/32 dev to-{far.name} src {near.address} metric 20"

    def _ends(self, one, other):
        """Of two hosts first the one at whose end their cable is taken out and put in again."""
        return (host for name, host in self.hosts.items() if name in (one, other))

    def cut(self, one, other):
        """Takes the cable between two out; what was in it is lost."""
        near, far = self._ends(one, other)
        near.ip(f"link set to-{far.name} down")

    def mend(self, one, other):
        near, far = self._ends(one, other)
        near.ip(f"link set to-{far.name} up\n{self._route(near, far)}")

    def cut_one_way(self, source, target):
        """What `source` sends does not reach `target`; what `target` sends reaches `source`."""
        near, far = self.hosts[source], self.hosts[target]
        near.ip(f"route replace unreachable {far.address}/32 metric 10")

    def mend_one_way(self, source, target):
        near, far = self.hosts[source], self.hosts[target]
        near.ip(f"route delete unreachable {far.address}/32 metric 10")

    def split(self, *sides):
        """Cuts every cable from one side to another."""
        for i, side in enumerate(sides):
            for other_side in sides[i + 1:]:
                for one in side:
                    for other in other_side:
                        self.cut(one, other)

    def heal(self):
        """Every cable is in its place."""
        for one, other in self.pairs():
            self.mend(one, other)

    def close(self):
        for host in self.hosts.values():
            host.close()
