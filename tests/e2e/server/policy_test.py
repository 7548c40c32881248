"""Policy, agents and the audit of a server that is alone: through its log (L3).
And disks that are full, of such a server and of nodes."""

import os
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

from cluster_harness import ClusterTest
from harness import BIN, PATIENCE, ServerTest, eventually


class Policy(ServerTest):
    def audit(self, server):
        return [line["what"] for line in server.ask("GET", "/v1/audit")[1]["audit"]]

    def agents(self, server):
        return {agent["id"]: agent["priority"] for agent in server.ask("GET", "/v1/agents")[1]["agents"]}

    def test_agents_and_the_audit_survive_a_kill(self):
        server = self.start()
        self.assertEqual(server.ask("PUT", "/v1/agents/worker", {"priority": 7, "epoch": 3})[0], 201)
        self.assertEqual(server.ask("PUT", "/v1/bans/mallory", {"reason": "noise"})[0], 200)
        server.kill()
        server = self.start()
        self.assertEqual(self.agents(server), {"worker": 7})
        self.assertEqual(self.audit(server), ["ban mallory: noise"])
        status, answer = server.ask("PUT", "/v1/agents/worker", {"epoch": 2})
        self.assertEqual((status, answer["error"]["code"]), (409, "stale_epoch"))

    def test_a_server_whose_log_is_gone_refuses_to_start_and_says_what_to_do(self):
        server = self.start()
        self.assertEqual(server.ask("PUT", "/v1/bans/mallory", {"reason": "noise"})[0], 200)
        server.stop()
        aside = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, aside)
        for name in os.listdir(self.state_dir):
            if name.startswith("log.db"):
                shutil.move(os.path.join(self.state_dir, name), aside)
        refused = subprocess.run([BIN, "serve", "--http", "127.0.0.1:0", "--state-dir", self.state_dir], text=True,
                                 capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("log.db, is gone", refused.stderr)
        self.assertIn("put it back", refused.stderr)
        for name in os.listdir(aside):
            shutil.move(os.path.join(aside, name), self.state_dir)
        self.assertEqual([ban["holder"] for ban in self.start().ask("GET", "/v1/bans")[1]["bans"]], ["mallory"])


class SmallDisks:
    def small_disk(self):
        """A directory with room for a few hundred kilobytes."""
        directory = self.directory()
        os.makedirs(directory, exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", directory], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("to mount a small file system takes root")
        self.addCleanup(subprocess.run, ["umount", directory], check=True)
        return directory

    def fill(self, directory):
        """Returns what takes the room."""
        filler = os.path.join(directory, "filler")
        with open(filler, "wb", buffering=0) as file, self.assertRaises(OSError):
            while True:
                file.write(bytes(4096))
        return filler


class FullDisk(SmallDisks, ServerTest):
    def test_is_called_that_while_leases_go_on_and_changes_take_effect_once_there_is_room(self):
        directory = self.small_disk()
        server = self.start(directory)
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=PATIENCE) as metrics:
            self.assertIn("\nholdfast_token_headroom ", metrics.read().decode())
        filler = self.fill(directory)
        status, refused = server.ask("PATCH", "/v1/policy", {"ttl_max_ms": 100_000})
        self.assertEqual((status, refused["error"]["code"]), (500, "storage_failed"), refused)
        self.assertEqual(server.health()["status"], "storage_failed")
        self.assertEqual(server.ask("GET", "/ready")[0], 200)
        server.grant("alice", "r")
        os.remove(filler)
        eventually("the disk takes it", lambda: server.health()["status"] == "ok")
        eventually("it is in force", lambda: server.ask("GET", "/v1/policy")[1]["ttl_max_ms"] == 100_000)
        server.stop()


class FullDisks(SmallDisks, ClusterTest):
    longest_ttl = PATIENCE

    def ban(self, node, holder):
        began = time.monotonic()
        status, answer = node.ask("PUT", f"/v1/bans/{holder}", {"reason": "it is a test"})
        return status, answer.get("error", {}).get("code"), time.monotonic() - began

    def test_of_a_majority_are_called_that_at_once_through_every_node(self):
        self.dirs = {id: self.small_disk() for id in self.ids}
        nodes = self.start_cluster()
        leader = self.until("somebody leads the log", lambda: self.quorum(nodes[0])["leader"])["id"]
        others = [id for id in self.ids if id != leader]
        for node in nodes:
            self.until("it knows who leads", lambda: self.ban(node, "first")[0] == 200)
        fillers = [self.fill(self.dirs[others[0]])]
        for node in nodes:
            self.assertEqual(self.ban(node, "one-is-full")[0], 200, "a majority is enough")
        fillers.append(self.fill(self.dirs[others[1]]))
        # The first to be refused waits until the disks have said so.
        self.until("the disks say so", lambda: self.ban(self.nodes[leader], "two-are-full")[1] == "storage_failed")
        for id in (*others, leader):
            status, code, took = self.ban(self.nodes[id], f"through-{id}")
            self.assertEqual((status, code), (500, "storage_failed"), id)
            self.assertLess(took, 4, "nobody waits for what cannot be")
            self.nodes[id].grant(id, f"r-{id}")
        for id in others:
            self.assertEqual(self.nodes[id].health()["status"], "storage_failed")
        for filler in fillers:
            os.remove(filler)
        self.until("changes are made again", lambda: self.ban(nodes[0], "last")[0] == 200)
        for node in nodes:
            self.until("the disk takes it", lambda: node.health()["status"] == "ok")

    def test_of_a_node_that_cannot_write_down_the_starts_of_others_keeps_it_out_and_it_says_so(self):
        self.dirs["c"] = self.small_disk()
        a, b, c = self.start_cluster()
        filler = self.fill(self.dirs["c"])
        a.stop()
        self.start_node("a")
        b.stop()

        def ready():
            status, answer = c.ask("GET", "/ready")
            return status, answer["code"]
        self.until("c says so", lambda: ready() == (503, "storage_failed"))
        os.remove(filler)
        self.until("c takes part again", lambda: ready() == (200, "ok"))


if __name__ == "__main__":
    unittest.main()
