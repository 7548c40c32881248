"""Every order of peer_client (orders.h) with each kind of server that is there, and what it does when one is not."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("common", "side"):
    sys.path.insert(0, str(HERE.parent / folder))

import clustered  # noqa: E402
from free_ports import free_port  # noqa: E402
from holder import Holder  # noqa: E402
from servers import data_folder  # noqa: E402

TOOLS = pathlib.Path(os.environ["HOLDFAST_BIN"]).parent
LONG = 60_000  # nothing ends under the test unless it is to end
PATIENCE = 60_000
MILLISECOND = 1_000_000


def wall_clock_offset():
    """Of the wall clock from the one that only runs on, in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)


class WithServers(unittest.TestCase):
    def start(self, name):
        _, absent = clustered.present([name], TOOLS)
        if absent:
            self.skipTest(absent[name])
        data = tempfile.TemporaryDirectory(prefix="peer-client-")
        self.addCleanup(data.cleanup)
        os.chmod(data.name, 0o755)
        servers = clustered.ALL[name](TOOLS, data_folder(pathlib.Path(data.name)))
        self.addCleanup(servers.stop)
        return servers

    def holder(self, servers, name):
        holder = servers.holder(name)
        self.addCleanup(holder.stop)
        return holder


class EveryOrder(WithServers):
    def go_through(self, name):
        servers = self.start(name)
        ann, bob = (self.holder(servers, each) for each in ("ann", "bob"))
        promises = self.check_hello(servers, ann)
        self.check_one_lease(ann, bob, promises["token"])
        self.check_waiting(ann, bob)
        self.while_the_wall_clock_is_steady(self.check_expiry, ann, bob)
        self.while_the_wall_clock_is_steady(self.check_ends, bob)
        self.check_many(ann, promises["local_deadline"])
        self.check_nonsense(ann)
        self.check_drop(ann)
        ann.tell("quit")
        self.assertEqual(ann.process.wait(PATIENCE / 1000), 0)

    def while_the_wall_clock_is_steady(self, check, *arguments, tries=5):
        """Redis and PostgreSQL end leases by the wall clock: when that is set forward, they end early, and may."""
        for left in reversed(range(tries)):
            before = wall_clock_offset()
            try:
                return check(*arguments)
            except AssertionError:
                if left == 0 or abs(wall_clock_offset() - before) < MILLISECOND:
                    raise

    def check_hello(self, servers, ann):
        found = ann.ask("hello")
        self.assertEqual((found["peer"], found["holder"]), (servers.peer, "ann"))
        self.assertEqual(set(found["promises"]), {"durable", "replicated", "token", "local_deadline"})
        return found["promises"]

    def check_one_lease(self, ann, bob, has_token):
        first = ann.ask("acquire", "x", LONG)
        self.assertTrue(first["granted"])
        self.assertLess(first["asked"], first["answered"])
        self.assertEqual(first["token"] is not None, has_token)
        refused = bob.ask("acquire", "x", LONG)
        self.assertFalse(refused["granted"])
        self.assertTrue(refused["why"])
        self.assertEqual(bob.ask("owner", "x")["holder"], "ann")
        self.assertTrue(ann.ask("held", "x")["held"])
        self.assertFalse(bob.ask("held", "x")["held"])
        self.assertTrue(ann.ask("renew", "x")["renewed"])
        self.assertTrue(ann.ask("release", "x")["released"])
        self.assertFalse(ann.ask("held", "x")["held"])
        self.assertIsNone(bob.ask("owner", "x")["holder"])
        second = bob.ask("acquire", "x", LONG)
        self.assertTrue(second["granted"])
        if has_token:
            self.assertGreater(second["token"], first["token"])
        self.assertFalse(ann.ask("renew", "x")["renewed"], "it is another's by now")
        self.assertFalse(ann.ask("release", "x")["released"], "it is another's by now")
        self.assertEqual(ann.ask("owner", "x")["holder"], "bob")

    def check_waiting(self, ann, bob):
        self.assertTrue(bob.ask("held", "x")["held"])
        late = ann.ask("await", "x", LONG, 300)
        self.assertFalse(late["granted"])
        ann.tell("await", "x", LONG, PATIENCE)
        self.assertTrue(bob.ask("release", "x")["released"])
        self.assertTrue(ann.answer()["granted"])
        self.assertTrue(ann.ask("held", "x")["held"])

    def check_expiry(self, ann, bob, ttl=4_000):
        lost = bob.ask("acquire", "y", ttl)
        bob.ask("drop")
        self.assertFalse(bob.ask("held", "y")["held"])
        taken = ann.ask("await", "y", LONG, PATIENCE)
        self.assertTrue(taken["granted"])
        self.assertGreaterEqual(taken["answered"], lost["asked"] + ttl * MILLISECOND)

    def check_ends(self, bob):
        for count in (200, 50):  # the ends of the first are not taken for those of the second
            found = bob.ask("end-over", count, 6_000, 1_000)
            self.assertEqual((found["count"], found["seen"], found["early"]), (count, count, 0), found)
            self.assertEqual(len(found["late_ms_curve"]), 101)
            self.assertEqual(found["late_ms_curve"], sorted(found["late_ms_curve"]))
            self.assertAlmostEqual(found["late_ms_curve"][-1], found["late_us"]["max"] / 1000)
            self.assertTrue(found["way"])

    def check_many(self, ann, local_deadline):
        self.assertEqual(ann.ask("fill", 1_500, LONG)["count"], 1_500)
        self.assertEqual(ann.ask("fill", 2_500, LONG)["count"], 2_500)
        self.assertTrue(ann.ask("held", "fill-2499")["held"])
        self.assertFalse(ann.ask("held", "fill-2500")["held"])
        self.assertTrue(ann.ask("renew", "fill-7")["renewed"])
        found = ann.ask("renew-all", 0.5)
        self.assertGreater(found["renewed"], 0)
        self.assertAlmostEqual(found["rounds"], found["renewed"] / 2_500)
        self.assertLessEqual(found["p50_us"], found["p99_us"])
        asked = ann.ask("round-trips", 50)
        self.assertEqual(asked["count"], 50)
        self.assertGreater(asked["p50_ns"], 0)
        if local_deadline:
            self.assertLess(ann.ask("local-checks", 10_000)["mean_ns"], asked["mean_ns"])

    def check_nonsense(self, ann):
        for order in ("", "dance", "acquire x", "acquire x 1s", "fill 100000000000 1", "renew-all never", "hello you", "renew unheard-of"):
            self.assertIn("error", ann.try_to(order), order)
        self.assertIn("peer", ann.ask("hello"))

    def check_drop(self, ann):
        ann.ask("drop")
        self.assertFalse(ann.ask("held", "fill-0")["held"])
        self.assertEqual(ann.ask("owner", "fill-0")["holder"], "ann", "the server was told nothing")
        self.assertIn("error", ann.try_to("renew-all", 1))

    def test_holdfast(self):
        self.go_through("holdfast")

    def test_three_of_holdfast(self):
        self.go_through("holdfast x3")

    def test_redis(self):
        self.go_through("redis")

    def test_redis_with_sentinels(self):
        self.go_through("redis sentinel")

    def test_postgres(self):
        self.go_through("postgres")

    def test_etcd(self):
        self.go_through("etcd")

    def test_etcd_with_one_lease_for_all(self):
        self.go_through("etcd shared")

    def test_three_of_etcd(self):
        self.go_through("etcd x3")

    def test_zookeeper(self):
        self.go_through("zookeeper")

    def test_three_of_zookeeper(self):
        self.go_through("zookeeper x3")


class WithoutServers(WithServers):
    def test_a_server_that_is_not_there_is_an_error_of_each_order_and_no_end(self):
        for kind in ("holdfast", "redis", "postgres"):
            holder = Holder([TOOLS / "peer_client", kind, "ann", free_port()])
            self.addCleanup(holder.stop)
            for order in ("acquire x 1000", "await x 1000 1000", "owner x", "fill 10 1000", "end-over 10 1000 1000"):
                self.assertIn("error", holder.try_to(order), (kind, order))
            self.assertFalse(holder.ask("held", "x")["held"])

    def test_a_server_that_is_silent_is_an_error_in_the_end(self):
        for kind in ("holdfast", "redis"):
            servers = self.start(kind)
            ann = self.holder(servers, "ann")
            self.assertTrue(ann.ask("acquire", "x", LONG)["granted"])
            servers.processes[0].send_signal(signal.SIGSTOP)
            self.addCleanup(servers.processes[0].send_signal, signal.SIGCONT)
            self.assertIn("error", ann.try_to("renew", "x"))
            self.assertTrue(ann.ask("held", "x")["held"], "nobody said that it is not")

    def check_another_node_is_asked(self, name):
        servers = self.start(name)
        ann = self.holder(servers, "ann")
        self.assertTrue(ann.ask("acquire", "x", LONG)["granted"])
        servers.processes[0].kill()
        self.assertTrue(ann.ask("renew", "x")["renewed"])
        self.assertEqual(ann.ask("owner", "x")["holder"], "ann")

    def test_another_node_is_asked_when_one_has_died(self):
        self.check_another_node_is_asked("holdfast x3")

    def test_another_node_of_etcd_is_asked_when_one_has_died(self):
        self.check_another_node_is_asked("etcd x3")

    def test_another_server_of_zookeeper_is_asked_when_one_has_died(self):
        self.check_another_node_is_asked("zookeeper x3")

    def test_a_server_that_comes_back_is_asked_again(self):
        servers = self.start("redis")
        ann = self.holder(servers, "ann")
        self.assertTrue(ann.ask("acquire", "x", LONG)["granted"])
        servers.kill_all()
        self.assertIn("error", ann.try_to("renew", "x"))
        servers.start_again()
        self.assertFalse(ann.ask("renew", "x")["renewed"], "this Redis keeps nothing")
        self.assertTrue(ann.ask("acquire", "x", LONG)["granted"])

    def test_what_makes_no_sense_ends_with_words(self):
        for words in ([], ["mysql", "ann", "1"], ["redis", "ann", "0"], ["redis", "ann", "1,x"]):
            found = subprocess.run([TOOLS / "peer_client", *words], capture_output=True, text=True, timeout=PATIENCE / 1000)
            self.assertEqual(found.returncode, 2, words)
            self.assertTrue(found.stderr.startswith("peer_client: "), found.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
