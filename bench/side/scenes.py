"""What happens to leases in the conformance table, the same for every participant and through its client processes only. A scene
plays once and gives what was seen; conformance.py judges it. Moments are nanoseconds of the clock that all processes share."""

import threading
import time

from harness import Trouble

PATIENCE_MS = 40_000  # beyond the TTL, for somebody to get what is free
PAUSE_SECONDS = 0.004  # between questions that are asked over and over


def granted(holder, name, ttl_ms):
    """The grant of what nobody holds. A busy cluster may take some time to agree."""
    found = holder.ask("await", name, ttl_ms, PATIENCE_MS)
    if not found["granted"]:
        raise Trouble(f"{name} was free and was not granted within {PATIENCE_MS // 1000} s")
    return found


def handed_over(participant, name, ttl_ms):
    """A acquires and releases, B acquires and releases: their tokens."""
    first, second = participant.holder("giver"), participant.holder("taker")
    try:
        tokens = []
        for holder in (first, second):
            tokens.append(granted(holder, name, ttl_ms)["token"])
            holder.ask("release", name)
        return {"tokens": tokens}
    finally:
        first.stop()
        second.stop()


class Slept:
    """A holds a lease and is stopped (SIGSTOP) beyond its end; B gets it, by waiting or by asking over and over; A goes on, and
    does what a holder does. A third one looks on."""

    def __init__(self, participant, name, ttl_ms, waits):
        self.name, self.ttl_ms, self.waits = name, ttl_ms, waits
        self.old_name = f"old-{name}"
        self.old, self.new, self.onlooker = (participant.holder(who) for who in (self.old_name, f"new-{name}", f"onlooker-{name}"))
        self.looked_at = self.shown_old = self.shown_other = self.refused = None

    def play(self):
        try:
            for holder in (self.new, self.onlooker):
                holder.ask("owner", self.name)  # whatever it takes to connect is over
            lost = granted(self.old, self.name, self.ttl_ms)
            self.old.freeze()
            won = self._win(lost)
            return {"lost": lost, "won": won, "shown_old": self.shown_old, "shown_other": self.shown_other, "refused": self.refused,
                    "looked_at": self.looked_at, "ttl_ms": self.ttl_ms, **self._wake(won)}
        finally:
            for holder in (self.old, self.new, self.onlooker):
                holder.stop()

    def _win(self, lost):
        """B's grant. Meanwhile it is noted when A was last asked for and shown as the owner, when first not, and when B was last
        refused."""
        if self.waits:
            self.new.tell("await", self.name, self.ttl_ms, self.ttl_ms + PATIENCE_MS)
        time.sleep(max(0.0, (lost["asked"] / 1e6 + 0.75 * self.ttl_ms - time.monotonic_ns() / 1e6) / 1000))
        until = time.monotonic() + PATIENCE_MS / 1000
        while time.monotonic() < until:
            shown = self.onlooker.ask("owner", self.name)
            self.looked_at = self.looked_at or shown["answered"]
            if shown["holder"] == self.old_name:
                self.shown_old = shown["asked"]
            elif self.shown_other is None:
                self.shown_other = shown["answered"]
            if not self.waits:
                tried = self.new.ask("acquire", self.name, self.ttl_ms)
                if tried["granted"]:
                    return tried
                self.refused = tried["asked"]
            elif self.shown_other is not None:
                return self.new.answer(PATIENCE_MS / 1000 + 30)
            time.sleep(PAUSE_SECONDS)
        raise Trouble(f"{self.name}: nobody else got it within {PATIENCE_MS // 1000} s of its end")

    def _wake(self, won):
        """What A thinks first, before anything can have told it, and what comes of what it does then."""
        self.old.tell("held", self.name)
        self.old.thaw()
        believed = self.old.answer()
        released = self.old.try_to("release", self.name)
        renewed = self.old.try_to("renew", self.name)
        owner = self.onlooker.ask("owner", self.name)
        kept = self.new.try_to("renew", self.name)
        too_late = time.monotonic_ns() - won["asked"] > 1e6 * self.ttl_ms  # B's own time may be over: nothing is shown
        return {"believed": believed, "stale_release": released, "stale_renew": renewed, "owner": owner, "new": f"new-{self.name}",
                "kept": kept, "too_late": too_late}


class Restarted:
    """A holds leases when all servers are killed and started again on what they have on disk; B asks for them all the time. A asks
    for a renewal as soon as it is answered, or is stopped (SIGSTOP)."""

    def __init__(self, participant, names, ttl_ms, renews):
        self.participant, self.names, self.ttl_ms, self.renews = participant, names, ttl_ms, renews
        self.old, self.new = participant.holder("old-restart"), participant.holder("new-restart")
        self.won, self.renewed = {}, {}
        self.up_at, self.asked = None, []  # when the servers were there again; from when to when B waited for each answer
        self.over = False

    def play(self):
        try:
            self.new.ask("owner", self.names[0])
            lost = {name: granted(self.old, name, self.ttl_ms) for name in self.names}
            if not self.renews:
                self.old.freeze()
            self.participant.kill_all()
            asking = threading.Thread(target=self._ask_for_all, daemon=True)
            asking.start()
            try:
                self.participant.start_again()
                self._wait_until_up()
                if self.renews:
                    self._renew(lost)
                    self.old.freeze()
                asking.join(self.ttl_ms / 1000 + PATIENCE_MS / 1000)
            finally:
                self.over = True
                asking.join(60)
            return [{"lost": lost[name], "won": self.won.get(name), "renewed": self.renewed.get(name), "ttl_ms": self.ttl_ms,
                     "asked_at": self._asked_when_up()} for name in self.names]
        finally:
            self.old.stop()
            self.new.stop()

    def _asked_when_up(self):
        """When B was first asking for something while the servers were there again, whatever they said; or had got something,
        which may be before anybody else saw that they are."""
        asking = [max(begin, self.up_at) for begin, finish in self.asked if self.up_at and finish >= self.up_at]
        return min([*asking[:1], *(won["answered"] for won in self.won.values())], default=None)

    def _wait_until_up(self):
        until = time.monotonic() + PATIENCE_MS / 1000
        while not self.participant.is_up():
            if time.monotonic() > until:
                raise Trouble("the servers did not come back")
            time.sleep(PAUSE_SECONDS)
        self.up_at = time.monotonic_ns()

    def _ask_for_all(self):
        while not self.over and len(self.won) < len(self.names):
            for name in [name for name in self.names if name not in self.won]:
                begin = time.monotonic_ns()
                try:
                    tried = self.new.try_to("acquire", name, self.ttl_ms)
                except Trouble:
                    return  # the client was ended
                self.asked.append((begin, time.monotonic_ns()))
                if tried.get("granted"):
                    self.won[name] = tried
            time.sleep(5 * PAUSE_SECONDS)

    def _renew(self, lost):
        """Until the time is over by A's own count, in which somebody answers."""
        for name in self.names:
            while time.monotonic_ns() < lost[name]["asked"] + 1e6 * self.ttl_ms:
                tried = self.old.try_to("renew", name)
                if "error" not in tried:
                    self.renewed[name] = tried
                    break
                time.sleep(PAUSE_SECONDS)
