"""The parts of `make bench`, each alone and as small as it can be, on those who are there; what is made of the results; and that the
conformance table can say no."""

import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
for folder in ("common", "side"):
    sys.path.insert(0, str(HERE.parent / folder))

import clustered  # noqa: E402
import conformance  # noqa: E402
import documents  # noqa: E402
import fake_peer  # noqa: E402
import pictures  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
import scaling  # noqa: E402
import scenes  # noqa: E402
from holder import Holder  # noqa: E402
from run import PARTS, Bench, Settings  # noqa: E402
from servers import data_folder  # noqa: E402
import real_zookeeper  # noqa: E402
from real_redis import lives  # noqa: E402

TOOLS = pathlib.Path(os.environ["HOLDFAST_BIN"]).parent
SCRIPT = HERE.parents[1] / "scripts" / "bench"
HERE_ANYWAY = ("holdfast", "holdfast x3", "redis", "redis aof", "redis sentinel", "postgres")  # by scripts/setup test
TINY = Settings(rounds=1, long_rounds=1, seconds=0.3, settle_seconds=0.1, renewed=50, sizes=(10, 50), kept=2_000, ending=(50, 1_000),
                takeovers=1, death_seconds=5, stall_seconds=1, tries=2, at_once=6, clients=(1, 2), stalled=("holdfast", "holdfast x3"))


class EachPartAlone(unittest.TestCase):
    def measure(self, part, **changes):
        data = tempfile.TemporaryDirectory(prefix="bench-side-")
        self.addCleanup(data.cleanup)
        os.chmod(data.name, 0o755)
        bench = Bench(TOOLS, data_folder(pathlib.Path(data.name)), Settings(**{**TINY.__dict__, **changes}), HERE_ANYWAY)
        self.addCleanup(bench.stop_all)
        found = bench.run([part])[part]
        if part != "conformance":  # there it is in the cells
            self.assertEqual(bench.troubles, [])
        self.assertEqual(bench.running, [])
        self.assertEqual(bench.absent, {}, "what these need is built with the tests")
        return found["cells"] if part == "conformance" else found["rounds"]

    def check_rows(self, part, rounds):
        """Everybody has every figure of every table, and plots are well formed."""
        wanted = TINY.stalled if part == "stall" else PARTS[part]
        self.assertEqual(set(rounds[0]), set(wanted) & set(HERE_ANYWAY))
        for made in report.tables_of(part, rounds):
            for row in report.rows_of(rounds, made):
                self.assertEqual(set(row["raw"]), {column.key for column in made.columns}, row)
            self.assertIn("| holdfast", report.markdown_of(made, report.rows_of(rounds, made)))
        for svg in pictures.pictures({part: rounds}).values():
            xml.etree.ElementTree.fromstring(svg)

    def test_lock(self):
        rounds = self.measure("lock")
        self.check_rows("lock", rounds)
        for name, figures in rounds[0].items():
            self.assertGreater(figures["cpu_us/2"], 0, name)

    def test_renew(self):
        rounds = self.measure("renew")
        self.check_rows("renew", rounds)
        for name, figures in rounds[0].items():
            self.assertGreater(figures["per_second/50"], 0, name)
            self.assertGreater(figures["sent_bytes/50"], 0, name)

    def test_takeover(self):
        rounds = self.measure("takeover")
        self.check_rows("takeover", rounds)
        for name, figures in rounds[0].items():
            self.assertEqual((figures["early"], figures["granted"]), (0, 1), (name, figures))

    def test_expiry(self):
        rounds = self.measure("expiry")
        self.check_rows("expiry", rounds)
        for name, figures in rounds[0].items():
            self.assertEqual((figures["early"], figures["seen"]), (0, 50), (name, figures))

    def test_memory(self):
        self.check_rows("memory", self.measure("memory"))

    def test_growth(self):
        self.check_rows("growth", self.measure("growth"))

    def test_held(self):
        rounds = self.measure("held")
        self.check_rows("held", rounds)
        self.assertGreater(rounds[0]["holdfast"]["trips_per_check"], 1)

    def test_death(self):
        rounds = self.measure("death")
        self.check_rows("death", rounds)
        for name, figures in rounds[0].items():
            self.assertGreater(sum(figures["per_100ms"]), 0, name)

    def test_stall(self):
        self.check_rows("stall", self.measure("stall"))

    def test_conformance(self):
        for _ in range(3):  # a machine may be so busy that a scene shows nothing
            cells = self.measure("conformance")
            if not any(cell["verdict"] == conformance.UNKNOWN for each in cells.values() for cell in each.values()):
                break
        for name in ("holdfast", "holdfast x3"):
            for rule in ("token", "stale", "restart", "stops"):
                self.assertEqual(cells[name][rule]["verdict"], conformance.HOLDS, (name, rule, cells[name][rule]))
        self.assertEqual(cells["redis"]["restart"]["verdict"], conformance.FAILS, "it keeps nothing")
        self.assertEqual(cells["redis aof"]["restart"]["verdict"], conformance.HOLDS, cells["redis aof"]["restart"])


    def test_renewals_are_measured_once_with_growth(self):
        bench = Bench(TOOLS, None, TINY)
        bench.run = lambda parts: {"growth": {"rounds": [{"redis": {"cpu_us/10": 1.0, "cpu_us/50": 2.0}}]}} if parts == ["growth"] else {}
        self.assertEqual(bench.run_all(["renew", "growth"])["renew"], {"rounds": [{"redis": {"cpu_us/50": 2.0}}]})


    def test_parts_that_leave_nothing_behind_share_servers(self):
        bench = Bench(TOOLS, None, TINY)
        self.assertEqual(bench.along_with("lock", list(PARTS)), ["expiry", "held"])
        self.assertEqual(bench.along_with("memory", list(PARTS)), [])
        self.assertEqual(Bench(TOOLS, None, Settings()).along_with("lock", list(PARTS)), ["held"], "expiry has fewer rounds")


class Faked:
    """A participant whose faults are known."""

    def __init__(self, fault):
        self.fault, self.service = fault, fake_peer.Service(fault)

    def holder(self, name):
        return Holder([sys.executable, "-B", HERE / "fake_peer.py", self.fault, name, self.service.port])

    def is_up(self):
        return self.service.alive

    def kill_all(self):
        self.service.kill()

    def start_again(self):
        self.service.start()


class TheTableCanSayNo(unittest.TestCase):
    def broken_rules(self, fault):
        for ttl_ms in (3_000, 15_000):  # a machine may be so busy that a scene shows nothing in the first of these
            participant = Faked(fault)
            try:
                cells = conformance.conformance(participant, 2, ttl_ms=ttl_ms, restart_ttl_ms=ttl_ms)
            finally:
                participant.service.stop()
            if not any(cell["verdict"] == conformance.UNKNOWN for cell in cells.values()):
                break
        return {rule for rule, cell in cells.items() if cell["verdict"] != conformance.HOLDS}

    def test_each_fault_breaks_its_rules_and_no_others(self):
        with concurrent.futures.ThreadPoolExecutor(len(fake_peer.FAULTS)) as pool:  # it is waiting
            found = dict(zip(fake_peer.FAULTS, pool.map(self.broken_rules, fake_peer.FAULTS)))
        for fault, broken in found.items():
            self.assertEqual(broken - fake_peer.CONSEQUENCES.get(fault, set()), fake_peer.FAULTS[fault], fault)

    def test_a_double_grant_is_seen_even_before_the_servers_are_seen_to_be_back(self):
        scene = scenes.Restarted(unittest.mock.Mock(), ["a"], 8000, renews=False)
        scene.asked, scene.up_at = [(100, 200)], 300
        scene.won = {"a": {"granted": True, "answered": 200}}
        seen = {"lost": {"asked": 0}, "won": scene.won["a"], "renewed": None, "ttl_ms": 8000, "asked_at": scene._asked_when_up()}
        self.assertEqual(conformance.judge_restart([seen])["verdict"], conformance.FAILS)
        scene.won = {}
        self.assertEqual(scene._asked_when_up(), None, "nobody was asked while they were there")


ROUNDS = [{"holdfast": {"per_second/64": 1000, "cpu_us/64": 10.0}, "redis": {"per_second/64": 2000, "cpu_us/64": 5.0}},
          {"holdfast": {"per_second/64": 3000, "cpu_us/64": 10.0}, "redis": {"per_second/64": 3000, "cpu_us/64": 20.0}}]


class WhatIsMadeOfIt(unittest.TestCase):
    def test_a_ratio_is_of_one_round(self):
        made = report.tables_of("lock", ROUNDS)[0]
        row = report.rows_of(ROUNDS, made)[1]
        self.assertEqual(row["ratio"]["per_second/64"], {"median": 1.5, "min": 1.0, "max": 2.0})
        self.assertIn("1.50 (1.00-2.00)", report.text_of(made, [row]))

    def test_a_peer_that_is_better_is_named_and_whether_every_round_says_so(self):
        made = report.tables_of("lock", ROUNDS)[0]
        said = "Acquire and release, 64 clients, per second: redis has 1.50 (1.00-2.00) of what holdfast has, not in every round"
        self.assertEqual(report.behind(made, report.rows_of(ROUNDS, made)), [said])
        self.assertEqual(report.behind(made, report.rows_of(ROUNDS[:1], made)),
                         ["Acquire and release, 64 clients, per second: redis has 2.00 of what holdfast has",
                          "Acquire and release, 64 clients, server CPU us: redis has 0.50 of what holdfast has"])

    def test_a_figure_that_is_missing_is_a_dash(self):
        rounds = [{"holdfast": {"cpu_us/1000": 1.0, "cpu_us/1000000": 2.0}, "etcd": {"cpu_us/1000": 3.0}}]
        made = report.tables_of("growth", rounds)[0]
        self.assertEqual(report.shown_row(report.rows_of(rounds, made)[1], made), ["etcd", "disk", "3.00", "3.00", "-", "-"])

    def test_only_what_is_between_the_marks_is_replaced(self):
        text = "a\n<!-- generated: lock -->\nold\n<!-- end -->\nb\n<!-- generated: held -->\nkept\n<!-- end -->\n"
        self.assertEqual(documents.replaced(text, "lock", "new"), text.replace("\nold\n", "\n\nnew\n\n"))
        with self.assertRaises(ValueError):
            documents.replaced(text, "growth", "new")

    def test_the_documents_have_a_place_for_every_part(self):
        text = (HERE.parents[1] / "docs" / "benchmarks.md").read_text()
        for name in [*PARTS, "participants", "behind"]:
            documents.replaced(text, name, "")
        documents.replaced((HERE.parents[1] / "docs" / "scaling.md").read_text(), "arithmetic", "")

    def test_what_a_quorum_carries_is_counted_by_node(self):
        figures = {"bytes": 300.0, "cpu_us": 3.0, "sent": 100.0, "cycle_us": 60.0}
        got = scaling.carried(figures, 3)
        self.assertEqual((got["renewals"], got["leases_by_renewals"], got["cycles"]), (500_000, 5_000_000, 25_000))
        self.assertAlmostEqual(got["leases_by_memory"], 8 * 2**30 / 100)
        self.assertAlmostEqual(got["mbit"], 400)

    def test_lines_are_drawn_on_logarithmic_axes(self):
        axis = plots.Axis([1, 1000], 0, 300, True)
        self.assertEqual([axis.place(value) for value in (1, 10, 1000)], [0, 100, 300])
        svg = plots.lines("t", "x", "y", {"redis": [(1, 2), (1000, 5)], "etcd": [(1, 3)]}, x_logarithmic=True, y_logarithmic=True)
        places = xml.etree.ElementTree.fromstring(svg).findall("{http://www.w3.org/2000/svg}rect")
        self.assertEqual(len(places), 1 + 3 + 2, "the paper, the points and the legend")


class TheCommand(unittest.TestCase):
    def command(self, *words):
        out = tempfile.TemporaryDirectory(prefix="bench-side-")
        self.addCleanup(out.cleanup)
        os.chmod(out.name, 0o755)
        return [SCRIPT, "--build", TOOLS.parent, "--out", out.name, *words], pathlib.Path(out.name)

    def test_a_part_by_itself_prints_json_and_leaves_plots(self):
        command, out = self.command("--quick", "--json", "--only", "holdfast,redis", "lock")
        done = subprocess.run(command, capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(set(found["parts"]["lock"]["rounds"][0]), {"holdfast", "redis"})
        self.assertEqual(found, json.loads((out / "bench.json").read_text()))
        self.assertTrue((out / "throughput.svg").exists())

    def test_what_is_not_there_is_refused(self):
        self.assertEqual(subprocess.run([SCRIPT, "nonsense"], capture_output=True, timeout=60).returncode, 2)
        command, out = self.command("lock")
        self.assertEqual(subprocess.run([*command, "--build", out / "nothing"], capture_output=True, timeout=60).returncode, 1)

    def test_one_that_is_built_but_has_no_server_does_not_take_part(self):
        with tempfile.TemporaryDirectory() as tools, unittest.mock.patch.object(real_zookeeper, "JARS", ("nowhere",)):
            for tool in ("peer_client", "zookeeper_load"):
                (pathlib.Path(tools) / tool).touch()
            found, absent = clustered.present(["zookeeper", "zookeeper x3"], tools)
        self.assertEqual((found, set(absent)), ([], {"zookeeper", "zookeeper x3"}))
        self.assertIn("scripts/setup bench", absent["zookeeper"])

    def test_sigterm_ends_all_that_it_started(self):
        command, out = self.command("--quick", "--only", "holdfast,redis", "expiry")
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        until = time.monotonic() + 60
        started = []
        while len(started) < 2 and time.monotonic() < until:  # a server and its client
            started = (pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()).split()
            time.sleep(0.02)
        self.assertEqual(len(started), 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 143)
        self.assertEqual([pid for pid in started if lives(int(pid))], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
