"""Looks through the documentation: blocks of C++ are compiled, and commands name subcommands and options that exist.

docs_test.py PAGE…: the pages whose C++ the build compiles (CMakeLists.txt).
"""

import functools
import glob
import os
import re
import shlex
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
import snippets

SOURCE = os.environ["HOLDFAST_SOURCE"]
BINARY = os.environ["HOLDFAST_BIN"]
COMPILED = sys.argv[1:]
FRAGMENTS_MAX = 3


def pages():
    found = ["README.md", "examples/README.md", *glob.glob("docs/*.md", root_dir=SOURCE)]
    for page in sorted(found):
        with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
            yield page, file.read()


def commands(text):
    """The commands in blocks of shell: the line, and the words from `holdfast` on."""
    shell = False
    joined = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            shell = line.rstrip() in ("```sh", "```bash", "```console")
            continue
        if not shell and not line.startswith("    "):
            continue
        joined += line.rstrip("\\") if line.endswith("\\") else line
        if line.endswith("\\"):
            continue
        whole, joined = joined, ""
        for match in re.finditer(r"(?:^\s*(?:\$ )?|[;&|(] *|-- )holdfast(?= [a-z-])", whole):
            yield number, words_of(whole[match.end():])


def words_of(rest):
    """Up to the end of the command, its own arguments only."""
    lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = []
    try:
        for word in lexer:
            if word in ("--", "|", "||", "&", "&&", ";", "(", ")", ">", ">>", "<", "2>"):
                break
            words.append(word)
    except ValueError:  # a quote that ends on a later line
        pass
    return words


@functools.lru_cache(maxsize=None)
def help_of(*subcommands):
    done = subprocess.run([BINARY, *subcommands, "--help"], text=True, capture_output=True, timeout=60, check=False)
    return done.stdout if done.returncode == 0 else ""


def subcommands_in(text):
    _, found, rest = text.partition("Subcommands:\n")
    return set(re.findall(r"^  ([a-z][a-z-]*)", rest, re.MULTILINE)) if found else set()


def options_in(text):
    return set(re.findall(r"(?:^  |,)(--?[A-Za-z][\w-]*)", text, re.MULTILINE))


def problem_of(words):
    """Of the words after `holdfast`, the first that it does not know."""
    path = []
    known = options_in(help_of())
    takes_value_next = False
    for word in words:
        if word.startswith("--"):
            name = word.split("=")[0]
            if name not in known and name not in options_in(help_of(*path)):
                return "%s of 'holdfast %s'" % (name, " ".join(path))
            takes_value_next = "=" not in word
            continue
        below = subcommands_in(help_of(*path))
        if word in below and not (takes_value_next and path):
            path.append(word)
        elif not path and not takes_value_next:
            return "the subcommand '%s'" % word
        takes_value_next = False
    return None


def places(text):
    """The files and folders of the repository that a page names, each with the functions named after it."""
    for match in re.finditer(r"`((?:src|sim|tests|scripts|proto|include)/[\w./-]+)`((?:[ ,]+(?:then |and )?`\w+\(\)`)*)", text):
        if not match.group(1).endswith(".c"):  # an example
            yield match.group(1), re.findall(r"`(\w+)\(\)`", match.group(2))


def missing_place(path, functions):
    """What is wrong with a named file or function, or None."""
    whole = os.path.join(SOURCE, path)
    if not os.path.exists(whole):
        return "no " + path
    for function in functions:
        with open(whole, encoding="utf-8") as file:
            if not re.search(r"\b%s\(" % function, file.read()):
                return "no %s() in %s" % (function, path)
    return None


class Documentation(unittest.TestCase):
    def test_every_block_of_cpp_is_compiled(self):
        blocks = {page: list(snippets.blocks(text)) for page, text in pages()}
        self.assertEqual(sorted(page for page, found in blocks.items() if found), sorted(COMPILED))
        fragments = sum(is_fragment for found in blocks.values() for _, is_fragment, _ in found)
        self.assertLessEqual(fragments, FRAGMENTS_MAX, "write whole statements")

    def test_commands_name_subcommands_and_options_that_exist(self):
        seen = 0
        for page, text in pages():
            for number, words in commands(text):
                if not words or not re.fullmatch(r"--?[a-z].*|[a-z][a-z-]*", words[0]):
                    continue
                seen += 1
                problem = problem_of(words)
                with self.subTest(page=page, line=number):
                    self.assertIsNone(problem, "%s:%d: there is no %s" % (page, number, problem))
        self.assertGreater(seen, 60)

    def test_files_and_functions_that_are_named_exist(self):
        seen = functions_seen = 0
        decisions = sorted(glob.glob("docs/decisions/*.md", root_dir=SOURCE))
        for page in ["README.md", "CONTRIBUTING.md", *glob.glob("docs/*.md", root_dir=SOURCE), *decisions]:
            with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
                for path, functions in places(file.read()):
                    seen += 1
                    functions_seen += len(functions)
                    with self.subTest(page=page):
                        self.assertIsNone(missing_place(path, functions))
        self.assertGreater(seen, 80)
        self.assertGreater(functions_seen, 25)

    def test_notices_what_does_not_exist(self):
        self.assertEqual(list(places("`src/a.cpp` `f()` and `g()`, or `h()`")), [("src/a.cpp", ["f", "g"])])
        self.assertIsNone(missing_place("src/lease/rules.cpp", ["acquire"]))
        self.assertIsNotNone(missing_place("src/lease/rules.cpp", ["fly"]))
        self.assertIsNotNone(missing_place("src/lease/wings.cpp", []))
        self.assertIn("fly", problem_of(["fly"]))
        self.assertIn("--wings", problem_of(["run", "a", "--wings", "2"]))
        self.assertIsNone(problem_of(["run", "a", "--ttl", "2s"]))
        self.assertIsNone(problem_of(["--server", "http://x:1", "agent", "list"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
