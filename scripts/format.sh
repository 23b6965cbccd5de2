#!/usr/bin/env bash
# Formats the C++ sources in place, or with --check lists those that differ and fails.
# The layout is the one of clang-format 14; other versions differ in details, so with them --check only tells.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") mode=write ;;
  --check) mode=check ;;
  *) echo "usage: scripts/format.sh [--check]" >&2; exit 2 ;;
esac

formatter=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$formatter" ]; then
  echo "format: no clang-format installed; nothing done"
  [ $mode = check ] && exit 0
  exit 1
fi
version=$("$formatter" --version | sed -E 's/.*version ([0-9]+).*/\1/')
mapfile -t files < <(find weft apps tests bench examples -name '*.h' -o -name '*.cpp' | sort)

if [ $mode = write ]; then
  "$formatter" -i "${files[@]}"
  exit 0
fi

differing=()
for file in "${files[@]}"; do
  "$formatter" --dry-run -Werror "$file" 2> /dev/null || differing+=("$file")
done
for file in "${differing[@]}"; do
  echo "format: clang-format $version would change $file"
done
if [ "$version" != 14 ]; then
  echo "format: checked with clang-format $version; only version 14 decides, so differences do not fail"
elif [ ${#differing[@]} -gt 0 ]; then
  echo "format: run scripts/format.sh"
  exit 1
fi
