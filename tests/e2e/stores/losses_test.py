"""What happens to leases when an engine loses them or goes back, with real engines (docs/decisions/0013-engines-that-forget.md):
nobody else is granted what is held, tokens do not fall, and every front says why it waits."""

import os
import struct
import sys
import tempfile
import unittest
import unittest.mock

from fronts_world import FrontsTest, eventually, make_engine

STORE = "fronts"


class Losses(FrontsTest):
    def place(self, new_store=True, **options):
        """A front with a memory of its own."""
        return self.start(self.directory(), store=self.engine.url(STORE), new_store=new_store, **options)

    def held(self):
        """Two fronts, and a lease that is held through the first."""
        a, b = self.place(), self.place()
        return a, b, a.grant("alice", "r", ttl_ms=300_000)

    def refused(self, front, resource="r"):
        status, answer = front.acquire("bob", resource)
        self.assertEqual(status, 503, answer)
        self.assertIn(answer["error"]["code"], ("store_unavailable", "recovering"))

    def recovers(self, *fronts):
        for front in fronts:
            eventually("it recovers", lambda: front.health()["status"] == "recovering")
            self.refused(front)
            self.refused(front, "another")
            status, ready = front.ask("GET", "/ready")
            self.assertEqual(status, 503)
            self.assertRegex(str(ready), "engine|store")

    def test_everything_is_deleted_under_live_fronts(self):
        a, b, _ = self.held()
        self.engine.delete_all(STORE)
        self.refused(b)
        self.refused(a, "another")
        self.recovers(a, b)

    def test_a_record_is_deleted_and_its_holder_renews(self):
        a, b, lease = self.held()
        self.assertEqual(a.renew(lease)[0], 200)
        self.engine.delete_record(STORE, "r")
        self.assertNotEqual(a.renew(lease)[0], 200)
        self.recovers(a, b)
        self.assertIn("`r`", str(b.ask("GET", "/ready")[1]))

    def test_a_record_is_deleted_and_granted_again_through_another_front(self):
        a, b, lease = self.held()
        self.engine.delete_record(STORE, "r")
        second = b.grant("bob", "r", ttl_ms=300_000)  # nobody can know
        self.assertGreater(second["token"], lease["token"])
        self.recovers(a, b)

    def test_an_older_copy_is_put_in_the_place_of_the_data_under_live_fronts(self):
        a, b = self.place(), self.place()
        a.grant("carol", "s", ttl_ms=300_000)
        copy = self.engine.copy()
        for front in (a, b):
            eventually("it is back", lambda: front.health()["status"] == "ok")
        first = a.health()
        eventually("the marker was raised", lambda: self.counter(a) > 3)
        a.grant("alice", "r", ttl_ms=300_000)
        self.assertEqual(first["status"], "ok")
        self.engine.restore(copy)
        for front in (a, b):
            eventually("it is back", lambda: front.health()["status"] != "store_unavailable")
        self.recovers(a, b)

    def counter(self, front):
        return front.ask("GET", "/v1/store")[1]["history"]["counter"]

    def test_an_older_copy_is_put_in_the_place_of_the_data_while_all_fronts_are_away(self):
        directory = self.directory()
        a = self.start(directory, store=self.engine.url(STORE))
        before = self.counter(a)
        copy = self.engine.copy()
        eventually("the marker was raised", lambda: a.health()["status"] == "ok" and self.counter(a) > before + 2)
        a.grant("alice", "r", ttl_ms=300_000)
        a.stop()
        self.engine.restore(copy)
        self.recovers(self.start(directory, store=self.engine.url(STORE)))

    def test_everything_is_lost_while_all_fronts_are_away(self):
        directory = self.directory()
        a = self.start(directory, store=self.engine.url(STORE))
        lease = a.grant("alice", "r", ttl_ms=300_000)
        a.stop()
        self.engine.delete_all(STORE)
        b = self.start(directory, store=self.engine.url(STORE))
        self.recovers(b)  # it was told that the store is new, and knows better
        b.stop()
        self.engine.delete_all(STORE)
        self.recovers(self.place(new_store=False))
        self.engine.delete_all(STORE)
        later = self.place(new_store=True).grant("bob", "r", ttl_ms=300_000)
        self.assertGreater(later["token"], lease["token"])

    def test_everything_is_lost_while_all_fronts_are_away_and_the_memory_of_one_is_damaged(self):
        directory = self.directory()
        a = self.start(directory, store=self.engine.url(STORE))
        a.grant("alice", "r", ttl_ms=300_000)
        a.stop()
        (memory,) = (name for name in os.listdir(directory) if name.startswith("store-"))
        with open(os.path.join(directory, memory), "r+b") as file:
            file.write(b"?")
        self.engine.delete_all(STORE)
        self.recovers(self.start(directory, store=self.engine.url(STORE)))  # told that the store is new, it knows better

    def test_the_engine_and_one_front_begin_anew_with_nothing_while_another_lives(self):
        a, b, _ = self.held()
        self.engine.restore()
        b.kill()
        c = self.place(new_store=False)
        self.refused(c)
        self.recovers(a, c)

    def test_the_data_of_another_store_is_put_in_the_place_of_its_own(self):
        other = make_engine(self.kind)
        self.addCleanup(other.clean_up)
        elsewhere = self.start(self.directory(), store=other.url(STORE))
        elsewhere.grant("carol", "s", ttl_ms=300_000)
        eventually("its marker was raised", lambda: self.counter(elsewhere) > 2)
        elsewhere.stop()
        a, b, _ = self.held()
        self.engine.restore(other.copy())
        for front in (a, b):
            eventually("it is back", lambda: front.health()["status"] != "store_unavailable")
        self.recovers(a, b)

    def test_a_restart_of_the_engine_that_loses_nothing_costs_nothing(self):
        a, b, lease = self.held()
        self.engine.kill()
        self.engine.start()
        for front in (a, b):
            eventually("it is back", lambda: front.health()["status"] == "ok")
        self.assertEqual(a.renew(lease)[0], 200)
        self.assertEqual(b.acquire("bob", "r")[0], 409)
        self.assertEqual(b.acquire("bob", "another")[0], 201)


class Leaps(Losses):
    """Of the engine's clock; etcd has none."""

    def setUp(self):
        self.clock = tempfile.NamedTemporaryFile(prefix="holdfast-clock-")
        self.addCleanup(self.clock.close)
        os.chmod(self.clock.name, 0o644)
        self.set_clock_ahead(0)
        preloaded = {"LD_PRELOAD": WRONG_CLOCK, "WRONG_CLOCK_FILE": self.clock.name}
        with unittest.mock.patch.dict(os.environ, preloaded):
            super().setUp()

    def set_clock_ahead(self, seconds):
        self.clock.seek(0)
        self.clock.write(struct.pack("=q", seconds))
        self.clock.flush()

    def test_the_clock_goes_ahead_under_live_fronts(self):
        a, b, _ = self.held()
        b.grant("dave", "known", ttl_ms=300_000)
        a.grant("carol", "short", ttl_ms=2_000)
        self.set_clock_ahead(1)
        self.refused(b, "short")
        self.recovers(a, b)
        self.assertIn("clock", str(b.ask("GET", "/ready")[1]))

    def test_the_clock_goes_ahead_while_a_front_is_away(self):
        directory = self.directory()
        a = self.start(directory, store=self.engine.url(STORE))
        a.grant("alice", "r", ttl_ms=60_000)
        a.stop()
        self.set_clock_ahead(120)
        again = self.start(directory, store=self.engine.url(STORE))
        self.recovers(again)
        self.recovers(self.place())  # which was never here, by what the other has written down


class PostgresLosses(Losses):
    def test_the_schema_is_dropped(self):
        a, b, _ = self.held()
        self.engine.command(f"DROP SCHEMA {STORE} CASCADE")
        self.refused(b)
        self.refused(a, "another")
        for front in (a, b):
            eventually("it has made another", lambda: front.health()["status"] == "recovering")
        self.recovers(a, b)

    def test_a_standby_is_promoted_that_lacks_the_last_commits(self):
        standby = self.engine.standby()
        self.addCleanup(standby.clean_up)
        place = self.engine.url(STORE).replace(f":{self.engine.port}/", f":{self.engine.port},127.0.0.1:{standby.port}/")
        store = place + "&target_session_attrs=read-write"
        a, b = (self.start(self.directory(), store=store) for _ in range(2))
        eventually("it follows", lambda: standby.command(f"SELECT to_regclass('{STORE}.kept') IS NOT NULL") == "t\n")
        standby.kill()
        lease = a.grant("alice", "r", ttl_ms=300_000)
        self.engine.kill()
        standby.start()
        standby.command("SELECT pg_promote()")
        for front in (a, b):
            eventually("it has found the other", lambda: front.health()["status"] == "recovering")
        self.recovers(a, b)
        self.assertNotEqual(a.renew(lease)[0], 200)

    def test_a_dump_is_restored_into_the_running_server(self):
        a, b = self.place(), self.place()
        dump = self.engine.dump(STORE)
        before = self.counter(a)
        eventually("the marker was raised", lambda: self.counter(a) > before + 2)
        a.grant("alice", "r", ttl_ms=300_000)
        self.engine.command(dump)
        self.refused(b)
        self.recovers(a, b)


def load_tests(loader, tests, pattern):
    tests = unittest.TestSuite(loader.loadTestsFromTestCase(PostgresLosses if FrontsTest.kind == "postgres" else Losses))
    if FrontsTest.kind != "etcd":
        tests.addTests(Leaps(name) for name in loader.getTestCaseNames(Leaps) if "clock" in name)
    return tests


if __name__ == "__main__":
    FrontsTest.kind, WRONG_CLOCK = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main(verbosity=2)
