#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md that a script can see, and prints file:line and why for each breach.

Includes (which folder may use which, the same in CMake), the preprocessor and OpenMP where they do not belong, the size
of files and functions, unfinished work. `--self-test` breaks every rule once and expects to be told.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

# The table of docs/architecture.md: what a folder names as its own floor; what those use in turn is allowed as well.
MAY_USE = {
    "base": [],
    "kernels": ["base"],
    "tensor": ["base", "kernels"],
    "io": ["tensor"],
    "text": ["base"],
    "autograd": ["tensor"],
    "ops": ["autograd"],
    "nn": ["ops"],
    "models": ["nn", "io"],
    "data": ["text", "tensor", "io"],
    "optim": ["autograd"],
    "generate": ["models", "text"],
    "train": ["models", "data", "optim", "io", "generate"],
}
ROOTS = ["weft", "apps", "tests", "bench", "examples"]
MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
# Highway compiles a file once per instruction set with preprocessor conditions: where kernels are written, tested, measured.
PREPROCESSOR_PLACES = ("weft/kernels/", "tests/kernels/", "bench/")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b")
DEFINE = re.compile(r"^\s*#\s*(define|undef)\b")
OPENMP = re.compile(r"^\s*#\s*pragma\s+omp\b|^\s*#\s*include\s*<omp\.h>")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
NOT_A_FUNCTION = re.compile(r"^(namespace|struct|class|union|enum|extern|INSTANTIATE_TEST_SUITE_P)\b|=\s*\{$")
TABLE = re.compile(r"^\s*return\b.*\{$")
WEFT_LIBRARY = re.compile(r"weft_library\((\w+)(.*?)\)", re.DOTALL)


def closure(folder):
    """The folders that `folder` may use: its row of the table and their rows in turn."""
    reached = set()
    waiting = list(MAY_USE[folder])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(MAY_USE[name])
    return reached


def include_breach(relative, quote, target):
    """Why the file at `relative` may not include `target`, or None."""
    parts = target.split("/")
    if quote == "<":
        return f"weft's headers are included with quotes, not <{target}>" if parts[0] == "weft" else None
    own_headers = len(parts) == 1 and relative.parts[0] == "examples"
    if parts[0] not in ROOTS and not own_headers:
        return f'includes start at the root, such as "weft/base/error.h", not "{target}"'
    if relative.parts[0] == "examples" and parts[0] not in ("weft", "examples") and not own_headers:
        return f'examples use what is installed, not "{target}"'
    if relative.parts[0] != "weft":
        return None
    if parts[0] != "weft":
        return f'the library may not include "{target}": {parts[0]}/ stands above it'
    folder = relative.parts[1]
    if folder not in MAY_USE:
        return f"weft/{folder} is not in the table of scripts/check_includes.py and docs/architecture.md"
    if parts[1] != folder and parts[1] not in closure(folder):
        allowed = ", ".join(name for name in MAY_USE if name in closure(folder)) or "no other folder"
        return f'weft/{folder} may not include "{target}" (it may use: {allowed})'
    return None


def line_breaches(relative, line):
    """Yields why this line of a C++ file is not allowed where it stands."""
    match = INCLUDE.match(line)
    if match:
        breach = include_breach(relative, match.group(1), match.group(2))
        if breach:
            yield breach
    if not relative.as_posix().startswith(PREPROCESSOR_PLACES):
        if CONDITIONAL.match(line):
            yield "conditional compilation only where kernels are: swap a source file in CMake instead"
        if DEFINE.match(line):
            yield "macros only where kernels are"
    if not relative.as_posix().startswith("weft/base/") and OPENMP.match(line):
        yield "OpenMP only inside weft/base: use parallel_for of weft/base/threads.h"


def long_functions(lines):
    """Yields (line number, length) of functions at namespace level that are too long, by the layout of clang-format.

    A function that returns one table (a test's cases) is data and may be as long as the table."""
    start = None
    signature = None  # (number, line): the last line in column 0, where a signature of several lines begins
    for number, line in enumerate(lines, 1):
        if start is not None:
            if line.startswith("}"):
                if number - start + 1 > MAX_FUNCTION_LINES and not TABLE.match(lines[start]):
                    yield start, number - start + 1
                start = signature = None
            continue
        if line and not line[0].isspace() and not line.startswith(("#", "//")):
            signature = (number, line)
        if signature and line.endswith("{"):
            if not NOT_A_FUNCTION.search(signature[1]) and not NOT_A_FUNCTION.search(line):
                start = signature[0]
        elif signature and line.endswith(";") and not NOT_A_FUNCTION.search(signature[1]):
            signature = None


def check_source(root, path):
    """Yields (line number, why) for a C++ file."""
    relative = path.relative_to(root)
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".h" and not relative.name.endswith("-inl.h") and "#pragma once" not in lines:
        yield 1, "a header starts with #pragma once"
    for number, line in enumerate(lines, 1):
        for breach in line_breaches(relative, line):
            yield number, breach
    for number, length in long_functions(lines):
        yield number, f"a function stays within {MAX_FUNCTION_LINES} lines, this one has {length}"


def check_any(path):
    """Yields (line number, why) for any file that people write."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > MAX_FILE_LINES:
        yield len(lines), f"a file stays within {MAX_FILE_LINES} lines, this one has {len(lines)}: it has two subjects"
    for number, line in enumerate(lines, 1):
        found = UNFINISHED.search(line)
        if found and path.name != Path(__file__).name:
            yield number, f"{found.group(1)} is finished or deleted before it is committed"


def check_cmake(path):
    """Yields (line number, why) where a folder links what the table does not allow it to use."""
    text = path.read_text(encoding="utf-8")
    for match in WEFT_LIBRARY.finditer(text):
        number = text.count("\n", 0, match.start()) + 1
        name = match.group(1)
        if name not in MAY_USE or name != path.parent.name:
            yield number, f"weft_library({name}) does not fit the folder {path.parent.name} or the table"
            continue
        words = re.split(r"\s+", match.group(2).strip())
        depends = []
        if "DEPENDS" in words:
            for word in words[words.index("DEPENDS") + 1 :]:
                if word in ("PUBLIC", "PRIVATE"):
                    break
                depends.append(word)
        for other in sorted(set(depends) - closure(name)):
            yield number, f"weft/{name} may not depend on {other}"


def check_tree(root):
    """All breaches below `root` as printed lines, in the order of the files."""
    found = []
    for top in ROOTS + ["scripts", "cmake"]:
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                breaches = list(check_source(root, path)) + list(check_any(path))
            elif path.suffix in (".py", ".sh", ".cmake") or path.name == "CMakeLists.txt":
                breaches = list(check_any(path))
                if top == "weft" and path.name == "CMakeLists.txt":
                    breaches += check_cmake(path)
            else:
                continue
            found += [f"{path.relative_to(root)}:{number}: {why}" for number, why in sorted(breaches)]
    return found


# file, content, and a piece of the message it must give; None where nothing may be said.
SELF_TEST = [
    ("weft/ops/good.cpp", '#include "weft/ops/good.h"\n#include "weft/base/error.h"\n#include <vector>\n', None),
    ("weft/kernels/simd/good-inl.h", "#if HWY_ONCE\n#define A 1\n#endif\n", None),
    ("weft/base/good.cpp", "#pragma omp parallel\n#include <omp.h>\n", None),
    ("weft/base/up.cpp", '#include "weft/tensor/tensor.h"\n', 'weft/base may not include "weft/tensor/tensor.h"'),
    ("weft/ops/up.cpp", '#include "weft/nn/linear.h"\n', 'weft/ops may not include "weft/nn/linear.h"'),
    ("weft/text/side.cpp", '#include "weft/tensor/tensor.h"\n', "(it may use: base)"),
    ("weft/io/side.cpp", '#include "weft/autograd/tape.h"\n', "weft/io may not include"),
    ("weft/train/app.cpp", '#include "apps/weft/main.h"\n', "apps/ stands above it"),
    ("weft/train/test.cpp", '#include "tests/support/tensors.h"\n', "tests/ stands above it"),
    ("weft/new/room.cpp", '#include "weft/base/error.h"\n', "weft/new is not in the table"),
    ("weft/nn/near.cpp", '#include "linear.h"\n', "includes start at the root"),
    ("weft/nn/angle.cpp", "#include <weft/nn/linear.h>\n", "with quotes"),
    ("examples/inside.cpp", '#include "tests/support/tensors.h"\n', "examples use what is installed"),
    ("weft/nn/conditional.cpp", "#ifdef __AVX2__\n#endif\n", "conditional compilation only where kernels are"),
    ("tests/nn/conditional_test.cpp", "  #if 1\n  #endif\n", "conditional compilation only where kernels are"),
    ("weft/nn/macro.cpp", "#define CHECK(x) x\n", "macros only where"),
    ("weft/kernels/omp.cpp", "#pragma omp parallel for\n", "OpenMP only inside weft/base"),
    ("bench/omp.cpp", "#include <omp.h>\n", "OpenMP only inside weft/base"),
    ("weft/nn/unguarded.h", "struct A {};\n", "#pragma once"),
    ("weft/nn/long.cpp", "int x;\n" * 501, "within 500 lines"),
    ("weft/nn/function.cpp", "int f() {\n" + "  g();\n" * 59 + "}\n", "within 60 lines, this one has 61"),
    ("weft/nn/wide.cpp", "int f(int a,\n      int b) {\n" + "  g();\n" * 58 + "}\n", "this one has 61"),
    ("tests/nn/table_test.cpp", "Cases cases() {\n  return {\n" + "  {},\n" * 70 + "  };\n}\n", None),
    ("weft/nn/full.cpp", "int x;\n" * 500, None),
    ("weft/nn/struct.h", "#pragma once\nstruct A {\n" + "  int f() {\n  }\n" * 40 + "};\n", None),
    ("weft/nn/just.cpp", "namespace weft {\nint f() {\n" + "  g();\n" * 58 + "}\n}\n", None),
    ("weft/nn/later.cpp", "// TO" + "DO: later\n", "finished or deleted"),
    ("weft/base/CMakeLists.txt", "weft_library(base DEPENDS tensor)\n", "weft/base may not depend on tensor"),
    ("weft/tensor/CMakeLists.txt", "weft_library(tensor DEPENDS base\n  PUBLIC fmt::fmt)\n", None),
    ("weft/io/CMakeLists.txt", "weft_library(tensor DEPENDS base)\n", "does not fit the folder io"),
]


def self_test():
    """Writes each bad input into a tree of its own; returns how many were judged wrongly."""
    wrong = 0
    for name, content, expected in SELF_TEST:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.parent.mkdir(parents=True)
            path.write_text(content, encoding="utf-8")
            found = check_tree(Path(folder))
        right = not found if expected is None else any(expected in line for line in found)
        if not right:
            wrong += 1
            print(f"self-test: {name}: expected {expected!r}, got {found}")
    print(f"check_includes: self-test, {len(SELF_TEST)} inputs, {wrong} judged wrongly")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self-test", action="store_true", help="check this script instead of the tree")
    arguments = parser.parse_args()
    if arguments.self_test:
        return 1 if self_test() else 0
    found = check_tree(Path(__file__).resolve().parent.parent)
    for line in found:
        print(line)
    print(f"check_includes: {len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
