"""`holdfast guard` against every command of git that brings content into a branch without `git commit`."""

import os
import unittest

from processes import DeadAddress
from repository import RepositoryTest


class GuardHistoryTest(RepositoryTest):
    def environment(self, **more):
        return super().environment(GIT_EDITOR="true", **more)

    def tip(self, name="HEAD"):
        return self.git("rev-parse", name).strip()

    def bypassing(self, *words, cwd=None):
        """As somebody who switched the hooks off."""
        return self.git("-c", "core.hooksPath=/dev/null", *words, cwd=cwd)

    def on_a_branch(self, name, path, text="theirs\n"):
        """A commit on a branch of its own that was never checked; back on main."""
        self.bypassing("checkout", "--quiet", "-b", name)
        self.stage(path, text)
        self.bypassing("commit", "--quiet", "-m", f"{name} changes {path}")
        self.bypassing("checkout", "--quiet", "main")

    def refuses(self, *words, path="a.c", **environment):
        """It fails, says why, and the branch stays where it was."""
        before = self.tip("refs/heads/main")
        done = self.run_in(["git", *words], **environment)
        self.assertNotEqual(done.returncode, 0, f"git {words} went through")
        self.assertIn(f"{path} (", done.stderr, words)
        self.assertEqual(self.tip("refs/heads/main"), before, words)
        return done.stderr

    # Commands that make commits

    def test_cherry_pick(self):
        self.begin("a.c")
        self.on_a_branch("side", "a.c")
        self.assertIn("holdfast acquire", self.refuses("cherry-pick", "side"))
        self.take("FILE:/a.c")
        self.git("cherry-pick", "--continue")
        self.assertIn("side changes", self.git("log", "-1", "--format=%s"))

    def test_a_cherry_pick_that_was_refused_can_be_undone(self):
        self.begin("a.c")
        self.on_a_branch("side", "a.c")
        self.refuses("cherry-pick", "side")
        self.git("cherry-pick", "--abort")
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_revert(self):
        self.begin("a.c")
        self.stage("a.c", "second\n")
        [lease] = self.take("FILE:/a.c")
        self.commits()
        self.give_back([lease])
        self.assertIn("git reset --merge", self.refuses("revert", "--no-edit", "HEAD"))
        self.git("reset", "--quiet", "--merge")
        self.take("FILE:/a.c")
        self.git("revert", "--no-edit", "HEAD")

    def test_am(self):
        self.begin("a.c")
        self.on_a_branch("side", "a.c")
        self.git("format-patch", "--quiet", "-1", "side", "-o", self.scratch)
        [patch] = [name for name in os.listdir(self.scratch) if name.endswith(".patch")]
        self.refuses("am", "--quiet", os.path.join(self.scratch, patch))
        self.take("FILE:/a.c")
        self.git("am", "--continue")

    def test_rebase(self):
        self.begin("a.c", "b.c")
        self.take("FILE:/b.c")
        self.on_a_branch("side", "a.c")
        self.stage("b.c", "ours\n")
        self.commits()
        self.git("checkout", "--quiet", "side")
        before = self.tip("side")
        done = self.run_in(["git", "rebase", "main"])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("a.c (modified)", done.stderr)
        self.assertNotIn("b.c", done.stderr, "checked when it was committed")
        self.assertEqual(self.tip("refs/heads/side"), before)
        self.take("FILE:/a.c")
        self.git("rebase", "--continue")
        self.assertNotEqual(self.tip("refs/heads/side"), before)

    def test_an_amended_commit_is_checked_for_what_it_changes_anew(self):
        self.install()
        [lease] = self.take("FILE:/a.c")
        self.stage("a.c")
        self.commits()
        self.stage("b.c")
        self.commits("--amend", "--allow-empty", "--", "a.c")
        self.give_back([lease])
        self.refuses("commit", "--amend", "--no-edit", path="b.c")
        self.take("FILE:/b.c")
        self.git("commit", "--quiet", "--amend", "--no-edit")
        self.assertEqual(self.git("show", "--name-only", "--format=").split(), ["a.c", "b.c"])

    def test_a_commit_that_skips_the_other_hooks_is_refused_all_the_same(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        self.refuses("commit", "--no-verify", "-m", "m")

    # Commands that move branches

    def test_a_fast_forward(self):
        self.begin("a.c")
        self.on_a_branch("side", "a.c")
        self.refuses("merge", "--ff-only", "side")
        self.git("reset", "--quiet", "--merge")
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.take("FILE:/a.c")
        self.git("merge", "--quiet", "--ff-only", "side")
        self.assertEqual(self.tip("main"), self.tip("side"))

    def test_a_fast_forward_to_what_was_checked_passes(self):
        self.begin("a.c")
        self.git("checkout", "--quiet", "-b", "side")
        leases = self.take("FILE:/a.c")
        self.stage("a.c", "changed\n")
        self.commits()
        self.give_back(leases)
        self.git("checkout", "--quiet", "main")
        self.git("merge", "--quiet", "--ff-only", "side")

    def test_a_merge_without_conflicts(self):
        self.begin("a.c", "b.c", "both.c")
        self.write("both.c", "".join(f"{i}\n" for i in range(30)))
        self.bypassing("commit", "--quiet", "-am", "long")
        [ours] = self.take("FILE:/**")
        self.git("checkout", "--quiet", "-b", "side")
        self.stage("a.c", "theirs\n")
        self.stage("both.c", "first\n" + "".join(f"{i}\n" for i in range(1, 30)))
        self.commits()
        self.git("checkout", "--quiet", "main")
        self.stage("both.c", "".join(f"{i}\n" for i in range(29)) + "last\n")
        self.commits()
        self.give_back([ours])
        text = self.refuses("merge", "--quiet", "-m", "m", "side", path="both.c")
        self.assertNotIn("a.c", text, "like one of the sides")
        self.git("merge", "--abort")
        self.take("FILE:/both.c")
        self.git("merge", "--quiet", "-m", "m", "side")

    def test_a_branch_that_is_moved_or_made_by_hand(self):
        self.begin("a.c")
        self.git("checkout", "--quiet", "--detach")
        self.stage("a.c", "detached\n")
        self.bypassing("commit", "--quiet", "-m", "detached")
        for words in (["branch", "-f", "main", "HEAD"], ["update-ref", "refs/heads/main", "HEAD"], ["branch", "new", "HEAD"],
                      ["fetch", "--quiet", ".", "HEAD:refs/heads/fetched"], ["checkout", "-B", "main"]):
            self.refuses(*words)
        self.refuses("-C", ".git", "update-ref", "refs/heads/main", self.tip())
        self.take("FILE:/a.c")
        self.git("branch", "new", "HEAD")

    def test_what_brings_nothing_new_into_a_branch_is_free(self):
        self.begin("a.c")
        self.write("a.c", "stashed\n")
        with DeadAddress() as nowhere:  # the server is not even asked
            for words in (["stash"], ["stash", "pop"], ["tag", "v1"], ["branch", "other"], ["branch", "-m", "other", "renamed"],
                          ["branch", "-D", "renamed"], ["checkout", "--quiet", "-b", "third"], ["checkout", "--quiet", "main"],
                          ["reset", "--quiet", "--hard"], ["commit", "--allow-empty", "-m", "empty"],
                          ["reset", "--quiet", "--hard", "HEAD~1"], ["worktree", "add", "--quiet", self.scratch + "/tree"],
                          ["update-ref", "refs/notes/x", "HEAD"]):
                self.git(*words, HOLDFAST_SERVER=nowhere)

    # Remotes

    def remote(self):
        """A repository that main is pushed to, and a clone of it."""
        bare, clone = self.scratch + "/bare", self.scratch + "/clone"
        self.git("init", "--quiet", "--bare", "--initial-branch=main", bare, cwd=self.scratch)
        self.git("remote", "add", "origin", bare)
        self.bypassing("push", "--quiet", "-u", "origin", "main")
        self.git("clone", "--quiet", bare, clone, cwd=self.scratch)
        return clone

    def test_what_comes_from_a_remote_was_checked_there(self):
        self.begin("a.c")
        clone = self.remote()
        with open(clone + "/a.c", "w") as file:
            file.write("theirs\n")
        self.bypassing("-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "--quiet", "-am", "theirs", cwd=clone)
        self.bypassing("push", "--quiet", cwd=clone)
        self.refuses("pull", "--quiet", "--ff-only", clone, "main")  # no remote of this repository
        self.git("reset", "--quiet", "--merge")
        with DeadAddress() as nowhere:
            self.git("fetch", "--quiet", HOLDFAST_SERVER=nowhere)
            self.git("pull", "--quiet", "--ff-only", HOLDFAST_SERVER=nowhere)
            self.git("push", "--quiet", HOLDFAST_SERVER=nowhere)

    def test_the_history_before_the_guard_is_taken_as_it_is(self):
        self.begin("a.c", "b.c")
        self.on_a_branch("older", "c.c")
        self.assertEqual(self.guard("uninstall").returncode, 0)
        self.stage("a.c", "before\n")
        self.commits()
        self.install()
        self.stage("b.c", "after\n")
        self.bypassing("commit", "--quiet", "-m", "after")
        self.install()  # again does not pass it
        bare = self.scratch + "/bare"
        self.git("init", "--quiet", "--bare", bare, cwd=self.scratch)
        text = self.refuses("push", "--quiet", bare, "main", path="b.c")
        self.assertNotIn("a.c", text)
        self.git("push", "--quiet", bare, "main~1:refs/heads/main")
        self.refuses("merge", "--quiet", "-m", "m", "older", path="c.c")

    def test_a_push_of_what_was_never_checked(self):
        self.begin("a.c", "b.c")
        self.remote()
        leases = self.take("FILE:/b.c")
        self.stage("b.c", "checked\n")
        self.commits()
        self.give_back(leases)
        self.git("push", "--quiet")
        self.stage("a.c", "unchecked\n")
        self.bypassing("commit", "--quiet", "-m", "unchecked")
        text = self.refuses("push", "--quiet")
        self.assertIn("this push is refused", text)
        self.assertNotIn("b.c", text)
        self.refuses("push", "--quiet", "origin", "HEAD:refs/heads/new")
        self.git("push", "--quiet", "origin", ":refs/heads/nothing", "HEAD~1:refs/heads/older")
        self.take("FILE:/a.c")
        self.git("push", "--quiet")
        self.assertEqual(self.tip("origin/main"), self.tip("main"))

    # Hooks that were there before

    def test_hooks_that_were_there_run_first_and_see_all_that_git_says(self):
        self.begin("a.c")
        self.remote()
        self.assertEqual(self.guard("uninstall").returncode, 0)
        folder, seen = self.root + "/.git/hooks/", self.scratch + "/seen"
        theirs = f'#!/bin/sh\nname=${{0##*/}}\necho "${{name%%.*}} $*" >> {seen}\n[ -t 0 ] || cat >> {seen}\n[ ! -e {self.scratch}/no ]\n'
        hooks = ("pre-commit", "pre-merge-commit", "pre-push", "reference-transaction")
        for name in hooks:
            self.write(".git/hooks/" + name, theirs)
            os.chmod(folder + name, 0o755)
        self.install()
        self.install()  # again changes nothing
        self.take("FILE:/a.c")
        self.stage("a.c", "changed\n")
        self.commits()
        self.git("push", "--quiet")
        with open(seen) as file:
            text = file.read()
        self.assertIn("pre-commit", text)
        self.assertRegex(text, r"reference-transaction prepared\n[0-9a-f]{40} [0-9a-f]{40} HEAD\n[0-9a-f]{40} [0-9a-f]{40} refs/heads/main\n")
        self.assertIn("reference-transaction committed", text)
        self.assertRegex(text, r"pre-push origin .*\nrefs/heads/main [0-9a-f]{40} refs/heads/main [0-9a-f]{40}\n")
        with open(self.scratch + "/no", "w"):
            self.stage("a.c", "again\n")
            self.assertNotEqual(self.commit().returncode, 0, "what they refuse stays refused")
        os.unlink(self.scratch + "/no")
        self.assertEqual(self.guard("uninstall").returncode, 0)
        for name in hooks:
            with open(folder + name) as file:
                self.assertEqual(file.read(), theirs)
        self.assertEqual([name for name in os.listdir(folder) if "holdfast" in name], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
