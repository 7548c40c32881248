"""ioredis, node-redis and redlock at their current versions: what they are told must be the same from both servers."""

import json
import subprocess
import unittest

from servers import Holdfast, Redis, install

LIMIT_S = 200


class Clients(unittest.TestCase):
    maxDiff = None

    def told_by(self, kind, scenario="scenarios.mjs"):
        server = kind()
        try:
            done = subprocess.run(["node", scenario, str(server.port)], cwd=self.folder, text=True, timeout=LIMIT_S,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        finally:
            server.stop()
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(done.returncode, 0, (kind.name, done.stderr, lines[-5:]))
        return lines

    def test_are_told_the_same_by_both_servers(self):
        self.folder = install("clients")
        by_redis = self.told_by(Redis)
        self.assertEqual(by_redis[-1], ["end", True])
        self.assertGreater(len(by_redis), 100)
        for what in ("winners", "inside at once"):
            self.assertEqual({answer for asked, answer in by_redis if asked == what}, {1}, what)
        self.assertEqual(self.told_by(Holdfast), by_redis)

    def test_take_a_transaction_for_failed_and_hold_nothing(self):
        self.folder = install("clients")
        told = dict(self.told_by(Holdfast, "transactions.mjs"))
        for what in ("ioredis", "ioredis exec"):
            self.assertRegex(told.pop(what), "^error: EXECABORT .*no transactions")
        for what in ("ioredis queued", "node-redis"):
            self.assertRegex(told.pop(what), "^error: ERR .*no transactions")
        self.assertEqual(told, {"ioredis taken": 0, "ioredis after": "OK", "node-redis taken": 0, "node-redis after": "OK"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
