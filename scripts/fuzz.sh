#!/usr/bin/env bash
# Feeds the tokenizers with made-up files and texts, in the build with the address sanitizer.
#   scripts/fuzz.sh                          a short run of every target, the same inputs each time
#   scripts/fuzz.sh TARGET [OPTION]...       one target with the options of weft_fuzz, such as --seconds 1200 --seed 7
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cmake --preset asan > build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
cmake --build --preset asan --target weft_fuzz > build/fuzz.log 2>&1 || { cat build/fuzz.log; exit 1; }
program=build/asan/tests/weft_fuzz

if [ $# -gt 0 ]; then
  exec "$program" --findings build "$@"
fi
"$program" tokenizer-json --runs 3000 --findings build
"$program" model --runs 3000 --findings build
"$program" text --runs 1000 --findings build
