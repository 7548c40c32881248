"""Runs the test suite that is inside the npm package redlock, as it is, against Redis and against Holdfast.

The suite wants its server at Redis's own port, so it runs in a network namespace of its own."""

import os
import re
import subprocess
import sys
import unittest

from servers import Holdfast, Redis, install

PORT = 6379
LIMIT_S = 240


def run_suite(folder):
    return subprocess.run(["node", "node_modules/mocha/bin/mocha", "node_modules/redlock/test.js"], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)


class RedlockSuite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.environ["COMPAT_REDLOCK"]

    def passes_on(self, kind):
        server = kind(port=PORT)
        try:
            done = run_suite(self.folder)
        finally:
            server.stop()
        self.assertEqual(done.returncode, 0, done.stdout)
        passing = re.search(r"^\s+(\d+) passing", done.stdout, re.MULTILINE)
        self.assertTrue(passing, done.stdout)
        self.assertNotRegex(done.stdout, r"\d+ (failing|pending)")
        return int(passing[1])

    def test_passes_on_both_servers(self):
        on_redis = self.passes_on(Redis)
        self.assertGreater(on_redis, 200, "the suite was not run")
        self.assertEqual(self.passes_on(Holdfast), on_redis)


def main():
    if "COMPAT_REDLOCK" in os.environ:
        return unittest.main(verbosity=2)
    environment = {**os.environ, "COMPAT_REDLOCK": install("redlock")}
    inside = f"ip link set lo up && exec {sys.executable} -B {os.path.abspath(__file__)}"
    return sys.exit(subprocess.run(["unshare", "--net", "sh", "-c", inside], env=environment).returncode)


if __name__ == "__main__":
    main()
