"""What the holders of a test believed they held (lines of holders.cpp), and whether any two believed it of one resource at
one instant. All instants are of one clock: every host of a test shares the kernel's monotonic one."""

import threading

from real_cluster import HOLDERS, PATIENCE, eventually


class Holding:
    """One lease, as its holder saw it: from when until when."""

    def __init__(self, resource, token, since, until):
        self.resource, self.token, self.since, self.until = resource, token, since, until
        self.over = False

    def __repr__(self):
        return f"{self.resource}#{self.token} [{self.since}, {self.until})"


class Beliefs:
    """Gathers what holders say."""

    def __init__(self):
        self.lock = threading.Lock()
        self.holdings = {}  # by (resource, token)
        self.counts = {}    # of lines, by their first word
        self.renewals = {}  # how many, by (resource, token)
        self.losses = []

    def hear(self, line):
        kind, resource, token, now, *more = line.split()
        with self.lock:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            if kind == "renewed":
                name = resource, int(token)
                self.renewals[name] = self.renewals.get(name, 0) + 1
            if kind == "lost":
                self.losses.append(line)
            if kind in ("hold", "end", "lost"):
                self._believe(kind, (resource, int(token)), int(now), more)

    def _believe(self, kind, name, now, more):
        holding = self.holdings.get(name)
        if kind == "hold":
            until = int(more[0])
            if holding is None:
                self.holdings[name] = Holding(*name, now, until)
            elif not holding.over:
                holding.until = max(holding.until, until)
        elif holding is not None:
            holding.over = True
            holding.until = min(holding.until, now)

    def count(self, kind):
        with self.lock:
            return self.counts.get(kind, 0)

    def grants(self):
        with self.lock:
            return len(self.holdings)

    def by_resource(self):
        with self.lock:
            found = {}
            for holding in self.holdings.values():
                found.setdefault(holding.resource, []).append(holding)
            return found

    def violations(self):
        """Pairs of which the later began before the earlier ended, or has no higher token."""
        found = []
        for holdings in self.by_resource().values():
            holdings.sort(key=lambda holding: holding.since)
            last = None  # whoever believed for longest so far
            for holding in holdings:
                if last and (holding.since < last.until or holding.token <= last.token):
                    found.append((last, holding))
                if last is None or holding.until > last.until:
                    last = holding
        return found


class Holders:
    """One process with several holders, on one host."""

    def __init__(self, test, beliefs, host, *arguments):
        self.process = test.process(host, [HOLDERS, *map(str, arguments)])
        self.beliefs, self.own = beliefs, Beliefs()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):
                    self.own.hear(line)
                    self.beliefs.hear(line)

    def grants(self):
        return self.own.grants()

    def end(self):
        """A clean end: every lease is given back. All that was said is heard."""
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)


def wait_for_grants(holders, count):
    """Until so many more leases were granted to them than now."""
    enough = holders.grants() + count
    eventually(f"{count} more grants", lambda: holders.grants() >= enough)
