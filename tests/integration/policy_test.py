"""Policy, agents and the audit of a server that is alone: through its log, and what was there before it had one (L3)."""

import os
import sqlite3
import unittest

from harness import ServerTest


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


if __name__ == "__main__":
    unittest.main()
