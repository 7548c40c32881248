"""`holdfast guard`, for real: a git repository in a temporary folder, its hook installed, commits refused and allowed."""

import json
import os
import re
import stat
import unittest

from mcp_session import Session
from processes import BINARY, DeadAddress
from repository import RepositoryTest


class GuardTest(RepositoryTest):
    # Who may commit

    def test_without_a_lease_a_commit_is_refused(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        text = self.is_refused(r"holdfast: +a\.c \(modified\): alice holds no lease")
        self.assertIn(f"holdfast acquire --holder alice --namespace {self.name_space} FILE:/a.c", text, "says what to do")
        self.assertEqual(self.guard().returncode, 104)
        self.take("FILE:/a.c")
        self.commits()
        self.assertEqual(self.guard().returncode, 0, "nothing is staged")

    def claim_as_told(self, text):
        """Runs the command of a refusal as it stands."""
        [command] = re.findall("to claim the files that nobody holds: (.*)", text)
        done = self.run_in(["sh", "-c", command], PATH=os.path.dirname(BINARY) + ":" + os.environ["PATH"],
                           HOLDFAST_SERVER=self.server.url)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")

    def test_the_command_that_is_suggested_works_beside_weaker_leases(self):
        self.begin("a.c", "src/b.c", "with space.c")
        for path in ("a.c", "src/b.c", "with space.c"):
            self.stage(path, "changed\n")
        self.take("FILE:/a.c", predicate="CONSUMES")
        self.take("FILE:/src/**", predicate="DEPENDS_ON")
        text = self.is_refused("alice holds no lease")
        self.assertIn("--session one", text)
        self.claim_as_told(text)
        self.commits()

    def test_the_command_that_is_suggested_works_beside_weaker_leases_of_several_sessions(self):
        self.begin("a.c", "b.c")
        for path in ("a.c", "b.c"):
            self.stage(path, "changed\n")
            self.take(f"FILE:/{path}", predicate="CONSUMES", session="of " + path)
        text = self.is_refused("alice holds no lease")
        self.assertIn("holdfast release --holder alice ", text)
        self.claim_as_told(text)
        self.commits()

    def test_a_lease_that_is_taken_by_hand_in_the_work_tree_counts(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        done = self.run_in([BINARY, "acquire", "FILE:/a.c"])
        self.assertEqual(done.returncode, 0, done.stderr)
        lease = done.stdout.split(" ")[0]
        self.assertTrue(lease.startswith(f"@{self.name_space}/FILE:/a.c#"), lease)
        self.commits()
        for words in (["renew", lease], ["renew", "--all"], ["release", "--all"]):
            done = self.run_in([BINARY, *words])
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("RELEASED", done.stdout)
        done = self.run_in([BINARY, "acquire", "FILE:/a.c", "--namespace", "default", "--holder", "carol"])
        self.assertTrue(done.stdout.startswith("FILE:/a.c#"), done.stdout)
        self.assertIn("held by carol", done.stderr)

    def test_while_another_holds_it_a_commit_is_refused(self):
        self.begin("src/a.c")
        theirs = self.take("FILE:/src/**", holder="bob", more=("--reason", "formatting"))
        self.stage("src/a.c", "changed\n")
        self.is_refused(r"src/a\.c \(modified\): bob holds FILE:/src/\*\* \(MUTATES\) for another (4m59|5m00).*: formatting")
        self.assertEqual(self.guard("check").returncode, 103)
        self.give_back(theirs, holder="bob")
        self.take("FILE:/src/a.c")
        self.commits()

    def test_a_reader_is_in_the_way_of_a_change(self):
        self.begin("a.c")
        self.take("FILE:/a.c", holder="bob", predicate="CONSUMES")
        self.stage("a.c", "changed\n")
        self.is_refused("bob holds FILE:/a.c \\(CONSUMES\\)")

    def test_a_lease_on_a_tree_covers_everything_below(self):
        self.begin("src/a.c", "other.c")
        self.take("FILE:/src/**")
        self.stage("src/a.c", "changed\n")
        self.stage("src/deep/er/new.c")
        self.commits()
        self.stage("other.c", "changed\n")
        self.is_refused("other.c")
        self.take("FILE:/**", predicate="MUTATES")
        self.commits()

    def test_a_lease_on_a_name_that_starts_alike_does_not_cover(self):
        self.begin("src/a.c", "src2/b.c")
        self.take("FILE:/src/**", "FILE:/src2")
        self.stage("src2/b.c", "changed\n")
        self.is_refused("src2/b.c")

    def test_another_predicate_does_not_allow_a_change(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        for predicate in ("CONSUMES", "DEPENDS_ON", "PROVIDES", "DELETES", "RENAMES"):
            lease = self.take("FILE:/a.c", predicate=predicate)
            self.is_refused("alice holds no lease")
            self.give_back(lease)

    def test_a_lease_in_another_namespace_does_not_count(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        self.take("FILE:/a.c")
        self.set("holdfast.namespace", "another-repository")
        self.is_refused("alice holds no lease")
        self.is_refused("alice holds no lease", HOLDFAST_NAMESPACE="default")
        self.commits(HOLDFAST_NAMESPACE=self.name_space)

    def test_a_lease_that_ended_does_not_count(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        self.give_back(self.take("FILE:/a.c"))
        self.is_refused("alice holds no lease")

    def test_who_commits_is_said_by_option_variable_or_git_config(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        self.take("FILE:/a.c", holder="bob")
        self.is_refused("bob holds")
        self.assertEqual(self.guard("check", "--holder", "bob").returncode, 0)
        self.assertEqual(self.guard("--holder", "bob").returncode, 0)
        self.git("config", "--unset", "holdfast.holder")
        self.is_refused("bob holds")
        self.commits(HOLDFAST_HOLDER="bob")

    # What a commit touches

    def test_the_first_commit_is_checked_too(self):
        self.install()
        self.stage("a.c")
        self.is_refused(r"a\.c \(added\)")
        self.take("FILE:/a.c")
        self.commits()

    def test_a_deletion_needs_deletes_or_mutates(self):
        self.begin("a.c", "b.c")
        self.git("rm", "--quiet", "a.c")
        self.is_refused(r"a\.c \(deleted\)")
        self.take("FILE:/a.c", predicate="DELETES")
        self.commits()
        self.git("rm", "--quiet", "b.c")
        self.take("FILE:/b.c", predicate="MUTATES")
        self.commits()

    def test_a_rename_needs_both_sides(self):
        self.begin("old.c")
        self.git("mv", "old.c", "new.c")
        text = self.is_refused(r"old\.c \(deleted\)")
        self.assertIn("new.c (added)", text)
        one = self.take("FILE:/old.c", predicate="RENAMES")
        self.is_refused(r"new\.c \(added\)")
        self.give_back(one)
        self.take("FILE:/old.c", "FILE:/new.c", predicate="RENAMES")
        self.commits()

    def test_a_copy_needs_only_its_new_name(self):
        self.begin("a.c")
        self.stage("copy.c")
        self.take("FILE:/copy.c")
        self.commits()

    def test_a_change_of_mode_is_a_change(self):
        self.begin("run.sh")
        self.git("update-index", "--chmod=+x", "run.sh")
        self.is_refused(r"run\.sh \(modified\)")
        self.take("FILE:/run.sh")
        self.commits()

    def test_a_file_that_becomes_a_link_is_a_change(self):
        self.begin("a.c", "b.c")
        os.unlink(self.root + "/b.c")
        os.symlink("a.c", self.root + "/b.c")
        self.git("add", "b.c")
        self.is_refused(r"b\.c \(modified\)")
        self.take("FILE:/b.c")
        self.commits()

    def test_odd_file_names(self):
        self.begin("plain.c")
        names = {"with space.c": "FILE:/with space.c", "new\nline": "FILE:/new%0Aline", "umlaut-ä-日本.c": "FILE:/umlaut-ä-日本.c",
                 "quote\"s'.c": "FILE:/quote\"s'.c", "tab\t": "FILE:/tab%09", " -rf": "FILE:/ -rf", "end ": "FILE:/end%20",
                 "100%25.c": "FILE:/100%2525.c", "hash#1": "FILE:/hash#1", "glob*/?[x]": "FILE:/glob*/?[x]",
                 "dir/**": "FILE:/dir/%2A%2A", "a:b\\c": "FILE:/a:b\\c"}
        for name in names:
            self.stage(name)
        text = self.is_refused("new%0Aline")
        self.assertNotIn("new\nline", text)
        report = json.loads(self.guard("--json").stdout)
        self.assertEqual({one["resource"] for one in report["findings"]}, set(names.values()))
        self.take(*names.values())
        self.commits()

    def test_a_name_that_is_no_text_can_be_claimed(self):
        self.begin("plain.c")
        name = b"latin-\xe4.c"
        with open(os.path.join(os.fsencode(self.root), name), "w") as file:
            file.write("text\n")
        self.git("add", "--all")
        self.is_refused("latin-%E4.c")
        self.take("FILE:/latin-%E4.c")
        self.commits()

    def test_a_submodule_that_points_elsewhere_is_a_change(self):
        self.begin("a.c")
        commit = self.git("rev-parse", "HEAD").strip()
        self.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        self.is_refused(r"sub \(added\)")
        self.take("FILE:/sub")
        self.commits()

    def test_another_index_is_the_one_that_counts(self):
        self.begin("a.c", "b.c")
        self.stage("a.c", "changed\n")
        self.write("b.c", "changed\n")
        self.take("FILE:/b.c")
        self.commits("--", "b.c")  # git makes an index of its own for this
        self.is_refused("a.c")
        self.write("b.c", "again\n")
        self.is_refused("a.c", "--all")

    def test_a_commit_from_a_folder_below_is_the_same(self):
        self.begin("src/a.c", "top.c")
        self.stage("src/a.c", "changed\n")
        self.stage("top.c", "changed\n")
        self.set("diff.relative", "true")
        self.take("FILE:/src/a.c")
        done = self.run_in(["git", "commit", "-m", "m"], cwd=self.root + "/src")
        self.assertRegex(done.stderr, r"top\.c \(modified\)")
        report = json.loads(self.run_in([BINARY, "guard", "--json"], cwd=self.root + "/src").stdout)
        self.assertEqual([one["resource"] for one in report["findings"]], ["FILE:/top.c"])

    def test_a_linked_work_tree_has_the_same_names(self):
        self.begin("a.c")
        other = self.scratch + "/linked"
        self.git("worktree", "add", "--quiet", other)
        with open(other + "/a.c", "w") as file:
            file.write("changed\n")
        self.git("add", "a.c", cwd=other)
        self.assertIn("a.c (modified)", self.run_in(["git", "commit", "-m", "m"], cwd=other).stderr)
        self.take("FILE:/a.c")
        self.git("commit", "--quiet", "-m", "m", cwd=other)

    def test_a_merge_touches_only_what_is_like_neither_side(self):
        self.begin("a.c", "b.c", "both.c")
        self.take("FILE:/**")
        self.git("checkout", "--quiet", "-b", "theirs")
        for path in ("a.c", "both.c"):
            self.stage(path, "theirs\n")
        self.commits()
        self.git("checkout", "--quiet", "main")
        for path in ("b.c", "both.c"):
            self.stage(path, "ours\n")
        self.commits()
        self.ok("revoke", *[lease["id"] for lease in self.json("list", "--namespace", self.name_space)["leases"]])
        self.assertNotEqual(self.run_in(["git", "merge", "theirs"]).returncode, 0, "a conflict")
        self.stage("both.c", "resolved\n")
        text = self.is_refused(r"both\.c \(modified\)")
        self.assertNotIn("a.c", text)
        self.take("FILE:/both.c")
        self.commits()

    def test_many_files_take_few_requests_and_the_refusal_is_short(self):
        self.begin("a.c")
        for number in range(3000):
            self.write(f"many/{number % 50}/{number}.c")
        self.git("add", "--all")
        text = self.is_refused("and 2980 more")
        self.assertLess(len(text.splitlines()), 30)
        self.assertEqual(len(json.loads(self.guard("--json").stdout)["findings"]), 3000)
        self.take("FILE:/many/**")
        self.commits()

    def test_the_report_as_json(self):
        self.begin("src/a.c", "b.c")
        self.stage("src/a.c", "changed\n")
        self.stage("b.c", "changed\n")
        [theirs] = self.take("FILE:/src/**", holder="bob", more=("--reason", "formatting"))
        done = self.guard("check", "--json")
        self.assertEqual((done.returncode, done.stderr), (103, ""))
        report = json.loads(done.stdout)
        self.assertEqual((report["allowed"], report["holder"], report["namespace"], report["files"]),
                         (False, "alice", self.name_space, 2))
        by_name = {one["resource"]: one for one in report["findings"]}
        self.assertEqual((by_name["FILE:/b.c"]["why"], by_name["FILE:/b.c"]["conflicts"]), ("not_held", []))
        conflict = by_name["FILE:/src/a.c"]["conflicts"][0]
        self.assertEqual((conflict["id"], conflict["holder"], conflict["reason"]), (theirs, "bob", "formatting"))
        self.assertGreater(conflict["expires_in_ms"], 0)
        self.git("reset", "--quiet", "--hard")
        self.assertTrue(json.loads(self.guard("--json").stdout)["allowed"])

    def test_what_an_agent_claims_by_its_path_can_be_committed(self):
        self.begin("a.c", "src/b.c", "app/[id]/page.tsx", "100%25.c", "new\nline", "end ", "caf\u0065\u0301.c", "target.c")
        os.symlink("target.c", self.root + "/link.c")
        self.git("add", "link.c")
        self.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "link")
        session = Session(self, cwd=self.root)
        for path in ("a.c", "src", "app/[id]/page.tsx", "100%25.c", "new\nline", "end ", "caf\u00e9.c", "link.c", "fresh.c",
                     "Folder"):
            self.assertFalse(session.call("claim_intents", intents=[{"path": path}])["isError"], path)
        for path in ("a.c", "src/b.c", "src/deep/new.c", "app/[id]/page.tsx", "100%25.c", "new\nline", "end ",
                     "caf\u0065\u0301.c", "target.c", "fresh.c", "Folder/x"):
            self.stage(path, "changed\n")
        os.unlink(self.root + "/link.c")
        os.symlink("a.c", self.root + "/link.c")
        self.git("add", "link.c")
        self.commits()

    # Without a server

    def test_without_a_server_a_commit_is_refused_unless_allowed(self):
        self.begin("a.c")
        self.stage("a.c", "changed\n")
        with DeadAddress() as nowhere:
            self.is_refused("(?s)holdfast serve.*holdfast.allowOffline", HOLDFAST_SERVER=nowhere)
            self.assertEqual(self.guard(HOLDFAST_SERVER=nowhere).returncode, 105)
            allowed = self.guard("check", "--allow-offline", HOLDFAST_SERVER=nowhere)
            self.assertEqual(allowed.returncode, 0)
            self.assertIn("committing unchecked", allowed.stderr)
            self.set("holdfast.allowOffline", "no")
            self.is_refused("holdfast serve", HOLDFAST_SERVER=nowhere)
            self.set("holdfast.allowOffline", "yes")
            self.commits(HOLDFAST_SERVER=nowhere)

    # The hook

    def hook(self, folder=".git/hooks"):
        return os.path.join(self.root, folder, "pre-commit")

    def test_install_and_uninstall(self):
        self.git("commit", "--quiet", "--allow-empty", "-m", "first")
        self.install()
        self.assertTrue(os.stat(self.hook()).st_mode & stat.S_IXUSR)
        self.install()  # again is no error
        self.assertEqual(self.guard("uninstall").returncode, 0)
        self.assertFalse(os.path.exists(self.hook()))
        self.assertEqual(self.guard("uninstall").returncode, 0, "again is no error")
        self.stage("a.c")
        self.commits()

    def test_another_hook_is_never_lost(self):
        theirs = "#!/bin/sh\necho theirs >&2\n"
        self.write(".git/hooks/pre-commit", theirs)
        os.chmod(self.hook(), 0o755)
        self.assertEqual(self.guard("uninstall").returncode, 0)
        with open(self.hook()) as file:
            self.assertEqual(file.read(), theirs, "not ours to take away")
        done = self.guard("install")
        self.assertEqual(done.returncode, 0)
        self.assertIn("pre-commit.before-holdfast and runs first", done.stdout)
        self.stage("a.c")
        self.assertIn("theirs", self.is_refused("a.c"))
        done = self.guard("install", "--force")
        self.assertIn("pre-commit.before-holdfast and does not run", done.stdout)
        self.assertNotIn("theirs", self.is_refused("a.c"))
        self.write(".git/hooks/pre-commit", theirs)  # by a program that does not look
        self.assertEqual(self.guard("install").returncode, 1)
        os.unlink(self.hook() + ".before-holdfast")
        self.install()
        self.assertEqual(self.guard("uninstall").returncode, 0)
        with open(self.hook()) as file:
            self.assertEqual(file.read(), theirs)
        self.assertIn("theirs", self.commit().stderr)

    def test_the_line_for_another_hook_works_in_it(self):
        self.write(".git/hooks/pre-commit", f"#!/bin/sh\nPATH={os.path.dirname(BINARY)}:$PATH\n"
                                            "holdfast guard check || exit $?\necho passed >&2\n")
        os.chmod(self.hook(), 0o755)
        self.stage("a.c")
        self.assertNotIn("passed", self.is_refused("a.c"))
        self.take("FILE:/a.c")
        self.assertIn("passed", self.commit().stderr)

    def test_the_folder_for_hooks_may_be_elsewhere(self):
        self.set("core.hooksPath", "my hooks")
        self.assertIn("each work tree", self.guard("install").stderr, "git looks for it in each of them")
        self.assertTrue(os.path.exists(self.hook("my hooks")))
        self.assertFalse(os.path.exists(self.hook()))
        self.stage("a.c")
        self.is_refused("a.c")

    def test_outside_of_a_repository_there_is_nothing_to_guard(self):
        for words in ((), ("check",), ("install",), ("uninstall",)):
            done = self.run_in([BINARY, "guard", *words], cwd=self.scratch, GIT_CEILING_DIRECTORIES=self.scratch)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("not in a git work tree", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
