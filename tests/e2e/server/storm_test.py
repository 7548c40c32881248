"""A hundred thousand leases end in the same second, and others hardly notice (T5)."""

import threading
import time
import unittest

from harness import PATIENCE, Connection, ServerTest, eventually

HOLDERS = 100
INTENTS = 250
MANIFESTS = 4
LEASES = HOLDERS * INTENTS * MANIFESTS


class Bystander(threading.Thread):
    """Renews its own lease and asks for the health, one after the other, and remembers the longest wait."""

    def __init__(self, port, lease):
        super().__init__()
        self.connection = Connection(port)
        self.path = f"/v1/leases/{lease['id'].replace('#', '%23')}/heartbeat"
        self.done = threading.Event()
        self.slowest = 0.0
        self.asked = 0
        self.failure = None

    def run(self):
        try:
            while not self.done.is_set():
                self.measure("POST", self.path, {"holder": "bystander"})
                self.measure("GET", "/health")
        except Exception as failure:  # told by the test
            self.failure = failure
        self.connection.close()

    def measure(self, method, path, body=None):
        begin = time.monotonic()
        status, answer = self.connection.ask(method, path, body)
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self.asked += 1
        assert status == 200, answer


class Storm(ServerTest):
    def fill(self, server, end):
        """Takes them with whatever TTL is left, so that all end at one instant."""
        for holder in range(HOLDERS):
            for manifest in range(MANIFESTS):
                intents = [{"resource": f"storm/{holder}/{manifest}/{i}"} for i in range(INTENTS)]
                left = int((end - time.monotonic()) * 1000)
                self.assertGreaterEqual(left, 1000, "too slow to prepare the storm")
                status, answer = server.ask("POST", "/v1/leases",
                                            {"holder": f"h{holder}", "intents": intents, "ttl_ms": left})
                self.assertEqual(status, 201, answer)

    def test_all_expire_and_nobody_else_waits_long(self):
        server = self.start()
        self.fill(server, time.monotonic() + 30)

        bystander = Bystander(server.port, server.grant("bystander", "mine", ttl_ms=300_000))
        bystander.start()
        try:
            self.assertEqual(server.health()["active_leases"], LEASES + 1, "none ended early")
            eventually("all have ended", lambda: server.health()["active_leases"] == 1)
        finally:
            bystander.done.set()
            bystander.join(PATIENCE)
        self.assertIsNone(bystander.failure)
        name = "holdfast_expiry_lateness_seconds"
        self.assertEqual(server.metric(f"{name}_count"), LEASES)
        late_ms = server.metric(f"{name}_sum") / LEASES * 1000
        within = {bound: int(server.metric(f'{name}_bucket{{le="{bound}"}}')) for bound in ("0.005", "0.05", "0.5")}
        print(f"{LEASES} leases ended; told {late_ms:.1f} ms late on average, {within} of them within so many seconds; "
              f"{bystander.asked} other requests meanwhile, the slowest took {bystander.slowest * 1000:.1f} ms")
        self.assertGreater(bystander.asked, 100, "too few asked to prove anything")
        self.assertLess(bystander.slowest, 2)
        self.assertEqual(list(server.leases())[0].split("#")[0], "mine")


if __name__ == "__main__":
    unittest.main(verbosity=2)
