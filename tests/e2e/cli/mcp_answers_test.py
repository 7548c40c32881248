"""What `holdfast mcp` makes of a server that is away, and of what only some servers answer."""

import http.server
import json
import threading
import unittest

from mcp_session import Session
from processes import DeadAddress, HoldfastTest, eventually


class UnreachableTest(HoldfastTest):
    def test_a_server_that_is_not_there_is_a_tool_error_that_says_what_to_do(self):
        with DeadAddress() as nowhere:
            session = Session(self, "--server", nowhere)
            for tool, arguments in [("claim_intents", {"intents": [{"resource": "x"}]}), ("list_intents", {}),
                                    ("verify_intents", {"leases": ["x#1"]}), ("extend_intents", {"leases": ["x#1"]}),
                                    ("release_intents", {"leases": ["x#1"]})]:
                result = session.call(tool, **arguments)
                self.assertTrue(result["isError"], tool)
                self.assertIn("holdfast serve", result["content"][0]["text"], tool)
                self.assertEqual(result["structuredContent"]["error"]["code"], "unreachable")
            self.assertEqual(session.end(), 0)

    def test_a_server_that_is_killed_loses_the_claims(self):
        session = Session(self)
        session.claim(self.resource, ttl_ms=2000)
        self.server.kill()
        self.assertTrue(session.call("list_intents")["isError"])

        def lost():
            return session.call("list_intents")["structuredContent"]["lost"]
        [told] = eventually(lost, "the loss")
        self.assertEqual((told["resource"], told["why"]), (self.resource, "it could not be renewed in time"))
        self.assertEqual(session.end(), 0)


class ScriptedServer(http.server.ThreadingHTTPServer):
    """Answers as the test says, and remembers what it was asked."""

    def __init__(self, script):
        super().__init__(("127.0.0.1", 0), ScriptedHandler)
        self.script, self.asked = script, []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def bodies(self, method, path):
        return [body for verb, target, body in list(self.asked) if (verb, target) == (method, path)]


class ScriptedHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, self.path, body))
        status, said = self.server.script(self.command, self.path, body)
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


def refusal(code, **more):
    return {"error": {"code": code, "message": f"because of {code}"}, **more}


def granted(body, ttl_ms=60000):
    timeline = {"renew_in_ms": ttl_ms // 3, "soft_terminate_in_ms": ttl_ms * 2 // 3,
                "hard_terminate_in_ms": ttl_ms * 5 // 6, "expires_in_ms": ttl_ms}
    return 201, {"verdict": "GRANTED", "leases": [
        {"id": intent["resource"] + "#1", "resource": intent["resource"], "predicate": intent["predicate"],
         "holder": body["holder"], "token": 1, "ttl_ms": ttl_ms, "timeline": timeline} for intent in body["intents"]]}


class AgentTest(HoldfastTest):
    def session(self, script, *arguments):
        server = ScriptedServer(script)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return server, Session(self, "--server", server.url, "--holder", "agent 1", *arguments)

    def script(self, method, path, body, known_epoch=None, ttl_ms=60000):
        if path == "/v1/agents/agent%201" and method == "GET":
            return (200, {"agent": {"epoch": known_epoch}}) if known_epoch else (404, refusal("unknown_agent"))
        if path == "/v1/agents/agent%201":
            return 201, {"agent": {"epoch": body.get("epoch", 1)}}
        return granted(body, ttl_ms) if path == "/v1/leases" else (200, {"released": True, "state": "RELEASED"})

    def test_a_plain_holder_does_not_register(self):
        server, session = self.session(self.script)
        self.assertFalse(session.claim("x")["isError"])
        self.assertEqual([body.get("epoch") for body in server.bodies("POST", "/v1/leases")], [None])
        self.assertEqual(server.bodies("PUT", "/v1/agents/agent%201"), [])

    def test_an_agent_registers_once_at_its_first_claim(self):
        server, session = self.session(self.script, "--priority", "now")
        session.request("ping")
        self.assertEqual(server.asked, [], "the server may be away at the start")
        session.claim("x")
        session.claim("y")
        self.assertEqual(server.bodies("PUT", "/v1/agents/agent%201"), [{}])
        claims = server.bodies("POST", "/v1/leases")
        self.assertEqual([body["epoch"] for body in claims], [1, 1])
        self.assertEqual(len({body["session"] for body in claims}), 1, "one session for its life")

    def test_an_agent_that_comes_back_begins_a_new_life(self):
        server, session = self.session(lambda *asked: self.script(*asked, known_epoch=4), "--priority", "1700000000000")
        session.claim("x")
        self.assertEqual(server.bodies("PUT", "/v1/agents/agent%201"), [{"priority": 1700000000000, "epoch": 5}])
        session.call("release_intents", all=True)
        self.assertIn(("DELETE", "/v1/leases/x%231?holder=agent%201&epoch=5", None), server.asked)

    def test_a_refused_registration_is_told(self):
        script = lambda method, path, body: (409, refusal("priority_fixed"))
        _, session = self.session(script, "--priority", "5")
        self.assertIn("because of priority_fixed", session.claim("x")["content"][0]["text"])
        for wrong in ("soon", "-1", "1.5", ""):
            self.assertEqual(self.holdfast("mcp", "--priority", wrong).returncode, 2, wrong)

    def test_an_agent_that_is_told_to_die_is_told_what_to_do(self):
        conflict = {"resource": "x", "predicate": "MUTATES", "holder": "older", "expires_in_ms": 5000, "waiting": False}

        def script(method, path, body):
            if path != "/v1/leases":
                return self.script(method, path, body)
            return 409, refusal("die", verdict="DIE", conflicts=[conflict], retry_in_ms=180)
        _, session = self.session(script, "--priority", "now")
        result = session.claim("x")
        self.assertTrue(result["isError"])
        self.assertRegex(result["content"][0]["text"], r"older holds x .* release everything .* claim again in 180ms")
        self.assertEqual((result["structuredContent"]["verdict"], result["structuredContent"]["retry_in_ms"]), ("DIE", 180))

    def test_a_refusal_shows_what_the_server_said(self):
        conflict = {"resource": "x", "predicate": "MUTATES", "holder": "bob", "token": 6, "reason": "formatting",
                    "expires_in_ms": 41200, "waiting": False, "reserved": False}
        waiter = {"resource": "x", "predicate": "CONSUMES", "holder": "eve", "expires_in_ms": 5, "waiting": True,
                  "reserved": False}
        said = refusal("busy", verdict="WAIT", conflicts=[conflict, waiter], queue_position=2, retry_in_ms=41200)
        _, session = self.session(lambda *asked: (409, said))
        self.assertEqual(session.claim("x")["structuredContent"], {**said, "lost": []})
        said = refusal("banned", verdict="REFUSED")
        _, session = self.session(lambda *asked: (403, said))
        self.assertEqual(session.claim("x")["structuredContent"], {**said, "lost": []})

    def test_a_claim_that_may_wait_outlasts_a_recovery(self):
        def script(method, path, body):
            if path == "/v1/leases" and method == "POST" and len(server.bodies("POST", "/v1/leases")) < 3:
                return 503, refusal("recovering", verdict="REFUSED", retry_in_ms=20)
            return self.script(method, path, body)
        server, session = self.session(script)
        self.assertFalse(session.claim("x", wait_ms=50000)["isError"])
        self.assertEqual(len(server.bodies("POST", "/v1/leases")), 3)
        server.asked.clear()
        self.assertEqual(session.claim("y")["structuredContent"]["error"]["code"], "recovering", "told at once")

    def test_a_loss_by_quota_is_told_as_such(self):
        def script(method, path, body):
            if path == "/v1/heartbeat":
                return 200, {"results": [{"id": id, "result": "REJECTED", **refusal("over_quota")} for id in body["leases"]]}
            return self.script(method, path, body, ttl_ms=1500) if method != "GET" else (200, {"leases": []})
        _, session = self.session(script)
        session.claim("x")
        result = eventually(lambda: (lambda one: one if one["structuredContent"]["lost"] else None)(session.call("list_intents")),
                            "the loss")
        [lost] = result["structuredContent"]["lost"]
        self.assertEqual((lost["resource"], lost["code"], lost["why"]), ("x", "over_quota", "because of over_quota"))
        self.assertIn("LOST, no longer yours: x (because of over_quota)", result["content"][0]["text"])

    def test_an_agent_that_was_replaced_loses_its_claims(self):
        def script(method, path, body):
            if path == "/v1/heartbeat":
                return 409, refusal("stale_epoch")
            return self.script(method, path, body, ttl_ms=6000) if method != "GET" or "agents" in path else (200, {"leases": []})
        server, session = self.session(script, "--priority", "now")
        session.claim("x")
        eventually(lambda: server.bodies("POST", "/v1/heartbeat"), "a renewal")
        self.assertEqual(server.bodies("POST", "/v1/heartbeat")[0], {"holder": "agent 1", "epoch": 1, "leases": ["x#1"]})
        [lost] = eventually(lambda: session.call("list_intents")["structuredContent"]["lost"], "the loss")
        self.assertEqual((lost["resource"], lost["why"]), ("x", "a newer process of this agent has taken over"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
