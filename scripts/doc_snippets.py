#!/usr/bin/env python3
"""Compiles the C++ snippets of docs/from-the-notes.md against an installed weft: doc_snippets.py PREFIX BUILD_FOLDER.

The page's first ```cpp block is what the others take for granted. Headers come from the page's own links into weft/, so a
snippet that needs one to which the page does not link fails too. Compiler messages name the line of the page.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "from-the-notes.md"
SNIPPET = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEADER = re.compile(r"\]\(\.\./(weft/[\w/]+\.h)\)")

# What the snippets' text speaks of without defining it.
GIVEN = """
weft::Variable x, query, key, value, in_weight, in_bias, out_weight, out_bias;
weft::Tensor padding;
std::vector<int64_t> offsets;
"""

PROJECT = """cmake_minimum_required(VERSION 3.25)
project(weft_snippets LANGUAGES CXX)
find_package(weft REQUIRED)
add_library(snippets OBJECT snippets.cpp)
target_compile_options(snippets PRIVATE -Wall -Wextra -Werror -Wno-unused-variable)
target_link_libraries(snippets PRIVATE weft::weft)
"""


def snippets_of(page, text):
    """(line of the page, code) of every block."""
    blocks = [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in SNIPPET.finditer(text)]
    if len(blocks) < 2:
        sys.exit(f"doc_snippets: {page} has no snippets")
    return blocks


def source_of(page):
    text = page.read_text(encoding="utf-8")
    headers = sorted(set(HEADER.findall(text)))
    missing = [header for header in headers if not (ROOT / header).is_file()]
    if missing:
        sys.exit(f"doc_snippets: {page} links to {', '.join(missing)}, which does not exist")
    lines = [f'#include "{header}"' for header in headers] + ["#include <array>", "#include <vector>"]
    lines += ["namespace {", GIVEN.strip()]
    (first_line, granted), *blocks = snippets_of(page, text)
    for number, (line, code) in enumerate(blocks):
        lines += [f"[[maybe_unused]] void snippet_{number}() {{",
                  f'#line {first_line} "{page}"', granted.rstrip(), "{", f'#line {line} "{page}"', code.rstrip(), "}}"]
    return "\n".join(lines + ["}  // namespace", ""])


def run(*command):
    """Runs a command, and shows what it printed if it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{result.stdout}doc_snippets: {' '.join(map(str, command))} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prefix", type=Path, help="where weft is installed")
    parser.add_argument("build", type=Path, help="folder to build in")
    arguments = parser.parse_args()
    arguments.build.mkdir(parents=True, exist_ok=True)
    (arguments.build / "snippets.cpp").write_text(source_of(PAGE), encoding="utf-8")
    (arguments.build / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
    build = arguments.build / "build"
    run("cmake", "-S", arguments.build, "-B", build, f"-DCMAKE_PREFIX_PATH={arguments.prefix.resolve()}")
    run("cmake", "--build", build)
    print(f"doc_snippets: {len(snippets_of(PAGE, PAGE.read_text(encoding='utf-8'))) - 1} snippets compile")


if __name__ == "__main__":
    main()
