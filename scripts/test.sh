#!/usr/bin/env bash
# Installs the packages, builds the release preset, runs every test. Ends with ctest's own summary; exits with its status.
#   scripts/test.sh [ctest arguments]      such as: scripts/test.sh -L unit
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/install_deps.sh
cmake --preset release
cmake --build --preset release
ctest --preset release --parallel "$(nproc)" "$@"
