"""A controller for tests of the drone: it says what the test wants, remembers what it heard, and decides nothing."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from processes import PATIENCE, boot_time


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Drones are killed in the middle of a call: that is what these tests are about."""


class Controller:
    def __init__(self):
        self.changed = threading.Condition()
        self.life = "c1"
        self.lives = []          # of the drone, with the instant of the first word
        self.reports = {}        # what was said last of each backend
        self.history = []        # (instant, backend, state)
        self.orders = []
        self.acknowledge = True  # take orders off the list when they are done
        self.ignored_done = 0
        self.renewal = "ok"      # or the code of a refusal, or "silence"
        self.renewed = []        # (instant, lease)
        self.reassert = None     # backends to take back
        self.reassertions = []
        self.heartbeats = []
        self.drains = []
        self.deadlines = {}
        self._number = 0
        self._ttl = {}
        self._server = Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, what, condition, patience=PATIENCE):
        with self.changed:
            assert self.changed.wait_for(condition, patience), f"never happened: {what}; {self.reports}"
            return condition()

    # What the test orders

    def spawn(self, backend, command, *args, ttl=60.0, **spawn):
        """Grants a key now and orders a backend for it. Returns when the key runs out, on the drone's clock."""
        now = boot_time()
        ms = [int((now + ttl * part) * 1000) for part in (1 / 2, 2 / 3, 5 / 6)]
        order = {"kind": "spawn", "backend": backend,
                 "key": {"namespace": "default", "name": "room-" + backend, "tag": ""}, "token": 17,
                 "ttl_ms": int(ttl * 1000), "renew_at_ms": ms[0], "soft_terminate_at_ms": ms[1],
                 "hard_terminate_at_ms": ms[2],
                 "spawn": {"command": command, "args": list(args), "env": {}, "cwd": None, "port": None,
                           "ready": {"started": True}, "max_idle_s": None, "lifetime_s": None,
                           "start_timeout_s": 60, **spawn}}
        self._ttl[f"KEY:room-{backend}#17"] = ttl
        self.deadlines[backend] = {"soft": ms[1] / 1000, "hard": ms[2] / 1000, "end": now + ttl}
        self.order(order)
        return now + ttl

    def terminate(self, backend, how):
        self.order({"kind": "terminate", "backend": backend, "how": how})

    def order(self, order):
        with self.changed:
            self._number += 1
            self.orders.append({"number": self._number, **order})
            self.changed.notify_all()

    # What the test asks

    def state(self, backend):
        return self.reports.get(backend, {}).get("state")

    def wait_for_state(self, backend, state):
        self.wait_for(f"{backend} is {state}", lambda: self.state(backend) == state)
        return self.reports[backend]

    def end_of(self, backend):
        """When its end was reported, which gives its key back."""
        return self.wait_for(f"the end of {backend} is reported",
                             lambda: [at for at, id, state in self.history if (id, state) == (backend, "terminated")])[0]

    # What the drone says

    def on_heartbeat(self, body):
        self.heartbeats.append(body)
        if body["life"] not in [life for _, life in self.lives]:
            self.lives.append((boot_time(), body["life"]))
        for report in body["backends"]:
            if self.state(report["id"]) != report["state"]:
                self.history.append((boot_time(), report["id"], report["state"]))
            self.reports[report["id"]] = report
        answer = {"controller": self.life, "send_all": False, "drain": False, "heartbeat_in_ms": 1000, "reasserted": []}
        if "reassert" in body:
            self.reassertions.append(body["reassert"])
            answer["reasserted"] = self.reassert or []
            self.renewal = "ok" if self.reassert else self.renewal
        return 200, answer

    def on_orders(self, body):
        if self.acknowledge:
            self.orders = [order for order in self.orders if order["number"] not in body["done"]]
        else:
            self.ignored_done += len(body["done"])
            self.changed.wait(0.05)
        self.changed.notify_all()
        if not self.orders:
            self.changed.wait(min(body["wait_ms"] / 1000, 1))
        return 200, {"controller": self.life, "orders": self.orders}

    def on_renewal(self, body):
        if self.renewal == "silence":
            return 503, {"error": {"code": "unavailable", "message": "the test says so"}}
        results = []
        for lease in body["leases"]:
            if self.renewal != "ok":
                results.append({"id": lease, "result": "REJECTED",
                                "error": {"code": self.renewal, "message": "the test says so"}})
                continue
            ms = int(self._ttl[lease] * 1000)
            self.renewed.append((boot_time(), lease))
            results.append({"id": lease, "result": "RENEWED", "lease": {"ttl_ms": ms, "timeline": {
                "renew_in_ms": ms // 3, "soft_terminate_in_ms": ms * 2 // 3, "hard_terminate_in_ms": ms * 5 // 6,
                "expires_in_ms": ms}}})
        return 200, {"renewed": 0, "rejected": 0, "more": False, "results": results}

    def answer(self, method, path, body):
        with self.changed:
            try:
                if path == "/v1/heartbeat":
                    return self.on_renewal(body)
                if path.endswith("/heartbeat"):
                    return self.on_heartbeat(body)
                if path.endswith("/orders"):
                    return self.on_orders(body)
                if path.endswith("/drain"):
                    self.drains.append((path, body))
                    return 200, {"id": "d1", "draining": body["draining"]}
                if path.startswith("/v1/drones?"):
                    return 200, {"drones": [{"id": "d1", "pool": "p", "healthy": True, "draining": False,
                                             "backends": 2, "capacity": 9, "address": "10.0.0.7"}], "next": None}
                return 404, {"error": {"code": "not_found", "message": path}}
            finally:
                self.changed.notify_all()

    def _handler(self):
        controller = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                status, answer = controller.answer(self.command, self.path, body)
                text = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        return Handler
