#!/usr/bin/env python3
"""The program holdfast-sim: its options, its output and its exit codes."""

import json
import signal
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


class SimProgram(unittest.TestCase):
    def test_runs_worlds_and_tells_what_happened_in_them(self):
        code, out, err = run("--seeds", "2", "--json")
        self.assertEqual(code, 0, err)
        finished = [json.loads(line) for line in out.splitlines()][-1]
        self.assertEqual((finished["kind"], finished["seeds"]), ("finished", 2))
        self.assertGreater(finished["grants"], 0)

    def test_replays_a_seed_exactly(self):
        first, again = (json.loads(run("--seed", "3", "--json")[1].splitlines()[-1]) for _ in range(2))
        for once in (first, again):
            del once["seconds"]
        self.assertEqual(first, again)
        self.assertGreater(first["messages"], 0)

    def test_speaks_to_people(self):
        code, out, _ = run("--seeds", "1", "--quiet")
        self.assertEqual(code, 0)
        self.assertIn("no rule was broken in 1 world", out)

    def test_refuses_what_makes_no_sense(self):
        for words in (["--seeds", "-1"], ["--seeds", "x"], ["--seed", "1", "--seeds", "2"], ["--bound", "5"], ["--nothing"],
                      ["--mutant", "early_expiry"]):
            code, out, err = run(*words)
            self.assertEqual(code, 2, (words, out, err))
            self.assertTrue(out or err)
        code, out, _ = run("--json", "--mutant", "early_expiry")
        self.assertEqual((code, json.loads(out)["error"]["code"]), (2, "invalid_argument"))

    def test_stops_with_its_summary_when_told_to(self):
        process = subprocess.Popen([PROGRAM, "--minutes", "60", "--json"], stdout=subprocess.PIPE, text=True)
        with process:
            json.loads(process.stdout.readline())  # it is under way
            process.send_signal(signal.SIGTERM)
            lines = process.stdout.read().splitlines()
        self.assertEqual(process.returncode, 0)
        finished = json.loads(lines[-1])
        self.assertEqual((finished["kind"], finished["stopped"]), ("finished", True))


if __name__ == "__main__":
    unittest.main()
