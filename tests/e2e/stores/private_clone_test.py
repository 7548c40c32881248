"""A clone may lie in a directory that nobody but its owner can enter, and PostgreSQL, if root runs the tests, is nobody's."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("server", "../support")]

import real_postgres  # noqa: E402
from free_ports import free_ports  # noqa: E402
from harness import PATIENCE, eventually  # noqa: E402


class PrivateClone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """The programs of PostgreSQL, once more, where only their owner can enter."""
        programs = real_postgres.programs()
        place = programs[:programs.index("/usr/lib/postgresql")]
        cls.private = tempfile.mkdtemp(prefix="holdfast-private-")
        cls.addClassCleanup(shutil.rmtree, cls.private)
        for part in ("usr/lib/postgresql", "usr/share/postgresql"):
            shutil.copytree(os.path.join(place or "/", part), os.path.join(cls.private, part), symlinks=True)
        os.environ["HOLDFAST_POSTGRES"] = cls.private
        real_postgres.programs.cache_clear()

    def test_scripts_start_postgresql_from_a_place_that_others_cannot_enter(self):
        directory = tempfile.mkdtemp(prefix="holdfast-private-data-")
        self.addCleanup(shutil.rmtree, directory)
        port = free_ports(1)[0]
        server = real_postgres.start_postgres(port, directory)
        self.addCleanup(real_postgres.kill, server)
        eventually("it takes connections", lambda: real_postgres.is_ready(port))

    def test_tests_in_cpp_start_postgresql_from_a_place_that_others_cannot_enter(self):
        program = os.path.join(os.environ["HOLDFAST_BUILD"], "bin", "store_postgres_schema_test")
        done = subprocess.run([program, "--gtest_filter=PostgresSchema.one_that_was_begun_is_completed"], cwd=self.private,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=2 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("[  PASSED  ] 1 test.", done.stdout)


if __name__ == "__main__":
    unittest.main()
