#!/usr/bin/env bash
# From a bare Debian to generated text: installs the packages, builds the program, trains a small GPT on Shakespeare for
# about a minute, prints its validation loss and 400 new characters.
#   scripts/quickstart.sh            trains into runs/shakespeare-quick; an earlier run there is kept under another name
#   scripts/quickstart.sh --short    the same path with a few steps, into a temporary folder (for CI)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

run=runs/shakespeare-quick
train=()
characters=400
case "${1:-}" in
  "") ;;
  --short)
    temporary=$(mktemp -d)
    trap 'rm -rf "$temporary"' EXIT
    run=$temporary/run
    train=(--set train.steps=20)
    characters=40
    ;;
  *) echo "usage: scripts/quickstart.sh [--short]" >&2; exit 2 ;;
esac

scripts/install_deps.sh
cmake --preset release
cmake --build --preset release --target weft_program

if [ -e "$run" ]; then
  number=1
  while [ -e "$run.$number" ]; do number=$((number + 1)); done
  mv "$run" "$run.$number"
  echo "the earlier run is now $run.$number"
fi

mkdir -p "$(dirname "$run")"
build/release/weft train recipes/shakespeare-quick.toml --out "$run" "${train[@]}"
build/release/weft generate "$run" --prompt "ROMEO:" --max-new-tokens "$characters" --temperature 0.8 --top-k 40 --seed 1
