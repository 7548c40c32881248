"""Runs the commands of README.md as they stand, and compiles its example.

It runs in a network namespace and a home of its own, so that the default port and the default state directory are free.
`make test` itself is the one command it leaves out: that is what runs this.
"""

import os
import re
import shlex
import subprocess
import tempfile
import unittest

SOURCE = os.environ["HOLDFAST_SOURCE"]
BUILD = os.environ["HOLDFAST_BUILD"]
LIMIT_S = 240


def blocks(language):
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as readme:
        return re.findall(r"^```%s\n(.*?)^```" % language, readme.read(), re.MULTILINE | re.DOTALL)


def own_network(command):
    """The same command, where nobody else listens. Loopback has to be brought up there."""
    return ["unshare", "--net", "sh", "-c", "ip link set lo up && exec " + shlex.join(command)]


class Readme(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.addCleanup(self.home.cleanup)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_")}
        self.env.update(HOME=self.home.name, XDG_STATE_HOME=os.path.join(self.home.name, "state"))
        # A ccache of the user's own would be looked for in the new home.
        self.env["CCACHE_DIR"] = os.environ.get("CCACHE_DIR", os.path.expanduser("~/.cache/ccache"))

    def type_beside_a_server(self, commands):
        """Runs `make run`, types the commands in another shell, and stops the server. Returns what was shown."""
        with open(os.path.join(self.home.name, "typed.sh"), "w", encoding="utf-8") as file:
            file.write(commands)
        done = subprocess.run(own_network(["bash", "-c", SESSION]), cwd=SOURCE, env=self.env, text=True, timeout=LIMIT_S,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_names_the_two_commands_and_what_to_type_then(self):
        commands = blocks("sh")
        self.assertEqual(commands[0].strip(), "make run")
        self.assertIn("make test\n", commands)
        self.assertGreaterEqual(len(commands), 4)

    def test_commands_work_as_they_stand(self):
        to_type = [b for b in blocks("sh") if b.strip() not in ("make run", "make test")]
        shown = self.type_beside_a_server("\n".join(to_type))
        for expected in ("I hold it, token ", "my turn", "TABLE:users", "alice", '"verdict":"GRANTED"',
                         "busy: exit code 103", "the commit was refused", "renaming the parser", "Tidy up",
                         "worker-1", "@redis/lock:42", "polled c0ffee00-0000-4000-8000-000000000042",
                         "I lead with token ", "a is dead, and room:7 is mine",
                         "doc-7 is served under token ", "hello from behind the relay"):
            self.assertIn(expected, shown.replace('": "', '":"'))

    def test_example_compiles_and_holds_its_lease(self):
        [example] = blocks("cpp")
        source = os.path.join(self.home.name, "example.cpp")
        binary = os.path.join(self.home.name, "example")
        with open(source, "w", encoding="utf-8") as file:
            file.write(example)
        lib = os.path.join(BUILD, "lib")
        subprocess.run(["g++", "-std=c++20", "-Wall", "-Werror", "-I" + os.path.join(SOURCE, "include"), source, "-L" + lib,
                        "-lholdfast", "-Wl,-rpath," + lib, "-o", binary], check=True)
        self.type_beside_a_server(shlex.quote(binary))
        without_server = subprocess.run(own_network([binary]), env=self.env, timeout=LIMIT_S)
        self.assertEqual(without_server.returncode, 1)


# `make run` in the first terminal, the rest in the second. The server is stopped by its process id, cleanly.
SESSION = r"""
set -eu
make run > "$HOME/server.log" 2>&1 &
server=$!
stop() {
    pkill -TERM -P "$server" || kill -TERM "$server" || true
    wait "$server" || { echo "make run did not stop cleanly"; cat "$HOME/server.log"; exit 1; }
}
trap 'cat "$HOME/server.log"' ERR
for _ in $(seq 2000); do
    grep -q "serving on http://127.0.0.1:7400" "$HOME/server.log" && break
    kill -0 "$server" || { cat "$HOME/server.log"; exit 1; }
    sleep 0.1
done
grep -q "serving on http://127.0.0.1:7400" "$HOME/server.log"
bash -eu "$HOME/typed.sh"
stop
"""


if __name__ == "__main__":
    unittest.main(verbosity=2)
