"""Policy, agents and the audit of a server that is alone: through its log, and what was there before it had one (L3)."""

import os
import sqlite3
import subprocess
import unittest

from harness import ServerTest, eventually


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

    def test_what_a_state_of_before_the_log_had_is_taken_over_once(self):
        server = self.start()
        self.assertEqual(server.ask("PATCH", "/v1/policy", {"ttl_max_ms": 70_000})[0], 200)
        server.stop()
        for name in os.listdir(self.state_dir):
            if name.startswith("log.db"):
                os.remove(os.path.join(self.state_dir, name))
        with sqlite3.connect(os.path.join(self.state_dir, "state.db")) as state:
            state.execute("INSERT INTO bans VALUES ('mallory', 'noise', 5)")
            state.executemany("INSERT INTO agents VALUES (?, ?, 2, 0)", [(f"agent-{i}", i) for i in range(500)])
        state.close()

        server = self.start()
        self.assertEqual(server.ask("GET", "/v1/policy")[1]["ttl_max_ms"], 70_000)
        self.assertEqual([ban["holder"] for ban in server.ask("GET", "/v1/bans")[1]["bans"]], ["mallory"])
        self.assertEqual(self.agents(server), {f"agent-{i}": i for i in range(500)})
        self.assertEqual(server.ask("DELETE", "/v1/bans/mallory")[0], 200)
        self.assertEqual(server.ask("DELETE", "/v1/agents/agent-0")[0], 200)
        server.kill()

        server = self.start()
        self.assertEqual(server.ask("GET", "/v1/bans")[1]["bans"], [])
        self.assertNotIn("agent-0", self.agents(server))


class FullDisk(ServerTest):
    def small_disk(self):
        """A directory with room for a few hundred kilobytes."""
        directory = self.directory()
        os.mkdir(directory)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", directory], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("to mount a small file system takes root")
        self.addCleanup(subprocess.run, ["umount", directory], check=True)
        return directory

    def test_is_called_that_while_leases_go_on_and_changes_take_effect_once_there_is_room(self):
        directory = self.small_disk()
        server = self.start(directory)
        filler = os.path.join(directory, "filler")
        with open(filler, "wb", buffering=0) as file, self.assertRaises(OSError):
            while True:
                file.write(bytes(4096))
        status, refused = server.ask("PATCH", "/v1/policy", {"ttl_max_ms": 100_000})
        self.assertEqual((status, refused["error"]["code"]), (500, "storage_failed"), refused)
        self.assertEqual(server.health()["status"], "storage_failed")
        self.assertEqual(server.ask("GET", "/ready")[0], 200)
        server.grant("alice", "r")
        os.remove(filler)
        eventually("the disk takes it", lambda: server.health()["status"] == "ok")
        eventually("it is in force", lambda: server.ask("GET", "/v1/policy")[1]["ttl_max_ms"] == 100_000)
        server.stop()


if __name__ == "__main__":
    unittest.main()
