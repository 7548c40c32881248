"""What survives a restart, and what must not be granted after one (S1, G3, R7)."""

import datetime
import email.utils
import os
import subprocess
import time
import unittest

from harness import PATIENCE, ServerTest, eventually, freeze, quoted, thaw, wait_for_time

TTL_MS = 3000


def an_hour_back():
    """The environment of a program that sees the wall clock an hour ago, and every other clock as it is."""
    shown = subprocess.run(["faketime", "-f", "-1h", "env"], capture_output=True, text=True, check=True).stdout
    preload = next(line.split("=", 1)[1] for line in shown.splitlines() if line.startswith("LD_PRELOAD="))
    asan = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    return {"LD_PRELOAD": preload, "FAKETIME": "-1h", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1", "ASAN_OPTIONS": asan}


def when_granted(server, holder, resource):
    """Asks until it is granted. Returns the lease, when the answer came, and the refusals before."""
    refusals = []
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        status, answer = server.acquire(holder, resource)
        if status == 201:
            return answer["leases"][0], time.monotonic(), refusals
        refusals.append((status, answer))
        time.sleep(0.05)
    raise AssertionError(f"never granted: {refusals[-1]}")


class AfterKill(ServerTest):
    def test_tokens_rise_with_the_wall_clock_set_back_an_hour(self):
        server = self.start_with_ttl_max(1000)
        before = server.grant("alice", "r")["token"]
        server.kill()

        server = self.start(environment=an_hour_back())
        server.health()
        seen = email.utils.parsedate_to_datetime(server.connection.date)
        behind = datetime.datetime.now(datetime.timezone.utc) - seen
        self.assertAlmostEqual(behind.total_seconds(), 3600, delta=PATIENCE, msg="the clock was not set back")
        lease, _, _ = when_granted(server, "bob", "r")
        self.assertGreater(lease["token"], before)
        other = server.grant("carol", "another")
        self.assertGreater(other["token"], lease["token"])
        server.kill()

        server = self.start()
        again, _, _ = when_granted(server, "dave", "r")
        self.assertGreater(again["token"], other["token"])

    def test_nothing_is_granted_twice_in_the_recovery_window(self):
        server = self.start_with_ttl_max(TTL_MS)
        sent = time.monotonic()
        lease = server.grant("alice", "r", ttl_ms=TTL_MS)
        ends = sent + TTL_MS / 1000  # not before this, on any clock
        server.kill()

        server = self.start()
        health = server.health()
        self.assertEqual(health["status"], "recovering")
        self.assertTrue(0 < health["recovering_for_ms"] <= TTL_MS, health)
        server.wait_for_log("recovering")
        self.assertEqual(server.renew(lease)[0], 404, "nobody knows this lease any more")

        granted, at, refusals = when_granted(server, "bob", "r")
        self.assertGreaterEqual(at, ends, "granted while alice may hold it")
        self.assertGreater(granted["token"], lease["token"])
        self.assertTrue(refusals, "it was never refused")
        for status, answer in refusals:
            self.assertEqual((status, answer["error"]["code"]), (503, "recovering"), answer)
            self.assertTrue(0 < answer["retry_in_ms"] <= TTL_MS, answer)
        self.assertEqual(server.health()["status"], "ok")

    def test_a_clean_stop_does_not_cut_the_recovery_short(self):
        server = self.start_with_ttl_max(TTL_MS)
        sent = time.monotonic()
        server.grant("alice", "r", ttl_ms=TTL_MS)
        server.kill()
        server = self.start()
        self.assertEqual(server.health()["status"], "recovering")
        server.stop()
        _, at, _ = when_granted(self.start(), "bob", "r")
        self.assertGreaterEqual(at, sent + TTL_MS / 1000)

    def test_a_longer_ttl_counts_for_the_recovery_from_the_moment_it_is_allowed(self):
        server = self.start_with_ttl_max(1000)
        self.assertEqual(server.ask("PATCH", "/v1/policy", {"ttl_max_ms": 50_000})[0], 200)
        server.grant("alice", "r", ttl_ms=50_000)
        self.assertEqual(server.ask("PATCH", "/v1/policy", {"ttl_max_ms": 1000})[0], 200)
        server.kill()
        self.assertGreater(self.start().health()["recovering_for_ms"], 1000)

    def test_a_longer_ttl_of_any_namespace_counts_for_the_recovery(self):
        server = self.start_with_ttl_max(1000)
        self.assertEqual(server.ask("PATCH", "/v1/policy?namespace=batch", {"ttl_max_ms": 50_000})[0], 200)
        server.kill()
        back = self.start()
        self.assertGreater(back.health()["recovering_for_ms"], 1000)
        self.assertEqual(back.ask("GET", "/v1/policy?namespace=batch")[1]["ttl_max_ms"], 50_000)

    def test_policy_and_bans_survive(self):
        server = self.start()
        change = {"ttl_min_ms": 500, "ttl_max_ms": 70_000, "ttl_default_ms": 20_000, "ttl_over_max": "reject",
                  "wait_max_ms": 9000, "name_pattern": "FILE:.*"}
        status, policy = server.ask("PATCH", "/v1/policy", change)
        self.assertEqual(status, 200, policy)
        for holder in ("eve", "mallory", "ümit/x"):
            self.assertEqual(server.ask("PUT", f"/v1/bans/{quoted(holder)}", {"reason": "greedy"})[0], 200)
        self.assertEqual(server.ask("DELETE", "/v1/bans/mallory")[0], 200)
        bans = server.ask("GET", "/v1/bans")
        server.kill()

        server = self.start()
        self.assertEqual(server.ask("GET", "/v1/policy")[1], {**policy, **change})
        self.assertEqual(server.ask("GET", "/v1/bans"), bans)
        self.assertEqual(sorted(ban["holder"] for ban in bans[1]["bans"]), ["eve", "ümit/x"])
        status, answer = server.acquire("eve", "FILE:/a")
        self.assertEqual((status, answer["error"]["code"]), (403, "banned"))
        status, answer = server.acquire("alice", "TABLE:a")
        self.assertEqual((status, answer["error"]["code"]), (403, "name_refused"))

    def test_a_first_start_waits_for_nothing(self):
        server = self.start()
        self.assertEqual(server.health()["status"], "ok")
        server.grant("alice", "r")


class AfterCleanStop(ServerTest):
    def test_every_lease_is_there_with_its_token_and_can_be_renewed(self):
        server = self.start()
        for i in range(50):
            server.grant(f"holder-{i}", f"FILE:/src/{i}.c", ttl_ms=300_000, session=f"s{i}", reason="édit",
                         metadata={"n": i, "text": "ü\"x"})
        reading = [{"resource": "shared", "predicate": "CONSUMES"}]
        for holder in ("r1", "r2", "r3"):
            self.assertEqual(server.ask("POST", "/v1/leases", {"holder": holder, "intents": reading, "namespace": "ns",
                                                               "ttl_ms": 300_000})[0], 201)
        barred = server.grant("barred", "barred", ttl_ms=300_000)
        self.assertEqual(server.ask("POST", f"/v1/leases/{quoted(barred['id'])}/bar")[0], 200)
        released = server.grant("alice", "released", ttl_ms=300_000)
        self.assertEqual(server.ask("DELETE", f"/v1/leases/{quoted(released['id'])}?holder=alice")[0], 200)
        before = server.leases()
        self.assertEqual(len(before), 54)
        highest = max(lease["token"] for lease in [*before.values(), released])
        server.stop()

        server = self.start()
        self.assertEqual(server.health()["status"], "ok")
        self.assertEqual(server.health()["active_leases"], 54)
        after = server.leases()
        kept = ("namespace", "resource", "predicate", "holder", "session", "token", "state", "renewable", "reason",
                "metadata", "ttl_ms")
        for id, lease in before.items():
            for field in kept:
                self.assertEqual(after[id].get(field), lease.get(field), (id, field))
            self.assertLessEqual(after[id]["timeline"]["expires_in_ms"], lease["timeline"]["expires_in_ms"],
                                 "time spent down counts")
        status, answer = server.acquire("bob", "FILE:/src/7.c")
        self.assertEqual((status, answer["conflicts"][0]["holder"]), (409, "holder-7"))
        for id, lease in after.items():
            status, answer = server.renew(lease)
            if lease["resource"] == "barred":
                self.assertEqual((status, answer["error"]["code"]), (403, "renewal_barred"))
            else:
                self.assertEqual((status, answer["lease"]["token"]), (200, before[id]["token"]), answer)
        status, answer = server.ask("POST", "/v1/verify", {"leases": [released["id"]]})
        self.assertEqual(answer["results"][0]["state"], "RELEASED")
        self.assertGreater(server.grant("bob", "new")["token"], highest)

    def test_leases_that_ended_while_it_was_down_have_expired(self):
        server = self.start()
        short = server.grant("alice", "short", ttl_ms=1000)
        received = time.monotonic()
        long = server.grant("alice", "long", ttl_ms=200_000)
        server.stop()
        wait_for_time(received + 1.1)

        server = self.start()
        _, answer = server.ask("POST", "/v1/verify", {"leases": [short["id"], long["id"]]})
        self.assertEqual([result["state"] for result in answer["results"]], ["EXPIRED", "ACTIVE"])
        status, answer = server.renew(short)
        self.assertEqual((status, answer["error"]["code"]), (410, "lease_expired"))
        self.assertEqual(list(server.leases()), [long["id"]])
        self.assertGreater(server.grant("bob", "short")["token"], short["token"])

    def test_a_lease_taken_up_runs_out_on_its_own_time(self):
        server = self.start()
        lease = server.grant("alice", "r", ttl_ms=2500)
        server.stop()
        server = self.start()
        waited, at, _ = when_granted(server, "bob", "r")
        self.assertGreater(waited["token"], lease["token"])
        self.assertEqual(server.metric("holdfast_expiry_lateness_seconds_count"), 1)

    def test_a_start_that_cannot_listen_leaves_the_leases_for_the_next(self):
        first = self.start()
        elsewhere = self.directory()
        server = self.start(elsewhere)
        lease = server.grant("alice", "r", ttl_ms=200_000)
        server.stop()

        failing = self.launch(elsewhere, address=f"127.0.0.1:{first.port}")
        self.assertEqual(failing.wait(), 1)
        self.assertIn(f"127.0.0.1:{first.port}", failing.log[-2] + failing.log[-1])

        server = self.start(elsewhere)
        self.assertEqual(server.health()["status"], "ok")
        self.assertEqual(list(server.leases()), [lease["id"]])

    def test_many_restarts_keep_a_lease_and_its_holder_keeps_renewing_it(self):
        server = self.start()
        lease = server.grant("alice", "r", ttl_ms=60_000)
        for _ in range(5):
            server.stop()
            server = self.start()
            status, answer = server.renew(lease)
            self.assertEqual((status, answer["lease"]["token"]), (200, lease["token"]))


class Sleeping(ServerTest):
    def test_a_server_that_was_stopped_in_its_tracks_honours_nothing_that_ended_meanwhile(self):
        server = self.start()
        lease = server.grant("alice", "r", ttl_ms=1000)
        received = time.monotonic()
        freeze(server.process.pid)
        try:
            # Sent before it wakes, so that it comes before any sweep.
            server.connection.send("POST", f"/v1/leases/{quoted(lease['id'])}/heartbeat", {"holder": "alice"})
            wait_for_time(received + 2.5)
        finally:
            thaw(server.process.pid)
        status, answer = server.connection.receive()
        self.assertEqual((status, answer["error"]["code"]), (410, "lease_expired"))
        server.grant("bob", "r")
        eventually("the expiry is told", lambda: server.metric("holdfast_expiry_lateness_seconds_count") == 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
