"""Checks that every name in the Python of this repository is defined: a missing import is found here, and not by the
test that happens to reach the line."""

import os
import subprocess
import tempfile
import unittest

SOURCE = os.environ["HOLDFAST_SOURCE"]
SKIPPED = {"build", "node_modules", ".git"}


def is_python(path):
    if path.endswith(".py"):
        return True
    if "." in os.path.basename(path):
        return False
    with open(path, "rb") as file:
        line = file.readline()
    return line.startswith(b"#!") and b"python3" in line


def scripts(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED)
        for path in (os.path.join(folder, name) for name in sorted(names)):
            if os.path.isfile(path) and is_python(path):
                yield path


def undefined_names(paths):
    said = subprocess.run(["pyflakes3", *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    return [line for line in said.splitlines() if "undefined name" in line or "invalid syntax" in line]


class PythonNames(unittest.TestCase):
    def test_every_name_is_defined(self):
        paths = list(scripts(SOURCE))
        self.assertGreater(len(paths), 100, "too few scripts were found to prove anything")
        self.assertEqual(undefined_names(paths), [])

    def test_a_planted_name_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "planted.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("def stop():\n    freezing.freeze(1)\n")
            self.assertEqual(len(undefined_names([path])), 1)


if __name__ == "__main__":
    unittest.main()
