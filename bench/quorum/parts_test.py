"""The parts of `make bench-quorum` that need no etcd: a cluster under load, with and without a node that is killed, and
what is made of the results."""

import os
import pathlib
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

for folder in ("common", "quorum"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))

import plots  # noqa: E402
import report  # noqa: E402
from clusters import Holdfast  # noqa: E402

BUILD = pathlib.Path(os.environ["HOLDFAST_BUILD"])


class UnderLoad(unittest.TestCase):
    def setUp(self):
        data = tempfile.TemporaryDirectory(prefix="bench-quorum-")
        self.addCleanup(data.cleanup)
        self.cluster = Holdfast(os.environ["HOLDFAST_BIN"], data.name)
        self.addCleanup(self.cluster.stop)

    def load(self, clients, speaks):
        load = self.cluster.load(BUILD, clients, speaks)
        self.addCleanup(load.stop)
        return load

    def test_clients_of_both_protocols_take_release_and_renew(self):
        for speaks in ("resp", "http"):
            load = self.load(3, speaks)
            for operation in ("cycle", "renew", "heartbeat"):
                found = load.run(operation, 1)
                self.assertGreater(found["good"], 0, found)
                self.assertEqual(found["good"], sum(found["per_100ms"]), found)
                self.assertLessEqual(found["p50_us"], found["p99_us"])
                self.assertGreater(found["cpu_us"], 0)

    def test_clients_of_a_node_that_is_killed_go_on_at_another(self):
        load = self.load(3, "resp")
        load.begin("cycle", 6)
        self.cluster.kill(self.cluster.leader())
        killed_at = time.monotonic()
        found = load.result()
        self.assertGreater(found["retries"], 0, found)
        since = found["started"] + found["seconds"] - killed_at
        self.assertGreater(sum(found["per_100ms"][int(10 * (found["seconds"] - since)) + 1:]), 0, found)
        self.assertIsNotNone(self.cluster.terms())


def a_result(good=1000, **others):
    return {"per_second": good, "p50_us": 100.0, "p99_us": 900.0, "cpu_us": 20.0, "client_cpu_us": 9.0, "retries": 0, "seconds": 3, "started": 7.0,
            "longest_gap_ms": 12.0, "longest_wait_ms": 13.0, "per_100ms": [good // 10] * 30, **others}


class WhatIsMadeOfIt(unittest.TestCase):
    def test_a_ratio_is_of_one_round(self):
        rounds = [{"etcd": {"cycle/1": a_result(100)}, "holdfast resp": {"cycle/1": a_result(1000)}},
                  {"etcd": {"cycle/1": a_result(300)}, "holdfast resp": {"cycle/1": a_result(2400)}}]
        row = report.speed_rows(rounds)[1]
        self.assertEqual(row["ratio"], {"median": 9.0, "min": 8.0, "max": 10.0})
        self.assertIn("9.0 (8.0-10.0) >= 10", report.speed_table(report.speed_rows(rounds)))

    def test_the_rate_during_a_fault_is_of_the_slots_within(self):
        found = a_result(per_100ms=[5] * 10 + [0] * 10 + [5] * 5)
        self.assertEqual(report.rate(found, 0, 1), 50)
        self.assertEqual(report.rate(found, 1, 2), 0)
        self.assertEqual(report.rate(found, 2, 3), 10 * 4 * 5 / 9, "what is missing at the end is nothing")

    def test_plots_are_well_formed_and_have_a_bar_for_each_value(self):
        svg = plots.logarithmic_bars("a < b & c", "ms", [("one", [("etcd", 5, 4, 9), ("holdfast resp", 0.1, 0.1, 0.1)])])
        bars = xml.etree.ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(bars), 1 + 2 + 2, "the paper, the bars and the legend")
        svg = plots.time_lines("t", [("kill", "etcd", [1, 2, 0], [(0.1, 0.2, "kill")])])
        self.assertEqual(len(xml.etree.ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")), 1 + 1 + 3)


if __name__ == "__main__":
    unittest.main(verbosity=2)
