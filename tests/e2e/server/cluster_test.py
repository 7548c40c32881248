"""A cluster of three real nodes: what it grants, through whom, and what becomes of it when nodes go and come back (Q1 to
Q13)."""

import http.client
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

from cluster_harness import IDS, LONGEST_TTL, LONGEST_TTL_MS, ClusterTest
from harness import BIN, PATIENCE, Connection, eventually, freeze, quoted, thaw


class Together(ClusterTest):
    def test_a_lease_is_taken_renewed_and_released_through_different_nodes(self):
        a, b, c = self.start_cluster()
        lease = a.grant("alice", "r")
        status, refused = b.acquire("bob", "r")
        self.assertEqual((status, refused["error"]["code"]), (409, "busy"), refused)
        status, renewed = b.renew(lease)
        self.assertEqual(status, 200, renewed)
        self.assertEqual(self.release(c, lease)[0], 200)
        self.assertGreater(b.grant("bob", "r")["token"], lease["token"])

    def test_every_node_shows_the_same_time_of_a_grant_whoever_renews_it(self):
        self.longest_ttl = PATIENCE
        nodes = self.start_cluster()
        told = {}
        for i in range(12):
            lease = nodes[i % 3].grant(f"holder-{i}", f"r{i}")
            told[lease["id"]] = lease["acquired_at"]
            self.assertEqual(nodes[(i + 1) % 3].renew(lease)[0], 200)
        nodes[0].stop()
        nodes[0] = self.start_node("a")
        self.wait_until_together()
        for node in nodes:
            def shown():
                return {lease["id"]: lease["acquired_at"] for lease in node.ask("GET", "/v1/leases")[1]["leases"]
                        if lease["id"] in told}
            self.until("it has heard of all", lambda: len(shown()) == len(told))
            self.assertEqual(shown(), told)

    def test_every_node_knows_the_cluster_and_says_so(self):
        for node, id in zip(self.start_cluster(), IDS):
            told = self.quorum(node)
            self.assertEqual(told["node"], id)
            self.assertEqual([member["id"] for member in told["members"]], list(IDS))
            self.assertEqual([member["self"] for member in told["members"]], [id == other for other in IDS])
            self.assertEqual((told["majority"], told["reachable"], told["silent_for_ms"]), (2, 3, 0))
            self.assertEqual((told["longest_ttl_ms"], told["rho"]), (LONGEST_TTL_MS, 0.01))
            self.assertEqual(node.health()["quorum"]["node"], id)
            leader = self.until("somebody leads the log", lambda: self.quorum(node)["leader"])
            self.assertIn(leader["id"], IDS)
            self.assertLessEqual(leader["expires_in_ms"], LONGEST_TTL_MS, "no lease is longer, this one neither (Q10)")
            eventually("it logs its place", lambda: any(f"node {id} of the cluster of a,b,c" in line for line in node.log))

    def test_a_waiter_gets_its_turn_when_another_node_releases(self):
        self.longest_ttl = PATIENCE  # it does not run out meanwhile
        a, b, c = self.start_cluster()
        lease = a.grant("alice", "r")
        waiting = self.another_connection(b)
        waiting.send("POST", "/v1/leases", {"holder": "bob", "resource": "r", "wait_ms": PATIENCE * 1000})
        eventually("bob waits", lambda: b.health()["waiters"] == 1)
        self.assertEqual(self.release(c, lease)[0], 200)
        status, answer = waiting.receive()
        self.assertEqual(status, 201, answer)
        self.assertGreater(answer["leases"][0]["token"], lease["token"])

    def test_every_node_tells_of_every_change(self):
        self.longest_ttl = PATIENCE  # the first does not run out meanwhile
        nodes = self.start_cluster()
        streams = [self.events(node) for node in nodes]
        a, b, c = nodes

        def every_node_tells(kind, lease):
            """Before the next change is made: a node that is late may only come to see what came of two."""
            for stream in streams:
                told = stream.next_of("r")
                self.assertEqual((told["type"], told["token"]), (kind, lease["token"]))

        first = a.grant("alice", "r")
        every_node_tells("granted", first)
        self.assertEqual(b.renew(first)[0], 200)
        every_node_tells("renewed", first)
        self.assertEqual(self.release(c, first)[0], 200)
        every_node_tells("released", first)
        second = b.grant("bob", "r", ttl_ms=2000)
        every_node_tells("granted", second)
        every_node_tells("expired", second)

    def test_clients_of_redis_share_keys_through_all_nodes(self):
        a, b, _ = self.start_cluster()
        first, second = self.resp(a), self.resp(b)
        self.assertEqual(first.ask("SET", "lock", "one", "NX", "PX", "2000"), "+OK")
        self.assertIsNone(second.ask("SET", "lock", "two", "NX", "PX", "2000"))
        self.assertEqual(second.ask("GET", "lock"), "one")
        self.assertEqual(second.ask("DEL", "lock"), 1)
        self.assertEqual(second.ask("SET", "lock", "two", "NX", "PX", "2000"), "+OK")
        self.assertEqual(first.ask("GET", "lock"), "two")

    def test_no_policy_allows_a_lease_for_longer_than_the_members_agreed_on(self):
        a, _, _ = self.start_cluster()
        status, policy = a.ask("GET", "/v1/policy")
        self.assertEqual((status, policy["ttl_max_ms"]), (200, LONGEST_TTL_MS), policy)
        status, refused = a.ask("PATCH", "/v1/policy", {"ttl_max_ms": LONGEST_TTL_MS + 1})
        self.assertEqual((status, refused["error"]["code"]), (422, "invalid_policy"), refused)
        self.assertIn("--longest-ttl", refused["error"]["message"])


class NodesThatGo(ClusterTest):
    def test_two_of_three_go_on_when_one_is_killed_and_it_takes_part_again_after_its_silence(self):
        a, b, c = self.start_cluster()
        granted_at = time.monotonic()
        before = a.grant("alice", "r")
        killed_at = time.monotonic()
        c.kill()
        # At once: nobody waits for a node that is gone.
        after = b.grant("bob", "another")
        self.assertGreater(after["token"], before["token"])
        status, answer = b.renew(before)
        if time.monotonic() < granted_at + LONGEST_TTL:
            self.assertEqual(status, 200, answer)

        c = self.start_node("c")
        c.wait_for_log("silent:")
        silent = self.quorum(c)["silent_for_ms"]
        self.assertTrue(0 < silent <= 1.1 * (LONGEST_TTL_MS + 1000), silent)
        # It speaks for its clients meanwhile.
        third = c.grant("carol", "third")
        self.assertGreater(third["token"], after["token"])
        self.until("its silence is over", lambda: self.quorum(c)["silent_for_ms"] == 0)
        self.assertGreaterEqual(time.monotonic() - killed_at, LONGEST_TTL, "it was not silent for long enough")
        c.wait_for_log("takes part again")
        for node in (a, b, c):
            self.assertFalse(any("sent invalid messages" in line for line in node.log), node.log)
        # From now on it makes a majority with one other.
        a.kill()
        self.assertGreater(self.granted_at_last(c, "dave", "fourth")["token"], third["token"])

    def granted_at_last(self, node, holder, resource):
        """While the others find out that a node is gone, an attempt may take longer than a request waits."""
        def ask():
            status, answer = node.acquire(holder, resource)
            self.assertIn(status, (201, 503), answer)
            return answer["leases"][0] if status == 201 else None
        return self.until("it is granted", ask)

    def test_a_minority_grants_nothing_and_goes_on_when_the_others_are_back(self):
        a, b, c = self.start_cluster()
        before = a.grant("alice", "r")
        for node in (b, c):
            freeze(node.process.pid)
        try:
            status, refused = a.acquire("bob", "another")
            self.assertEqual((status, refused["error"]["code"]), (503, "unavailable"), refused)
            self.assertGreater(refused["retry_in_ms"], 0)
        finally:
            for node in (b, c):
                thaw(node.process.pid)
        lease = self.granted_at_last(a, "bob", "another")
        self.assertGreater(lease["token"], before["token"])

    def test_a_node_without_a_majority_stops_cleanly_with_requests_under_way(self):
        a, b, c = self.start_cluster()
        a.grant("alice", "held")
        b.kill()
        c.kill()
        pending = self.another_connection(a)
        pending.send("POST", "/v1/leases", {"holder": "bob", "resource": "r"})
        a.stop()
        self.assertTrue(any("stopped; kept" in line for line in a.log), a.log)

    def test_clean_restarts_one_after_the_other_lose_no_lease_and_wait_for_nothing(self):
        self.longest_ttl = PATIENCE
        self.start_cluster()
        leases = [self.nodes[IDS[i % 3]].grant(f"holder-{i}", f"r{i}") for i in range(6)]
        renewing = Renewals(self, leases)
        renewing.start()
        try:
            for id in IDS:
                self.nodes[id].stop()
                renewing.wait_for_a_round()
                node = self.start_node(id)
                self.assertEqual(self.quorum(node)["silent_for_ms"], 0)
                self.wait_until_together()
                renewing.wait_for_a_round()
                for i in range(6):
                    status, answer = node.acquire("thief", f"r{i}")
                    self.assertIn((status, answer.get("error", {}).get("code")), ((409, "busy"), (503, "unavailable")))
        finally:
            renewing.stop()
        self.assertEqual(renewing.lost, [])
        held = {lease["id"] for lease in leases}
        self.assertTrue(held <= set(self.nodes["a"].leases()), "what was held is held still")

    def test_a_cluster_that_is_stopped_cleanly_as_a_whole_keeps_every_lease(self):
        self.longest_ttl = PATIENCE
        a, _, _ = self.start_cluster()
        lease = a.grant("alice", "r")
        ended = a.grant("bob", "s")
        self.assertEqual(self.release(a, ended)[0], 200)
        for id in IDS:
            self.nodes[id].process.send_signal(signal.SIGTERM)
        for id in IDS:
            self.assertEqual(self.nodes[id].wait(), 0, self.nodes[id].log)
        _, b, _ = self.start_cluster()
        status, answer = b.renew(lease)
        self.assertEqual(status, 200, answer)
        self.assertGreater(b.grant("bob", "s")["token"], ended["token"])

    def test_tokens_rise_when_every_node_is_killed(self):
        a, _, _ = self.start_cluster()
        before = a.grant("alice", "r")["token"]
        for id in IDS:
            self.nodes[id].kill()
        a, _, _ = self.start_cluster()
        self.assertGreater(self.granted_at_last(a, "bob", "r")["token"], before)


class Renewals(threading.Thread):
    """Renews leases again and again, each through any node that answers; notes those that the cluster says are gone."""

    def __init__(self, test, leases):
        super().__init__()
        self.test, self.leases = test, leases
        self.over = threading.Event()
        self.rounds = 0
        self.lost = []

    def run(self):
        while not self.over.is_set():
            for lease in self.leases:
                self.renew(lease)
            self.rounds += 1

    def renew(self, lease):
        for node in list(self.test.nodes.values()):
            try:
                connection = Connection(node.port)
                status, answer = connection.ask("POST", f"/v1/leases/{quoted(lease['id'])}/heartbeat",
                                                {"holder": lease["holder"]})
                connection.close()
            except (OSError, http.client.HTTPException):
                continue  # it is away: another one knows as much
            if status == 200:
                return
            if status != 503:
                self.lost.append((lease["id"], status, answer))
                return

    def wait_for_a_round(self):
        done = self.rounds + 2  # one that began after this call
        eventually("all leases are renewed", lambda: self.rounds >= done)

    def stop(self):
        self.over.set()
        self.join(timeout=PATIENCE)


class FailOver(ClusterTest):
    """A client that knows all nodes goes on with another when its own goes."""

    longest_ttl = 6.0

    def run_under_lease(self, nodes):
        """`holdfast run`, asking the first node, with a command that ends when it is told to."""
        servers = ",".join(f"http://127.0.0.1:{node.port}" for node in nodes)
        command = [BIN, "run", "r", "--holder", "alice", "--ttl", "4s", "--server", servers, "--", "sh", "-c",
                   "echo $HOLDFAST_TOKEN; read line; echo $line"]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean)
        self.addCleanup(self.end, run)
        return run, int(run.stdout.readline())

    def end(self, run):
        if run.poll() is None:
            run.kill()
        run.wait(timeout=PATIENCE)
        run.stdin.close()
        run.stdout.close()

    def check_that_the_lease_is_kept(self, take_away):
        a, b, c = self.start_cluster()
        events = self.events(b)
        run, token = self.run_under_lease([a, b, c])
        self.assertEqual(events.next_of("r")["type"], "granted")
        take_away(a)
        renewals = [events.next_of("r") for _ in range(6)]  # more than one TTL: it renews three times in each
        self.assertEqual({(event["type"], event["token"]) for event in renewals}, {("renewed", token)})
        self.assertEqual(b.acquire("bob", "r")[0], 409)
        run.stdin.write("done\n")
        run.stdin.flush()
        self.assertEqual((run.stdout.readline(), run.wait(timeout=PATIENCE)), ("done\n", 0))
        eventually("it is released", lambda: c.acquire("bob", "r")[0] == 201)

    def test_a_lease_is_kept_when_its_node_is_killed(self):
        self.check_that_the_lease_is_kept(lambda node: node.kill())

    def test_a_lease_is_kept_when_its_node_is_stopped(self):
        self.check_that_the_lease_is_kept(lambda node: node.stop())

    def test_nobody_waits_for_those_that_waited_through_a_node_that_is_killed(self):
        self.longest_ttl = PATIENCE
        a, b, c = self.start_cluster()
        held = b.grant("alice", "r")
        gone = self.another_connection(a)
        gone.send("POST", "/v1/leases", {"holder": "gone", "resource": "r", "wait_ms": 4 * PATIENCE * 1000})
        eventually("one waits through a", lambda: a.health()["waiters"] == 1)
        waiting = self.another_connection(c)
        waiting.send("POST", "/v1/leases", {"holder": "bob", "resource": "r", "wait_ms": PATIENCE * 1000})
        eventually("another waits through c", lambda: c.health()["waiters"] == 1)
        a.kill()
        self.assertEqual(self.release(b, held)[0], 200)
        status, answer = waiting.receive()
        self.assertEqual(status, 201, answer)


class Readiness(ClusterTest):
    longest_ttl = 4 * PATIENCE  # a silence that does not end meanwhile

    def ready(self, node):
        status, answer = node.ask("GET", "/ready")
        self.assertEqual(answer["ready"], status == 200, answer)
        self.assertEqual(node.health()["status"], answer["code"])
        return answer["code"]

    def test_a_node_says_whether_a_majority_votes_and_refuses_at_once_what_cannot_be(self):
        a, b, c = self.start_cluster()
        self.until("all vote", lambda: all(self.quorum(node)["voting"] == 3 for node in (a, b, c)))
        self.assertEqual(self.ready(a), "ok")
        b.kill()
        c.kill()
        self.until("a is alone", lambda: self.ready(a) == "no_majority")
        b, c = self.start_node("b"), self.start_node("c")
        self.wait_until_together()
        for node in (a, b, c):
            self.until("the others have said that they are silent", lambda: self.ready(node) == "silent")
            told = self.quorum(node)
            self.assertEqual((told["reachable"], told["voting"]), (3, 1))
            self.assertEqual([member["voting"] for member in told["members"]], [True, False, False])
        status, refused = a.acquire("alice", "r")
        self.assertEqual((status, refused["error"]["code"]), (503, "unavailable"), refused)
        self.assertIn("votes at the moment", refused["error"]["message"])  # and not that nobody answered in time
        self.assertGreater(refused["retry_in_ms"], 2 * PATIENCE * 1000)
        done = subprocess.run([BIN, "quorum", "status", "--server", f"http://127.0.0.1:{a.port}"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("and 1 votes: no majority", done.stdout)


class Refusals(ClusterTest):
    def test_a_node_with_another_secret_is_refused_and_both_say_so(self):
        a = self.start_node("a")
        b = self.launch_node("b", secret="a secret that nobody else knows").wait_until_serving()
        a.wait_for_log("wrong_secret")
        b.wait_for_log("wrong_secret")
        for node in (a, b):
            self.assertEqual(node.ask("GET", "/ready")[1]["code"], "refused")
        self.assertEqual(self.quorum(a)["reachable"], 1)

    def test_a_node_that_allows_longer_leases_is_refused_and_both_say_so(self):
        a = self.start_node("a")
        b = self.launch_node("b", **{"longest-ttl": "4s"}).wait_until_serving()
        a.wait_for_log("other_longest_ttl")
        b.wait_for_log("other_longest_ttl")
        member = next(member for member in self.quorum(a)["members"] if member["id"] == "b")
        self.assertEqual((member["connected"], member["refusal"]), (False, "other_longest_ttl"))

    def test_nothing_is_granted_before_all_members_have_met(self):
        a, b = self.start_node("a"), self.start_node("b")
        self.wait_until_together(2)
        self.assertEqual([self.quorum(node)["founded"] for node in (a, b)], [False, False])
        status, answer = a.acquire("alice", "r")
        self.assertEqual((status, answer["error"]["code"]), (503, "unavailable"))
        c = self.start_node("c")
        for node in (a, b, c):
            self.until("it is founded", lambda: self.quorum(node)["founded"])
        a.grant("alice", "r")
        c.kill()
        b.grant("bob", "s")  # from now on a majority is enough

    def test_an_empty_directory_under_the_id_of_a_member_takes_no_part(self):
        a, b, c = self.start_cluster()
        held = a.grant("alice", "r")
        c.kill()
        kept, self.dirs["c"] = self.dirs["c"], self.directory()
        c = self.start_node("c")
        for node in (a, b, c):
            node.wait_for_log("other_directory")
            self.assertTrue(any("error" in line and "other_directory" in line for line in node.log), node.log)
            self.assertFalse(any("old_boot" in line for line in node.log), node.log)
        self.assertEqual((self.quorum(c)["reachable"], self.quorum(c)["founded"]), (1, False))
        self.assertEqual(c.ask("GET", "/ready")[1]["code"], "refused")
        self.assertEqual(self.release(b, held)[0], 200)
        c.stop()
        self.dirs["c"] = kept
        self.start_node("c")
        self.wait_until_together()

    def test_an_earlier_copy_of_a_directory_takes_no_part_once_a_later_start_was_met(self):
        a, b, c = self.start_cluster()
        c.stop()
        copy = self.directory()
        shutil.copytree(self.dirs["c"], copy, dirs_exist_ok=True)
        c = self.start_node("c")
        b.stop()
        a.grant("carol", "s")  # together with c, whose life it has written down before
        b = self.start_node("b")
        self.wait_until_together()
        for id in ("c", "a", "b"):
            self.nodes[id].stop()
        a, b = self.start_node("a"), self.start_node("b")
        self.wait_until_together(2)
        held = a.grant("alice", "r")
        kept, self.dirs["c"] = self.dirs["c"], copy
        for code in ("old_boot", "old_directory"):  # when it was started often enough, its boot number is not lower
            c = self.start_node("c")
            for node in (a, b, c):
                node.wait_for_log(code)
                self.assertTrue(any("error" in line and code in line for line in node.log), node.log)
            told = self.quorum(c)
            self.assertEqual((told["reachable"], told["voting"]), (1, 0), "it takes part in nothing")
            self.assertEqual(c.ask("GET", "/ready")[1]["code"], "refused")
            c.stop()
        self.assertEqual(self.release(b, held)[0], 200)
        self.dirs["c"] = kept
        self.start_node("c")
        self.wait_until_together()

    def test_an_earlier_copy_is_known_to_one_that_only_heard_of_the_later_start(self):
        a, b, c = self.start_cluster()
        a.stop()
        copy = self.directory()
        shutil.copytree(self.dirs["a"], copy, dirs_exist_ok=True)
        nowhere = self.peers.replace(f"c=127.0.0.1:{self.ports['c']}", "c=127.0.0.1:1")
        a = self.nodes["a"] = self.launch_node("a", peers=nowhere).wait_until_serving()
        boot = self.until("b has met it", lambda: self.quorum(b)["members"][0]["boot"])
        c.wait_for_log(f"another member has met start {boot} of a")
        self.assertEqual(self.quorum(c)["members"][0]["connected"], False)
        a.stop()
        b.stop()
        self.dirs["a"] = copy
        a = self.start_node("a")
        for node in (a, c):
            node.wait_for_log("old_directory")  # it has the same number as the start that c has heard of
        a.wait_for_log("takes part in nothing")
        self.assertEqual(a.ask("GET", "/ready")[1]["code"], "refused")

    def test_a_member_whose_share_of_the_log_is_gone_does_not_start(self):
        *_, c = self.start_cluster()
        self.until("it is founded", lambda: self.quorum(c)["founded"])
        c.stop()
        for name in os.listdir(self.dirs["c"]):
            if name.startswith("log.db"):
                os.remove(os.path.join(self.dirs["c"], name))
        self.assertIn("log.db, is gone", self.refusal(self.launch_node("c")))

    def refusal(self, server):
        self.assertEqual(server.wait(), 1)
        return server.log[-1]

    def test_a_directory_serves_one_node_of_one_cluster_or_one_server_alone(self):
        self.start_node("a").stop()
        alone = self.launch(self.dirs["a"])
        self.assertIn("node a of the cluster of a,b,c", self.refusal(alone))
        self.dirs["b"] = self.dirs["a"]
        self.assertIn("--state-dir", self.refusal(self.launch_node("b")))
        fewer = self.launch_node("a", peers=f"a=127.0.0.1:{self.ports['a']}")
        self.assertIn("this is node a of the cluster of a", self.refusal(fewer))
        self.start(self.dirs["c"]).stop()
        self.assertIn("a server that is alone", self.refusal(self.launch_node("c")))
        self.start_node("a").stop()  # as it was

    def test_options_that_make_no_cluster_are_refused(self):
        for arguments, said in (
                (["--node", "a"], "--peers"),
                (["--peers", self.peers], "--node"),
                (self.arguments("d"), "'d'"),
                (self.arguments("a", **{"longest-ttl": "25h"}), "--longest-ttl")):
            server = self.launch(self.dirs["a"], arguments=arguments, environment={"HOLDFAST_CLUSTER_SECRET": "x" * 16})
            self.assertIn(said, self.refusal(server))
        server = self.launch(self.dirs["a"], arguments=self.arguments("a"))
        self.assertIn("HOLDFAST_CLUSTER_SECRET", self.refusal(server))


if __name__ == "__main__":
    unittest.main(verbosity=2)
