"""Checks that includes only point up the list of folders in CMakeLists.txt, that pure folders stay pure, and that
namespaces follow folders.

The list is read from the add_subdirectory() lines, so it exists once. A file belongs to the longest listed folder that
contains it: src/client/agent is part of src/client.
"""

import os
import re
import shutil
import tempfile
import unittest

SOURCE = os.environ["HOLDFAST_SOURCE"]

# Folders whose code gets time, randomness and I/O as arguments, so that the simulator runs what ships.
PURE = ("lease", "auth", "codec", "codec/record", "codec/peer", "store", "store/memory", "store/cas", "store/quorum", "consensus",
        "authority", "election", "agreed", "redis", "keys", "keys/controller", "discovery", "discovery/directory")
IMPURE = re.compile(r'#include *[<"](boost/(asio|beast)|thread|mutex|condition_variable|random)|_clock::now|random_device')
# There is one JSON reader, whose parser is this.
JSON_READER = "base/json.cpp"
JSON_PARSER = re.compile(r"#include <boost/json")
INCLUDE = re.compile(r'^#include "([^"]+/[^"]+)"', re.MULTILINE)

NAMESPACE = re.compile(r"^namespace (holdfast[\w:]*(?:::inline base)?) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FORWARD = re.compile(r"(?:\s*(?:enum )?(?:class|struct) \w+(?: : [\w:]+)?;)*\s*")
# Where classes of the public API are implemented. These alone are in `holdfast` itself.
IMPLEMENT_API = ("client", "client/agent", "client/sessions", "discovery/publisher")


def layers(root):
    """The folders of src, lowest first."""
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.findall(r"^add_subdirectory\(src/(\S+)\)", file.read(), re.MULTILINE)


def folder_of(path, order):
    """The layer that a file below src is in, or None."""
    folder = os.path.dirname(path)
    while folder and folder not in order:
        folder = os.path.dirname(folder)
    return folder or None


def sources(root):
    for directory, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith((".h", ".cpp")):
                path = os.path.join(directory, name)
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, os.path.join(root, "src")), file.read()


def violations(root):
    order = layers(root)
    rank = {folder: place for place, folder in enumerate(order)}
    found = []
    for path, text in sources(root):
        folder = folder_of(path, rank)
        if folder is None:
            found.append(f"src/{path} is in no folder that CMakeLists.txt lists")
            continue
        for included in INCLUDE.findall(text):
            if not os.path.exists(os.path.join(root, "src", included)):
                continue  # public headers, and what protoc generates
            target = folder_of(included, rank)
            if target is not None and rank[target] > rank[folder]:
                found.append(f"src/{path} includes {included}, but {target} is listed below {folder}")
        if JSON_PARSER.search(text) and path != JSON_READER:
            found.append(f"src/{path} includes Boost.JSON; base/json.h is our reader")
        if folder in PURE:
            found += [f"src/{path} is in a pure folder, but has {match.group(0)}" for match in IMPURE.finditer(text)]
    return found


def namespace_of(folder):
    return "holdfast::inline base" if folder == "base" else "holdfast::" + folder.replace("/", "::")


def misplaced(root):
    """Namespaces that are not of the folder they are in, but for those that only declare a class of another folder."""
    found = []
    for path, text in sources(root):
        folder = os.path.dirname(path)
        own = namespace_of(folder)
        for name, body in NAMESPACE.findall(text):
            is_api = name == "holdfast" and folder in IMPLEMENT_API
            if name != own and not name.startswith(own + "::") and not is_api and not FORWARD.fullmatch(body):
                found.append(f"src/{path} has namespace {name}, not {own}")
    return found


NAMED = re.compile(r"`(src/[\w/]+\.(?:h|cpp))`|`(\w+)\(\)`")


def walked(page):
    """Each function that the page names, with the file that it names before."""
    named, file = [], None
    for match in NAMED.finditer(page):
        if match.group(1):
            file = match.group(1)
        elif file:
            named.append((file, match.group(2)))
    return named


def defines(root, file, function):
    """Whether the file, or its header, has this function."""
    text = ""
    for path in {file, os.path.splitext(file)[0] + ".h"}:
        if os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8") as source:
                text += source.read()
    return re.search(rf"\b{function}\(", text) is not None


class Layers(unittest.TestCase):
    def test_namespaces_follow_folders(self):
        self.assertEqual(misplaced(SOURCE), [])
        self.assertGreater(sum(len(NAMESPACE.findall(text)) for _, text in sources(SOURCE)), 300)

    def test_no_include_points_down_the_list_and_pure_folders_are_pure(self):
        self.assertEqual(violations(SOURCE), [])

    def test_every_pure_folder_is_listed(self):
        self.assertLessEqual(set(PURE), set(layers(SOURCE)))

    def test_much_is_looked_at(self):
        self.assertGreater(sum(len(INCLUDE.findall(text)) for _, text in sources(SOURCE)), 1000)

    def test_the_walks_through_the_code_name_functions_that_exist(self):
        with open(os.path.join(SOURCE, "docs/architecture.md"), encoding="utf-8") as page:
            named = walked(page.read())
        self.assertGreater(len(named), 40)
        self.assertEqual([f"{file} has no {function}()" for file, function in named if not defines(SOURCE, file, function)], [])


class Planted(unittest.TestCase):
    """The check itself: each violation is found in a tree that has it."""

    def tree(self, **files):
        root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, root)
        files = {"CMakeLists.txt": "add_subdirectory(src/base)\nadd_subdirectory(src/lease)\nadd_subdirectory(src/server)\n",
                 "src/base/a.h": "", "src/lease/b.h": '#include "base/a.h"\n', "src/server/c.cpp": '#include "lease/b.h"\n', **files}
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return root

    def test_a_tree_in_order_has_no_violation(self):
        self.assertEqual(violations(self.tree()), [])

    def test_an_arrow_that_points_down_is_found(self):
        root = self.tree(**{"src/base/up.cpp": '#include "lease/b.h"\n'})
        self.assertEqual(violations(root), ["src/base/up.cpp includes lease/b.h, but lease is listed below base"])

    def test_a_subfolder_belongs_to_the_folder_that_is_listed(self):
        root = self.tree(**{"src/base/deep/up.h": '#include "lease/b.h"\n', "src/server/deep/fine.h": '#include "base/a.h"\n'})
        self.assertEqual(len(violations(root)), 1)

    def test_a_folder_that_is_not_listed_is_found(self):
        self.assertEqual(len(violations(self.tree(**{"src/new/a.h": ""}))), 1)

    def test_a_clock_in_a_pure_folder_is_found(self):
        root = self.tree(**{"src/lease/now.cpp": "auto now = std::chrono::steady_clock::now();\n",
                            "src/lease/thread.h": "#include <thread>\n", "src/server/now.cpp": "#include <thread>\n"})
        self.assertEqual(len(violations(root)), 2)

    def test_a_second_json_reader_is_found(self):
        text = "#include <boost/json/parse.hpp>\n"
        root = self.tree(**{"src/base/json.cpp": text, "src/server/config.cpp": text})
        self.assertEqual(violations(root), ["src/server/config.cpp includes Boost.JSON; base/json.h is our reader"])

    def test_a_walk_to_a_function_that_is_gone_is_found(self):
        root = self.tree(**{"src/lease/b.cpp": "void here() {}\n"})
        named = walked("`src/lease/b.cpp` `here()` calls `gone()`; then `src/lease/lost.cpp` `here()`")
        self.assertEqual([defines(root, *one) for one in named], [True, False, False])

    def test_a_namespace_of_another_folder_is_found(self):
        root = self.tree(**{"src/lease/deep/fine.h": "namespace holdfast::base {\nclass Other;\n}\n\n"
                                                     "namespace holdfast::lease::deep {\nint f();\n}\n",
                            "src/lease/wrong.h": "namespace holdfast::base {\nint f();\n}\n"})
        self.assertEqual(misplaced(root), ["src/lease/wrong.h has namespace holdfast::base, not holdfast::lease"])


if __name__ == "__main__":
    unittest.main()
