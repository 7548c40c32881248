"""redis-cli and redis-benchmark from Debian, against Redis and against Holdfast; and in what Holdfast differs."""

import re
import subprocess
import unittest

from servers import PATIENCE, Holdfast, Redis, ServerTest, eventually

RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
EXTEND = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end"
TAKE_ALL = """
    for _, k in ipairs(KEYS) do if redis.call("EXISTS", k) == 1 then return 0 end end
    for _, k in ipairs(KEYS) do redis.call("SET", k, ARGV[1], "PX", ARGV[2]) end
    return #KEYS
"""
PYTHON_EXTEND = """
    local token = redis.call('get', KEYS[1])
    if not token or token ~= ARGV[1] then
        return 0
    end
    local expiration = redis.call('pttl', KEYS[1])
    if not expiration then
        expiration = 0
    end
    if expiration < 0 then
        return 0
    end
    local newttl = ARGV[2]
    if ARGV[3] == "0" then
        newttl = ARGV[2] + expiration
    end
    redis.call('pexpire', KEYS[1], newttl)
    return 1
"""

# Of redis-semaphore's Mutex, which docs/redis.md warns of.
SEMAPHORE_REFRESH = """
  local key = KEYS[1]
  local identifier = ARGV[1]
  local lockTimeout = ARGV[2]
  local value = redis.call('get', key)
  if value == identifier then
    redis.call('pexpire', key, lockTimeout)
    return 1
  end
  return 0
"""
SEMAPHORE_RELEASE = """
  local key = KEYS[1]
  local identifier = ARGV[1]
  if redis.call('get', key) == identifier then
    return redis.call('del', key)
  end
  return 0
"""


def cli(server, *arguments, text=None):
    done = subprocess.run(["redis-cli", "-p", str(server.port), *arguments], input=text, text=True, timeout=PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


def without_seconds(shown):
    """With times left rounded up to ten seconds: a second may pass on one server and not on the other."""
    return re.sub(r"^\d{2,}$", lambda number: str((int(number[0]) + 9) // 10 * 10), shown, flags=re.MULTILINE)


def benchmark(server, *arguments):
    done = subprocess.run(["redis-benchmark", "-p", str(server.port), "-q", *arguments], text=True, timeout=PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.replace("\r", "\n")


# What is typed, line by line, to one connection. The answers must be the same, errors included.
TYPED = f"""
SET k a NX PX 60000
SET k b NX PX 60000
SET k a NX PX 60000
GET k
EXISTS k none k
TYPE k
TYPE none
TTL k
TTL none
PTTL none
SET k b XX EX 100
TTL k
GET k
SET none b XX EX 100
GET none
SET k c GET EX 100
SET k d NX GET EX 100
GET k
SET k e KEEPTTL
GET k
TTL k
set K v nx px 50000
get K
PSETEX p 60000 v
SETEX q 60 v
GETDEL p
GETDEL p
DEL q none K
DEL k
EXISTS k
UNLINK k
PEXPIRE k 1000
SET k a EX 10
EXPIRE k 100
TTL k
EXPIRE k 200 NX
EXPIRE k 50 GT
EXPIRE k 200 GT
TTL k
PEXPIRE k 200000 XX
EXPIRE k 0
EXISTS k
SET k a EX 10
PEXPIRE k -1
EXISTS k
SET k v PX 0
SET k v EX -1
SET k v PX nonsense
SET k v NX XX PX 1000
SET k v PX 1000 EX 1
SET k v BOGUS
SET k v PX
SET k
GET
PSETEX k 0 v
PEXPIRE k nonsense
PEXPIRE k
SADD s one two
SADD s one
SCARD s
SISMEMBER s one
SISMEMBER s three
TYPE s
GET s
EXISTS s
SET s v NX PX 1000
SREM s one
SREM s one
DEL s
SET str v EX 10
SADD str one
SMEMBERS str
DEL str
EVAL "{RELEASE}" 1 k a
SET k a EX 10
EVAL "{RELEASE}" 1 k b
EVAL "{RELEASE}" 1 k a
EXISTS k
SET k a EX 10
EVAL "{EXTEND}" 1 k b 60000
EVAL "{EXTEND}" 1 k a 60000
TTL k
EVAL "{EXTEND}" 1 none a 60000
SCRIPT FLUSH
EVALSHA 0000000000000000000000000000000000000000 1 k a
EVALSHA nonsense 1 k a
SCRIPT LOAD "{RELEASE}"
SCRIPT EXISTS 0000000000000000000000000000000000000000
EVAL "{RELEASE}" nonsense k a
EVAL "{RELEASE}" -1 k a
EVAL "{RELEASE}" 5 k a
EVAL
SCRIPT
SCRIPT NONSENSE
SCRIPT FLUSH NONSENSE
SCAN nonsense
SCAN 0 COUNT 0
SCAN 0 BOGUS 1
NONSENSE a b
SELECT 1
GET k
SET k db1 EX 10
SELECT 0
GET k
SELECT 99
DEL k
"""

PATTERNS = ["*", "", "a", "a?c", "a*c", "*b*", "[abc]", "[^abc]*", "[a-c]x", "[c-a]x", "[\\]]", "\\*", "\\[a]", "a\\", "[abc",
            "h[ae]llo", "user:*:lock", "**"]
KEYS = ["a", "b", "c", "d", "ac", "abc", "abbbc", "bx", "dx", "]", "*", "[a]", "a\\", "hello", "hallo", "hillo", "user:1:lock",
        "user:2:lock", "user:3:other"]


class OnBoth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.redis = Redis()
        cls.addClassCleanup(cls.redis.stop)
        cls.holdfast = Holdfast()
        cls.addClassCleanup(cls.holdfast.stop)
        cls.servers = [cls.redis, cls.holdfast]

    def test_redis_cli_shows_the_same(self):
        for version in ("-2", "-3"):
            shown = [without_seconds(cli(server, version, text=TYPED)) for server in self.servers]
            lines = [line for line in TYPED.splitlines() if line]
            self.assertGreater(len(shown[0].splitlines()), len(lines) - 1)
            self.assertEqual(shown[1], shown[0])

    def test_redis_cli_finds_keys_by_the_same_patterns(self):
        for server in self.servers:
            for key in KEYS:
                self.assertEqual(cli(server, "-n", "3", "SET", key, "v", "EX", "100"), "OK\n")
        for pattern in PATTERNS:
            for ask in (["KEYS", pattern], ["--scan", "--pattern", pattern], ["--scan", "--pattern", pattern, "--count", "3"]):
                found = [sorted(cli(server, "-n", "3", *ask).splitlines()) for server in self.servers]
                self.assertEqual(found[1], found[0], ask)
        self.assertEqual(sorted(cli(self.holdfast, "-n", "3", "--scan").splitlines()), sorted(KEYS))

    def test_scan_shows_a_type_only(self):
        for server in self.servers:
            cli(server, "-n", "4", "SET", "lock", "v", "EX", "100")
            cli(server, "-n", "4", "SADD", "shared", "v")
            shown = cli(server, "-n", "4", "SCAN", "0", "TYPE", "string", "COUNT", "100").split()
            self.assertEqual(shown, ["0", "lock"], server.name)
            shown = cli(server, "-n", "4", "SCAN", "0", "TYPE", "set", "COUNT", "100").split()
            self.assertEqual(shown, ["0", "shared"], server.name)

    def test_short_locks_run_out(self):
        for server in self.servers:
            self.assertEqual(cli(server, "SET", "short", "v", "NX", "PX", "150"), "OK\n")
            eventually("it runs out", lambda: cli(server, "EXISTS", "short") == "0\n")
            self.assertEqual(cli(server, "SET", "short", "w", "NX", "PX", "150"), "OK\n")

    def test_the_lock_of_redis_py_is_extended(self):
        for server in self.servers:
            cli(server, "SET", "py", "me", "NX", "EX", "20")
            self.assertEqual(cli(server, "EVAL", PYTHON_EXTEND, "1", "py", "me", "40000", "0"), "1\n")
            self.assertIn(int(cli(server, "TTL", "py")), range(55, 61), server.name)
            self.assertEqual(cli(server, "EVAL", PYTHON_EXTEND, "1", "py", "me", "100000", "1"), "1\n")
            self.assertIn(int(cli(server, "TTL", "py")), range(95, 101), server.name)
            self.assertEqual(cli(server, "EVAL", PYTHON_EXTEND, "1", "py", "other", "1000", "0"), "0\n")

    def test_many_keys_are_taken_all_or_none(self):
        for server in self.servers:
            self.assertEqual(cli(server, "EVAL", TAKE_ALL, "3", "all:1", "all:2", "all:1", "me", "60000"), "3\n", server.name)
            self.assertEqual(cli(server, "EVAL", TAKE_ALL, "2", "all:2", "all:3", "you", "60000"), "0\n", server.name)
            self.assertEqual(cli(server, "EVAL", TAKE_ALL, "0", "me", "60000"), "0\n", server.name)
            self.assertEqual(cli(server, "EXISTS", "all:1", "all:2", "all:3"), "2\n")

    def test_redis_benchmark_runs_without_errors(self):
        load = ["-n", "4000", "-c", "20", "-P", "8", "-r", "1000"]
        sha = cli(self.redis, "SCRIPT", "LOAD", EXTEND).strip()
        for server in self.servers:
            cli(server, "SCRIPT", "LOAD", EXTEND)
            for command in (["-t", "ping_inline,ping_mbulk,get"], ["SET", "key:__rand_int__", "v", "PX", "30000", "NX"],
                            ["SET", "key:__rand_int__", "v", "PX", "30000"], ["GET", "key:__rand_int__"],
                            ["EVALSHA", sha, "1", "key:__rand_int__", "v", "30000"], ["DEL", "key:__rand_int__"]):
                code, shown = benchmark(server, *load, *command)  # it ends at the first error
                self.assertEqual(code, 0, (server.name, command, shown))
                self.assertIn("requests per second", shown)


class OnHoldfast(ServerTest):
    """What docs/redis.md says is different."""

    def start_holdfast(self):
        server = Holdfast(state_dir=self.state_dir)
        self.addCleanup(server.clean_up)
        return server

    def test_says_why_it_refuses_and_what_to_do(self):
        server = self.start_holdfast()
        for command, told in ((["SET", "k", "v"], "every lease ends: say how long with PX"),
                              (["SETNX", "k", "v"], "every lease ends: say how long with PX"),
                              (["SET", "k", "v", "PX", "99999999"], "TTL_TOO_LONG .* at most 300000 ms"),
                              (["SET", "k", "v", "PX", "9223372036854775807"], "TTL_TOO_LONG"),
                              (["SET", "k", "v", "PXAT", "99999999"], "timed by the server's clock"),
                              (["EXPIREAT", "k", "99999999"], "timed by the server's clock"),
                              (["PEXPIRETIME", "k"], "timed by the server's clock"),
                              (["PERSIST", "k"], "cannot be made to last"),
                              (["FLUSHALL"], "does not end everybody's leases"),
                              (["SET", "k", "", "PX", "1000"], "must not be empty"),
                              (["SET", "", "v", "PX", "1000"], "must not be empty"),
                              (["SET", "k", "v" * 257, "PX", "1000"], "longer than 256 bytes"),
                              (["SET", "k" * 4097, "v", "PX", "1000"], "longer than 4096 bytes"),
                              (["SET", "k", "a\nb", "PX", "1000"], "control characters"),
                              (["EVAL", "return 1", "0"], "runs no Lua.*LEASE.ACQUIRE")):
            self.assertRegex(cli(server, *command), told)
        self.assertEqual(cli(server, "GET", "k" * 4097), "\n")
        self.assertEqual(cli(server, "DBSIZE"), "0\n", "nothing of this was granted")

    def test_takes_a_script_that_it_cannot_run_but_does_not_run_it(self):
        server = self.start_holdfast()
        sha = cli(server, "SCRIPT", "LOAD", "return 1").strip()
        self.assertRegex(sha, "^[0-9a-f]{40}$")
        self.assertEqual(cli(server, "SCRIPT", "EXISTS", sha), "1\n")
        self.assertIn("runs no Lua", cli(server, "EVALSHA", sha, "0"))

    def test_changes_nothing_by_the_scripts_of_redis_semaphore(self):
        server = self.start_holdfast()
        cli(server, "SET", "mutex:k", "me", "NX", "PX", "60000")
        for script, arguments in ((SEMAPHORE_REFRESH, ["me", "300000"]), (SEMAPHORE_RELEASE, ["me"])):
            self.assertRegex(cli(server, "EVAL", script, "1", "mutex:k", *arguments), "runs no Lua.*docs/redis.md")
        self.assertEqual(cli(server, "GET", "mutex:k"), "me\n")
        self.assertLessEqual(int(cli(server, "PTTL", "mutex:k")), 60000)

    def test_refuses_transactions_as_a_whole(self):
        server = self.start_holdfast()
        shown = cli(server, text="MULTI\nSET k v NX PX 60000\nDEL other\nEXEC\nEXISTS k\nMULTI\nDISCARD\nPING\n")
        self.assertRegex(shown, "^OK\n(ERR .*was not executed.*\n\n){2}EXECABORT .*no transactions.*\n\n0\nOK\nOK\nPONG\n$")

    def test_never_brings_an_end_forward(self):
        server = self.start_holdfast()
        cli(server, "SET", "k", "v", "NX", "EX", "100")
        self.assertEqual(cli(server, "PEXPIRE", "k", "1000"), "1\n")
        self.assertEqual(cli(server, "PEXPIRE", "k", "1000", "LT"), "0\n")
        self.assertEqual(cli(server, "SET", "k", "v", "PX", "1000"), "OK\n")
        self.assertIn(int(cli(server, "TTL", "k")), range(50, 101))

    def test_shows_keys_as_leases_in_their_namespace(self):
        server = self.start_holdfast()
        cli(server, "SET", "lock:1", "me", "NX", "EX", "100")
        cli(server, "-n", "2", "SET", "lock:2", "me", "NX", "EX", "100")
        leases = {lease["resource"]: lease for lease in server.server.leases().values()}
        self.assertEqual(sorted(leases), ["lock:1", "lock:2"])
        self.assertEqual({lease["namespace"] for lease in leases.values()}, {"redis", "redis-2"})
        self.assertEqual(leases["lock:1"]["holder"], "me")
        self.assertEqual(leases["lock:1"]["predicate"], "MUTATES")
        status, answer = server.server.acquire("other", "lock:1", namespace="redis")
        self.assertEqual(status, 409, answer)

    def test_grants_nothing_to_redis_clients_while_it_recovers(self):
        server = self.start_holdfast()
        cli(server, "SET", "k", "v", "NX", "EX", "100")
        server.kill()
        back = self.start_holdfast()
        self.assertRegex(cli(back, "SET", "k", "w", "NX", "EX", "100"), "^LOADING ")
        self.assertRegex(cli(back, "SET", "other", "w", "EX", "100"), "^LOADING ")
        self.assertEqual(cli(back, "GET", "k"), "\n")

    def test_gives_back_what_it_took_when_one_of_many_is_refused(self):
        server = self.start_holdfast()
        self.assertEqual(server.server.ask("PATCH", "/v1/policy", {"name_pattern": "@redis/lock:.*"})[0], 200)
        self.assertRegex(cli(server, "EVAL", TAKE_ALL, "2", "lock:1", "other", "me", "60000"), "^NAME_REFUSED ")
        self.assertEqual(cli(server, "EXISTS", "lock:1", "other"), "0\n")
        self.assertEqual(cli(server, "EVAL", TAKE_ALL, "2", "lock:1", "lock:2", "me", "60000"), "2\n")

    def test_tells_redis_benchmark_that_its_plain_set_is_no_lease(self):
        code, shown = benchmark(self.start_holdfast(), "-t", "set", "-n", "100")
        self.assertNotEqual(code, 0)
        self.assertIn("every lease ends: say how long with PX", shown)

    def test_banned_values_get_nothing(self):
        server = self.start_holdfast()
        self.assertEqual(server.server.ask("PUT", "/v1/bans/mallory", {"reason": "test"})[0] // 100, 2)
        self.assertRegex(cli(server, "SET", "k", "mallory", "NX", "EX", "10"), "^BANNED ")
        self.assertEqual(cli(server, "EXISTS", "k"), "0\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
