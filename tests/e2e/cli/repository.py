"""A git repository in a temporary folder, for tests of `holdfast guard`."""

import os
import subprocess

from processes import BINARY, PATIENCE, HoldfastTest


class RepositoryTest(HoldfastTest):
    """Each test has a repository and a namespace of its own; the committer is alice."""

    def setUp(self):
        super().setUp()
        self.root = os.path.join(self.scratch, "repository")
        self.name_space = self.id().rsplit(".", 1)[1].removeprefix("test_")[:60]
        self.git("init", "--quiet", "--initial-branch=main", self.root, cwd=self.scratch)
        self.set("user.name", "Alice")
        self.set("user.email", "alice@example.org")
        self.set("commit.gpgsign", "false")
        self.set("holdfast.holder", "alice")
        self.set("holdfast.namespace", self.name_space)

    def environment(self, **more):
        """Without what git would tell a hook that runs this test."""
        kept = {name: value for name, value in super().environment().items() if not name.startswith("GIT_")}
        return {**kept, "GIT_CONFIG_NOSYSTEM": "1", **more}

    def run_in(self, words, cwd=None, **environment):
        return subprocess.run(words, cwd=cwd or self.root, env=self.environment(**environment), capture_output=True,
                              text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def git(self, *words, cwd=None, **environment):
        done = self.run_in(["git", *words], cwd, **environment)
        self.assertEqual(done.returncode, 0, f"git {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def set(self, name, value):
        self.git("config", name, value)

    def guard(self, *words, **environment):
        return self.run_in([BINARY, "guard", *words], **environment)

    def install(self):
        done = self.guard("install")
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, path, text="text\n"):
        full = os.path.join(os.fsencode(self.root), os.fsencode(path))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as file:
            file.write(text)

    def stage(self, path, text="text\n"):
        self.write(path, text)
        self.git("add", "--", path)

    def commit(self, *words, **environment):
        return self.run_in(["git", "commit", "--quiet", "-m", "message", *words], **environment)

    def commits(self, *words, **environment):
        done = self.commit(*words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)

    def is_refused(self, pattern, *words, **environment):
        done = self.commit(*words, **environment)
        self.assertNotEqual(done.returncode, 0, "the commit went through")
        self.assertRegex(done.stderr, pattern)
        return done.stderr

    def take(self, *resources, holder="alice", predicate="MUTATES", session="one", more=()):
        out = self.ok("acquire", *resources, "--holder", holder, "--predicate", predicate, "--namespace",
                      self.name_space, "--session", session, "--ttl", "300s", *more)
        return [line.split(" ")[0] for line in out.splitlines()]

    def give_back(self, leases, holder="alice"):
        self.ok("release", *leases, "--holder", holder)

    def begin(self, *paths):
        """A first commit with these files, made without the hook."""
        for path in paths:
            self.stage(path)
        self.git("commit", "--quiet", "--allow-empty", "-m", "first")
        self.install()
