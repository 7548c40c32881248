"""Three instances and a thousand sessions: each has its share, and when one goes or comes only its share moves (O3)."""

import subprocess
import sys
import unittest

from stores import PATIENCE, STORES, OwnershipTest, clean_environment, eventually, start

INSTANCE = sys.argv.pop()
TTL_MS = 3000


class BalanceTest(OwnershipTest):
    kind = STORES[sys.argv.pop()]

    def launch(self, number):
        name = f"poller-{number}-17{number:017d}-0000000{number}"
        process = start([INSTANCE, self.store.url, self.session_file, name, str(TTL_MS)], text=True,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_environment())
        self.started.append(process)
        process.name = process.stdout.readline().strip()
        self.assertEqual(process.name, name)
        return process

    def settled(self, instances):
        names = [instance.name for instance in instances]
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        return self.owners()

    def watch_until_settled(self, instances, stays):
        """Looks again and again until everyone owns what it should; what must stay never moves meanwhile."""
        names = [instance.name for instance in instances]

        def look():
            now = self.owners()
            moved = {session: now[session] for session in stays if now[session] != stays[session]}
            self.assertEqual(moved, {}, "moved without a reason")
            return self.everyone_owns_what_it_should(names)
        eventually("everyone owns what it should", look)
        return self.owners()

    def test_a_thousand_sessions_are_shared_and_only_what_must_move_moves(self):
        self.write_sessions(1000)
        one, two, three = instances = [self.launch(number) for number in (1, 2, 3)]
        before = self.settled(instances)
        shares = {instance.name: list(before.values()).count(instance.name) for instance in instances}
        for share in shares.values():
            self.assertAlmostEqual(share, 1000 / 3, delta=1000 / 30, msg=f"within 10 % of a third: {shares}")

        two.kill()
        two.wait(PATIENCE)
        stays = {session: owner for session, owner in before.items() if owner != two.name}
        after = self.watch_until_settled([one, three], stays)
        self.assertEqual(set(after.values()), {one.name, three.name})

        four = self.launch(4)
        eventually("the fourth is seen to live", lambda: four.name in self.look()[0])
        preferred = {name: session["preferred"] for name, session in self.look()[1].items()}
        stays = {session: owner for session, owner in after.items() if preferred[session] != four.name}
        self.assertGreater(len(stays), 500)
        last = self.watch_until_settled([one, three, four], stays)
        self.assertAlmostEqual(list(last.values()).count(four.name), 1000 / 3, delta=1000 / 10)

        three.stdin.close()
        self.assertEqual(three.wait(PATIENCE), 0, "everything was handed over")
        nodes, sessions = self.look()
        self.assertNotIn(three.name, nodes, "its heartbeat is gone, and so is every lease of it")


if __name__ == "__main__":
    unittest.main(verbosity=2)
