"""The parts of `make bench-stores`: the smallest round on each store, and what is made of the results."""

import importlib.util
import importlib.machinery
import os
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("common", "stores"):
    sys.path.insert(0, str(HERE.parent / folder))

import report  # noqa: E402
from servers import data_folder  # noqa: E402
from ways import ALONE, DIRECTLY, FRONTS, ONE, STORES, TWO  # noqa: E402

HOLDFAST = pathlib.Path(os.environ["HOLDFAST_BIN"])
OPERATIONS = ("cycle", "renew", "heartbeat")


def load_script(path):
    """A script that has no ending as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


script = load_script(HERE.parents[1] / "scripts" / "bench-stores")


class SmallestRound(unittest.TestCase):
    """Two clients, so that two fronts have one each."""

    def measure(self, name):
        data = tempfile.TemporaryDirectory(prefix="bench-stores-")
        self.addCleanup(data.cleanup)
        os.chmod(data.name, 0o755)
        kind = STORES[name]
        if name == "etcd" and not (HOLDFAST.parent / "etcd_load").exists():
            kind = type("Etcd", (kind,), {"ways": (ONE, TWO)})  # what uses etcd itself is built only where gRPC is
        for seconds in (0.3, 3, 30):  # a machine may be so busy that nothing happens in the first of these
            found = script.measure_round(lambda: kind(HOLDFAST, data_folder(pathlib.Path(data.name))), [(2, OPERATIONS)], seconds, 0, name)
            if all(result["good"] > 0 for results in found.values() for result in results.values()):
                break
        self.assertEqual(set(found), set(kind.ways))
        for way, results in found.items():
            self.assertEqual(set(results), {f"{operation}/2" for operation in kind.only.get(way, OPERATIONS)})
            for key, result in results.items():
                self.assertGreater(result["good"], 0, (way, key, result))
                self.assertEqual(result["cpu_us_of"].get("engine", 0) > 0, way != ALONE, (way, key, result))
                self.assertEqual(result["cpu_us_of"].get("fronts", 0) > 0, way in (ALONE, *FRONTS), (way, key, result))
        return found

    def test_memory(self):
        self.measure("memory")

    def test_quorum(self):
        self.measure("quorum")

    def test_redis(self):
        rows = report.rows_of([self.measure("redis")])
        self.assertEqual(len(report.verdicts("redis", rows, FRONTS)), 2 * len(OPERATIONS))

    def test_postgres(self):
        self.measure("postgres")

    def test_etcd(self):
        self.measure("etcd")


def a_result(per_second, engine, fronts=0.0):
    return {"per_second": per_second, "good": 2 * per_second, "seconds": 2, "p50_us": 100.0, "p99_us": 900.0, "client_cpu_us": 9.0, "retries": 0, "first_retry": "",
            "cpu_us_of": {"engine": engine, "fronts": fronts}}


class WhatIsMadeOfIt(unittest.TestCase):
    ROUNDS = [{DIRECTLY: {"cycle/64": a_result(1000, 10)}, ONE: {"cycle/64": a_result(500, 12, 8)}},
              {DIRECTLY: {"cycle/64": a_result(4000, 10)}, ONE: {"cycle/64": a_result(1000, 14, 6)}}]

    def test_a_ratio_is_of_one_round(self):
        row = report.rows_of(self.ROUNDS)[1]
        self.assertEqual(row["ratios"]["time"], {"median": 3.0, "min": 2.0, "max": 4.0})
        self.assertAlmostEqual(row["ratios"]["engine"]["median"], 1.3)
        self.assertAlmostEqual(row["ratios"]["servers"]["median"], 2.0)

    def test_what_is_above_the_aim_is_said_plainly(self):
        rows = report.rows_of(self.ROUNDS)
        self.assertIn("3.00 (2.00-4.00) > 1.5", report.speed_table("redis", rows))
        self.assertEqual(report.verdicts("redis", rows, FRONTS),
                         ["redis, one front, acquire+release, 64 clients: ABOVE 1.5: time 3.00, CPU of engine and fronts 2.00"])

    def test_what_is_within_the_aim_is_said_too(self):
        rows = report.rows_of([{DIRECTLY: {"renew/1": a_result(1000, 10)}, ONE: {"renew/1": a_result(900, 10, 1)}}])
        self.assertEqual(report.verdicts("etcd", rows, FRONTS), ["etcd, one front, renew, 1 client: at most 1.5"])

    def test_plots_are_well_formed_and_have_a_bar_for_each_way(self):
        for svg in report.speed_plots({"redis": report.rows_of(self.ROUNDS)}).values():
            bars = xml.etree.ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")
            self.assertEqual(len(bars), 1 + 2 + 2, "the paper, the bars and the legend")


if __name__ == "__main__":
    unittest.main(verbosity=2)
