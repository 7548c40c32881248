"""`holdfast mcp`, for real: sessions of the Model Context Protocol over pipes, against a real server."""

import json
import os
import signal
import subprocess
import unittest

from mcp_session import Session
from processes import BINARY, PATIENCE, HoldfastTest, Lines, boot_time, eventually

TOOLS = ["claim_intents", "extend_intents", "release_intents", "verify_intents", "list_intents"]
STATELESS = {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
             "io.modelcontextprotocol/clientCapabilities": {}}


class McpTest(HoldfastTest):
    def session(self, *arguments, **more):
        return Session(self, *arguments, **more)

    def granted(self, result):
        self.assertFalse(result["isError"], result)
        return [lease["id"] for lease in result["structuredContent"]["leases"]]

    def refused(self, result):
        self.assertTrue(result["isError"], result)
        return result["content"][0]["text"]

    # The protocol

    def test_a_session_is_opened_and_lists_its_tools(self):
        session = self.session()
        self.assertEqual(session.greeting["protocolVersion"], "2025-06-18")
        self.assertEqual(session.greeting["serverInfo"]["name"], "holdfast")
        self.assertIn("tools", session.greeting["capabilities"])
        tools = session.request("tools/list")["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], TOOLS)
        for tool in tools:
            self.assertIs(tool["inputSchema"]["additionalProperties"], False)
            self.assertEqual(tool["annotations"]["readOnlyHint"], tool["name"] in ("verify_intents", "list_intents"))
        self.assertEqual(session.request("ping")["result"], {})
        self.assertEqual(session.end(), 0)
        self.assertEqual(len(session.out.lines), 3, "nothing but answers on standard output")

    def test_versions_are_negotiated(self):
        for asked, given in [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-11-25", "2025-11-25"),
                             ("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25")]:
            self.assertEqual(self.session(version=asked).greeting["protocolVersion"], given, asked)

    def test_structured_content_comes_with_the_version_that_has_it(self):
        old = self.session(version="2025-03-26").call("list_intents", prefix=self.resource)
        self.assertNotIn("structuredContent", old)
        self.assertEqual(json.loads(old["content"][1]["text"])["leases"], [])
        new = self.session(version="2025-06-18").call("list_intents", prefix=self.resource)
        self.assertEqual(json.loads(new["content"][1]["text"]), new["structuredContent"])

    def test_the_stateless_protocol_says_its_version_in_every_request(self):
        session = self.session(version=None)
        self.assertEqual(session.request("tools/list")["error"]["code"], -32602, "neither handshake nor version")
        found = session.request("server/discover", _meta=STATELESS)["result"]
        self.assertEqual(found["supportedVersions"][0], "2026-07-28")
        self.assertEqual(found["resultType"], "complete")
        self.assertEqual(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "holdfast")
        tools = session.request("tools/list", _meta=STATELESS)["result"]
        self.assertEqual((len(tools["tools"]), tools["cacheScope"]), (len(TOOLS), "private"))
        claimed = session.request("tools/call", _meta=STATELESS, name="claim_intents",
                                  arguments={"intents": [{"resource": self.resource}]})["result"]
        self.assertEqual((claimed["resultType"], claimed["structuredContent"]["verdict"]), ("complete", "GRANTED"))
        wrong = session.request("tools/list", _meta={**STATELESS, "io.modelcontextprotocol/protocolVersion": "1900-01-01"})
        self.assertEqual(wrong["error"]["code"], -32022)
        self.assertIn("2026-07-28", wrong["error"]["data"]["supported"])
        lacking = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        self.assertEqual(session.request("tools/list", _meta=lacking)["error"]["code"], -32602)
        self.assertEqual(session.request("ping", _meta=STATELESS)["error"]["code"], -32601)

    def test_garbage_is_answered_and_the_session_goes_on(self):
        session = self.session(version=None)
        for text, code in [("garbage", -32700), ("{", -32700), ("[" * 5000, -32700), ("\x00\x01", -32700), ("17", -32600),
                           ("[]", -32600), ('{"id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1}', -32600),
                           ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                           ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                           ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                           ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                           ("x" * (1 << 20) + "x", -32600)]:
            session.send_text(text + "\n")
            self.assertEqual(session.next()["error"]["code"], code, text[:60])
        session.send_text("\n   \n\r\n")
        session.send({"jsonrpc": "2.0", "id": "a string", "method": "ping"})
        self.assertEqual(session.next(), {"jsonrpc": "2.0", "id": "a string", "result": {}})

    def test_bytes_that_are_no_text_are_refused(self):
        session = self.session(version=None)
        session.process.stdin.buffer.write(b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}\n')
        session.process.stdin.buffer.flush()
        self.assertEqual(session.next()["error"]["code"], -32700)

    def test_a_line_may_be_large_but_not_larger(self):
        session = self.session()
        fits = session.call("claim_intents", intents=[{"resource": self.resource}], reason="x" * ((1 << 20) - 400))
        self.assertIn("Refused", self.refused(fits), "the server does not take such a reason")

    def test_notifications_are_never_answered(self):
        session = self.session()
        session.notify("notifications/cancelled", requestId=99)
        session.notify("no/such/notification")
        session.send({"jsonrpc": "2.0", "method": "tools/list"})
        session.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 17})
        session.send({"jsonrpc": "2.0", "id": 5, "result": {}})
        session.request("ping")
        self.assertEqual(len(session.out.lines), 2, "the greeting and the ping")

    def test_unknown_methods_tools_and_arguments(self):
        session = self.session()
        self.assertEqual(session.request("resources/list")["error"]["code"], -32601)
        self.assertEqual(session.request("tools/call", name="rm")["error"]["code"], -32602)
        self.assertEqual(session.request("tools/call", name="list_intents", arguments=[])["error"]["code"], -32602)
        self.assertEqual(session.request("tools/call")["error"]["code"], -32602)
        self.assertEqual(session.request("initialize", protocolVersion="2025-06-18")["error"]["code"], -32600, "twice")
        self.assertIn("no argument 'ttl'", self.refused(session.claim(self.resource, ttl=5)))
        for intents in ([], "x", [{}], ["x"], [{"resource": "a", "path": "b"}], [{"resource": "a", "predicate": "EATS"}],
                        [{"resource": 5}], [{"resource": "a", "more": 1}], [{"resource": "a"}] * 257):
            self.assertIn("Wrong arguments", self.refused(session.call("claim_intents", intents=intents)), intents)
        self.assertIn("50000", self.refused(session.claim(self.resource, wait_ms=50001)))
        self.assertIn("either", self.refused(session.call("release_intents")))
        self.assertEqual(self.held(), [])

    def test_batches_belong_to_the_versions_that_have_them(self):
        batch = [{"jsonrpc": "2.0", "id": 11, "method": "ping"}, {"jsonrpc": "2.0", "method": "notifications/x"},
                 {"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": {"name": "list_intents"}}]
        old = self.session(version="2025-03-26")
        old.next()
        old.send(batch)
        self.assertEqual(sorted(answer["id"] for answer in old.next()), [11, 12])
        old.send([{"jsonrpc": "2.0", "method": "notifications/x"}])
        old.send([])
        self.assertEqual(old.next()["error"]["code"], -32600, "only notifications: no answer at all")
        new = self.session(version="2025-06-18")
        new.next()
        new.send(batch)
        self.assertEqual(new.next()["error"]["code"], -32600)

    # The tools

    def test_a_claim_from_beginning_to_end(self):
        session = self.session("--holder", "alice")
        [lease] = self.granted(session.claim(self.resource, reason="refactoring", ttl_ms=30000))
        [held] = self.held()
        self.assertEqual((held["id"], held["holder"], held["reason"], held["ttl_ms"]), (lease, "alice", "refactoring", 30000))
        extended = session.call("extend_intents", leases=[lease], ttl_ms=90000)
        self.assertEqual(extended["structuredContent"]["results"][0]["result"], "RENEWED")
        self.assertEqual(self.held()[0]["ttl_ms"], 90000)
        verified = session.call("verify_intents")["structuredContent"]["results"]
        self.assertEqual([(one["id"], one["state"]) for one in verified], [(lease, "ACTIVE")])
        listed = session.call("list_intents", prefix=self.resource)["structuredContent"]["leases"]
        self.assertEqual([(one["id"], one["holder"]) for one in listed], [(lease, "alice")])
        released = session.call("release_intents", leases=[lease])["structuredContent"]["results"]
        self.assertEqual(released, [{"id": lease, "state": "RELEASED"}])
        self.assertEqual(self.held(), [])
        self.assertEqual(session.call("verify_intents")["content"][0]["text"], "You hold nothing.")

    def test_a_second_session_is_refused_and_told_who_and_why(self):
        alice, bob = self.session("--holder", "alice"), self.session(HOLDFAST_HOLDER="bob")
        self.granted(alice.claim(self.resource, reason="formatting"))
        result = bob.claim(self.resource)
        text = self.refused(result)
        self.assertRegex(text, rf"alice holds {self.resource} for another .*\(formatting\)")
        self.assertIn("wait_ms", text, "says what to do")
        self.assertEqual(result["structuredContent"]["conflicts"][0]["holder"], "alice")

    def test_two_sessions_of_one_user_exclude_each_other(self):
        one, two = self.session(), self.session()
        self.granted(one.claim(self.resource))
        self.granted(one.claim(self.resource, reason="again"))
        self.refused(two.claim(self.resource))

    def test_all_is_claimed_or_nothing_and_a_part_can_be_released(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        names = [f"{self.resource}:{i}" for i in range(3)]
        first, second, third = self.granted(alice.claim(*names))
        self.refused(bob.claim(names[0] + ":free", names[1]))
        self.assertEqual(len(self.held()), 3)
        alice.call("release_intents", leases=[second])
        self.granted(bob.claim(names[0] + ":free", names[1]))
        verified = alice.call("verify_intents")["structuredContent"]["results"]
        self.assertEqual([one["id"] for one in verified], [first, third])
        alice.call("release_intents", all=True)
        self.assertEqual([one["holder"] for one in self.held()], ["bob", "bob"])

    def test_a_claim_of_what_is_held_already_makes_no_second_lease(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        [lease] = self.granted(alice.claim(self.resource, ttl_ms=30000))
        self.assertEqual(self.granted(alice.claim(self.resource, ttl_ms=90000)), [lease])
        self.assertEqual(self.granted(alice.claim(self.resource + "/", self.resource)), [lease], "another spelling")
        [held] = self.held()
        self.assertEqual((held["id"], held["ttl_ms"]), (lease, 90000))
        self.assertEqual(len(self.granted(alice.claim(self.resource, self.resource + ":more"))), 2)
        alice.call("release_intents", leases=[lease])
        self.granted(bob.claim(self.resource))

    def test_a_claim_of_what_was_lost_takes_it_anew(self):
        session = self.session()
        [lease] = self.granted(session.claim(self.resource))
        self.ok("revoke", lease)
        result = session.claim(self.resource)
        self.assertNotEqual(self.granted(result), [lease])
        self.assertEqual([one["id"] for one in result["structuredContent"]["lost"]], [lease])

    def test_a_stronger_claim_takes_the_place_of_a_weaker_one(self):
        session = self.session()

        def claim(predicate):
            return self.granted(session.call("claim_intents", intents=[{"resource": self.resource, "predicate": predicate}]))
        seen = [claim(predicate) for predicate in ("CONSUMES", "DEPENDS_ON", "PROVIDES", "DELETES", "RENAMES", "MUTATES")]
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(len({tuple(one) for one in seen}), 5)
        self.assertEqual([(one["id"], one["predicate"]) for one in self.held()], [(seen[-1][0], "MUTATES")])
        for predicate in ("CONSUMES", "DELETES", "MUTATES"):
            self.assertEqual(claim(predicate), seen[-1])
        self.assertEqual(session.call("list_intents")["structuredContent"]["lost"], [], "given back, not lost")

    def test_claims_at_once_of_one_resource_leave_one_lease(self):
        session = self.session()
        ids = [session.start("tools/call", name="claim_intents", arguments={"intents": [{"resource": self.resource}]})
               for _ in range(8)]
        for id in ids:
            self.granted(session.result(id))
        [held] = eventually(lambda: self.held() if len(self.held()) == 1 else None, "one lease")
        verified = session.call("verify_intents")["structuredContent"]["results"]
        self.assertEqual([(one["id"], one["state"]) for one in verified], [(held["id"], "ACTIVE")])

    def test_a_ttl_that_was_cut_is_told(self):
        session = self.session()
        result = session.claim(self.resource, ttl_ms=3600000)
        self.assertIn("The policy cut the TTL from 1h00m to 5m00s.", result["structuredContent"]["notes"])
        self.assertIn("The policy cut the TTL", result["content"][0]["text"])
        self.assertIn("cut the TTL", session.claim(self.resource, ttl_ms=3600000)["content"][0]["text"], "held already")
        self.assertIn("cut the TTL", session.call("extend_intents", ttl_ms=3600000)["structuredContent"]["notes"][0])
        self.assertEqual(session.call("extend_intents", ttl_ms=60000)["structuredContent"]["notes"], [])

    def test_readers_share(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        intents = [{"resource": self.resource, "predicate": "CONSUMES"}]
        self.granted(alice.call("claim_intents", intents=intents))
        self.granted(bob.call("claim_intents", intents=intents))
        self.refused(bob.claim(self.resource))

    def test_claims_are_renewed_in_the_background(self):
        session = self.session()
        [lease] = self.granted(session.claim(self.resource, ttl_ms=3000))
        seen = set()

        def renewed_often():
            [held] = self.held()
            self.assertEqual(held["id"], lease, "never a gap")
            seen.add(held["expires_at"])
            return len(seen) >= 6  # by then it would have ended
        eventually(renewed_often, "renewals")
        self.assertEqual(session.call("verify_intents")["structuredContent"]["lost"], [])

    def test_a_loss_is_told_once_with_the_next_answer(self):
        session = self.session()
        kept, lost = self.granted(session.claim(self.resource + ":1", self.resource + ":2", ttl_ms=6000))
        self.ok("revoke", lost)

        def told():
            result = session.call("list_intents", prefix="nothing")
            return result if result["structuredContent"]["lost"] else None
        result = eventually(told, "the loss")
        self.assertEqual([one["id"] for one in result["structuredContent"]["lost"]], [lost])
        self.assertRegex(result["content"][0]["text"], rf"^LOST, .*{self.resource}:2")
        again = session.call("verify_intents")
        self.assertEqual(again["structuredContent"]["lost"], [])
        self.assertEqual([one["id"] for one in again["structuredContent"]["results"]], [kept])

    def test_verify_and_extend_find_a_loss_at_once(self):
        session = self.session()
        one, two = self.granted(session.claim(self.resource + ":1", self.resource + ":2"))
        self.ok("revoke", one)
        result = session.call("verify_intents")["structuredContent"]
        self.assertEqual([lease["id"] for lease in result["lost"]], [one])
        self.assertEqual({lease["id"]: lease["state"] for lease in result["results"]}, {one: "REVOKED", two: "ACTIVE"})
        self.ok("revoke", two)
        result = session.call("extend_intents")
        self.assertTrue(result["isError"])
        self.assertEqual([lease["id"] for lease in result["structuredContent"]["lost"]], [two])

    def waiting(self, session):
        id = session.start("tools/call", name="claim_intents",
                           arguments={"intents": [{"resource": self.resource}], "wait_ms": 50000})
        eventually(lambda: self.json("health")["waiters"] == 1, "the wait")
        return id

    def test_a_claim_waits_for_its_turn_and_holds_up_nothing(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        [lease] = self.granted(alice.claim(self.resource))
        waiting = self.waiting(bob)
        self.assertEqual(bob.request("ping")["result"], {})
        self.assertEqual(bob.call("list_intents", prefix=self.resource)["structuredContent"]["leases"][0]["id"], lease)
        alice.call("release_intents", leases=[lease])
        self.granted(bob.result(waiting))
        self.assertEqual([one["holder"] for one in self.held()], ["bob"])

    def test_a_grant_that_waited_longer_than_its_ttl_is_held(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        [lease] = self.granted(alice.claim(self.resource))
        id = bob.start("tools/call", name="claim_intents",
                       arguments={"intents": [{"resource": self.resource}], "wait_ms": 50000, "ttl_ms": 1000})
        eventually(lambda: self.json("health")["waiters"] == 1, "the wait")
        begun = boot_time()
        eventually(lambda: boot_time() > begun + 1.5, "more time than the lease has")
        alice.call("release_intents", leases=[lease])
        self.granted(bob.result(id))
        self.assertEqual(bob.call("verify_intents")["structuredContent"]["results"][0]["state"], "ACTIVE")

    def test_a_cancelled_wait_leaves_the_queue_and_is_not_answered(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        self.granted(alice.claim(self.resource))
        waiting = self.waiting(bob)
        bob.notify("notifications/cancelled", requestId=waiting, reason="changed my mind")
        eventually(lambda: self.json("health")["waiters"] == 0, "leaving the queue")
        bob.request("ping")
        self.assertFalse([line for line in bob.out.lines if json.loads(line)["id"] == waiting])

    # How it ends

    def test_the_end_of_input_releases_everything(self):
        session = self.session()
        self.granted(session.claim(self.resource))
        self.assertEqual(session.end(), 0)
        self.assertEqual(self.held(), [])

    def test_a_signal_releases_everything(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            session = self.session()
            self.granted(session.claim(self.resource))
            session.process.send_signal(number)
            self.assertEqual(session.process.wait(PATIENCE), 0)
            self.assertEqual(self.held(), [])

    def test_a_host_that_reads_no_more_ends_it(self):
        ours, theirs = os.pipe()
        process = subprocess.Popen([BINARY, "mcp"], env=self.environment(), stdin=subprocess.PIPE, stdout=theirs,
                                   stderr=subprocess.DEVNULL, cwd=self.scratch, text=True)
        self.started.append(process)
        os.close(theirs)
        os.close(ours)
        process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        self.assertEqual(process.wait(PATIENCE), 0)
        process.stdin.close()

    def test_a_host_that_does_not_read_does_not_keep_it_from_ending(self):
        process = subprocess.Popen([BINARY, "mcp"], env=self.environment(), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.scratch, text=True)
        self.started.append(process)
        err = Lines(process.stderr)
        err.find("serving MCP")
        os.set_blocking(process.stdin.fileno(), False)
        try:
            while True:  # until its output is full and it takes no more input
                os.write(process.stdin.fileno(), b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n' * 80)
        except BlockingIOError:
            pass
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 0)
        process.stdout.close()
        process.stdin.close()

    def test_the_end_of_input_ends_a_wait(self):
        alice, bob = self.session("--holder", "alice"), self.session("--holder", "bob")
        self.granted(alice.claim(self.resource))
        self.waiting(bob)
        self.assertEqual(bob.end(), 0)
        eventually(lambda: self.json("health")["waiters"] == 0, "leaving the queue")
        self.assertEqual([one["holder"] for one in self.held()], ["alice"])

    def test_requests_that_were_piped_in_are_answered_before_the_end(self):
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
                     "name": "claim_intents", "arguments": {"intents": [{"resource": self.resource}]}}},
                 {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "verify_intents"}}]
        done = subprocess.run([BINARY, "mcp"], env=self.environment(), text=True, capture_output=True, timeout=PATIENCE,
                              cwd=self.scratch, input="\n".join(json.dumps(line) for line in lines))
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([answer["id"] for answer in answers], [1, 2, 3])
        self.assertEqual(answers[2]["result"]["structuredContent"]["results"][0]["state"], "ACTIVE")
        self.assertEqual((done.returncode, self.held()), (0, []))

    # Paths

    def repository(self, **settings):
        root = os.path.join(self.scratch, "repository")
        os.makedirs(root + "/src", exist_ok=True)
        subprocess.run(["git", "init", "--quiet", root], check=True, env=self.environment())
        for name, value in settings.items():
            subprocess.run(["git", "-C", root, "config", f"holdfast.{name}", value], check=True, env=self.environment())
        return root

    def test_a_path_is_named_from_the_root_of_the_work_tree(self):
        root = self.repository(namespace="paths")
        session = self.session(cwd=root + "/src")
        paths = {"src/a.c": "FILE:/src/a.c", root + "/src/b.c": "FILE:/src/b.c", "./src//x/../c.c": "FILE:/src/c.c",
                 "lib/**": "FILE:/lib/**"}
        leases = session.call("claim_intents", intents=[{"path": path} for path in paths])["structuredContent"]["leases"]
        self.assertEqual([lease["resource"] for lease in leases], list(paths.values()))
        for path in ("../outside", "/etc/passwd", "src/../..", "odd\nname", "SRC/a.c", ""):
            self.assertIn("Wrong arguments", self.refused(session.call("claim_intents", intents=[{"path": path}])), path)
        below = session.call("list_intents", path="src")["structuredContent"]["leases"]
        self.assertEqual([one["resource"] for one in below], ["FILE:/src/a.c", "FILE:/src/b.c", "FILE:/src/c.c"])
        above = session.call("list_intents", path="lib/deep/file.c")["structuredContent"]["leases"]
        self.assertEqual([one["resource"] for one in above], ["FILE:/lib/**"])

    def test_however_a_path_is_written_a_claim_keeps_others_out(self):
        root = self.repository(namespace="spellings")
        for name in ("src/main.c", "src/util.py"):
            with open(f"{root}/{name}", "w") as file:
                file.write("text")
        os.symlink("src/main.c", root + "/link.c")
        os.symlink("src", root + "/sources")
        alice, bob = self.session("--holder", "alice", cwd=root), self.session("--holder", "bob", cwd=root)
        [lease] = self.granted(bob.call("claim_intents", intents=[{"path": "src/main.c"}]))
        spellings = ["src/", "src", "*.c", "src/*.c", "src/**/*.c", f"file://{root}/src/main.c", "FILE:/src/main.c",
                     '"src/main.c"', " src/main.c", "src\\main.c", "link.c", "sources/main.c", "sources", "."]
        for path in spellings:
            text = self.refused(alice.call("claim_intents", intents=[{"path": path}]))
            self.assertIn("bob holds FILE:/src/main.c", text, path)
        for resource in ("FILE:/src", "FILE:/src/", "FILE:src/main.c", f"file://{root}/src/main.c", "FILE:/src/*.c"):
            text = self.refused(alice.call("claim_intents", intents=[{"resource": resource}]))
            self.assertIn("bob holds FILE:/src/main.c", text, resource)
        bob.call("release_intents", leases=[lease])
        for path in spellings:
            self.granted(alice.call("claim_intents", intents=[{"path": path}]))
            self.refused(bob.call("claim_intents", intents=[{"path": "src/main.c"}]))
            alice.call("release_intents", all=True)

    def test_a_file_given_as_a_resource_without_a_kind_is_refused(self):
        session = self.session(cwd=self.repository(namespace="kinds"))
        for resource in ("src/main.c", "/src/main.c", "main.c", "src", "*.c", '"FILE:/src/main.c"'):
            text = self.refused(session.call("claim_intents", intents=[{"resource": resource}]))
            self.assertIn("give it as path", text, resource)
        result = session.call("claim_intents", intents=[{"resource": " FILE:/src/"}, {"resource": "SYMBOL:main.c"}])
        self.assertEqual([lease["resource"] for lease in result["structuredContent"]["leases"]],
                         ["FILE:/src/**", "SYMBOL:main.c"])

    def test_the_answer_says_what_else_than_the_path_was_claimed(self):
        session = self.session(cwd=self.repository(namespace="notes"))
        for path, said in [("src/*.c", "is a pattern: the smallest tree that contains it, FILE:/src/**"),
                           ("src", "is a directory"), ("src/new.c", "does not exist yet")]:
            result = session.call("claim_intents", intents=[{"path": path}])
            self.assertIn(said, result["content"][0]["text"])
            self.assertIn(said, result["structuredContent"]["notes"][0])
        self.assertEqual(session.call("claim_intents", intents=[{"path": "src/**"}])["structuredContent"]["notes"], [])

    def test_claims_are_released_by_their_paths(self):
        root = self.repository(namespace="released")
        session = self.session(cwd=root)

        def held():
            return sorted(one["resource"] for one in self.json("list", "--namespace", "released")["leases"])
        for path in ("a.c", "src", "later", "*.py", "b.c"):
            self.granted(session.call("claim_intents", intents=[{"path": path}]))
        os.mkdir(root + "/later")  # claimed as a file or a directory
        result = session.call("release_intents", paths=["./a.c", "src/", "later", "*.py", "never.c"])
        self.assertFalse(result["isError"])
        self.assertEqual(held(), ["FILE:/b.c"])
        self.assertIn({"path": "never.c", "state": "NOT_HELD"}, result["structuredContent"]["results"])
        self.assertIn("either", self.refused(session.call("release_intents", paths=["b.c"], all=True)))
        session.call("release_intents", paths=["b.c"])
        self.assertEqual(held(), [])
        self.granted(session.call("claim_intents", intents=[{"resource": "SYMBOL:parse"}]))
        session.call("release_intents", paths=["SYMBOL:parse"])
        self.assertEqual(held(), [], "a model that takes the name of a resource for a path")

    def test_git_config_says_who_and_where(self):
        root = self.repository(namespace="elsewhere", holder="carol")
        session = self.session(cwd=root)
        [lease] = self.granted(session.call("claim_intents", intents=[{"path": "a.c"}]))
        self.assertTrue(lease.startswith("@elsewhere/FILE:/a.c#"), lease)
        self.assertEqual(self.json("list", "--namespace", "elsewhere")["leases"][0]["holder"], "carol")
        other = self.session("--root", root, "--holder", "dave", HOLDFAST_NAMESPACE="third")
        [lease] = self.granted(other.call("claim_intents", intents=[{"path": "a.c"}]))
        self.assertTrue(lease.startswith("@third/"), lease)
        self.assertEqual(self.json("list", "--namespace", "third")["leases"][0]["holder"], "dave")

    def test_without_a_work_tree_a_path_has_no_name(self):
        self.assertIn("--root", self.refused(self.session().call("claim_intents", intents=[{"path": "a.c"}])))
        session = self.session("--root", self.scratch)
        self.assertEqual(session.call("claim_intents", intents=[{"path": "a.c"}])["structuredContent"]["leases"][0]["resource"],
                         "FILE:/a.c")
        self.assertEqual(self.holdfast("mcp", "--root", self.scratch + "/missing").returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
