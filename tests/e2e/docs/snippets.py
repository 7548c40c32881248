"""Makes one C++ file of the ```cpp blocks of a page, for the compiler: snippets.py PAGE OUT.

A block is the body of a function of its own, after its #include lines, or a whole program if it defines main. What it
calls without defining it is declared in prelude.h. A block that is neither is marked ```cpp fragment and left out.
"""

import os
import re
import sys

BLOCK = re.compile(r"^```cpp([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(text):
    """The line that each block begins at, whether it is a fragment, and its lines."""
    for match in BLOCK.finditer(text):
        mark = match.group(1).strip()
        if mark not in ("", "fragment"):
            raise ValueError("the only mark that a block of C++ may have is 'fragment', not '%s'" % mark)
        yield text.count("\n", 0, match.start()) + 2, mark == "fragment", match.group(2).splitlines()


def translated(page, text):
    includes, bodies = [], []
    for first, fragment, lines in blocks(text):
        if fragment:
            continue
        body = []
        for number, line in enumerate(lines, first):
            is_include = line.startswith("#include")
            target = includes if is_include else body
            target.append('#line %d "%s"\n%s' % (number, page, line))
        body = "\n".join(body)
        if re.search(r"^int main\(", "\n".join(lines), re.MULTILINE):
            bodies.append(body)
        else:
            bodies.append("namespace page {\nint snippet_at_%d() {\n%s\n#line %d\nreturn 0;\n}\n}"
                          % (first, body, first + len(lines)))
    return "\n".join(includes + ['#include "prelude.h"'] + bodies) + "\n"


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as source:
        made = translated(os.path.relpath(sys.argv[1]), source.read())
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(made)
