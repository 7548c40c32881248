"""Ports for servers that must be told theirs before they start."""

import random
import socket

LOWEST = 10000


def first_port_of_connections():
    """Where the ports begin that the system gives to whoever connects: one of those may be taken the next moment."""
    try:
        with open("/proc/sys/net/ipv4/ip_local_port_range") as limits:
            return max(int(limits.read().split()[0]), LOWEST + 1000)
    except OSError:
        return 32768


def free_ports(count):
    """Ports that nobody listens on. All are open at once, so that they differ."""
    highest = first_port_of_connections() - 1
    sockets = []
    try:
        while len(sockets) < count:
            one = socket.socket()
            try:
                one.bind(("127.0.0.1", random.randint(LOWEST, highest)))
                sockets.append(one)
            except OSError:
                one.close()
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def free_port():
    return free_ports(1)[0]
