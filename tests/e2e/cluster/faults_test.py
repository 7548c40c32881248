"""Two dozen holders contend through three nodes while nodes and holders are killed, stopped and cut off, by a seed. By what
the holders believed, never two had one resource at one instant, and tokens rise (T3, G3, Q1 to Q13)."""

import os
import random
import signal
import time
import unittest

from belief import Beliefs, Holders, wait_for_grants
from real_cluster import CLIENTS, RealCluster, main

SEED = int(os.environ.get("SEED", "20261116"))
SECONDS = float(os.environ.get("SECONDS", "50"))
TTL_MS = 2000
LONGER_THAN_A_LEASE = 1.5 * TTL_MS / 1000
PROCESSES, THREADS, RESOURCES = 6, 4, 8


class Faults(RealCluster):
    """What can go wrong: each is a function that does it and gives the one that undoes it."""

    longest_ttl = 3.0

    def kill_node(self, chance):
        id = chance.choice(self.ids)
        self.nodes[id].kill()
        return lambda: self.start_node(id)

    def restart_node(self, chance):
        id = chance.choice(self.ids)
        self.nodes[id].stop()
        return lambda: self.start_node(id)

    def stop_node(self, chance):
        return self.stop(self.nodes[chance.choice(self.ids)].process)

    def stop_holders(self, chance):
        return self.stop(chance.choice(self.holders).process)

    def stop(self, process):
        """Until it is undone, and for longer than a lease lasts."""
        process.send_signal(signal.SIGSTOP)
        stopped_at = time.monotonic()

        def go_on():
            time.sleep(max(0.0, stopped_at + LONGER_THAN_A_LEASE - time.monotonic()))
            process.send_signal(signal.SIGCONT)
        return go_on

    def kill_holders(self, chance):
        place = chance.randrange(PROCESSES)
        self.holders[place].kill()
        return lambda: self.start_holders(place)

    def cut_pair(self, chance):
        one, other = chance.sample([*self.ids, CLIENTS], 2)
        self.network.cut(one, other)
        return self.network.heal

    def isolate_node(self, chance):
        alone = chance.choice(self.ids)
        self.network.split([alone], [name for name in (*self.ids, CLIENTS) if name != alone])
        return self.network.heal

    def isolate_from_nodes(self, chance):
        alone = chance.choice(self.ids)
        self.network.split([alone], [id for id in self.ids if id != alone])
        return self.network.heal

    def cut_one_way(self, chance):
        source, target = chance.sample(self.ids, 2)
        self.network.cut_one_way(source, target)
        return lambda: self.network.mend_one_way(source, target)

    OF_PROCESSES = (kill_node, restart_node, stop_node, stop_holders, kill_holders)
    OF_CABLES = (cut_pair, isolate_node, isolate_from_nodes, cut_one_way)

    def start_holders(self, place):
        first = place % len(self.ids)
        self.lives += 1
        servers = self.urls(*self.ids[first:], *self.ids[:first])
        holders = Holders(self, self.beliefs, CLIENTS, "contend", servers, f"life-{self.lives}", THREADS, TTL_MS, RESOURCES,
                          SEED + self.lives)
        self.all_holders.append(holders)
        if place < len(self.holders):
            self.holders[place] = holders
        else:
            self.holders.append(holders)

    def test_no_two_hold_at_once_and_all_get_their_turns_whatever_happens(self):
        self.beliefs, self.holders, self.all_holders, self.lives = Beliefs(), [], [], 0
        self.start_cluster()
        for place in range(PROCESSES):
            self.start_holders(place)
        wait_for_grants(self.beliefs, PROCESSES * THREADS)
        done = self.make_trouble(random.Random(SEED))
        during = self.beliefs.grants()
        self.wait_until_together()
        for one in self.holders:
            wait_for_grants(one, 1)
        self.assertEqual([one.end() for one in self.holders], [0] * PROCESSES)

        self.assertEqual(self.beliefs.violations(), [], f"seed {SEED}")
        hand_overs = self.hand_overs()
        told = (f"seed {SEED}: {during} grants in the faults, {self.beliefs.grants()} in all, {hand_overs} hand-overs, "
                f"{self.beliefs.count('renewed')} renewals, {len(self.beliefs.losses)} losses; {done}")
        print(f"  {told}")
        self.assertGreater(sum(1 for count in done.values() if count), len(done) / 2, f"too few kinds of faults; {told}")
        self.assertGreater(sum(done.values()), SECONDS / 8, f"too little went wrong to prove anything; {told}")
        self.assertGreater(during, SECONDS, f"too little was granted to prove anything; {told}")
        self.assertGreater(hand_overs, SECONDS / 2, f"too little changed hands to prove anything; {told}")

    def make_trouble(self, chance):
        """One fault after the other for SECONDS, and some two at a time. At the end all is well again."""
        done = {kind.__name__: 0 for kind in self.OF_PROCESSES + self.OF_CABLES}
        end = time.monotonic() + SECONDS
        processes, cables = Shuffled(self.OF_PROCESSES, chance), Shuffled(self.OF_CABLES, chance)
        while time.monotonic() < end:
            undo = []
            for kind in chance.choice(([processes], [cables], [cables, processes])):
                fault = kind.next()
                undo.append(fault(self, chance))
                done[fault.__name__] += 1
            time.sleep(chance.uniform(0.2, LONGER_THAN_A_LEASE))  # so long it lasts, at least
            while undo:
                undo.pop()()
            time.sleep(chance.uniform(0, 1))
        return done

    def hand_overs(self):
        """How often a resource went from one process to another."""
        owner = {name: place for place, holders in enumerate(self.all_holders) for name in holders.own.holdings}
        count = 0
        for holdings in self.beliefs.by_resource().values():
            holdings.sort(key=lambda holding: holding.token)
            owners = [owner[holding.resource, holding.token] for holding in holdings]
            count += sum(one != other for one, other in zip(owners, owners[1:]))
        return count


class Shuffled:
    """Gives each as often as the others, in an order by chance."""

    def __init__(self, all, chance):
        self.all, self.chance, self.left = all, chance, []

    def next(self):
        if not self.left:
            self.left = list(self.all)
            self.chance.shuffle(self.left)
        return self.left.pop()


class TheCheckItself(unittest.TestCase):
    def check(self, *lines):
        beliefs = Beliefs()
        for line in lines:
            beliefs.hear(line)
        return len(beliefs.violations())

    def test_finds_two_that_hold_at_once(self):
        self.assertEqual(self.check("hold r 1 100 200", "hold r 2 199 300"), 1)
        self.assertEqual(self.check("hold r 1 100 200", "hold r 2 200 300"), 0)
        self.assertEqual(self.check("hold r 1 100 200", "hold s 2 150 300"), 0)

    def test_takes_renewals_losses_and_the_end_into_account(self):
        self.assertEqual(self.check("hold r 1 100 200", "hold r 1 150 400", "hold r 2 300 500"), 1)
        self.assertEqual(self.check("hold r 1 100 400", "end r 1 250", "hold r 2 300 500"), 0)
        self.assertEqual(self.check("hold r 1 100 400", "lost r 1 250 expired", "hold r 2 300 500"), 0)
        self.assertEqual(self.check("hold r 1 100 900", "hold r 2 200 300", "end r 2 250", "hold r 3 400 500"), 2)

    def test_finds_a_token_that_does_not_rise(self):
        self.assertEqual(self.check("hold r 2 100 200", "hold r 1 300 400"), 1)


if __name__ == "__main__":
    main()
